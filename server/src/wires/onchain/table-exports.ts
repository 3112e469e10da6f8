import type { Row } from '../../db/database.ts'
import { leftOut, type WireExport } from '../../kernel/wire/table-export.ts'
import type { OnchainTransactionRow } from './transactions/transaction-rows.ts'
import { storedOf } from './transactions/transactions.ts'
import type { WalletRow, Wallets } from './wallets/wallets.ts'

/** What is written of wallets and their transactions. */
export const onchainExport = ({ wallets }: { wallets: Wallets }): WireExport => ({
  tables: [
    {
      table: 'onchain_wallets',
      about: 'Wallets; their private keys in hex, unless they are at a key store',
      secrets: ['key_reference'],
      async lineOf(row: WalletRow, { keyReference, ...plain }: Row, hasSecrets) {
        if (!hasSecrets) return plain
        const privateKey = await wallets.privateKeyOf(row)
        return { ...plain, ...(privateKey === undefined ? { keyReference } : { privateKey }) }
      },
    },
    {
      table: 'onchain_transactions',
      about: 'Transactions that were sent; `value` and `fee` are decimals of the coin of the chain',
      without: ['sender', 'recipient', 'error', 'cost'],
      lineOf: (row: OnchainTransactionRow, plain: Row) => ({ ...plain, ...storedOf(row) }),
    },
    {
      table: 'onchain_signed',
      about: 'The signed versions of transactions, of which one is in the chain',
    },
    { table: 'onchain_chains', about: 'The chains' },
    { table: 'onchain_lines', about: 'The next nonce of each address' },
    { table: 'onchain_spent', about: 'What was sent on a day (days since 1970), for the limits' },
    { table: 'onchain_nft_indexes', about: 'NFT contracts whose transfers are indexed' },
    { table: 'onchain_nft_transfers', about: 'Transfers of NFTs' },
    { table: 'onchain_nft_holdings', about: 'Who has which NFT' },
    ...leftOut('Keys that encrypt those of wallets, which come decrypted', ['onchain_data_keys']),
    ...leftOut('Up to where chains were read', [
      'onchain_blocks',
      'onchain_cursors',
      'onchain_nft_checkpoints',
    ]),
  ],
})
