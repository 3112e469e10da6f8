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

/** A call that changes something at a provider. */
export type CallRow = {
  id: string
  transaction_id: string
  kind: 'create' | 'capture' | 'refund'
  amount: string | null
  status: 'running' | 'unknown' | 'accepted' | 'refused'
  lease_until: number
  /** Why it was refused, or its outcome is unknown. */
  reason: string | null
  /** Why the payment is refunded, by the caller. */
  refund_reason: string | null
  created_at: number
}

export const selectCallsSql = (transactionId: string): Sql<CallRow> => sql<CallRow>`
  select id, transaction_id, kind, amount, status, lease_until, reason, refund_reason, created_at
  from pay_calls where transaction_id = ${transactionId} order by id`

/** Who makes a call, and until when at the latest. */
export type CallLease = { now: number; leaseUntil: number; process: string }

/** The process of a running call, once it has ended: the lease itself tells one claim from another, and stays. */
const ENDED = ''

/** Lets others claim the calls that an ended process was making. */
export const releaseCallsSql = (process: string): Sql => sql`
  update pay_calls set process = ${ENDED} where status in ('running', 'unknown') and process = ${process}`

/** Inserts a call that is about to be made; it is under way until `leaseUntil` at the latest. */
export const insertCallSql = (
  call: Pick<CallRow, 'id' | 'transaction_id' | 'kind'> & { amount?: bigint; refund_reason?: string },
  { now, leaseUntil, process }: CallLease,
): Sql<{ id: string }> => sql<{ id: string }>`
  insert into pay_calls (id, transaction_id, kind, amount, status, lease_until, process, reason, refund_reason,
    created_at)
  values (${call.id}, ${call.transaction_id}, ${call.kind}, ${call.amount?.toString() ?? null}, 'running', ${leaseUntil},
    ${process}, null, ${call.refund_reason ?? null}, ${now})
  on conflict do nothing returning id`

/**
 * Claims a call of unknown outcome, to make it again under the same key, unless it is still under way. Answers its lease,
 * which differs from all earlier ones of the call: by it a process notices that the call has become another's.
 */
export const claimCallSql = (
  id: string,
  { now, leaseUntil, process }: CallLease,
): Sql<Pick<CallRow, 'lease_until'>> => sql<Pick<CallRow, 'lease_until'>>`
  update pay_calls set status = 'running', process = ${process},
    lease_until = case when lease_until < ${leaseUntil} then ${leaseUntil} else lease_until + 1 end
  where id = ${id} and (status = 'unknown' or (status = 'running' and (lease_until <= ${now} or process = ${ENDED})))
  returning lease_until`

/** Records how a call ended, unless another process has claimed it meanwhile. */
export const settleCallSql = ({
  id,
  status,
  reason,
  lease_until,
}: Pick<CallRow, 'id' | 'status' | 'reason' | 'lease_until'>): Sql<{ id: string }> => sql<{ id: string }>`
  update pay_calls set status = ${status}, reason = ${reason} where id = ${id} and lease_until = ${lease_until}
  returning id`

/** Deletes a call that was certainly not made, unless another process has claimed it meanwhile. */
export const deleteCallSql = ({
  id,
  lease_until,
}: Pick<CallRow, 'id' | 'lease_until'>): Sql<{ id: string }> => sql<{ id: string }>`
  delete from pay_calls where id = ${id} and lease_until = ${lease_until} returning id`

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
  { id, transactionId, now }: { id: string; transactionId: string; now: number },
): Sql => sql`
  insert into pay_ledger (id, transaction_id, kind, object_id, status, version, amount, currency, call_id, reason,
    created_at, seen_at)
  values (${id}, ${transactionId}, ${entry.kind}, ${entry.objectId}, ${entry.status}, ${entry.version ?? 0},
    ${entry.amount.toString()}, ${entry.currency}, ${entry.callId ?? null}, ${entry.reason ?? null}, ${entry.createdAt ?? now}, ${now})
  on conflict do nothing`

export const insertHistorySql = (
  item: { transactionId: string; seq: number; status: PaymentStatus; cause: string },
  now: number,
): Sql => sql`
  insert into pay_history (transaction_id, seq, status, cause, at)
  values (${item.transactionId}, ${item.seq}, ${item.status}, ${item.cause}, ${now}) on conflict do nothing`
