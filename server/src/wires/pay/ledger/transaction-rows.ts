import { sql, type Sql } from '../../../db/sql.ts'
import type { LedgerEntry, ProviderName } from '../providers/provider.ts'
import type { PaymentStatus } from './state.ts'

/** A transaction as it is stored. Amounts are minor units, or the smallest units of a token: decimal text, up to 2^256 - 1. */
export type TransactionRow = {
  id: string
  owner: string
  provider: ProviderName
  status: PaymentStatus
  reference: string | null
  payment_id: string | null
  url: string | null
  amount: string
  currency: string
  exponent: number
  captured: string
  refunded: string
  reserved: string
  disputed: string
  lost: string
  is_settled: number
  version: number
  created_at: number
  updated_at: number
  merchant_reference: string | null
  email: string | null
  email_key: string | null
  /** JSON. */
  metadata: string | null
  /** When it can be paid no more; null: when the provider ends it. */
  expires_at: number | null
  cancel_requested_at: number | null
  /** Minor units of `fee_currency`; null: the provider has not told. */
  fee: string | null
  net: string | null
  fee_currency: string | null
  fee_exponent: number | null
}

/** A transaction that has just been asked for. */
export const newTransaction = (
  row: Pick<TransactionRow, 'id' | 'provider' | 'amount' | 'currency' | 'exponent'> &
    Pick<TransactionRow, 'owner' | 'merchant_reference' | 'email' | 'email_key' | 'metadata' | 'expires_at'>,
  now: number,
  reference: string | null = null,
): TransactionRow => ({
  ...row,
  status: 'pending',
  reference,
  payment_id: null,
  url: null,
  captured: '0',
  refunded: '0',
  reserved: '0',
  disputed: '0',
  lost: '0',
  is_settled: 0,
  version: 0,
  created_at: now,
  updated_at: now,
  cancel_requested_at: null,
  fee: null,
  net: null,
  fee_currency: null,
  fee_exponent: null,
})

/** All columns. */
export const COLUMN_NAMES = [
  'id',
  'owner',
  'provider',
  'status',
  'reference',
  'payment_id',
  'url',
  'amount',
  'currency',
  'exponent',
  'captured',
  'refunded',
  'reserved',
  'disputed',
  'lost',
  'is_settled',
  'version',
  'created_at',
  'updated_at',
  'merchant_reference',
  'email',
  'email_key',
  'metadata',
  'expires_at',
  'cancel_requested_at',
  'fee',
  'net',
  'fee_currency',
  'fee_exponent',
] as const

export const TRANSACTION_COLUMNS = sql.literal(COLUMN_NAMES.join(', '))

export const selectTransactionsSql = (where: Sql): Sql<TransactionRow> =>
  sql<TransactionRow>`select ${TRANSACTION_COLUMNS} from pay_transactions where ${where}`

/** What can still be refunded, in minor units; 0 or less: nothing. */
export const leftOf = ({ captured, reserved, disputed, lost }: TransactionRow): bigint =>
  BigInt(captured) - BigInt(reserved) - BigInt(disputed) - BigInt(lost)

/** An entry of the ledger with its place in it. */
export type LedgerRow = {
  id: string
  kind: LedgerEntry['kind']
  object_id: string
  status: string
  version: number
  amount: string
  currency: string
  call_id: string | null
  reason: string | null
  created_at: number
  seen_at: number
}

export type HistoryRow = { status: PaymentStatus; cause: string; at: number }

export const selectHistorySql = (transactionId: string): Sql<HistoryRow> => sql<HistoryRow>`
  select status, cause, at from pay_history where transaction_id = ${transactionId} order by seq`

export const selectEntriesSql = (transactionId: string): Sql<LedgerRow> => sql<LedgerRow>`
  select id, kind, object_id, status, version, amount, currency, call_id, reason, created_at, seen_at
  from pay_ledger where transaction_id = ${transactionId} order by id`

export const entryOf = (row: LedgerRow): LedgerEntry & { createdAt: number } =>
  ({
    kind: row.kind,
    objectId: row.object_id,
    status: row.status,
    version: row.version,
    amount: BigInt(row.amount),
    currency: row.currency,
    createdAt: row.created_at,
    ...(row.call_id !== null && { callId: row.call_id }),
    ...(row.reason !== null && { reason: row.reason }),
  }) as LedgerEntry & { createdAt: number }

export const insertEntrySql = (
  entry: LedgerEntry,
  { id, transactionId, owner, now }: { id: string; transactionId: string; owner: string; now: number },
): Sql => sql`
  insert into pay_ledger (id, transaction_id, kind, object_id, status, version, amount, currency, call_id, reason,
    created_at, seen_at, owner)
  values (${id}, ${transactionId}, ${entry.kind}, ${entry.objectId}, ${entry.status}, ${entry.version ?? 0},
    ${entry.amount.toString()}, ${entry.currency}, ${entry.callId ?? null}, ${entry.reason ?? null}, ${entry.createdAt ?? now}, ${now}, ${owner})
  on conflict do nothing`

export const insertHistorySql = (
  item: { transactionId: string; seq: number; status: PaymentStatus; cause: string },
  now: number,
): Sql => sql`
  insert into pay_history (transaction_id, seq, status, cause, at)
  values (${item.transactionId}, ${item.seq}, ${item.status}, ${item.cause}, ${now}) on conflict do nothing`
