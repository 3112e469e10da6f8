import { oneLine } from '../../../../base/one-line.ts'
import { buyerFrom } from '../answers.ts'
import type { PaymentBuyer, LedgerEntry, EntryKind, PaymentSnapshot } from '../provider.ts'
import { STRIPE_CURRENCIES } from './stripe-currencies.ts'
import {
  amountOf,
  currencyOf,
  fieldsOf,
  idOf,
  metadataOf,
  momentOf,
  textOf,
  type StripeFields,
} from './stripe-fields.ts'

const REASON_MAX = 100

type Of<K extends EntryKind> = LedgerEntry & { kind: K }

/** https://docs.stripe.com/api/refunds/object#refund_object-status */
const REFUND_STATUS: Readonly<Record<string, Of<'refund'>['status']>> = {
  pending: 'pending',
  requires_action: 'pending',
  succeeded: 'completed',
  failed: 'failed',
  canceled: 'failed',
}

/** https://docs.stripe.com/api/disputes/object#dispute_object-status; `warning_…` are inquiries, which move no money. */
const DISPUTE_STATUS: Readonly<Record<string, Of<'dispute'>['status']>> = {
  warning_needs_response: 'inquiry',
  warning_under_review: 'inquiry',
  warning_closed: 'won',
  prevented: 'won',
  needs_response: 'open',
  under_review: 'open',
  appeal_needs_response: 'open',
  appeal_under_review: 'open',
  won: 'won',
  lost: 'lost',
}

/** What was fetched about a payment. */
export type Fetched = {
  session: unknown
  /** The payment intent. */
  payment?: unknown
  refunds?: readonly unknown[]
  disputes?: readonly unknown[]
}

/**
 * What Stripe's objects say about a transaction; undefined if the session is none. Unknown values add no entry: "no change,
 * look again".
 */
export function snapshotOf({
  session,
  payment,
  refunds = [],
  disputes = [],
}: Fetched): PaymentSnapshot | undefined {
  const fields = fieldsOf(session)
  const intent = fieldsOf(payment)
  const reference = idOf(session)
  if (reference === undefined) return undefined
  const transactionId = metadataOf(fields, 'transaction_id') ?? metadataOf(intent, 'transaction_id')
  const paymentId = idOf(payment) ?? idOf(fields['payment_intent'])
  const url = fields['status'] === 'open' ? httpUrlOf(fields['url']) : undefined
  const fees = feesOf(fieldsOf(fieldsOf(intent['latest_charge'])['balance_transaction']))
  const entries = [
    sessionEntry(reference, fields, intent),
    chargeEntry(fields, intent),
    ...refunds.map(refundEntryOf),
    ...disputes.map(disputeEntry),
  ]
  return {
    reference,
    ...(transactionId !== undefined && { transactionId }),
    ...(paymentId !== undefined && { paymentId }),
    ...(url !== undefined && { url }),
    ...(fees && { fees }),
    buyer: buyerOf(fields),
    entries: entries.filter((entry) => entry !== undefined),
  }
}

/** The entry of a refund; undefined if something in it is unknown. */
export function refundEntryOf(refund: unknown): Of<'refund'> | undefined {
  const fields = fieldsOf(refund)
  const status = wordIn(REFUND_STATUS, fields['status'])
  const facts = factsOf(fields, fields['amount'])
  const callId = metadataOf(fields, 'refund_id')
  if (!facts || status === undefined) return undefined
  return {
    kind: 'refund',
    ...facts,
    status,
    ...(callId !== undefined && { callId }),
    ...reasonOf(status === 'failed' ? (fields['failure_reason'] ?? fields['status']) : undefined),
  }
}

/** An http or https URL. */
export const httpUrlOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value) ? value : undefined

/**
 * The fee of a payment, in the currency that is paid out; Stripe may not know it for some seconds.
 * https://docs.stripe.com/api/balance_transactions/object
 */
function feesOf({ fee, net, currency }: StripeFields): PaymentSnapshot['fees'] {
  const code = currencyOf(currency)
  const exponent = code === undefined ? undefined : STRIPE_CURRENCIES[code]?.exponent
  if (code === undefined || exponent === undefined) return undefined
  return Number.isSafeInteger(fee) && Number.isSafeInteger(net)
    ? { fee: BigInt(fee as number), net: BigInt(net as number), currency: code, exponent }
    : undefined
}

/** Who paid: https://docs.stripe.com/api/checkout/sessions/object#checkout_session_object-customer_details */
function buyerOf(session: StripeFields): PaymentBuyer {
  const { name, email, phone, address } = fieldsOf(session['customer_details'])
  // `shipping_details` was a field of the session itself until the API of 2025-03-31.
  const shipping = fieldsOf(
    fieldsOf(session['collected_information'])['shipping_details'] ?? session['shipping_details'],
  )
  return buyerFrom({
    name,
    email,
    phone,
    address: addressOf(address),
    shipping: { name: shipping['name'], address: addressOf(shipping['address']) },
  })
}

function addressOf(value: unknown) {
  const { postal_code: postalCode, ...address } = fieldsOf(value)
  return { ...address, postalCode }
}

/** How a session ended without a payment: https://docs.stripe.com/api/checkout/sessions/object */
function sessionEntry(
  objectId: string,
  session: StripeFields,
  intent: StripeFields,
): Of<'session'> | undefined {
  const currency = currencyOf(session['currency'])
  const status = sessionEnd(session, intent)
  if (currency === undefined || status === undefined) return undefined
  const createdAt = momentOf(session['created'])
  return {
    kind: 'session',
    objectId,
    status,
    amount: amountOf(session['amount_total']) ?? 0n,
    currency,
    ...(createdAt !== undefined && { createdAt }),
    ...reasonOf(status === 'failed' ? fieldsOf(intent['last_payment_error'])['code'] : undefined),
  }
}

function sessionEnd(session: StripeFields, intent: StripeFields): Of<'session'>['status'] | undefined {
  if (intent['status'] === 'succeeded') return undefined
  if (session['status'] === 'expired') return 'expired'
  if (intent['status'] === 'canceled') return 'cancelled'
  // A delayed payment, such as a bank debit, has failed. A declined card leaves the session open.
  return isUnpaid(session) && intent['status'] === 'requires_payment_method' ? 'failed' : undefined
}

/** https://docs.stripe.com/payments/paymentintents/lifecycle */
function chargeEntry(session: StripeFields, intent: StripeFields): Of<'charge'> | undefined {
  if (intent['status'] === 'succeeded') {
    const facts = factsOf(intent, intent['amount_received'])
    return facts && { kind: 'charge', ...facts, status: 'completed' }
  }
  if (intent['status'] !== 'processing' || !isUnpaid(session)) return undefined
  const facts = factsOf(intent, intent['amount'])
  return facts && { kind: 'charge', ...facts, status: 'pending' }
}

const isUnpaid = (session: StripeFields): boolean =>
  session['status'] === 'complete' && session['payment_status'] === 'unpaid'

function disputeEntry(dispute: unknown): Of<'dispute'> | undefined {
  const fields = fieldsOf(dispute)
  const status = wordIn(DISPUTE_STATUS, fields['status'])
  const facts = factsOf(fields, fields['amount'])
  if (!facts || status === undefined) return undefined
  const movements = Array.isArray(fields['balance_transactions']) ? fields['balance_transactions'] : []
  return {
    kind: 'dispute',
    ...facts,
    ...(status === 'lost' && { amount: withdrawnOf(movements, facts) }),
    status,
    version: movements.length,
    ...reasonOf(fields['reason']),
  }
}

/**
 * What a lost dispute took: Stripe gives a part back if the payment was refunded in part before. Movements in the currency
 * of the account's balance say nothing about that of the payment.
 *
 * @see https://support.stripe.com/questions/dispute-for-full-charge-amount-after-a-partial-refund-was-issued
 */
function withdrawnOf(
  movements: readonly unknown[],
  { amount, currency }: Pick<LedgerEntry, 'amount' | 'currency'>,
): bigint {
  let withdrawn = 0n
  for (const movement of movements.map(fieldsOf)) {
    const movementAmount = movement['amount']
    if (currencyOf(movement['currency']) !== currency || !Number.isSafeInteger(movementAmount)) return amount
    withdrawn -= BigInt(movementAmount as number)
  }
  return withdrawn > 0n && withdrawn < amount ? withdrawn : amount
}

function factsOf(
  object: StripeFields,
  amount: unknown,
): Pick<LedgerEntry, 'objectId' | 'amount' | 'currency' | 'createdAt'> | undefined {
  const objectId = idOf(object)
  const units = amountOf(amount)
  const currency = currencyOf(object['currency'])
  if (objectId === undefined || units === undefined || currency === undefined) return undefined
  const createdAt = momentOf(object['created'])
  return { objectId, amount: units, currency, ...(createdAt !== undefined && { createdAt }) }
}

const reasonOf = (value: unknown): { reason?: string } => {
  const reason = oneLine(textOf(value) ?? '', REASON_MAX)
  return reason === '' ? {} : { reason }
}

const wordIn = <T>(words: Readonly<Record<string, T>>, word: unknown): T | undefined =>
  typeof word === 'string' && Object.hasOwn(words, word) ? words[word] : undefined
