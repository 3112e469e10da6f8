import { errors } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { guarded } from '../../../providers/guard.ts'
import type { NotAccepted } from '../../../providers/outcome.ts'
import { isSnapshot } from '../providers/answers.ts'
import { CALL_MS, leaseOf, type Operations } from './operations.ts'
import { closeSql, endedHere, isOverdue } from './endings.ts'
import { isOpen, type LedgerTransaction, type Ledger } from '../ledger/ledger.ts'
import { toldSql } from '../ledger/purchases.ts'
import type {
  OperationProvider,
  LedgerEntry,
  PaymentProvider,
  PaymentSubject,
} from '../providers/provider.ts'
import { claimOperationSql } from '../ledger/operation-rows.ts'
import type { TransactionRow } from '../ledger/transaction-rows.ts'

const HOUR_MS = 3_600_000
/** How long an unpaid session or order lives at its provider: one that is not found before that may be elsewhere. */
const SESSION_LIVES_MS: Readonly<Record<OperationProvider, number>> = {
  cardpay: 24 * HOUR_MS,
  walletpay: 3 * HOUR_MS,
}

const NEVER_SHOWN = { status: 'refused', reason: 'the provider never showed it' } as const

export type Reconciled = {
  /** The transaction afterwards; undefined if there is none. */
  transaction: LedgerTransaction | undefined
  /** Why the provider did not say what it has. */
  failure: NotAccepted | undefined
}

/**
 * Brings a transaction up to what its provider has: fetches everything about it, and then, if it may, repeats operations of
 * unknown outcome that left no trace, under the same keys. One that may still be under way is never repeated.
 *
 * @param options.objects objects that only an event names
 * @param options.repeats whether operations may be repeated
 * @param options.limitMs milliseconds for fetching. Default: those of a call
 */
export type Reconcile = (
  transactionId: string,
  options: { cause: string; objects?: PaymentSubject['objects']; repeats: boolean; limitMs?: number },
) => Promise<Reconciled>

export function createReconcile(
  { db, clock, log, processes }: Pick<WireContext, 'db' | 'clock' | 'log' | 'processes'>,
  {
    ledger,
    operations,
    providers,
  }: { ledger: Ledger; operations: Operations; providers: ReadonlyMap<string, PaymentProvider> },
): Reconcile {
  /** What the provider has, as the change of the ledger. */
  async function retrieve(
    transaction: LedgerTransaction,
    provider: PaymentProvider,
    objects: NonNullable<PaymentSubject['objects']>,
    limitMs: number,
  ): Promise<
    readonly LedgerEntry[] | NotAccepted | { snapshot: Parameters<Ledger['record']>[1]['snapshot'] }
  > {
    const { row } = transaction
    const outcome = await guarded(
      () =>
        provider.retrieve(
          {
            transactionId: row.id,
            ...(row.reference !== null && { reference: row.reference }),
            ...(row.payment_id !== null && { paymentId: row.payment_id }),
            objects: [...objects, ...unsettledObjects(transaction)],
            since: row.created_at,
          },
          limitMs,
        ),
      { limitMs, clock, isAccepted: ({ snapshot }) => isSnapshot(snapshot) },
    )
    if (outcome.kind === 'accepted') {
      const { snapshot } = outcome
      if (row.reference === null || row.reference === snapshot.reference)
        return { snapshot: { ...snapshot, entries: snapshot.entries.map((entry) => asEnded(row, entry)) } }
      return { kind: 'refused', reason: `the provider answered with ${snapshot.reference}, another session` }
    }
    if (!isExpired(transaction, outcome)) return outcome
    const objectId = row.reference ?? row.id
    return [{ kind: 'session', objectId, status: 'expired', amount: 0n, currency: row.currency }]
  }

  /** A session that its provider has no more, or that it never had. */
  function isExpired({ row, entries }: LedgerTransaction, failure: NotAccepted): boolean {
    const isOver = clock.now() - row.created_at >= SESSION_LIVES_MS[row.provider as OperationProvider]
    if (row.status !== 'pending' || entries.length > 0 || !isOver) return false
    return row.reference === null || (failure.kind === 'refused' && failure.code === 'gone')
  }

  /** Ends an order whose time is over, unless it is being captured. */
  async function expireOverdue(transaction: LedgerTransaction, cause: string): Promise<LedgerTransaction> {
    if (!isOverdue(transaction, clock.now())) return transaction
    const { row } = transaction
    try {
      const change = { snapshot: { entries: [endedHere(row, 'expired')] }, cause }
      const steps = [closeSql(row.id, clock.now(), () => captureUnderWay)]
      return (await ledger.record(row.id, { ...change, steps })) ?? transaction
    } catch (error) {
      if (error !== captureUnderWay) throw error
      return transaction
    }
  }

  return async (id, { cause, objects = [], repeats, limitMs = CALL_MS }) => {
    const before = await ledger.read(id)
    const provider = before && providers.get(before.row.provider)
    if (!before) return { transaction: undefined, failure: undefined }
    // What a chain shows is written when it shows it.
    if (before.row.provider === 'onchain') return { transaction: before, failure: undefined }
    if (!provider)
      return { transaction: before, failure: { kind: 'retry', reason: 'it is not configured any more' } }
    const outcome = await retrieve(before, provider, objects, Math.min(limitMs, CALL_MS))
    if ('kind' in outcome) {
      log.warn({ transaction: id, provider: provider.name, ...outcome }, 'a payment could not be looked up')
      return { transaction: await expireOverdue(before, cause), failure: outcome }
    }
    const isFound = 'snapshot' in outcome
    const createOperation = before.operations.find((operation) => operation.id === id)
    let transaction = await ledger.record(id, {
      snapshot: isFound ? outcome.snapshot! : { entries: outcome },
      cause,
      steps: isFound ? toldSql(before, outcome.snapshot!) : [],
      // A session that expired before it was ever seen has nothing more to tell.
      ...(!isFound &&
        createOperation && { operation: { id, leaseUntil: createOperation.lease_until, ...NEVER_SHOWN } }),
    })
    if (repeats)
      for (const operation of transaction?.operations ?? []) {
        // Nobody waits any more for the address of a session that was never created.
        if (!isOpen(operation) || operation.kind === 'create') continue
        const [claim] = await db.write(claimOperationSql(operation.id, leaseOf({ clock, processes })))
        if (!claim) continue
        const deadline = clock.elapsed() + CALL_MS
        const again = { ...operation, ...claim }
        transaction = (await operations.make(transaction!, again, { cause, deadline, isRepeated: true }))
          .transaction
      }
    return { transaction: transaction && (await expireOverdue(transaction, cause)), failure: undefined }
  }
}

const captureUnderWay = errors.unavailable()

/** Stripe does not tell whether a session ended by itself or because the merchant cancelled it; our row does. */
const asEnded = ({ cancel_requested_at: requestedAt }: TransactionRow, entry: LedgerEntry): LedgerEntry =>
  requestedAt !== null && entry.kind === 'session' && entry.status === 'expired'
    ? { ...entry, status: 'cancelled' }
    : entry

/** Objects whose state may change, and that the provider does not show with the payment. */
const unsettledObjects = ({ summary }: LedgerTransaction): NonNullable<PaymentSubject['objects']> => [
  ...summary.refunds.flatMap((one) =>
    one.status === 'pending' ? [{ kind: 'refund' as const, id: one.objectId }] : [],
  ),
  ...summary.disputes.flatMap((one) =>
    one.status === 'open' || one.status === 'inquiry' ? [{ kind: 'dispute' as const, id: one.objectId }] : [],
  ),
]
