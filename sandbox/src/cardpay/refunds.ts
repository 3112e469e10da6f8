import type { StripeChange } from './change.ts'
import { checkDigits, displayAmount } from './currencies.ts'
import { invalidParameter, missing, StripeError, wrongState } from './errors.ts'
import { newObjectId } from './object-id.ts'
import { find } from './objects.ts'
import type { StripeParameters } from './parameters.ts'
import { closeInquiries, disputedOf } from './disputes.ts'
import type { Charge, StripeRefund } from './stripe-types.ts'
import { testCardOf } from './test-cards.ts'

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const

/** What is to be refunded. */
export type RefundInput = {
  amount?: number | undefined
  reason?: (typeof REASONS)[number] | undefined
  metadata?: Record<string, string>
}

/**
 * What can be refunded of a charge.
 *
 * @throws StripeError if it cannot be refunded at all
 */
async function refundableOf(change: StripeChange, charge: Charge): Promise<number> {
  if (charge.status !== 'succeeded')
    throw wrongState(`Charge ${charge.id} has not succeeded and cannot be refunded.`, 'charge_not_refundable')
  const disputed = await disputedOf(change, charge)
  const refundable = charge.amount - charge.amount_refunded - disputed
  if (disputed > 0 && refundable <= 0)
    throw wrongState(`Charge ${charge.id} has been charged back; cannot issue a refund.`, 'charge_disputed')
  if (refundable <= 0)
    throw wrongState(`Charge ${charge.id} has already been refunded.`, 'charge_already_refunded')
  return refundable
}

function readAmount(charge: Charge, amount: number | undefined, left: number): number {
  if (amount === undefined) return left
  checkDigits(amount, charge.currency, 'amount')
  if (amount <= left) return amount
  const [asked, rest] = [amount, left].map((one) => displayAmount(one, charge.currency))
  throw new StripeError(
    400,
    `Refund amount (${asked} ${charge.currency}) is greater than unrefunded amount on charge (${rest} ${charge.currency})`,
    // Stripe gives it no code.
    { param: 'amount' },
    { isStored: true },
  )
}

/** Refunds a charge: the whole rest, or an amount of it. */
export async function refundCharge(
  change: StripeChange,
  chargeId: string,
  input: RefundInput,
): Promise<StripeRefund> {
  const { object: charge, details } = await change.lock('charge', chargeId, 'charge')
  const amount = readAmount(charge, input.amount, await refundableOf(change, charge))
  const behaviour = details.card === undefined ? undefined : testCardOf(details.card).refund
  const id = newObjectId('refund')
  const booked = await change.book({
    amount: -amount,
    currency: charge.currency,
    description: 'REFUND FOR CHARGE',
    reporting_category: 'refund',
    source: id,
    type: 'refund',
  })
  const refund: StripeRefund = {
    id,
    object: 'refund',
    amount,
    balance_transaction: booked.id,
    charge: charge.id,
    created: change.now,
    currency: charge.currency,
    customer: null,
    customer_account: null,
    destination_details: { type: 'card', card: { reference_status: 'pending', type: 'refund' } },
    metadata: input.metadata ?? {},
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    reason: input.reason ?? null,
    receipt_number: null,
    source_transfer_reversal: null,
    status: behaviour === 'pending' ? 'pending' : 'succeeded',
    transfer_reversal: null,
  }
  charge.amount_refunded += amount
  charge.refunded = charge.amount_refunded === charge.amount
  await change.put('refund', refund, {})
  await change.put('charge', charge, details)
  await change.emit('refund.created', refund)
  await change.emit('charge.refunded', charge)
  if (charge.refunded) await closeInquiries(change, charge)
  if (behaviour !== undefined) await change.later({ what: 'refund', id })
  return refund
}

/**
 * Reads a refund to create, and creates it.
 *
 * @throws StripeError with the parameter that can't work
 */
export async function createRefund(change: StripeChange, params: StripeParameters): Promise<StripeRefund> {
  const [intentId, chargeId] = [params.text('payment_intent'), params.text('charge')]
  const amount = params.integer('amount', { least: 1 })
  const input = { amount, reason: params.choice('reason', REASONS), metadata: params.metadata() }
  params.ignore('instructions_email')
  params.end()
  if (intentId === undefined && chargeId === undefined)
    throw invalidParameter(
      'payment_intent',
      'One of the following params should be provided for this request: payment_intent or charge.',
      'parameter_missing',
    )
  if (intentId !== undefined && chargeId !== undefined)
    throw invalidParameter(
      'charge',
      'You may only specify one of these parameters: charge, payment_intent.',
      'parameters_exclusive',
    )
  if (intentId === undefined) return refundCharge(change, chargeId!, input)
  const { object: intent } = await change.lock('payment_intent', intentId, 'payment_intent')
  if (intent.status !== 'succeeded')
    throw wrongState(
      `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`,
      'payment_intent_unexpected_state',
      'payment_intent',
    )
  return refundCharge(change, intent.latest_charge as string, input)
}

/** Gives the money of a refund back to the merchant. */
async function takeBack(change: StripeChange, refund: StripeRefund, charge: Charge): Promise<void> {
  const booked = await change.book({
    amount: refund.amount,
    currency: refund.currency,
    description: 'REFUND FAILURE',
    reporting_category: 'refund_failure',
    source: refund.id,
    type: 'refund_failure',
  })
  refund.failure_balance_transaction = booked.id
  charge.amount_refunded -= refund.amount
  charge.refunded = false
}

/** Ends a refund: a pending one succeeds, and any fails, also after it succeeded. */
export async function settleRefund(
  change: StripeChange,
  id: string,
  status: 'succeeded' | 'failed' | 'canceled',
): Promise<StripeRefund> {
  const stored = await find(change.tx, 'refund', id)
  if (!stored) throw missing('refund', id)
  const { object: charge, details } = await change.lock('charge', stored.object.charge as string)
  const { object: refund } = await change.lock('refund', id)
  const mayEnd = refund.status === 'pending' || (refund.status === 'succeeded' && status === 'failed')
  if (!mayEnd)
    throw wrongState(
      `This refund has a status of ${refund.status} and cannot become ${status}.`,
      'refund_unexpected_state',
    )
  refund.status = status
  if (status !== 'succeeded') {
    if (status === 'failed') refund.failure_reason = 'expired_or_canceled_card'
    await takeBack(change, refund, charge)
    await change.put('charge', charge, details)
  }
  await change.put('refund', refund, {})
  await change.emit('refund.updated', refund)
  if (status === 'failed') await change.emit('refund.failed', refund)
  await change.emit('charge.refund.updated', refund)
  return refund
}

/** What becomes of a refund by itself, by its card. */
export async function settleLater(change: StripeChange, id: string): Promise<void> {
  const stored = await find(change.tx, 'refund', id)
  if (stored?.object.status === 'pending') await settleRefund(change, id, 'succeeded')
  else if (stored?.object.status === 'succeeded') await settleRefund(change, id, 'failed')
}
