import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { errorOf, leaseOf, REQUEST_MS, type Operations, type ProviderOperation } from './operations.ts'
import { isOverdue } from './endings.ts'
import { payErrors } from '../errors.ts'
import { isOpen, type LedgerTransaction, type Ledger } from '../ledger/ledger.ts'
import type { Reconcile } from './reconcile.ts'
import { claimOperationSql, insertOperationSql } from '../ledger/operation-rows.ts'
import { selectTransactionsSql } from '../ledger/transaction-rows.ts'

const WAIT_MS = 200

export type Captured = { orderId: string; status: 'COMPLETED' | 'PENDING'; transactionId: string }

export type Captures = {
  /**
   * Captures an approved order. An order that is captured already is answered as the first time; of several requests at
   * the same time one captures, and all answer its outcome.
   *
   * @throws NOT_FOUND, INVALID_STATE if nobody approved it, PAYMENT_DECLINED, PROVIDER_ERROR
   */
  capture(orderId: string, options: { rowFilter: RowFilter; cause: string }): Promise<Captured>
}

export function createCaptures(
  { db, clock, processes }: Pick<WireContext, 'db' | 'clock' | 'processes'>,
  { ledger, operations, reconcile }: { ledger: Ledger; operations: Operations; reconcile: Reconcile },
): Captures {
  /** The answer, if it follows from what is known; undefined if the order is to be captured. */
  function answerOf({ row, summary }: LedgerTransaction): Captured | undefined {
    const answer = { orderId: row.reference!, transactionId: row.id }
    if (summary.captured > 0n) return { ...answer, status: 'COMPLETED' }
    if (summary.isChargePending) return { ...answer, status: 'PENDING' }
    if (row.status !== 'pending')
      throw payErrors.invalid_state({
        message: `This order is ${row.status}: create a new one.`,
        details: detailsOf(),
      })
    if (summary.mismatch)
      throw payErrors.invalid_state({
        message: 'PayPal took another amount than this order is for: see the history of the transaction.',
        details: detailsOf(),
      })
    return undefined
  }

  /** Carries the operation out, unless another request does; undefined then. */
  async function make(
    transaction: LedgerTransaction,
    cause: string,
    deadline: number,
  ): Promise<Captured | undefined> {
    const { row } = transaction
    const open = transaction.operations.find((operation) => operation.kind === 'capture' && isOpen(operation))
    const lease = leaseOf({ clock, processes })
    let operation: ProviderOperation
    if (open) {
      // The outcome of an earlier operation is unknown, and the order was just rechecked: the same key again.
      const [claim] = await db.write(claimOperationSql(open.id, lease))
      if (!claim) return undefined
      operation = { ...open, ...claim }
    } else {
      operation = {
        id: newId(lease.now),
        kind: 'capture',
        amount: null,
        refund_reason: null,
        lease_until: lease.leaseUntil,
      }
      const inserted = await db.write(
        insertOperationSql({ id: operation.id, kind: 'capture', transaction_id: row.id }, lease),
      )
      if (inserted.length === 0) return undefined
    }
    const isRepeated = open !== undefined
    const { transaction: after, failure } = await operations.make(transaction, operation, {
      cause,
      deadline,
      isRepeated,
    })
    const answer = answerOf(after)
    if (answer) return answer
    throw failure ? captureError(failure, after) : errors.unavailable()
  }

  return {
    async capture(orderId, { rowFilter, cause }) {
      const deadline = clock.elapsed() + REQUEST_MS
      const [row] = await db.all(
        selectTransactionsSql(sql`provider = 'walletpay' and reference = ${orderId}`),
      )
      if (!row || !includesOwner(rowFilter, row.owner))
        throw errors.not_found({ message: `There is no order ${JSON.stringify(orderId.slice(0, 64))}.` })
      for (;;) {
        let transaction = (await ledger.read(row.id))!
        const isUnknown = transaction.operations.some(
          (operation) => operation.kind === 'capture' && isOpen(operation),
        )
        let isRechecked = !isUnknown
        if (transaction.summary.isChargePending || isUnknown) {
          const limitMs = deadline - clock.elapsed()
          const reconciliation = await reconcile(row.id, { cause, repeats: false, limitMs })
          if (reconciliation.transaction) transaction = reconciliation.transaction
          isRechecked = reconciliation.failure === undefined
        }
        if (isOverdue(transaction, clock.now())) {
          const { transaction: current } = await reconcile(row.id, { cause, repeats: false })
          transaction = current ?? transaction
        }
        const knownAnswer = answerOf(transaction)
        if (knownAnswer) return knownAnswer
        // What may have been captured is not captured again before PayPal has said what it has.
        const answer = isRechecked ? await make(transaction, cause, deadline) : undefined
        if (answer) return answer
        if (clock.elapsed() + WAIT_MS >= deadline)
          throw errorOf(
            { kind: 'unknown', reason: 'an earlier call is not decided yet' },
            { provider: 'walletpay', transactionId: row.id },
          )
        await clock.sleep(WAIT_MS)
      }
    },
  }
}

const detailsOf = (url?: string | null): Record<string, unknown> => ({
  provider: 'walletpay',
  ...(typeof url === 'string' && { approvalUrl: url }),
})

function captureError(failure: Parameters<typeof errorOf>[0], { row }: LedgerTransaction) {
  const subject = { provider: 'walletpay', transactionId: row.id }
  if (failure.kind !== 'refused') return errorOf(failure, subject)
  const details = detailsOf(failure.details?.['url'] ?? row.url)
  switch (failure.code) {
    case 'declined':
      return payErrors.payment_declined({
        message: `The payment was declined: ${failure.reason}. The buyer can choose another way to pay at details.approvalUrl.`,
        details,
      })
    case 'not_approved':
      return payErrors.invalid_state({
        message: 'The buyer has not approved this order: send the buyer to details.approvalUrl first.',
        details,
      })
    case 'gone':
      return payErrors.invalid_state({
        message: 'PayPal does not know this order any more: create a new one.',
        details,
      })
    case undefined:
    default:
      return errorOf(failure, subject)
  }
}
