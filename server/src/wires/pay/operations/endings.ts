import type { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { LedgerTransaction } from '../ledger/ledger.ts'
import type { LedgerEntry } from '../providers/provider.ts'
import type { TransactionRow } from '../ledger/transaction-rows.ts'

/** How a payment that nobody has paid ended here, and not at its provider. */
export const endedHere = (
  { id, reference, currency }: TransactionRow,
  status: 'expired' | 'cancelled',
): LedgerEntry => ({ kind: 'session', objectId: reference ?? id, status, amount: 0n, currency })

/** Whether nothing shows that the buyer has paid. */
export const isUnpaid = ({ row, summary }: LedgerTransaction): boolean =>
  row.status === 'pending' && !summary.isChargePending && summary.mismatch === undefined

/** Whether an order is over that PayPal still knows: nothing is taken of it without a capture, so this end is ours. */
export const isOverdue = (transaction: LedgerTransaction, now: number): boolean => {
  const { provider, expires_at: expiresAt } = transaction.row
  return provider === 'walletpay' && expiresAt !== null && expiresAt <= now && isUnpaid(transaction)
}

/**
 * The step that takes the place of the one capture that an order has, so that of a capture and an end exactly one is done.
 *
 * @param otherwise makes the error if a capture is under way or done
 */
export const closeSql = (transactionId: string, now: number, otherwise: () => ApiError): Step =>
  requireRow(
    sql`insert into pay_calls (id, transaction_id, kind, amount, status, lease_until, reason, created_at)
        values (${newId(now)}, ${transactionId}, 'capture', null, 'accepted', 0, 'ended here', ${now})
        on conflict do nothing returning id`,
    otherwise,
  )
