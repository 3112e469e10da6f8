// What can happen to an order. Each step is a pure function of the order: it returns the order afterwards, and what the
// provider reports of it. A step that is not possible throws PayPal's own error.
import { unprocessable, type Link } from './errors.ts'
import type { EventType } from './events.ts'
import { newDisputeId, newObjectId } from './ids.ts'
import {
  refundableOf,
  type Capture,
  type PaypalDispute,
  type Funding,
  type PaypalOrder,
  type PaypalRefund,
} from './order.ts'

/** What an event is about: the order, or an object of it. */
export type PaypalReport = {
  type: EventType
  about: 'order' | 'approval' | Capture | PaypalRefund | PaypalDispute
}

export type OrderStep = {
  order: PaypalOrder
  reports: readonly PaypalReport[]
  /** Ids of new objects, by which the order is found. */
  objects?: readonly string[]
  /** An invoice id that this step uses up. */
  invoice?: string | undefined
  /** What the caller is refused with although the order has changed. */
  refusal?: Error
}

/** Per hundred of the captured amount. The fee is not given back by refunds. */
const FEE_PERCENT = 3n

const touch = (order: PaypalOrder, now: number, changes: Partial<PaypalOrder>): PaypalOrder => ({
  ...order,
  ...changes,
  updatedAt: Math.max(now, order.updatedAt + 1),
})

const notPossible = (what: string): Error => unprocessable('NOT_SUPPORTED', what)

/** The buyer approves with a way to pay; again as long as nothing is captured. */
export function approve(order: PaypalOrder, funding: Funding, now: number): OrderStep {
  if (order.status === 'COMPLETED' || order.status === 'VOIDED')
    throw notPossible('The order is over: create another one.')
  const approved = touch(order, now, { status: 'APPROVED', funding, wasDeclined: false, approvedAt: now })
  return { order: approved, reports: [{ type: 'CHECKOUT.ORDER.APPROVED', about: 'order' }] }
}

/** An order that is not paid is given up. */
export function voidOrder(order: PaypalOrder, now: number): OrderStep {
  if (order.status === 'COMPLETED' || order.status === 'VOIDED') throw notPossible('The order is over.')
  return {
    order: touch(order, now, { status: 'VOIDED' }),
    reports:
      order.status === 'APPROVED' ? [{ type: 'CHECKOUT.PAYMENT-APPROVAL.REVERSED', about: 'approval' }] : [],
  }
}

/** @param approvalLink where the buyer chooses another way to pay */
export function capture(order: PaypalOrder, now: number, approvalLink: Link): OrderStep {
  if (order.status === 'COMPLETED')
    throw unprocessable('ORDER_ALREADY_CAPTURED', 'The order is captured already.')
  if (order.status === 'PAYER_ACTION_REQUIRED' && order.wasDeclined)
    throw unprocessable('PAYER_ACTION_REQUIRED', 'The payer must choose another way to pay.', {
      links: [{ ...approvalLink, rel: 'payer-action' }],
    })
  if (order.status !== 'APPROVED')
    throw unprocessable('ORDER_NOT_APPROVED', 'The payer has not approved the order yet.')
  const amount = BigInt(order.request.amount)
  const captureWith = (status: Capture['status']): Capture => ({
    id: newObjectId(),
    status,
    amount: String(amount),
    fee: String((amount * FEE_PERCENT) / 100n),
    createdAt: now,
    updatedAt: now,
  })
  if (order.funding === 'declined') {
    const declined = captureWith('DECLINED')
    return {
      order: touch(order, now, {
        status: order.request.isWalletOrder ? 'PAYER_ACTION_REQUIRED' : 'APPROVED',
        wasDeclined: true,
        declined: [...order.declined, declined],
      }),
      objects: [declined.id],
      reports: [{ type: 'PAYMENT.CAPTURE.DECLINED', about: declined }],
      refusal: unprocessable('INSTRUMENT_DECLINED', 'The way to pay that the payer chose was declined.', {
        links: [{ ...approvalLink, rel: 'redirect' }],
      }),
    }
  }
  const captured = captureWith(order.funding === 'pending' ? 'PENDING' : 'COMPLETED')
  return {
    order: touch(order, now, { status: 'COMPLETED', capture: captured }),
    objects: [captured.id],
    invoice: order.request.invoiceId && `capture ${order.request.invoiceId}`,
    reports: [
      { type: 'CHECKOUT.ORDER.COMPLETED', about: 'order' },
      {
        type: captured.status === 'PENDING' ? 'PAYMENT.CAPTURE.PENDING' : 'PAYMENT.CAPTURE.COMPLETED',
        about: captured,
      },
    ],
  }
}

/** The buyer's bank pays or denies a pending capture. */
export function settleCapture(order: PaypalOrder, status: 'completed' | 'denied', now: number): OrderStep {
  const pending = order.capture
  if (pending?.status !== 'PENDING') throw notPossible('The capture is not pending.')
  const settledCapture: Capture = {
    ...pending,
    status: status === 'completed' ? 'COMPLETED' : 'DECLINED',
    updatedAt: now,
  }
  return {
    order: touch(order, now, { capture: settledCapture }),
    reports: [
      {
        type: status === 'completed' ? 'PAYMENT.CAPTURE.COMPLETED' : 'PAYMENT.CAPTURE.DENIED',
        about: settledCapture,
      },
    ],
  }
}

export type PaypalRefundRequest = {
  /** Minor units; default: all that is left. */
  amount?: bigint
  customId?: string
  invoiceId?: string
  note?: string
}

/** Gives money back; what is asked for concurrently never exceeds what was captured. */
export function refund(
  order: PaypalOrder,
  request: PaypalRefundRequest,
  now: number,
): OrderStep & { refund: PaypalRefund } {
  checkRefundable(order)
  const refundable = refundableOf(order)
  const { amount = refundable, customId, invoiceId, note } = request
  if (amount > refundable)
    throw unprocessable('REFUND_AMOUNT_EXCEEDED', 'The amount is more than what is left of the capture.', {
      field: '/amount/value',
    })
  if (order.dispute && order.dispute.status !== 'RESOLVED' && amount < refundable)
    throw unprocessable(
      'CAPTURE_DISPUTED_PARTIAL_REFUND_NOT_ALLOWED',
      'Because of an open dispute, only all that is left can be refunded.',
    )
  const newRefund: PaypalRefund = {
    id: newObjectId(),
    status: order.funding === 'pending' ? 'PENDING' : 'COMPLETED',
    amount: String(amount),
    ...(customId !== undefined && { customId }),
    ...(invoiceId !== undefined && { invoiceId }),
    ...(note !== undefined && { note }),
    createdAt: now,
    updatedAt: now,
  }
  return {
    order: touch(order, now, { refunds: [...order.refunds, newRefund] }),
    refund: newRefund,
    objects: [newRefund.id],
    invoice: invoiceId && `refund ${invoiceId}`,
    reports: [
      {
        type: newRefund.status === 'PENDING' ? 'PAYMENT.REFUND.PENDING' : 'PAYMENT.CAPTURE.REFUNDED',
        about: newRefund,
      },
    ],
  }
}

function checkRefundable(order: PaypalOrder): void {
  const { capture: captured, dispute, reversal } = order
  if (captured?.status === 'PENDING')
    throw unprocessable('PENDING_CAPTURE', 'A pending capture cannot be refunded.')
  if (captured?.status !== 'COMPLETED')
    throw unprocessable('REFUND_NOT_ALLOWED', 'Nothing was captured that could be refunded.')
  const isLeft = refundableOf(order) > 0n
  if (!isLeft && dispute && dispute.status !== 'RESOLVED')
    throw unprocessable('TRANSACTION_DISPUTED', 'The transaction has an open dispute.')
  if (reversal || (!isLeft && dispute && dispute.outcome !== 'RESOLVED_SELLER_FAVOUR'))
    throw unprocessable('REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK', 'The payment was taken back already.')
  if (!isLeft) throw unprocessable('CAPTURE_FULLY_REFUNDED', 'The capture is refunded already.')
}

/** A pending refund arrives at the buyer or fails. A refund that fails gives its amount back. */
export function settleRefund(
  order: PaypalOrder,
  id: string,
  status: 'completed' | 'failed',
  now: number,
): OrderStep {
  const pending = order.refunds.find((one) => one.id === id)
  if (pending?.status !== 'PENDING') throw notPossible('The refund is not pending.')
  const settledRefund: PaypalRefund = {
    ...pending,
    status: status === 'completed' ? 'COMPLETED' : 'FAILED',
    updatedAt: now,
  }
  return {
    order: touch(order, now, { refunds: order.refunds.map((one) => (one.id === id ? settledRefund : one)) }),
    reports: [
      {
        type: status === 'completed' ? 'PAYMENT.CAPTURE.REFUNDED' : 'PAYMENT.REFUND.FAILED',
        about: settledRefund,
      },
    ],
  }
}

/** What is left of the payment; none of it can be disputed or reversed if it was before. */
function takeBack(order: PaypalOrder): bigint {
  const refundable = refundableOf(order)
  if (refundable === 0n) throw notPossible('Nothing is left of the payment that could be taken back.')
  if (order.reversal) throw notPossible('The payment was reversed already.')
  if (order.dispute) throw notPossible('The payment has a dispute already.')
  return refundable
}

/** The buyer's bank takes the rest of the payment back without a dispute. */
export function reverse(order: PaypalOrder, now: number): OrderStep {
  const amount = takeBack(order)
  const reversal: PaypalRefund = {
    id: newObjectId(),
    status: 'COMPLETED',
    amount: String(amount),
    createdAt: now,
    updatedAt: now,
  }
  return {
    order: touch(order, now, { reversal }),
    objects: [reversal.id],
    reports: [{ type: 'PAYMENT.CAPTURE.REVERSED', about: reversal }],
  }
}

/** The buyer disputes the rest of the payment, or an amount of it, which is on hold then. */
export function disputeOrder(
  order: PaypalOrder,
  { reason, amount }: { reason: string; amount?: bigint | undefined },
  now: number,
): OrderStep {
  const remaining = takeBack(order)
  if (amount !== undefined && amount > remaining)
    throw unprocessable('NOT_SUPPORTED', 'The amount is more than what is left of the payment.', {
      field: '/amount',
    })
  const dispute: PaypalDispute = {
    id: newDisputeId(),
    status: 'WAITING_FOR_SELLER_RESPONSE',
    reason,
    amount: String(amount ?? remaining),
    createdAt: now,
    updatedAt: now,
  }
  return {
    order: touch(order, now, { dispute }),
    objects: [dispute.id],
    reports: [{ type: 'CUSTOMER.DISPUTE.CREATED', about: dispute }],
  }
}

function changeDispute(
  order: PaypalOrder,
  changes: Partial<PaypalDispute>,
  type: EventType,
  now: number,
): OrderStep {
  const { dispute } = order
  // An appeal may give back what was lost.
  const isAppealed = changes.outcome === 'RESOLVED_SELLER_FAVOUR' && dispute?.outcome !== changes.outcome
  if (!dispute || (dispute.status === 'RESOLVED' && !isAppealed))
    throw notPossible('There is no open dispute.')
  const updatedDispute = { ...dispute, ...changes, updatedAt: Math.max(now, dispute.updatedAt + 1) }
  return { order: touch(order, now, { dispute: updatedDispute }), reports: [{ type, about: updatedDispute }] }
}

/** PayPal looks at the dispute. */
export const reviewDispute = (order: PaypalOrder, now: number): OrderStep =>
  changeDispute(order, { status: 'UNDER_REVIEW' }, 'CUSTOMER.DISPUTE.UPDATED', now)

export const closeDispute = (
  order: PaypalOrder,
  outcome: NonNullable<PaypalDispute['outcome']>,
  now: number,
): OrderStep => changeDispute(order, { status: 'RESOLVED', outcome }, 'CUSTOMER.DISPUTE.RESOLVED', now)
