import { sql, type Sql } from '../../../db/sql.ts'

/** An operation at a provider, which changes something there. The table has its released name, `pay_calls`. */
export type OperationRow = {
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

export const selectOperationsSql = (transactionId: string): Sql<OperationRow> => sql<OperationRow>`
  select id, transaction_id, kind, amount, status, lease_until, reason, refund_reason, created_at
  from pay_calls where transaction_id = ${transactionId} order by id`

/** Who carries an operation out, and until when at the latest. */
export type OperationLease = { now: number; leaseUntil: number; process: string }

/** The process of a running operation, once it has ended: the lease itself tells one claim from another, and stays. */
const ENDED = ''

/** Lets others claim the operations of an ended process. */
export const releaseOperationsSql = (process: string): Sql => sql`
  update pay_calls set process = ${ENDED} where status in ('running', 'unknown') and process = ${process}`

/** Inserts an operation that is about to be made; it is under way until `leaseUntil` at the latest. */
export const insertOperationSql = (
  operation: Pick<OperationRow, 'id' | 'transaction_id' | 'kind'> & {
    amount?: bigint
    refund_reason?: string
  },
  { now, leaseUntil, process }: OperationLease,
): Sql<{ id: string }> => sql<{ id: string }>`
  insert into pay_calls (id, transaction_id, kind, amount, status, lease_until, process, reason, refund_reason,
    created_at)
  values (${operation.id}, ${operation.transaction_id}, ${operation.kind}, ${operation.amount?.toString() ?? null}, 'running', ${leaseUntil},
    ${process}, null, ${operation.refund_reason ?? null}, ${now})
  on conflict do nothing returning id`

/**
 * Claims an operation of unknown outcome, to make it again under the same key, unless it is still under way. Answers its lease,
 * which differs from all earlier ones of the operation: by it a process notices that it has become another's.
 */
export const claimOperationSql = (
  id: string,
  { now, leaseUntil, process }: OperationLease,
): Sql<Pick<OperationRow, 'lease_until'>> => sql<Pick<OperationRow, 'lease_until'>>`
  update pay_calls set status = 'running', process = ${process},
    lease_until = case when lease_until < ${leaseUntil} then ${leaseUntil} else lease_until + 1 end
  where id = ${id} and (status = 'unknown' or (status = 'running' and (lease_until <= ${now} or process = ${ENDED})))
  returning lease_until`

/** Records how an operation ended, unless another process has claimed it meanwhile. */
export const settleOperationSql = ({
  id,
  status,
  reason,
  lease_until,
}: Pick<OperationRow, 'id' | 'status' | 'reason' | 'lease_until'>): Sql<{ id: string }> => sql<{
  id: string
}>`
  update pay_calls set status = ${status}, reason = ${reason} where id = ${id} and lease_until = ${lease_until}
  returning id`

/** Deletes an operation that was certainly not made, unless another process has claimed it meanwhile. */
export const deleteOperationSql = ({
  id,
  lease_until,
}: Pick<OperationRow, 'id' | 'lease_until'>): Sql<{ id: string }> => sql<{ id: string }>`
  delete from pay_calls where id = ${id} and lease_until = ${lease_until} returning id`
