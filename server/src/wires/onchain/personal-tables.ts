import { isOf, type PersonalTables } from '../../kernel/wire/personal-data.ts'

/** What the tables of chains hold of persons. */
export const ONCHAIN_TABLES: PersonalTables = {
  onchain_wallets: {
    about: 'wallets',
    rows: isOf('owner'),
    exported: { id: 'value', name: 'value', address: 'value', created_at: 'time' },
    deletion: {
      keeps:
        'without its key, what a wallet holds or receives later is lost. Transfer it before you delete the account. The wallet keeps the id only',
      clears: ['name'],
    },
  },
  onchain_transactions: {
    about: 'transactions on chains',
    rows: isOf('owner'),
    exported: {
      id: 'value',
      wallet_id: 'value',
      chain: 'value',
      kind: 'value',
      sender: 'value',
      recipient: 'value',
      value: 'value',
      nonce: 'value',
      hash: 'value',
      status: 'value',
      fee: 'value',
      created_at: 'time',
      updated_at: 'time',
    },
    deletion: {
      keeps: 'they are on public chains, and the next nonces follow from them. They have the id only',
    },
  },
  onchain_nft_transfers: { isNobodys: 'sender and recipient are addresses of a public chain' },
  onchain_nft_holdings: { isNobodys: 'an owner is an address of a public chain' },
}
