import type { StripeChange } from './change.ts'
import { wrongState } from './errors.ts'
import type { StoredStripeObject } from './objects.ts'
import type { StripeParameters } from './parameters.ts'
import { UNPAID } from './payments.ts'
import type { PaymentIntent, StripeSession } from './stripe-types.ts'

async function cancel(change: StripeChange, intent: PaymentIntent, reason: string): Promise<void> {
  intent.status = 'canceled'
  intent.canceled_at = change.now
  intent.cancellation_reason = reason
  intent.next_action = null
  await change.put('payment_intent', intent, {})
  await change.emit('payment_intent.canceled', intent)
}

/** Cancels a payment intent that is not paid. Its session stays as it is, and can't be paid any more. */
export async function cancelIntent(
  change: StripeChange,
  id: string,
  params: StripeParameters,
): Promise<PaymentIntent> {
  const reason = params.choice('cancellation_reason', [
    'duplicate',
    'fraudulent',
    'requested_by_customer',
    'abandoned',
  ])
  params.end()
  const { object: intent } = await change.lock('payment_intent', id, 'intent')
  if (!UNPAID.includes(intent.status))
    throw wrongState(
      `You cannot cancel this PaymentIntent because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be canceled: ${UNPAID.join(', ')}.`,
      'payment_intent_unexpected_state',
    )
  await cancel(change, intent, reason ?? null!)
  return intent
}

async function endSession(
  change: StripeChange,
  session: StripeSession,
  details: StoredStripeObject<'session'>['details'],
): Promise<void> {
  session.status = 'expired'
  session.url = null
  await change.put('session', session, details)
  if (typeof session.payment_intent === 'string') {
    const { object: intent } = await change.lock('payment_intent', session.payment_intent)
    if (UNPAID.includes(intent.status)) await cancel(change, intent, 'expired')
  }
  await change.emit('checkout.session.expired', session)
}

/** Ends an open session. */
export async function expire(change: StripeChange, sessionId: string): Promise<StripeSession> {
  const { object: session, details } = await change.lock('session', sessionId)
  if (session.status !== 'open')
    throw wrongState(
      `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${session.status}\`.`,
      'checkout_session_unexpected_state',
    )
  await endSession(change, session, details)
  return session
}

/** Ends a session whose time is over, unless something else has ended it. */
export async function expireOverdue(change: StripeChange, sessionId: string): Promise<void> {
  const { object: session, details } = await change.lock('session', sessionId)
  if (session.status === 'open' && session.expires_at <= change.now)
    await endSession(change, session, details)
}
