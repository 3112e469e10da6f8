// The state of an order at the wallet provider, as it is stored. Amounts are minor units as text, times milliseconds since 1970.

/** How the buyer pays; only `balance` pays at once. */
export const FUNDINGS = ['balance', 'declined', 'pending'] as const
export type Funding = (typeof FUNDINGS)[number]

export type OrderItem = {
  name: string
  unitAmount: string
  tax?: string
  quantity: string
  description?: string
  sku?: string
  category?: string
}

/** What the merchant asked for. */
export type OrderRequest = {
  referenceId: string
  customId?: string
  invoiceId?: string
  description?: string
  softDescriptor?: string
  currency: string
  amount: string
  /** Parts of the amount, by PayPal's name: `item_total`, `shipping`. */
  breakdown?: Readonly<Record<string, string>>
  items?: readonly OrderItem[]
  returnUrl?: string
  cancelUrl?: string
  brandName?: string
  /** Whether the buyer's address is the one that the goods go to. */
  hasShipping?: boolean
  /** Whether it names the wallet as payment source: such an order waits for `PAYER_ACTION_REQUIRED`. */
  isWalletOrder: boolean
}

export type Capture = {
  id: string
  status: 'COMPLETED' | 'PENDING' | 'DECLINED'
  amount: string
  fee: string
  createdAt: number
  updatedAt: number
}

export type PaypalRefund = {
  id: string
  status: 'PENDING' | 'COMPLETED' | 'FAILED'
  amount: string
  customId?: string
  invoiceId?: string
  note?: string
  createdAt: number
  updatedAt: number
}

export type PaypalDispute = {
  id: string
  status: 'WAITING_FOR_SELLER_RESPONSE' | 'UNDER_REVIEW' | 'RESOLVED'
  reason: string
  amount: string
  outcome?: 'RESOLVED_SELLER_FAVOUR' | 'RESOLVED_BUYER_FAVOUR' | 'ACCEPTED'
  createdAt: number
  updatedAt: number
}

export type PaypalOrder = {
  id: string
  status: 'CREATED' | 'PAYER_ACTION_REQUIRED' | 'APPROVED' | 'COMPLETED' | 'VOIDED'
  request: OrderRequest
  /** The buyer's choice. */
  funding?: Funding
  /** Whether that choice was declined. */
  wasDeclined: boolean
  capture?: Capture
  /** Captures that were declined before. */
  declined: readonly Capture[]
  refunds: readonly PaypalRefund[]
  dispute?: PaypalDispute
  /** The payment was taken back without a dispute. */
  reversal?: PaypalRefund
  createdAt: number
  updatedAt: number
  approvedAt?: number
}

const HOUR_MS = 3_600_000
const UNAPPROVED_MS = 3 * HOUR_MS
const APPROVED_MS = 72 * HOUR_MS

/** Whether PayPal no longer knows an order: one that was not approved or captured in time. */
export function isForgotten({ status, createdAt, approvedAt }: PaypalOrder, now: number): boolean {
  if (status === 'COMPLETED') return false
  return approvedAt === undefined ? now - createdAt >= UNAPPROVED_MS : now - approvedAt >= APPROVED_MS
}

const sum = (amounts: readonly { amount: string }[]): bigint =>
  amounts.reduce((total, { amount }) => total + BigInt(amount), 0n)

/** What was given back by refunds that are completed, in minor units. */
export const refundedOf = ({ refunds }: PaypalOrder): bigint =>
  sum(refunds.filter(({ status }) => status === 'COMPLETED'))

/** Whether a dispute keeps its amount away from the merchant: until it is won. */
const takes = ({ outcome }: PaypalDispute): boolean => outcome !== 'RESOLVED_SELLER_FAVOUR'

/** What can still be refunded, in minor units: refunds in progress count. */
export const refundableOf = ({ capture, refunds, dispute }: PaypalOrder): bigint =>
  capture?.status === 'COMPLETED'
    ? BigInt(capture.amount) -
      sum(refunds.filter(({ status }) => status !== 'FAILED')) -
      sum(dispute && takes(dispute) ? [dispute] : [])
    : 0n

/** The capture's status as PayPal shows it: refunds change it. */
export function captureStatusOf(order: PaypalOrder, { id, status, amount }: Capture): string {
  if (status !== 'COMPLETED' || id !== order.capture?.id) return status
  if (order.reversal) return 'REFUNDED'
  const refunded = refundedOf(order)
  if (refunded === 0n) return status
  return refunded < BigInt(amount) ? 'PARTIALLY_REFUNDED' : 'REFUNDED'
}

/** What the merchant has by an order, in minor units: the money of an open dispute is on hold. */
export function fundsOf(order: PaypalOrder): { available: bigint; onHold: bigint } {
  const { capture, refunds, reversal, dispute } = order
  if (capture?.status !== 'COMPLETED') return { available: 0n, onHold: 0n }
  const net =
    BigInt(capture.amount) -
    BigInt(capture.fee) -
    sum(refunds.filter(({ status }) => status !== 'FAILED')) -
    BigInt(reversal?.amount ?? 0)
  if (!dispute || !takes(dispute)) return { available: net, onHold: 0n }
  const disputed = BigInt(dispute.amount)
  return { available: net - disputed, onHold: dispute.status === 'RESOLVED' ? 0n : disputed }
}
