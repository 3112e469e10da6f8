import type { Address, Hex } from '../../../base/hex.ts'
import { sql, type Sql } from '../../../db/sql.ts'

/** What follows the blocks of a chain to find transactions in them. */
export const TRANSACTIONS_CONSUMER = 'transactions'

/** What a transaction is for. */
export type TransactionKind = 'transfer' | 'contract' | 'mint' | 'nft_transfer' | 'sweep'

/** A transaction: one row a nonce. */
export type OnchainTransactionRow = {
  id: string
  owner: string
  wallet_id: string
  chain: string
  kind: TransactionKind
  sender: Address
  recipient: Address
  /** Wei, decimal. */
  value: string
  data: Hex
  nonce: number
  gas: number
  /** Wei, decimal: the value and the most that the gas can cost. */
  cost: string
  /** Of the newest signed version. */
  hash: Hex
  status: 'pending' | 'confirmed' | 'failed'
  reference: string | null
  block_number: number | null
  block_hash: string | null
  succeeded: 0 | 1 | null
  gas_used: string | null
  /** Wei, decimal. */
  fee: string | null
  token_id: string | null
  error: string | null
  is_final: 0 | 1
  broadcast_at: number | null
  broadcasts: number
  created_at: number
  updated_at: number
}

/** A signed version of a transaction. */
export type SignedRow = {
  hash: Hex
  transaction_id: string
  raw: Hex
  max_fee: string
  priority_fee: string
  created_at: number
  /** Why it cancels the transaction; absent: it is the transaction. */
  cancels?: string
}

/** All columns. */
export const COLUMN_NAMES = [
  'id',
  'owner',
  'wallet_id',
  'chain',
  'kind',
  'sender',
  'recipient',
  'value',
  'data',
  'nonce',
  'gas',
  'cost',
  'hash',
  'status',
  'reference',
  'block_number',
  'block_hash',
  'succeeded',
  'gas_used',
  'fee',
  'token_id',
  'error',
  'is_final',
  'broadcast_at',
  'broadcasts',
  'created_at',
  'updated_at',
] as const

export const TRANSACTION_COLUMNS = sql.literal(COLUMN_NAMES.join(', '))

/** Inserts a new transaction with its first signed version. */
export const insertTransactionSql = (row: OnchainTransactionRow, signed: SignedRow): Sql[] => [
  sql`insert into onchain_transactions (${TRANSACTION_COLUMNS}) values (
    ${row.id}, ${row.owner}, ${row.wallet_id}, ${row.chain}, ${row.kind}, ${row.sender}, ${row.recipient}, ${row.value},
    ${row.data}, ${row.nonce}, ${row.gas}, ${row.cost}, ${row.hash}, ${row.status}, ${row.reference},
    ${row.block_number}, ${row.block_hash}, ${row.succeeded}, ${row.gas_used}, ${row.fee}, ${row.token_id},
    ${row.error}, ${row.is_final}, ${row.broadcast_at}, ${row.broadcasts}, ${row.created_at}, ${row.updated_at})`,
  insertSignedSql(signed),
]

/** Adds a signed version of a transaction. */
export const insertSignedSql = (row: SignedRow): Sql => sql`
  insert into onchain_signed (hash, transaction_id, raw, max_fee, priority_fee, created_at, cancels)
  values (${row.hash}, ${row.transaction_id}, ${row.raw}, ${row.max_fee}, ${row.priority_fee}, ${row.created_at},
    ${row.cancels ?? null})`

export const selectTransactionsSql = (condition: Sql): Sql<OnchainTransactionRow> =>
  sql`select ${TRANSACTION_COLUMNS} from onchain_transactions where ${condition}`
