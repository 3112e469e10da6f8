import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { displayOf } from '../ledger/amounts.ts'
import type { EventState } from '../inbox/provider-events.ts'
import type { OperationProvider, EntryKind } from '../providers/provider.ts'
import type { PaymentStatus } from '../ledger/state.ts'
import { selectOperationsSql, type OperationRow } from '../ledger/operation-rows.ts'
import {
  selectEntriesSql,
  selectHistorySql,
  selectTransactionsSql,
  type TransactionRow,
} from '../ledger/transaction-rows.ts'

/** Of each kind, the newest ones. */
const KIND_MAX = 500

/** One thing that happened to a transaction. */
export type TimelineEntry = { at: string } & (
  | { kind: 'status'; status: PaymentStatus; cause: string }
  | {
      /** A call of this server to the provider. */
      kind: 'call'
      call: OperationRow['kind']
      callId: string
      state: OperationRow['status']
      amount?: string
      currency?: string
      /** Why it was refused, or its outcome is unknown. */
      reason?: string
      /** Why the payment is refunded, by the caller. */
      refundReason?: string
    }
  | {
      /** An object at the provider that was seen in a state. */
      kind: 'object'
      object: EntryKind
      objectId: string
      state: string
      amount: string
      currency: string
      reason?: string
      /** When the provider created it. */
      createdAt: string
    }
  | {
      kind: 'event'
      id: string
      provider: OperationProvider
      eventId: string
      type: string
      state: EventState
      reason?: string
    }
  | {
      /** What arrived at the address of a payment request; absent hash: a contract sent coin. */
      kind: 'receipt'
      chain: string
      block: number
      hash?: string
      /** In the smallest unit of the token. */
      units: string
      /** Of the token; absent: the native coin. */
      contract?: string
    }
)

/**
 * Everything that the books have about a transaction, oldest first: at most 500 of each kind. Amounts are exact decimals in
 * major units of the transaction's currency; those of another currency are its smallest units.
 *
 * @throws NOT_FOUND
 */
export async function timelineOf(db: Database, id: string): Promise<TimelineEntry[]> {
  const row = await db.get(selectTransactionsSql(sql`id = ${id}`))
  if (!row) throw errors.not_found({ message: `There is no transaction ${JSON.stringify(id)}.` })
  const parts: readonly (readonly TimedEntry[])[] = await Promise.all([
    historyEntries(db, id),
    operationEntries(db, row),
    objectEntries(db, row),
    eventEntries(db, id),
    receiptEntries(db, id),
  ])
  return parts
    .flatMap((part) => part.slice(-KIND_MAX))
    .toSorted((one, other) => one.time - other.time || ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind))
    .map(({ time, ...entry }) => ({ at: isoTime(time), ...entry }))
}

/** Of one moment: what was asked for, what was heard and seen, and what follows from it. */
const ORDER: readonly TimelineEntry['kind'][] = ['call', 'event', 'receipt', 'object', 'status']

type Timed<K extends TimelineEntry['kind']> = Omit<Extract<TimelineEntry, { kind: K }>, 'at'> & {
  time: number
}
type TimedEntry = { [K in TimelineEntry['kind']]: Timed<K> }[TimelineEntry['kind']]

async function historyEntries(db: Database, id: string): Promise<Timed<'status'>[]> {
  const rows = await db.all(selectHistorySql(id))
  return rows.map(({ at: time, status, cause }) => ({ time, kind: 'status', status, cause }))
}

async function operationEntries(db: Database, row: TransactionRow): Promise<Timed<'call'>[]> {
  const operations = await db.all(selectOperationsSql(row.id))
  return operations.map((operation) => ({
    time: operation.created_at,
    kind: 'call',
    call: operation.kind,
    callId: operation.id,
    state: operation.status,
    ...(operation.amount !== null && {
      amount: displayOf(BigInt(operation.amount), row),
      currency: row.currency,
    }),
    ...(operation.reason !== null && { reason: operation.reason }),
    ...(operation.refund_reason !== null && { refundReason: operation.refund_reason }),
  }))
}

async function objectEntries(db: Database, row: TransactionRow): Promise<Timed<'object'>[]> {
  const entries = await db.all(selectEntriesSql(row.id))
  return entries.map((entry) => ({
    time: entry.seen_at,
    kind: 'object',
    object: entry.kind,
    objectId: entry.object_id,
    state: entry.status,
    amount: entry.currency === row.currency ? displayOf(BigInt(entry.amount), row) : entry.amount,
    currency: entry.currency,
    ...(entry.reason !== null && { reason: entry.reason }),
    createdAt: isoTime(entry.created_at),
  }))
}

async function eventEntries(db: Database, id: string): Promise<Timed<'event'>[]> {
  const rows = await db.all<{
    id: string
    provider: OperationProvider
    event_id: string
    type: string
    state: EventState
    result: string | null
    received_at: number
  }>(sql`
    select id, provider, event_id, type, state, result, received_at from pay_events
    where transaction_id = ${id} order by id desc limit ${KIND_MAX}`)
  return rows.toReversed().map((row) => ({
    time: row.received_at,
    kind: 'event',
    id: row.id,
    provider: row.provider,
    eventId: row.event_id,
    type: row.type,
    state: row.state,
    ...(row.result !== null && row.state !== 'done' && { reason: row.result }),
  }))
}

async function receiptEntries(db: Database, id: string): Promise<Timed<'receipt'>[]> {
  const rows = await db.all<{
    chain: string
    block_number: number
    transaction_hash: string
    contract: string
    amount: string
    block_time: number
  }>(sql`
    select chain, block_number, transaction_hash, contract, amount, block_time from pay_receipts
    where request_id = ${id} order by block_time desc, block_number desc, log_index desc limit ${KIND_MAX}`)
  return rows.toReversed().map((row) => ({
    time: row.block_time,
    kind: 'receipt',
    chain: row.chain,
    block: row.block_number,
    ...(row.transaction_hash !== '' && { hash: row.transaction_hash }),
    units: row.amount,
    ...(row.contract !== '' && { contract: row.contract }),
  }))
}
