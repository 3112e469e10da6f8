import { errors } from '../../../base/errors.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { guarded } from '../../../providers/guard.ts'
import { CALL_MS, errorOf, REQUEST_MS } from './operations.ts'
import { closeSql, endedHere, isUnpaid } from './endings.ts'
import { payErrors, providerIn } from '../errors.ts'
import type { LedgerTransaction, Ledger } from '../ledger/ledger.ts'
import type { OperationProvider, PaymentProvider } from '../providers/provider.ts'
import type { Reconcile } from './reconcile.ts'

export type Cancellations = {
  /**
   * Cancels a payment that waits for its buyer: a session at its provider, an order and a payment request here. Money decides
   * all the same: what is paid nevertheless completes the transaction.
   *
   * @param options.steps for the batch that ends it
   * @throws NOT_FOUND, INVALID_STATE if it is paid or over, PROVIDER_NOT_CONFIGURED, PROVIDER_ERROR
   */
  cancel(id: string, options: { rowFilter: RowFilter; cause: string; steps?: readonly Step[] }): Promise<void>
}

export function createCancellations(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  {
    ledger,
    reconcile,
    providers,
    cancelledSql,
  }: {
    ledger: Ledger
    reconcile: Reconcile
    providers: ReadonlyMap<OperationProvider, PaymentProvider>
    /** The steps that publish the end of a payment request. */
    cancelledSql: (id: string) => Promise<readonly Step[]>
  },
): Cancellations {
  /** Ends the session at its provider; answers false if it had ended already. */
  async function cancelThere(transaction: LedgerTransaction, cause: string): Promise<boolean> {
    const { id, reference, provider: name } = transaction.row
    const provider = providerIn(providers, name as OperationProvider)
    if (!provider.cancel)
      throw payErrors.invalid_state({
        message: `Payments by ${provider.name} cannot be cancelled: it ends by itself.`,
        details: { provider: name },
      })
    // Before the call: whatever shows later that the session has ended, it was cancelled.
    await db.write(sql`
      update pay_transactions set cancel_requested_at = ${clock.now()}
      where id = ${id} and status = 'pending' and cancel_requested_at is null`)
    const outcome = await guarded(
      () => provider.cancel!({ transactionId: id, reference: reference! }, CALL_MS),
      { limitMs: CALL_MS, clock },
    )
    if (outcome.kind === 'accepted') return true
    const limitMs = REQUEST_MS - CALL_MS
    const { transaction: after = transaction } = await reconcile(id, { cause, repeats: false, limitMs })
    if (after.row.status === 'cancelled') return false
    requireCancellable(after)
    throw errorOf(outcome, { provider: name, transactionId: id })
  }

  return {
    async cancel(id, { rowFilter, cause, steps = [] }) {
      const transaction = await ledger.read(id)
      if (!transaction || !includesOwner(rowFilter, transaction.row.owner))
        throw errors.not_found({ message: 'There is no transaction of this id.' })
      const { row } = transaction
      if (row.status === 'cancelled') return
      requireCancellable(transaction)
      if (row.provider === 'cardpay' && !(await cancelThere(transaction, cause))) return
      const underWay = payErrors.invalid_state({
        message: 'This order is being captured: read the transaction.',
        details: { provider: row.provider },
      })
      try {
        await ledger.record(id, {
          snapshot: { entries: [endedHere(row, 'cancelled')] },
          cause,
          steps: [
            closeSql(id, clock.now(), () => underWay),
            ...(row.provider === 'onchain' ? await cancelledSql(id) : []),
            ...steps,
          ],
        })
      } catch (error) {
        // Another request may have cancelled it at the same time.
        const after = error === underWay ? await ledger.read(id) : undefined
        if (after?.row.status === 'cancelled') return
        if (after) requireCancellable(after)
        throw error
      }
    },
  }
}

function requireCancellable(transaction: LedgerTransaction): void {
  const { status, provider, reference } = transaction.row
  const refuse = (message: string) => payErrors.invalid_state({ message, details: { provider } })
  if (status !== 'pending')
    throw refuse(`This payment is ${status}: only one that waits for its buyer can be cancelled.`)
  if (!isUnpaid(transaction))
    throw refuse('The buyer has paid, and the provider has not decided about it yet.')
  if (reference === null) throw refuse('This payment is still being created: try again shortly.')
}
