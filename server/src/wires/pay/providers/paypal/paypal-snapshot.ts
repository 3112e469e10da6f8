import { buyerFrom } from '../answers.ts'
import type { PaymentBuyer, LedgerEntry, PaymentSnapshot } from '../provider.ts'
import {
  idOf,
  linkedId,
  linkOf,
  listOf,
  objectOf,
  ourIdOf,
  textOf,
  timeOf,
  wordsOf,
  type PaypalFields,
} from './paypal-fields.ts'
import { CURRENCIES, moneyOf } from './paypal-money.ts'

type RefundEntry = LedgerEntry & { kind: 'refund' }
type ChargeEntry = LedgerEntry & { kind: 'charge' }
type DisputeEntry = LedgerEntry & { kind: 'dispute' }

const ORDER_STATES: ReadonlySet<unknown> = new Set([
  'CREATED',
  'SAVED',
  'APPROVED',
  'VOIDED',
  'COMPLETED',
  'PAYER_ACTION_REQUIRED',
])
const CHARGED: ReadonlySet<unknown> = new Set(['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED'])
const NOT_CHARGED: ReadonlySet<unknown> = new Set(['DECLINED', 'FAILED'])

const REFUND_STATES: ReadonlyMap<unknown, RefundEntry['status']> = new Map([
  ['PENDING', 'pending'],
  ['COMPLETED', 'completed'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'failed'],
])

/** How disputes end: https://developer.paypal.com/docs/api/customer-disputes/v1/ */
const DISPUTE_OUTCOMES: ReadonlyMap<unknown, DisputeEntry['status']> = new Map([
  ['RESOLVED_SELLER_FAVOUR', 'won'],
  ['CANCELED_BY_BUYER', 'won'],
  ['DENIED', 'won'],
  ['RESOLVED_WITH_PAYOUT', 'won'],
  ['RESOLVED_BUYER_FAVOUR', 'lost'],
  ['ACCEPTED', 'lost'],
])

/** An order of PayPal with what was paid for it. */
export type OrderView = {
  snapshot: PaymentSnapshot
  status: string
  links: unknown
  /** The latest capture was declined, and the order is not over: the buyer may choose another way to pay. */
  isDeclined: boolean
  /** The refunds of which the answer does not say by which call they were made. */
  unattributed: readonly string[]
}

/** Reads an order; undefined if something is missing, or has a state that is not known. */
export function orderOf(answer: unknown): OrderView | undefined {
  const order = objectOf(answer)
  const { status, links } = order
  const reference = idOf(order['id'])
  const units = listOf(order['purchase_units'])
  const [unit] = units
  if (reference === undefined || !ORDER_STATES.has(status) || typeof status !== 'string') return undefined
  const payments = units.map(({ payments }) => objectOf(payments))
  const captures = payments.flatMap(({ captures }) => listOf(captures))
  const refunds = payments.flatMap(({ refunds }) => listOf(refunds))

  const charges = captures.map((capture) => chargeOf(capture, status === 'COMPLETED'))
  const refundEntries = refunds.map(refundOf)
  if (charges.includes(undefined) || refundEntries.includes(undefined)) return undefined
  const chargeEntries = charges.filter((charge) => charge && charge !== 'none') as ChargeEntry[]
  // A capture that failed before another one says nothing about the payment.
  const isPaid = chargeEntries.some((charge) => charge.status !== 'failed')
  const relevantCharges = isPaid
    ? chargeEntries.filter((charge) => charge.status !== 'failed')
    : chargeEntries.slice(-1)
  const money = moneyOf(unit?.['amount']) ?? relevantCharges[0]
  const voided: LedgerEntry[] =
    status === 'VOIDED' && money
      ? [
          {
            kind: 'session',
            objectId: reference,
            status: 'cancelled',
            amount: money.amount,
            currency: money.currency,
          },
        ]
      : []
  if (status === 'VOIDED' && !money) return undefined

  const transactionId = ourIdOf(unit?.['custom_id']) ?? ourIdOf(captures[0]?.['custom_id'])
  const isOpen = status !== 'VOIDED' && status !== 'COMPLETED' && relevantCharges.length === 0
  const url = isOpen ? linkOf(links, 'payer-action', 'approve') : undefined
  const paymentId = relevantCharges[0]?.objectId
  const fees = feesOf(captures.find(({ id }) => id === paymentId))
  return {
    snapshot: {
      reference,
      entries: [
        ...voided,
        ...relevantCharges,
        ...(refundEntries as RefundEntry[]).map((refund) => withoutForeignCall(refund, transactionId)),
      ],
      ...(transactionId !== undefined && { transactionId }),
      ...(paymentId !== undefined && { paymentId }),
      ...(url !== undefined && { url }),
      ...(fees && { fees }),
      buyer: buyerOf(order, unit),
    },
    status,
    links,
    isDeclined:
      relevantCharges.length === 0 && captures.some((capture) => NOT_CHARGED.has(capture['status'])),
    unattributed: refunds.flatMap(({ id, custom_id }) => (custom_id === undefined ? (idOf(id) ?? []) : [])),
  }
}

/** Who paid: https://developer.paypal.com/docs/api/orders/v2/#orders_get */
function buyerOf(order: PaypalFields, unit: PaypalFields | undefined): PaymentBuyer {
  // `payer` is deprecated, and the source has the same fields.
  const payer = objectOf(objectOf(order['payment_source'])['paypal'] ?? order['payer'])
  const { given_name: given, surname } = objectOf(payer['name'])
  const shipping = objectOf(unit?.['shipping'])
  return buyerFrom({
    name: [given, surname].filter((part) => textOf(part) !== undefined).join(' '),
    email: payer['email_address'],
    phone: objectOf(payer['phone_number'])['national_number'],
    address: addressOf(payer['address']),
    shipping: { name: objectOf(shipping['name'])['full_name'], address: addressOf(shipping['address']) },
  })
}

function addressOf(value: unknown) {
  const address = objectOf(value)
  return {
    line1: address['address_line_1'],
    line2: address['address_line_2'],
    postalCode: address['postal_code'],
    city: address['admin_area_2'],
    state: address['admin_area_1'],
    country: address['country_code'],
  }
}

/** What PayPal took of a capture: https://developer.paypal.com/docs/api/payments/v2/ */
function feesOf(capture: PaypalFields | undefined): PaymentSnapshot['fees'] {
  const breakdown = objectOf(capture?.['seller_receivable_breakdown'])
  const [fee, net] = [moneyOf(breakdown['paypal_fee']), moneyOf(breakdown['net_amount'])]
  if (!fee || !net || fee.currency !== net.currency) return undefined
  const { currency } = fee
  return { fee: fee.amount, net: net.amount, currency, exponent: CURRENCIES[currency]!.exponent }
}

/**
 * Reads a capture as the charge of an order; `none` if it was declined and the order is not over; undefined if something
 * is missing, or its state is not known.
 */
export function chargeOf(capture: PaypalFields, isOver: boolean): ChargeEntry | 'none' | undefined {
  const { status } = capture
  if (NOT_CHARGED.has(status) && !isOver) return 'none'
  const state = CHARGED.has(status)
    ? 'completed'
    : status === 'PENDING'
      ? 'pending'
      : NOT_CHARGED.has(status)
        ? 'failed'
        : undefined
  const objectId = idOf(capture['id'])
  const money = moneyOf(capture['amount'])
  if (objectId === undefined || !money || state === undefined) return undefined
  return { kind: 'charge', objectId, status: state, ...money, ...factsOf(capture) }
}

/** Reads a refund; undefined if something is missing, or its state is not known. */
export function refundOf(value: unknown): RefundEntry | undefined {
  const refund = objectOf(value)
  const objectId = idOf(refund['id'])
  const status = REFUND_STATES.get(refund['status'])
  const money = moneyOf(refund['amount'])
  if (objectId === undefined || status === undefined || !money) return undefined
  const callId = ourIdOf(refund['custom_id'])
  return {
    kind: 'refund',
    objectId,
    status,
    ...money,
    ...(callId !== undefined && { callId }),
    ...factsOf(refund),
  }
}

/** A refund made elsewhere may have the `custom_id` of its payment: it is not of a call of ours then. */
export function withoutForeignCall(refund: RefundEntry, transactionId: string | undefined): RefundEntry {
  if (refund.callId === undefined || refund.callId !== transactionId) return refund
  const { callId: _callId, ...rest } = refund
  return rest
}

/**
 * Reads a dispute; undefined if something is missing. PayPal holds the money at every stage, so it is `open` at each
 * until it has an outcome that is known.
 */
export function disputeOf(value: unknown): { entry: DisputeEntry; paymentId?: string } | undefined {
  const dispute = objectOf(value)
  const objectId = idOf(dispute['dispute_id'])
  const money = moneyOf(dispute['dispute_amount'])
  if (objectId === undefined || !money) return undefined
  const { outcome_code } = objectOf(dispute['dispute_outcome'])
  const isResolved = dispute['status'] === 'RESOLVED'
  const createdAt = timeOf(dispute['create_time'])
  const reason = wordsOf(dispute['reason'], isResolved ? outcome_code : dispute['status'])
  const [transaction] = listOf(dispute['disputed_transactions'])
  const paymentId = idOf(transaction?.['seller_transaction_id'])
  return {
    entry: {
      kind: 'dispute',
      objectId,
      status: (isResolved ? DISPUTE_OUTCOMES.get(outcome_code) : undefined) ?? 'open',
      ...money,
      version: timeOf(dispute['update_time']) ?? createdAt ?? 0,
      ...(reason !== undefined && { reason }),
      ...(createdAt !== undefined && { createdAt }),
    },
    ...(paymentId !== undefined && { paymentId }),
  }
}

/** The order that a capture belongs to. */
export const orderIdOf = (capture: PaypalFields): string | undefined =>
  idOf(objectOf(objectOf(capture['supplementary_data'])['related_ids'])['order_id']) ??
  linkedId(capture['links'], 'orders')

function factsOf(object: PaypalFields): { reason?: string; createdAt?: number } {
  const reason = wordsOf(objectOf(object['status_details'])['reason'])
  const createdAt = timeOf(object['create_time'])
  return { ...(reason !== undefined && { reason }), ...(createdAt !== undefined && { createdAt }) }
}
