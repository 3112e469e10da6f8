import type { StripeChange } from './change.ts'
import { displayAmount } from './currencies.ts'
import { invalidParameter, missing, wrongState } from './errors.ts'
import { newObjectId } from './object-id.ts'
import { find, list } from './objects.ts'
import type { StripeParameters } from './parameters.ts'
import type { Charge, StripeDispute } from './stripe-types.ts'
import { testCardOf } from './test-cards.ts'

const RESPONSE_S = 7 * 86_400

const EVIDENCE = `access_activity_log billing_address cancellation_policy cancellation_policy_disclosure
  cancellation_rebuttal customer_communication customer_email_address customer_name
  customer_purchase_ip customer_signature duplicate_charge_documentation duplicate_charge_explanation
  duplicate_charge_id product_description receipt refund_policy
  refund_policy_disclosure refund_refusal_explanation service_date service_documentation
  shipping_address shipping_carrier shipping_date shipping_documentation
  shipping_tracking_number uncategorized_file uncategorized_text`.split(/\s+/)

/** The reasons that a dispute may have: https://docs.stripe.com/disputes/categories */
export const DISPUTE_REASONS = `bank_cannot_process check_returned credit_not_processed customer_initiated
  debit_not_authorized duplicate fraudulent general
  incorrect_account_details insufficient_funds noncompliant product_not_received
  product_unacceptable subscription_canceled unrecognized`.split(/\s+/)

const OPEN = ['needs_response', 'under_review', 'warning_needs_response', 'warning_under_review']

/** An inquiry moves no money. */
const isInquiry = ({ status }: StripeDispute): boolean => status.startsWith('warning_')

async function move(change: StripeChange, dispute: StripeDispute, sign: 1 | -1): Promise<void> {
  const booked = await change.book({
    amount: sign * dispute.amount,
    currency: dispute.currency,
    description: sign < 0 ? 'Chargeback withdrawal' : 'Chargeback reversal',
    reporting_category: sign < 0 ? 'dispute' : 'dispute_reversal',
    source: dispute.id,
    type: 'adjustment',
  })
  dispute.balance_transactions.push(booked)
}

const newDispute = (
  charge: Charge,
  now: number,
  { reason, isInquiry, amount }: { reason: string; isInquiry: boolean; amount: number },
): StripeDispute => ({
  id: newObjectId('dispute'),
  object: 'dispute',
  amount,
  balance_transactions: [],
  charge: charge.id,
  created: now,
  currency: charge.currency,
  enhanced_eligibility_types: [],
  evidence: {
    ...Object.fromEntries(EVIDENCE.map((name) => [name, null])),
    enhanced_evidence: {},
  } as unknown as StripeDispute['evidence'],
  evidence_details: {
    due_by: now + RESPONSE_S,
    enhanced_eligibility: {},
    has_evidence: false,
    past_due: false,
    submission_count: 0,
    submission_method: 'not_submitted',
  },
  intended_submission_method: null,
  is_charge_refundable: isInquiry,
  livemode: false,
  metadata: {},
  payment_intent: charge.payment_intent,
  payment_method_details: {
    type: 'card',
    card: {
      brand: 'visa',
      case_type: isInquiry ? 'inquiry' : 'chargeback',
      network: 'visa',
      network_reason_code: '10.4',
    },
  },
  reason,
  status: isInquiry ? 'warning_needs_response' : 'needs_response',
})

/** Opens a dispute about an amount of a charge. Default: all that is left of it. */
export async function openDispute(
  change: StripeChange,
  chargeId: string,
  { reason, isInquiry: inquiry, amount }: { reason: string; isInquiry: boolean; amount?: number | undefined },
): Promise<StripeDispute> {
  const { object: charge, details } = await change.lock('charge', chargeId)
  if (charge.status !== 'succeeded' || charge.amount_refunded === charge.amount)
    throw wrongState(`Charge ${charge.id} has no money that could be disputed.`, 'charge_not_disputable')
  if (charge.disputed) throw wrongState(`Charge ${charge.id} is disputed already.`, 'charge_disputed')
  const refundable = charge.amount - charge.amount_refunded
  if (amount !== undefined && amount > refundable)
    throw invalidParameter(
      'amount',
      `The charge has ${displayAmount(refundable, charge.currency)} left to dispute.`,
    )
  const dispute = newDispute(charge, change.now, { reason, isInquiry: inquiry, amount: amount ?? refundable })
  charge.disputed = true
  if (!inquiry) await move(change, dispute, -1)
  await change.put('charge', charge, details)
  await change.put('dispute', dispute, {})
  await change.emit('charge.dispute.created', dispute)
  if (!inquiry) await change.emit('charge.dispute.funds_withdrawn', dispute)
  return dispute
}

/** What happens to a charge by itself, by its card. */
export async function disputeLater(change: StripeChange, chargeId: string): Promise<void> {
  const { object: charge, details } = await change.lock('charge', chargeId)
  const { dispute } = testCardOf(details.card ?? '')
  if (dispute && !charge.disputed && charge.amount_refunded < charge.amount)
    await openDispute(change, chargeId, dispute)
}

/** The dispute, after its charge is locked. */
async function lockDispute(change: StripeChange, id: string): Promise<StripeDispute> {
  const stored = await find(change.tx, 'dispute', id)
  if (!stored) throw missing('dispute', id)
  await change.lock('charge', stored.object.charge as string)
  return (await change.lock('dispute', id)).object
}

async function end(change: StripeChange, dispute: StripeDispute, outcome: 'won' | 'lost'): Promise<void> {
  const hadFunds = isInquiry(dispute)
  dispute.status = hadFunds ? 'warning_closed' : outcome
  dispute.is_charge_refundable = hadFunds || outcome === 'won'
  if (!hadFunds && outcome === 'won') await move(change, dispute, 1)
  await change.put('dispute', dispute, {})
  if (!hadFunds && outcome === 'won') await change.emit('charge.dispute.funds_reinstated', dispute)
  await change.emit('charge.dispute.closed', dispute)
}

function checkOpen({ id, status }: StripeDispute): void {
  if (!OPEN.includes(status))
    throw wrongState(
      `This dispute is already closed: ${id} has a status of ${status}.`,
      'dispute_unexpected_state',
    )
}

/** Decides a dispute. One that was lost may be won after all: the bank gives the money back. */
export async function decideDispute(
  change: StripeChange,
  id: string,
  outcome: 'won' | 'lost',
): Promise<StripeDispute> {
  const dispute = await lockDispute(change, id)
  if (dispute.status !== 'lost' || outcome !== 'won') checkOpen(dispute)
  await end(change, dispute, outcome)
  return dispute
}

/**
 * Takes evidence. `winning_evidence`, `losing_evidence` and, for an inquiry, `escalate_inquiry_evidence` as
 * `uncategorized_text` decide at once.
 *
 * @see https://docs.stripe.com/disputes/api#testing
 */
export async function updateDispute(
  change: StripeChange,
  id: string,
  params: StripeParameters,
): Promise<StripeDispute> {
  const evidence = params.child('evidence')
  const texts = Object.fromEntries(
    EVIDENCE.flatMap((name) => {
      const text = evidence?.text(name, 20_000)
      return text === undefined ? [] : [[name, text]]
    }),
  )
  evidence?.ignore('enhanced_evidence')
  const isSubmitted = params.boolean('submit') ?? true
  const metadata = params.metadata()
  params.end()
  const dispute = await lockDispute(change, id)
  checkOpen(dispute)
  Object.assign(dispute.evidence, texts)
  dispute.metadata = { ...dispute.metadata, ...metadata }
  const { evidence_details: state } = dispute
  state.has_evidence ||= Object.keys(texts).length > 0
  if (isSubmitted && state.has_evidence) {
    state.submission_count++
    state.submission_method = 'manual'
    dispute.status = isInquiry(dispute) ? 'warning_under_review' : 'under_review'
  }
  await change.put('dispute', dispute, {})
  await change.emit('charge.dispute.updated', dispute)
  const word = isSubmitted ? dispute.evidence.uncategorized_text : null
  if (word === 'winning_evidence') await end(change, dispute, 'won')
  else if (word === 'losing_evidence') await end(change, dispute, 'lost')
  else if (word === 'escalate_inquiry_evidence' && isInquiry(dispute)) await escalate(change, dispute)
  return dispute
}

async function escalate(change: StripeChange, dispute: StripeDispute): Promise<void> {
  const { object: charge } = await change.lock('charge', dispute.charge as string)
  dispute.amount = charge.amount - charge.amount_refunded
  dispute.status = 'needs_response'
  dispute.is_charge_refundable = false
  await move(change, dispute, -1)
  await change.put('dispute', dispute, {})
  await change.emit('charge.dispute.updated', dispute)
  await change.emit('charge.dispute.funds_withdrawn', dispute)
}

/** Accepts a dispute: it is lost. */
export const closeDispute = (change: StripeChange, id: string): Promise<StripeDispute> =>
  decideDispute(change, id, 'lost')

const KEEP_FUNDS_AWAY = ['needs_response', 'under_review', 'lost']

/** What disputes about a charge, which is locked, keep away from the merchant. */
export async function disputedOf(change: StripeChange, charge: Charge): Promise<number> {
  const disputes = await list(change.tx, 'dispute', { charge: charge.id }, { limit: 100 })
  return disputes.reduce(
    (sum, { object: { status, amount } }) => sum + (KEEP_FUNDS_AWAY.includes(status) ? amount : 0),
    0,
  )
}

/** A refund of all ends the inquiries about a charge, which is locked. */
export async function closeInquiries(change: StripeChange, charge: Charge): Promise<void> {
  const disputes = await list(change.tx, 'dispute', { charge: charge.id }, { limit: 100 })
  for (const { object } of disputes)
    if (isInquiry(object) && OPEN.includes(object.status)) await end(change, object, 'won')
}
