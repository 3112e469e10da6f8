import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import { oneLine } from '../../../base/one-line.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { moneyText } from './amounts.ts'
import type { LedgerEntry, Money, PaymentSnapshot } from '../providers/provider.ts'
import { STATUSES, stepsBetween, summaryOf, type PaymentStatus, type Summary } from './state.ts'
import { sumsSql } from './sums.ts'
import type { TransactionEvents } from './transaction-events.ts'
import {
  selectOperationsSql,
  deleteOperationSql,
  settleOperationSql,
  type OperationRow,
} from './operation-rows.ts'
import {
  entryOf,
  insertEntrySql,
  insertHistorySql,
  selectEntriesSql,
  selectTransactionsSql,
  type TransactionRow,
} from './transaction-rows.ts'

const TEXT_MAX = 300
/** Changes of one transaction at the same time: each round at least one of them is written. */
const ROUNDS = 200
/** More states than one change passes through. */
const STEPS_OF_VERSION = 8
/** Changes of one transaction that may wait in one process. */
const TURNS = 10_000
/** States that only money at the provider ends. */
const SEEMINGLY_FINAL: ReadonlySet<PaymentStatus> = new Set<PaymentStatus>([
  'failed',
  'expired',
  'cancelled',
  'lost',
])
const ENDED: ReadonlySet<PaymentStatus> = new Set<PaymentStatus>([
  ...SEEMINGLY_FINAL,
  'completed',
  'partially_refunded',
  'refunded',
])

/** A transaction with everything that it is computed from. */
export type LedgerTransaction = {
  row: TransactionRow
  entries: readonly (LedgerEntry & { createdAt: number })[]
  operations: readonly OperationRow[]
  summary: Summary
}

/** What is to be written about a transaction. */
export type LedgerChange = {
  /** What was seen at the provider. */
  snapshot?: Pick<PaymentSnapshot, 'entries'> & Partial<PaymentSnapshot>
  /** What caused it, for the history: `request …`, `event …`, `reconciliation`. */
  cause: string
  /**
   * How an operation of ours ended, by the process that made it under this lease: what it did counts in any case, and that it did
   * nothing only if no other process has claimed it meanwhile. `not_made` deletes its row, and frees what it reserved.
   */
  operation?: {
    id: string
    leaseUntil: number
    status: OperationRow['status'] | 'not_made'
    reason: string | null
  }
  /** Further steps of the same batch. */
  steps?: readonly Step[]
}

export type Ledger = {
  /** Reads a transaction with its entries and operations; undefined if it does not exist. */
  read(id: string): Promise<LedgerTransaction | undefined>
  /**
   * Runs work after the earlier work of this process on a transaction has ended, changes of `record` included: changes at
   * the same time would each be computed again for every other one. Rules must hold without it, because of other processes.
   */
  inTurn<T>(id: string, work: () => Promise<T>): Promise<T>
  /**
   * Adds entries to the ledger and computes the transaction from all of them, in one batch. What is there already
   * changes nothing, so it may be called again with the same, by several processes at once and in any order.
   *
   * @returns the transaction afterwards; undefined if it does not exist
   */
  record(id: string, change: LedgerChange): Promise<LedgerTransaction | undefined>
}

/** @param recheckSql the steps that have a transaction rechecked later, from this version on */
export function createLedger(
  { db, clock, log, metrics }: Pick<WireContext, 'db' | 'clock' | 'log' | 'metrics'>,
  { events, recheckSql }: { events: TransactionEvents; recheckSql: (row: TransactionRow) => readonly Step[] },
  { providers = [] }: { providers?: readonly string[] | undefined } = {},
): Ledger {
  const countPayment = metrics.counter({
    name: 'sixwire_payments_total',
    help: 'Transactions that this process has seen reach a status since its start',
    labels: ['provider', 'status'],
    known: providers.flatMap((provider) => STATUSES.map((status) => ({ provider, status }))),
  })
  const turns = createKeyedMutex({ queue: TURNS, retryAfter: 1 })

  async function read(id: string): Promise<LedgerTransaction | undefined> {
    // The row is read first: what changes after it changes its version, too.
    const row = await db.get(selectTransactionsSql(sql`id = ${id}`))
    if (!row) return undefined
    const [rows, operations] = await Promise.all([
      db.all(selectEntriesSql(id)),
      db.all(selectOperationsSql(id)),
    ])
    const entries = rows.map(entryOf)
    return { row, entries, operations, summary: summaryOf(moneyOf(row), entries) }
  }

  /** Returns undefined if another change was written meanwhile. */
  async function tryRecord(
    before: LedgerTransaction,
    change: LedgerChange,
  ): Promise<LedgerTransaction | undefined> {
    const { row } = before
    const { id } = row
    const now = clock.now()
    const { snapshot, operation, cause, steps = [] } = change
    const entryKeys = new Set(before.entries.map(keyOf))
    const newEntries = (snapshot?.entries ?? [])
      .map(readable)
      .filter((entry) => !entryKeys.has(keyOf(entry)) && entryKeys.add(keyOf(entry)))
      .map((entry) => ({ ...entry, createdAt: entry.createdAt ?? now }))
    const entries = [...before.entries, ...newEntries]
    const summary = summaryOf(moneyOf(row), entries)
    const operations = settledOperations(
      before.operations,
      operation,
      summary,
      row.reference ?? snapshot?.reference,
    )
    const changedOperations = operations.filter((one) => !before.operations.includes(one))
    const deletedOperations = before.operations.filter(
      ({ id: operationId }) => !operations.some((one) => one.id === operationId),
    )
    const history = historyOf(before, summary, newEntries, cause)
    const after: TransactionRow = {
      ...row,
      status: history.at(-1) ?? row.status,
      reference: row.reference ?? snapshot?.reference ?? null,
      payment_id: snapshot?.paymentId ?? row.payment_id,
      url: snapshot?.url ?? row.url,
      captured: summary.captured.toString(),
      refunded: summary.refunded.toString(),
      reserved: reservedBy(summary, operations).toString(),
      disputed: summary.disputed.toString(),
      lost: summary.lost.toString(),
      is_settled: isSettled(summary, operations) ? 1 : 0,
    }
    const isChanged =
      newEntries.length + changedOperations.length + deletedOperations.length > 0 ||
      COMPUTED.some((column) => after[column] !== row[column])
    if (!isChanged && steps.length === 0) return before
    after.version = row.version + 1
    after.updated_at = now
    await db.batch([
      requireRow(
        sql`update pay_transactions set
            status = ${after.status}, reference = ${after.reference}, payment_id = ${after.payment_id}, url = ${after.url},
            captured = ${after.captured}, refunded = ${after.refunded}, reserved = ${after.reserved},
            disputed = ${after.disputed}, lost = ${after.lost},
            is_settled = ${after.is_settled}, version = ${after.version}, updated_at = ${now}
          where id = ${id} and version = ${row.version} returning id`,
        () => changedMeanwhile,
      ),
      ...newEntries.map((entry) =>
        insertEntrySql(entry, { id: newId(now), transactionId: id, owner: row.owner, now }),
      ),
      ...history.map((status, at) =>
        insertHistorySql(
          {
            transactionId: id,
            seq: after.version * STEPS_OF_VERSION + at,
            status,
            cause: mismatchOf(before, summary, cause),
          },
          now,
        ),
      ),
      ...[...changedOperations.map(settleOperationSql), ...deletedOperations.map(deleteOperationSql)].map(
        (step) => requireRow(step, () => changedMeanwhile),
      ),
      ...sumsSql(row, after, now),
      ...(row.is_settled === 1 && after.is_settled === 0 ? recheckSql(after) : []),
      ...steps,
      // Behind the further steps, such as those of fees.
      ...eventsSql(row, after, { history, hasSteps: steps.length > 0 }),
    ])
    for (const status of history) countPayment({ provider: row.provider, status })
    return { row: after, entries, operations, summary }
  }

  function eventsSql(
    before: TransactionRow,
    after: TransactionRow,
    { history, hasSteps }: { history: readonly PaymentStatus[]; hasSteps: boolean },
  ): readonly Step[] {
    // The provider has it from here on.
    const isCreated = before.reference === null && after.reference !== null
    const isShown = history.length > 0 || hasSteps || SHOWN.some((column) => after[column] !== before[column])
    return [
      ...(isCreated ? events.createdSql(after.id) : []),
      ...(isShown ? events.changedSql(after.id, history) : []),
    ]
  }

  /** The states to add to the history; logs what a transaction of ours never does. */
  function historyOf(
    { row, summary: before }: LedgerTransaction,
    summary: Summary,
    added: readonly LedgerEntry[],
    cause: string,
  ): readonly PaymentStatus[] {
    const { id, provider, status } = row
    if (summary.mismatch && !before.mismatch) {
      log.error(
        {
          transaction: id,
          provider,
          paid: paidText(summary.mismatch, row),
          asked: moneyText(BigInt(row.amount), row),
        },
        'a payment is of another amount or currency than its transaction: it is not completed',
      )
      return [status]
    }
    const steps = stepsBetween(status, summary.status)
    if (steps && steps.length > 0 && SEEMINGLY_FINAL.has(status))
      log.warn(
        { transaction: id, provider, from: status, to: summary.status, cause },
        'a transaction goes on from a state that looked final: its provider has the money after all',
      )
    if (steps) return steps
    if (added.length > 0)
      log.error(
        { transaction: id, provider, from: status, to: summary.status },
        'a transaction cannot go from one of these states to the other: its state stays, its ledger has what happened',
      )
    return []
  }

  async function recordNow(id: string, change: LedgerChange): Promise<LedgerTransaction | undefined> {
    for (let round = 1; ; round++) {
      const before = await read(id)
      if (!before) return undefined
      try {
        return await tryRecord(before, change)
      } catch (error) {
        if (error !== changedMeanwhile || round === ROUNDS) throw error
        await clock.sleep(Math.random() * Math.min(round, 20))
      }
    }
  }

  return {
    read,
    inTurn: (id, work) => turns.run(id, work),
    record: (id, change) => turns.run(id, () => recordNow(id, change)),
  }
}

const COMPUTED = [
  'status',
  'reference',
  'payment_id',
  'url',
  'captured',
  'refunded',
  'reserved',
  'disputed',
  'lost',
  'is_settled',
] as const

/** Those of them that the API shows, beside the status. */
const SHOWN = ['refunded', 'disputed', 'lost'] as const

const changedMeanwhile = errors.unavailable({
  message: 'This payment is being changed by many requests at once: try again shortly.',
  retryAfter: 1,
})

const moneyOf = ({ amount, currency }: TransactionRow) => ({ amount: BigInt(amount), currency })

/** What identifies an entry: seen again, it says nothing new. */
const keyOf = ({ kind, objectId, status, version = 0, amount, currency }: LedgerEntry): string =>
  [kind, objectId, version, status, amount, currency].join(' ')

/** Text of a provider, fit for a database. */
const readable = (entry: LedgerEntry): LedgerEntry => ({
  ...entry,
  ...(entry.reason !== undefined && { reason: oneLine(entry.reason, TEXT_MAX) }),
})

const mismatchOf = (before: LedgerTransaction, { mismatch }: Summary, cause: string): string =>
  mismatch && !before.summary.mismatch
    ? `${cause}: the provider shows ${paidText(mismatch, before.row)} instead of ${moneyText(BigInt(before.row.amount), before.row)}`
    : cause

/** What was paid; the decimal places of another currency than the transaction's are not known here. */
const paidText = ({ amount, currency }: Money, row: TransactionRow): string =>
  currency === row.currency ? moneyText(amount, row) : `${amount} minor units of ${currency}`

/** Whether it is not known how an operation ended. */
export const isOpen = ({ status }: Pick<OperationRow, 'status'>): boolean =>
  status === 'running' || status === 'unknown'

/** The operations with what is known about them now: what they were to do counts before what they answered. */
function settledOperations(
  operations: readonly OperationRow[],
  settlement: LedgerChange['operation'],
  summary: Summary,
  reference: string | undefined,
): OperationRow[] {
  const refunds = new Set(summary.refunds.map(({ callId }) => callId))
  const isPaid = summary.captured > 0n || summary.isChargePending || summary.status !== 'pending'
  const isDone = ({ id, kind }: OperationRow): boolean =>
    kind === 'refund' ? refunds.has(id) : kind === 'capture' ? isPaid : reference !== undefined
  return operations.flatMap((operation): OperationRow[] => {
    const isOwn = operation.id === settlement?.id
    if (isDone(operation) && (isOpen(operation) || (isOwn && settlement.status === 'accepted')))
      return [
        operation.status === 'accepted' ? operation : { ...operation, status: 'accepted', reason: null },
      ]
    if (!isOwn || !isOpen(operation) || operation.lease_until !== settlement.leaseUntil) return [operation]
    const { status, reason } = settlement
    return status === 'not_made' ? [] : [{ ...operation, status, reason }]
  })
}

/** What refunds take of a payment, those included that may have been made. */
function reservedBy({ refunds }: Summary, operations: readonly OperationRow[]): bigint {
  const seen = new Set(refunds.map(({ callId }) => callId))
  const inLedger = refunds.reduce((sum, one) => sum + (one.status === 'failed' ? 0n : one.amount), 0n)
  return operations
    .filter((operation) => operation.kind === 'refund' && isOpen(operation) && !seen.has(operation.id))
    .reduce((sum, { amount }) => sum + BigInt(amount ?? 0), inLedger)
}

/** Whether nothing more is expected to happen, other than what an event will tell. */
function isSettled(summary: Summary, operations: readonly OperationRow[]): boolean {
  const { status, refunds, disputes } = summary
  return (
    ENDED.has(status) &&
    !operations.some(isOpen) &&
    !refunds.some((one) => one.status === 'pending') &&
    !disputes.some((one) => one.status === 'open')
  )
}
