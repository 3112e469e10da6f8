import type { ApiError } from '../../../base/errors.ts'
import { invalid } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { attempt, type Attempt } from '../../../providers/attempt.ts'
import { isEntry, isSnapshot } from '../providers/answers.ts'
import { payErrors } from '../errors.ts'
import { isOpen, type LedgerTransaction, type Ledger } from '../ledger/ledger.ts'
import { toldSql } from '../ledger/purchases.ts'
import type { NotAccepted, Outcome } from '../../../providers/outcome.ts'
import type { LedgerEntry, PaymentProvider, PaymentSnapshot } from '../providers/provider.ts'
import { releaseOperationsSql, type OperationLease, type OperationRow } from '../ledger/operation-rows.ts'
import type { TransactionRow } from '../ledger/transaction-rows.ts'

/** Milliseconds for one call of a provider, and for a request with all of its calls. */
export const CALL_MS = 10_000
export const REQUEST_MS = 15_000
/** When a caller tries again what was not done, if the provider does not say. */
const RETRY_MS = 1_000
/** A running operation is not repeated before this many milliseconds: longer than any call, and than a process may stall. */
export const LEASE_MS = 20_000

export const leaseOf = ({ clock, processes }: Pick<WireContext, 'clock' | 'processes'>): OperationLease => {
  const now = clock.now()
  return { now, leaseUntil: now + LEASE_MS, process: processes.id }
}

/** How an operation ended: the transaction after it, and the outcome if the provider did not accept it. */
export type OperationResult = { transaction: LedgerTransaction; failure: NotAccepted | undefined }

type Done = { snapshot: PaymentSnapshot } | { entry: LedgerEntry }

/** An operation whose row exists, with the lease of who carries it out. */
export type ProviderOperation = Pick<OperationRow, 'id' | 'kind' | 'amount' | 'refund_reason' | 'lease_until'>

export type Operations = {
  /**
   * Captures an order, or gives money back, by an operation whose row exists already as running. Its outcome is recorded; an
   * unknown one is rechecked until the deadline. The row of an operation that was certainly not made is deleted, with what it
   * reserved, so that the same operation can be made again.
   *
   * @param options.isRepeated whether the operation was made before with an unknown outcome: a refusal now does not tell whether
   *   the first one was carried out
   * @param options.deadline by `clock.elapsed()`
   */
  make(
    transaction: LedgerTransaction,
    operation: ProviderOperation,
    options: { cause: string; deadline: number; isRepeated?: boolean },
  ): Promise<OperationResult>
}

export function createOperations(
  { clock, log, processes }: Pick<WireContext, 'clock' | 'log' | 'processes'>,
  { ledger, providerOf }: { ledger: Ledger; providerOf: (row: TransactionRow) => PaymentProvider },
): Operations {
  function perform(
    provider: PaymentProvider,
    row: TransactionRow,
    operation: ProviderOperation,
    limitMs: number,
  ): Promise<Outcome<Done>> {
    const subject = { id: operation.id, transactionId: row.id, reference: row.reference! }
    if (operation.kind === 'capture') return provider.capture!(subject, limitMs)
    const money = { amount: BigInt(operation.amount!), currency: row.currency }
    const reason = operation.refund_reason === null ? {} : { reason: operation.refund_reason }
    return provider.refund({ ...subject, ...money, ...reason, paymentId: row.payment_id! }, limitMs)
  }

  processes.onEnd((ended) => [releaseOperationsSql(ended)])

  return {
    async make(transaction, operation, { cause, deadline, isRepeated = false }) {
      const { row } = transaction
      const provider = providerOf(row)
      const record = (
        change: Omit<Parameters<Ledger['record']>[1], 'cause'>,
      ): Promise<LedgerTransaction | undefined> => ledger.record(row.id, { cause, ...change })
      const steps: Attempt<Done, OperationResult> = {
        // The row of the operation was written with its reservation.
        begin: async () => true,
        call: (limitMs) => perform(provider, row, operation, limitMs),
        async settle(outcome, isRechecked) {
          const settlement = { id: operation.id, leaseUntil: operation.lease_until }
          if (outcome.kind === 'accepted') {
            const snapshot = 'snapshot' in outcome ? outcome.snapshot : { entries: [outcome.entry] }
            const after = await record({
              snapshot,
              operation: { ...settlement, status: 'accepted', reason: null },
              steps: toldSql(transaction, snapshot),
            })
            return { transaction: after ?? transaction, failure: undefined }
          }
          // A repetition that was not done says nothing about the first time.
          const { kind, reason } = outcome
          const failure: NotAccepted =
            kind === 'retry' && (isRechecked || isRepeated) ? { kind: 'unknown', reason } : outcome
          const after = await record({
            operation: { ...settlement, status: STATUS_OF[failure.kind], reason },
          })
          return {
            transaction: after ?? transaction,
            failure: after ? failureNow(after, operation, failure) : failure,
          }
        },
        retrieve: isRepeated
          ? undefined
          : async (limitMs) => {
              const { id, reference, payment_id, created_at } = row
              const subject = {
                transactionId: id,
                ...(reference !== null && { reference }),
                ...(payment_id !== null && { paymentId: payment_id }),
                since: created_at,
              }
              const outcome = await provider.retrieve(subject, limitMs)
              if (outcome.kind !== 'accepted') return { kind: 'unknown', reason: outcome.reason }
              return isDone(operation, outcome.snapshot)
                ? outcome
                : { kind: 'unknown', reason: 'the provider does not show yet that it was done' }
            },
      }
      const result = await attempt(steps, {
        clock,
        log,
        about: { transaction: row.id, call: operation.id, kind: operation.kind, provider: provider.name },
        limitMs: Math.min(CALL_MS, Math.max(0, deadline - clock.elapsed())),
        deadline,
        isAccepted: ({ snapshot, entry }) => isSnapshot(snapshot) || isEntry(entry),
      })
      return result!
    },
  }
}

const STATUS_OF = { retry: 'not_made', refused: 'refused', unknown: 'unknown' } as const

/** The failure of an operation by what the ledger has of it: another process may have made it meanwhile, or make it now. */
function failureNow(
  { operations }: LedgerTransaction,
  { id }: ProviderOperation,
  failure: NotAccepted,
): NotAccepted | undefined {
  const operation = operations.find((one) => one.id === id)
  if (operation?.status === 'accepted') return undefined
  return operation && isOpen(operation) ? { kind: 'unknown', reason: failure.reason } : failure
}

/** Whether a snapshot shows what an operation was to do. */
const isDone = ({ id, kind }: Pick<OperationRow, 'id' | 'kind'>, { entries }: PaymentSnapshot): boolean =>
  kind === 'refund'
    ? entries.some((entry) => entry.kind === 'refund' && entry.callId === id)
    : entries.some((entry) => entry.kind === 'charge')

/** The error that a caller gets for an operation that was not accepted. */
export function errorOf(
  failure: NotAccepted,
  {
    provider,
    transactionId,
    parameters = {},
  }: { provider: string; transactionId: string; parameters?: Readonly<Record<string, string>> },
): ApiError {
  const { kind, reason } = failure
  const details = { provider }
  if (kind === 'refused' && failure.code === 'parameter') {
    const parameter = failure.details?.['parameter'] ?? ''
    const path = Object.entries(parameters).find(([word]) => parameter.includes(word))?.[1] ?? '/body'
    return invalid({ path, message: `the provider refuses it: ${reason}` })
  }
  if (kind === 'refused' && failure.code === 'state')
    return payErrors.invalid_state({ message: `The provider refuses it: ${reason}`, details })
  if (kind === 'refused')
    return payErrors.provider_error({ message: `The provider refused it: ${reason}`, details })
  if (kind === 'retry')
    return payErrors.provider_error({
      message: `Nothing was done: ${reason}. Send the same request again.`,
      details,
      retryAfter: Math.ceil((failure.afterMs ?? RETRY_MS) / 1000),
    })
  return payErrors.provider_error({
    message: `The provider did not say whether it was done: ${reason}. GET /pay/transactions/${transactionId} shows the outcome once it is known.`,
    details: { ...details, transactionId },
  })
}
