import type Stripe from 'stripe'

import type { Outcome, PaymentSnapshot, PaymentSubject } from '../provider.ts'
import { all, Ended, pages, type StripeCallOptions, type StripeClient } from './stripe-client.ts'
import { fieldsOf, idOf, metadataOf, type StripeFields } from './stripe-fields.ts'
import { retrieveRefusal } from './stripe-outcome.ts'
import { snapshotOf, type Fetched } from './stripe-snapshot.ts'

/** Stripe's clock and ours differ. */
const CLOCK_SLACK_MS = 60_000
const EXPAND = ['payment_intent', 'payment_intent.latest_charge.balance_transaction']

type Retrieval = {
  stripe: Stripe
  options: () => StripeCallOptions
  subject: PaymentSubject & { since: number }
}

/** Fetches a checkout session, its payment, and that payment's refunds and disputes. */
export const retrieve = (
  client: StripeClient,
  subject: PaymentSubject & { since: number },
  limitMs: number,
): Promise<Outcome<{ snapshot: PaymentSnapshot }>> => {
  let isFound = false
  return client.run(
    // Only a missing session means that there is no payment.
    {
      limitMs,
      expects: 'a session',
      isRead: true,
      refusal: (problem) => (isFound ? undefined : retrieveRefusal(problem)),
    },
    async (stripe, options) => {
      const one: Retrieval = { stripe, options, subject }
      const reference = subject.reference ?? (await find(one))
      const session = await stripe.checkout.sessions.retrieve(reference, { expand: EXPAND }, options())
      if (idOf(session) !== reference) return undefined
      isFound = true
      const payment = await paymentOf(one, session)
      const snapshot = snapshotOf({ session, payment, ...(await movementsOf(one, payment)) })
      return snapshot && { snapshot }
    },
  )
}

/**
 * Finds the id of a session by its payment, else by our transaction.
 *
 * @throws Ended with `gone` if all were listed and it is not among them
 */
async function find({ stripe, options, subject }: Retrieval): Promise<string> {
  const { paymentId, transactionId, since } = subject
  const creationRange = { gte: Math.max(0, Math.floor((since - CLOCK_SLACK_MS) / 1000)) }
  const filter = paymentId === undefined ? { created: creationRange } : { payment_intent: paymentId }
  const isWanted = (session: StripeFields): boolean =>
    paymentId === undefined
      ? transactionId !== undefined &&
        (metadataOf(session, 'transaction_id') === transactionId ||
          session['client_reference_id'] === transactionId)
      : idOf(session['payment_intent']) === paymentId
  for await (const { objects } of pages((page) =>
    stripe.checkout.sessions.list({ ...filter, ...page }, options()),
  )) {
    const sessionId = idOf(objects.find(isWanted))
    if (sessionId !== undefined) return sessionId
  }
  const of = paymentId === undefined ? 'transaction' : 'payment'
  throw new Ended({
    kind: 'refused',
    code: 'gone',
    reason: `Stripe has no checkout session of this ${of}`,
  })
}

/** The payment intent of a session, which Stripe creates when the buyer first pays. */
async function paymentOf({ stripe, options }: Retrieval, session: unknown): Promise<StripeFields> {
  const { payment_intent: payment } = fieldsOf(session)
  // A server may not expand objects.
  return fieldsOf(
    typeof payment === 'string' && idOf(payment) !== undefined
      ? await stripe.paymentIntents.retrieve(
          payment,
          { expand: ['latest_charge.balance_transaction'] },
          options(),
        )
      : payment,
  )
}

/** The refunds and disputes of a payment that succeeded. */
async function movementsOf(
  { stripe, options, subject }: Retrieval,
  payment: StripeFields,
): Promise<Pick<Fetched, 'refunds' | 'disputes'>> {
  const id = idOf(payment)
  if (id === undefined || payment['status'] !== 'succeeded') return {}
  // A server may ignore the filter: leave out what belongs to another payment.
  const ofPayment = ({ payment_intent: payment }: StripeFields): boolean => (idOf(payment) ?? id) === id
  const refunds = await all((page) => stripe.refunds.list({ payment_intent: id, ...page }, options()))
  const isUndisputed =
    fieldsOf(payment['latest_charge'])['disputed'] === false &&
    !subject.objects?.some(({ kind }) => kind === 'dispute')
  const disputes = isUndisputed
    ? []
    : await all((page) => stripe.disputes.list({ payment_intent: id, ...page }, options()))
  return { refunds: refunds.filter(ofPayment), disputes: disputes.filter(ofPayment) }
}
