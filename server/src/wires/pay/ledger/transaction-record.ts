import { isoTime } from '../../../base/clock.ts'
import { displayOf, numberOf } from './amounts.ts'
import { feesOf } from './fees.ts'
import { merchantOf } from './merchant-columns.ts'
import type { ProviderName } from '../providers/provider.ts'
import type { PaymentStatus } from './state.ts'
import type { TransactionRow } from './transaction-rows.ts'

export type PaymentTransaction = {
  _id: string
  provider: ProviderName
  status: PaymentStatus
  /** The checkout session, order or payment request; absent until the provider has answered. */
  reference?: string
  amount: number
  displayAmount: string
  currency: string
  refundedAmount: number
  disputedAmount: number
  lostAmount: number
  /** To whom it belongs. */
  userId: string
  merchantReference?: string
  email?: string
  metadata?: Record<string, string>
  expiresAt?: string
  fee?: string
  net?: string
  feeCurrency?: string
  createdAt: string
  updatedAt: string
}

/** A transaction as lists and events show it. */
export const transactionOf = (row: TransactionRow): PaymentTransaction => ({
  _id: row.id,
  provider: row.provider,
  status: row.status,
  ...(row.reference !== null && { reference: row.reference }),
  amount: numberOf(BigInt(row.amount), row),
  displayAmount: displayOf(BigInt(row.amount), row),
  currency: row.currency,
  refundedAmount: numberOf(BigInt(row.refunded), row),
  disputedAmount: numberOf(BigInt(row.disputed), row),
  lostAmount: numberOf(BigInt(row.lost), row),
  ...merchantOf(row),
  ...feesOf(row),
  createdAt: isoTime(row.created_at),
  updatedAt: isoTime(row.updated_at),
})
