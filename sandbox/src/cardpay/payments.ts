import type { StripeChange } from './change.ts'
import { newCharge, newIntent, type Buyer, type PaymentMethod } from './charge.ts'
import { readSession } from './checkout-session.ts'
import { StripeError, wrongState } from './errors.ts'
import type { StoredStripeObject } from './objects.ts'
import type { StripeParameters } from './parameters.ts'
import type { Charge, PaymentIntent, StripeSession } from './stripe-types.ts'
import { testCardOf, type Decline } from './test-cards.ts'

/** What came of an attempt to pay. A declined card leaves the session open. */
export type PaymentAttempt =
  | { session: StripeSession; result: 'paid' | 'processing' | 'authentication' }
  | { session: StripeSession; result: 'declined'; error: StripeError }

const REFUSED_AUTHENTICATION: Decline = {
  code: 'payment_intent_authentication_failure',
  message:
    'We are unable to authenticate your payment method. Please choose a different payment method and try again.',
}
const GENERIC_DECLINE: Decline = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
}
const BOUNCED_DEBIT: Decline = {
  code: 'payment_intent_payment_attempt_failed',
  message: 'The payment failed: the bank returned the debit.',
}

/** The states of a payment intent that can be paid or canceled. */
export const UNPAID = ['requires_payment_method', 'requires_action']

/** Creates a checkout session. Its payment intent is created by the first attempt to pay. */
export async function createSession(
  change: StripeChange,
  params: StripeParameters,
  urlOf: (id: string) => string,
): Promise<StripeSession> {
  const { session, items, intent } = readSession(params, change.now, urlOf)
  params.end()
  await change.put('session', session, { items, intent })
  return session
}

/** @throws StripeError if the session is not open, or its payment was canceled */
async function openPayment(change: StripeChange, sessionId: string): Promise<Payment> {
  const { object: session, details } = await change.lock('session', sessionId)
  if (session.status !== 'open' || session.expires_at <= change.now)
    throw wrongState(
      `This Checkout Session has a status of \`${session.status}\` and cannot be paid.`,
      'checkout_session_unexpected_state',
    )
  if (typeof session.payment_intent !== 'string') {
    const intent = newIntent(session, details.intent ?? { metadata: {} }, change.now)
    session.payment_intent = intent.id
    await change.put('payment_intent', intent, {})
    await change.put('session', session, details)
    await change.emit('payment_intent.created', intent)
    return { session, details, intent, intentDetails: {} }
  }
  const { object: intent, details: intentDetails } = await change.lock(
    'payment_intent',
    session.payment_intent,
  )
  if (!UNPAID.includes(intent.status))
    throw wrongState(
      `This PaymentIntent has a status of ${intent.status} and cannot be paid.`,
      'payment_intent_unexpected_state',
    )
  return { session, details, intent, intentDetails }
}

type Payment = {
  session: StripeSession
  details: StoredStripeObject<'session'>['details']
  intent: PaymentIntent
  intentDetails: StoredStripeObject<'payment_intent'>['details']
}

/**
 * Pays a session.
 *
 * @param options.outcome instead of what the card does: paid, declined, or that its authentication fails; a card that needs
 *   authentication waits for it otherwise
 */
export async function pay(
  change: StripeChange,
  sessionId: string,
  given: PaymentMethod,
  { outcome }: { outcome?: 'paid' | 'declined' | 'authentication_failed' | undefined } = {},
): Promise<PaymentAttempt> {
  const payment = await openPayment(change, sessionId)
  // An address that the merchant has set cannot be changed by the buyer.
  const { customer_email: email } = payment.session
  const method: PaymentMethod = { ...given, ...(email !== null && { email }) }
  if ('debit' in method) return process(change, payment, method)
  const { decline, needsAuthentication } = testCardOf(method.card)
  if (outcome === 'paid') return succeed(change, payment, method)
  if (outcome === 'declined') return fail(change, payment, method, decline ?? GENERIC_DECLINE)
  if (outcome === 'authentication_failed') return refuseAuthentication(change, payment)
  if (decline) return fail(change, payment, method, decline)
  if (!needsAuthentication) return succeed(change, payment, method)
  const { session, intent } = payment
  intent.status = 'requires_action'
  intent.next_action = {
    type: 'redirect_to_url',
    redirect_to_url: { url: `${session.url}/authenticate`, return_url: session.url },
  }
  await change.put('payment_intent', intent, {
    card: method.card,
    ...buyerOf(method),
  })
  await change.emit('payment_intent.requires_action', intent)
  return { session, result: 'authentication' }
}

/** Ends the authentication of a card. */
export async function authenticate(
  change: StripeChange,
  sessionId: string,
  isAuthenticated: boolean,
): Promise<PaymentAttempt> {
  const payment = await openPayment(change, sessionId)
  const { card, ...buyer } = payment.intentDetails
  if (payment.intent.status !== 'requires_action' || card === undefined)
    throw wrongState('This payment does not wait for authentication.', 'payment_intent_unexpected_state')
  return isAuthenticated
    ? succeed(change, payment, { card, ...buyerOf(buyer) })
    : refuseAuthentication(change, payment)
}

/** Who pays, of what is known of a payment. */
const buyerOf = ({ name, email }: Buyer): Buyer => ({
  ...(name !== undefined && { name }),
  ...(email !== undefined && { email }),
})

const HOME = {
  city: 'Berlin',
  country: 'DE',
  line1: 'Rosenweg 1',
  line2: null,
  postal_code: '10115',
  state: null,
}

/** Without an address that is asked for, Stripe has the country and what the card needs of it. */
const customerOf = ({ name, email }: Buyer): StripeSession['customer_details'] => ({
  address: { ...HOME, city: null, line1: null },
  business_name: null,
  email: email ?? null,
  individual_name: null,
  name: name ?? null,
  phone: null,
  tax_exempt: 'none',
  tax_ids: [],
})

function complete(session: StripeSession, method: PaymentMethod): void {
  session.status = 'complete'
  session.url = null
  session.customer_details = customerOf(method)
  const countries = session.shipping_address_collection?.allowed_countries ?? []
  const [country = HOME.country] = countries
  if (countries.length > 0)
    session.collected_information = {
      business_name: null,
      individual_name: null,
      shipping_details: {
        name: method.name ?? 'Ada Lovelace',
        address: countries.some((one) => one === HOME.country) ? HOME : { ...HOME, country },
      },
    }
}

function attach(intent: PaymentIntent, charge: Charge): void {
  intent.latest_charge = charge.id
  intent.payment_method = charge.payment_method
  intent.next_action = null
  intent.processing = null
  intent.last_payment_error = null
}

async function succeed(
  change: StripeChange,
  payment: Payment,
  method: PaymentMethod & { card: string },
): Promise<PaymentAttempt> {
  const { session, details, intent } = payment
  const charge = newCharge(intent, method, change.now, 'succeeded')
  attach(intent, charge)
  intent.status = 'succeeded'
  intent.amount_received = intent.amount
  complete(session, method)
  session.payment_status = 'paid'
  await change.put('charge', charge, { card: method.card })
  await change.put('payment_intent', intent, {})
  await change.put('session', session, details)
  await change.emit('charge.succeeded', charge)
  await change.emit('payment_intent.succeeded', intent)
  await change.emit('checkout.session.completed', session)
  await bookCharge(change, charge, { card: method.card })
  if (testCardOf(method.card).dispute) await change.later({ what: 'dispute', id: charge.id })
  return { session, result: 'paid' }
}

/** Stripe books a charge a moment after it succeeded. */
async function bookCharge(
  change: StripeChange,
  charge: Charge,
  details: StoredStripeObject<'charge'>['details'],
): Promise<void> {
  const { id } = await change.book({
    amount: charge.amount,
    currency: charge.currency,
    description: charge.description,
    reporting_category: 'charge',
    source: charge.id,
    type: 'charge',
  })
  charge.balance_transaction = id
  await change.put('charge', charge, details)
  await change.emit('charge.updated', charge)
}

async function process(
  change: StripeChange,
  payment: Payment,
  method: PaymentMethod,
): Promise<PaymentAttempt> {
  const { session, details, intent } = payment
  const charge = newCharge(intent, method, change.now, 'pending')
  attach(intent, charge)
  intent.status = 'processing'
  complete(session, method)
  await change.put('charge', charge, {})
  await change.put('payment_intent', intent, {})
  await change.put('session', session, details)
  await change.emit('charge.pending', charge)
  await change.emit('payment_intent.processing', intent)
  await change.emit('checkout.session.completed', session)
  return { session, result: 'processing' }
}

function setError(
  intent: PaymentIntent,
  { code, declineCode, message }: Decline,
  charge?: string,
): StripeError {
  intent.status = 'requires_payment_method'
  intent.next_action = null
  intent.processing = null
  intent.payment_method = null
  intent.last_payment_error = {
    ...(charge !== undefined && { charge }),
    code,
    ...(declineCode !== undefined && { decline_code: declineCode }),
    message,
    type: 'card_error',
  }
  return new StripeError(
    402,
    message,
    {
      ...(charge !== undefined && { charge }),
      code,
      ...(declineCode !== undefined && { decline_code: declineCode }),
    },
    { type: 'card_error' },
  )
}

async function fail(
  change: StripeChange,
  payment: Payment,
  method: PaymentMethod,
  decline: Decline,
): Promise<PaymentAttempt> {
  const { session, intent } = payment
  const charge = newCharge(intent, method, change.now, { decline })
  intent.latest_charge = charge.id
  const error = setError(intent, decline, charge.id)
  await change.put('charge', charge, {})
  await change.put('payment_intent', intent, {})
  await change.emit('charge.failed', charge)
  await change.emit('payment_intent.payment_failed', intent)
  return { session, result: 'declined', error }
}

async function refuseAuthentication(
  change: StripeChange,
  { session, intent }: Payment,
): Promise<PaymentAttempt> {
  const error = setError(intent, REFUSED_AUTHENTICATION)
  await change.put('payment_intent', intent, {})
  await change.emit('payment_intent.payment_failed', intent)
  return { session, result: 'declined', error }
}

/** Ends a bank debit: the money arrives, or the bank returns it. */
export async function settle(
  change: StripeChange,
  sessionId: string,
  hasSucceeded: boolean,
): Promise<StripeSession> {
  const { object: session, details } = await change.lock('session', sessionId)
  if (session.status !== 'complete' || session.payment_status !== 'unpaid')
    throw wrongState(
      'This Checkout Session has no payment that is processing.',
      'checkout_session_unexpected_state',
    )
  const { object: intent } = await change.lock('payment_intent', session.payment_intent as string)
  if (intent.status !== 'processing')
    throw wrongState(
      'This Checkout Session has no payment that is processing.',
      'payment_intent_unexpected_state',
    )
  const { object: charge } = await change.lock('charge', intent.latest_charge as string)
  if (hasSucceeded) {
    charge.status = 'succeeded'
    charge.paid = true
    charge.captured = true
    charge.amount_captured = charge.amount
    intent.status = 'succeeded'
    intent.amount_received = intent.amount
    session.payment_status = 'paid'
  } else {
    charge.status = 'failed'
    charge.failure_code = BOUNCED_DEBIT.code
    charge.failure_message = BOUNCED_DEBIT.message
    setError(intent, BOUNCED_DEBIT, charge.id)
  }
  await change.put('charge', charge, {})
  await change.put('payment_intent', intent, {})
  await change.put('session', session, details)
  await change.emit(hasSucceeded ? 'charge.succeeded' : 'charge.failed', charge)
  await change.emit(hasSucceeded ? 'payment_intent.succeeded' : 'payment_intent.payment_failed', intent)
  await change.emit(`checkout.session.async_payment_${hasSucceeded ? 'succeeded' : 'failed'}`, session)
  if (hasSucceeded) await bookCharge(change, charge, {})
  return session
}
