import { errors, invalid } from '../../../base/errors.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Actor } from '../../../http/actor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { moneyText, numberOf } from '../ledger/amounts.ts'
import { errorOf, leaseOf, REQUEST_MS, type Operations, type ProviderOperation } from './operations.ts'
import { payErrors } from '../errors.ts'
import type { OperationProvider } from '../providers/provider.ts'
import type { LedgerTransaction, Ledger } from '../ledger/ledger.ts'
import { insertOperationSql, type OperationRow } from '../ledger/operation-rows.ts'
import { leftOf, type TransactionRow } from '../ledger/transaction-rows.ts'

/** How often a refund of all that is left is tried again because another refund was faster. */
const ROUNDS = 100

export type RefundAnswer = {
  refundId: string
  transactionId: string
  provider: OperationProvider
  status: 'pending' | 'completed' | 'failed'
  amount: number
  currency: string
  reason?: string
}

/** A refund to make. */
export type RefundRequest = {
  /** The same one again does not refund again. */
  id: string
  transactionId: string
  provider: OperationProvider
  /** Reads the amount by the transaction's currency, in minor units; undefined: all that is left. */
  amount: ((row: TransactionRow) => bigint) | undefined
  /** Must be that of the transaction, in any case. */
  currency: string | undefined
  /** Why, for the provider and the books. */
  reason: string | undefined
  rowFilter: RowFilter
  cause: string
  /** Who gives it back, for the audit log. */
  actor: Actor
}

export type Refunds = {
  /**
   * Gives back a part of a payment, or all that is left. The amount is reserved before the provider is called, in one
   * statement, so refunds at the same time never give back more than was paid; a definite refusal gives it back.
   *
   * @throws NOT_FOUND, VALIDATION_ERROR, INVALID_STATE, AMOUNT_EXCEEDED, PROVIDER_ERROR
   */
  refund(refund: RefundRequest): Promise<RefundAnswer>
}

export function createRefunds(
  { db, clock, processes, audit }: Pick<WireContext, 'db' | 'clock' | 'processes' | 'audit'>,
  {
    ledger,
    operations,
    isConfigured,
    recheckSql,
  }: {
    ledger: Ledger
    operations: Operations
    /** Throws PROVIDER_NOT_CONFIGURED. */
    isConfigured: (provider: OperationProvider) => void
    /** The step that has an operation rechecked later. */
    recheckSql: (transactionId: string, operationId: string) => Step
  },
): Refunds {
  /**
   * Reserves an amount that `row` has left, and inserts the row of the operation; answers undefined if another refund or the
   * provider has changed what is left. SQL does not add amounts of 256 bits: the statement compares what the sum was made of.
   */
  async function reserve(
    { id, reason, actor }: RefundRequest,
    row: TransactionRow,
    amount: bigint,
  ): Promise<ProviderOperation | undefined> {
    const lease = leaseOf({ clock, processes })
    try {
      await db.batch([
        requireRow(
          sql`update pay_transactions set
              reserved = ${(BigInt(row.reserved) + amount).toString()}, version = version + 1, is_settled = 0, updated_at = ${lease.now}
            where id = ${row.id} and status in ('completed', 'partially_refunded', 'disputed')
              and captured = ${row.captured} and reserved = ${row.reserved}
              and disputed = ${row.disputed} and lost = ${row.lost} returning id`,
          () => notReserved,
        ),
        requireRow(
          insertOperationSql(
            {
              id,
              transaction_id: row.id,
              kind: 'refund',
              amount,
              ...(reason !== undefined && { refund_reason: reason }),
            },
            lease,
          ),
          () => notReserved,
        ),
        recheckSql(row.id, id),
        audit.entrySql(actor, {
          action: 'payment.refunded',
          target: `payment:${row.id}`,
          after: { refundId: id, amount: moneyText(amount, row) },
          reason,
        }),
      ])
      return {
        id,
        kind: 'refund',
        amount: amount.toString(),
        refund_reason: reason ?? null,
        lease_until: lease.leaseUntil,
      }
    } catch (error) {
      if (error !== notReserved) throw error
      return undefined
    }
  }

  async function find(
    transactionId: string,
    provider: OperationProvider,
    rowFilter: RowFilter,
  ): Promise<LedgerTransaction> {
    const transaction = await ledger.read(transactionId)
    if (
      !transaction ||
      transaction.row.provider !== provider ||
      !includesOwner(rowFilter, transaction.row.owner)
    )
      throw errors.not_found({ message: `There is no ${provider} transaction ${transactionId}.` })
    return transaction
  }

  /** Reserves what is to be refunded, unless this refund was begun before: without an operation then. */
  async function begin(
    refund: RefundRequest,
  ): Promise<{ transaction: LedgerTransaction; operation: ProviderOperation | undefined }> {
    const { id, transactionId, provider, currency, rowFilter } = refund
    for (let round = 1; round <= ROUNDS; round++) {
      const transaction = await find(transactionId, provider, rowFilter)
      const { row, operations: earlier, summary } = transaction
      if (
        earlier.some((operation) => operation.id === id) ||
        summary.refunds.some(({ callId }) => callId === id)
      )
        return { transaction, operation: undefined }
      if (currency !== undefined && currency.toUpperCase() !== row.currency)
        throw invalid({ path: '/body/currency', message: `must be ${row.currency}, as the payment is` })
      refuseState(row)
      const remaining = leftOf(row)
      const amount = refund.amount?.(row) ?? remaining
      if (amount <= 0n || amount > remaining) throw exceeded(row, remaining)
      const operation = await reserve(refund, row, amount)
      if (operation) return { transaction, operation }
    }
    throw errors.unavailable({ retryAfter: 1 })
  }

  return {
    async refund(refund) {
      const { id, transactionId, provider, cause } = refund
      const deadline = clock.elapsed() + REQUEST_MS
      isConfigured(provider)
      const { transaction, operation } = await ledger.inTurn(transactionId, () => begin(refund))
      // The same request was made before, and its answer was lost.
      if (!operation) return repeat(transaction, id)
      const { transaction: after, failure } = await operations.make(transaction, operation, {
        cause,
        deadline,
      })
      if (failure && failure.kind !== 'unknown') throw errorOf(failure, { provider, transactionId })
      return answerOf(after, operation)
    },
  }

  function repeat(transaction: LedgerTransaction, id: string): RefundAnswer {
    const operation = transaction.operations.find((one) => one.id === id)
    if (operation?.status === 'refused')
      throw payErrors.provider_error({
        message: `The provider refused this refund: ${operation.reason ?? ''}. Send a new Idempotency-Key to try again.`,
        details: { provider: transaction.row.provider },
      })
    return answerOf(transaction, {
      id,
      amount: operation?.amount ?? null,
      refund_reason: operation?.refund_reason ?? null,
    })
  }
}

const notReserved = errors.unavailable()

function refuseState(row: TransactionRow): void {
  const { status, provider } = row
  if (status === 'completed' || status === 'partially_refunded' || status === 'refunded') return
  // A dispute about a part leaves the rest.
  if (status === 'disputed' && leftOf(row) > 0n) return
  throw payErrors.invalid_state({
    message: `This transaction is ${status}: only what is paid, and not disputed, can be refunded.`,
    details: { provider },
  })
}

const exceeded = (row: TransactionRow, remaining: bigint) =>
  payErrors.amount_exceeded({
    message:
      remaining <= 0n
        ? 'Nothing is left of this payment to refund: all of it is refunded, or refunds of it are pending.'
        : `Only ${moneyText(remaining, row)} of this payment is left to refund${takenText(row)}.`,
    details: { provider: row.provider, left: remaining <= 0n ? 0 : numberOf(remaining, row) },
  })

/** Why less is left than was not refunded: `: 1.00 EUR is disputed`. */
function takenText(row: TransactionRow): string {
  const withheldAmounts = [row.disputed, row.lost].map(BigInt)
  const words = ['disputed', 'lost'].flatMap((word, at) =>
    withheldAmounts[at]! > 0n ? `${moneyText(withheldAmounts[at]!, row)} is ${word}` : [],
  )
  return words.length === 0 ? '' : `: ${words.join(', ')}`
}

/** The answer for a refund by what the ledger has. */
function answerOf(
  { row, summary }: LedgerTransaction,
  operation: Pick<OperationRow, 'id' | 'amount' | 'refund_reason'>,
): RefundAnswer {
  const refundEntry = summary.refunds.find(({ callId }) => callId === operation.id)
  return {
    refundId: operation.id,
    transactionId: row.id,
    provider: row.provider as OperationProvider,
    status: refundEntry?.status ?? 'pending',
    amount: numberOf(refundEntry?.amount ?? BigInt(operation.amount!), row),
    currency: row.currency,
    ...(operation.refund_reason !== null && { reason: operation.refund_reason }),
  }
}
