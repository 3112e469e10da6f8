import type Stripe from 'stripe'

import { systemClock } from '../../../base/clock.ts'
import { StartError } from '../../../base/start-error.ts'
import { REFUND_WORDS, type Order, type PaymentProvider } from './provider.ts'
import { createStripeClient } from './stripe/stripe-client.ts'
import { STRIPE_CURRENCIES } from './stripe/stripe-currencies.ts'
import { listEvents } from './stripe/stripe-events.ts'
import { idOf } from './stripe/stripe-fields.ts'
import { retrieve } from './stripe/stripe-retrieve.ts'
import { createRefusal, refundRefusal } from './stripe/stripe-outcome.ts'
import { httpUrlOf, refundEntryOf } from './stripe/stripe-snapshot.ts'
import { stripeReceiver } from './stripe/stripe-webhook.ts'

const API_BASE = 'https://api.stripe.com'
const CHECK_MS = 10_000

/** Options of the provider of card payments. */
export type StripeOptions = {
  /** `sk_…`, or a restricted key `rk_…` that may write sessions and refunds and read events, disputes and the balance. */
  secretKey: string
  /** `whsec_…` of the endpoint; without it no webhook is accepted, and payments are found by looking them up. */
  webhookSecret?: string
  /** The address of Stripe's API. Default: https://api.stripe.com */
  apiBase?: string
}

/**
 * A provider of card payments by Stripe Checkout (https://docs.stripe.com/payments/checkout), through the `stripe` package.
 * The endpoint of its webhooks subscribes to the events `EVENT_TYPES` of stripe-events.ts.
 *
 * @param clock for the time limits of calls, and for the age of webhooks
 * @throws StartError if `apiBase` is not a URL, `secretKey` is not a secret key, or `webhookSecret` not a signing secret
 * @example
 * import { defineConfig } from 'sixwire'
 * import { stripe } from 'sixwire/stripe'
 *
 * export default defineConfig({
 *   pay: { cardpay: stripe({ secretKey: 'sk_…', webhookSecret: 'whsec_…' }) },
 * })
 */
export function stripe(options: StripeOptions, clock = systemClock): PaymentProvider {
  const secretKey = checkedKey(options.secretKey)
  const base = options.apiBase ?? API_BASE
  if (httpUrlOf(base) === undefined)
    throw new StartError(
      `STRIPE_API_BASE, or the apiBase of stripe(): "${base}" is not an address like ${API_BASE}`,
    )
  const secret = checkedWebhookSecret(options.webhookSecret?.trim())
  const isLive = /^[sr]k_live_/.test(secretKey)
  const client = createStripeClient({ clock }, { secretKey, base })

  return {
    name: 'stripe',
    isLive,
    currencies: STRIPE_CURRENCIES,

    async create(order, limitMs) {
      if (order.amount > BigInt(Number.MAX_SAFE_INTEGER))
        return { kind: 'refused', code: 'parameter', reason: 'This amount is too large for Stripe.' }
      return client.run(
        { limitMs, expects: 'a session', refusal: createRefusal },
        async (stripe, callOptions) => {
          const session = await stripe.checkout.sessions.create(sessionOf(order), {
            ...callOptions(),
            idempotencyKey: order.id,
          })
          const [reference, url] = [idOf(session), httpUrlOf(session.url)]
          return reference === undefined || url === undefined ? undefined : { reference, url }
        },
      )
    },

    cancel: ({ reference }, limitMs) =>
      client.run(
        { limitMs, expects: 'an expired session', refusal: () => undefined },
        async (stripe, callOptions) => {
          const session = await stripe.checkout.sessions.expire(reference, {}, callOptions())
          return idOf(session) === reference && session.status === 'expired' ? {} : undefined
        },
      ),

    refund: ({ id, transactionId, paymentId, amount, reason }, limitMs) =>
      client.run({ limitMs, expects: 'a refund', refusal: refundRefusal }, async (stripe, callOptions) => {
        const refund = await stripe.refunds.create(
          {
            payment_intent: paymentId,
            amount: Number(amount),
            ...(isRefundWord(reason) && { reason }),
            metadata: {
              transaction_id: transactionId,
              refund_id: id,
              ...(reason !== undefined && { refund_reason: reason }),
            },
          },
          { ...callOptions(), idempotencyKey: id },
        )
        const entry = refundEntryOf(refund)
        return entry && { entry }
      }),

    retrieve: (subject, limitMs) => retrieve(client, subject, limitMs),
    events: (since, limitMs) => listEvents(client, { since, limitMs, isLive }),
    ...stripeReceiver({ secret, isLive }, clock),

    async check() {
      const outcome = await client.run(
        { limitMs: CHECK_MS, expects: 'a balance' },
        async (stripe, callOptions) => {
          const balance = await stripe.balance.retrieve({}, callOptions())
          return balance.object === 'balance' ? {} : undefined
        },
      )
      if (outcome.kind !== 'accepted') throw new Error(outcome.reason)
    },

    // No connection outlives its call.
    close: () => client.idle(),
  }
}

/** Stripe takes these words only; other reasons are metadata. */
const isRefundWord = (reason: string | undefined): reason is (typeof REFUND_WORDS)[number] =>
  (REFUND_WORDS as readonly (string | undefined)[]).includes(reason)

type AllowedCountry = Stripe.Checkout.SessionCreateParams.ShippingAddressCollection.AllowedCountry

/** The session of an order: https://docs.stripe.com/api/checkout/sessions/create */
function sessionOf(order: Order) {
  const { id, amount, currency, items, description, successUrl, cancelUrl } = order
  const { email, merchantReference, expiresAt, shipping } = order
  const metadata = {
    transaction_id: id,
    ...(merchantReference !== undefined && { merchant_reference: merchantReference }),
  }
  const sold = items ?? [{ name: description ?? 'Payment', amount, quantity: 1 }]
  return {
    mode: 'payment' as const,
    line_items: sold.map((item) => ({
      price_data: {
        currency: currency.toLowerCase(),
        unit_amount: Number(item.amount),
        product_data: { name: item.name },
      },
      quantity: item.quantity,
    })),
    success_url: successUrl,
    cancel_url: cancelUrl,
    client_reference_id: id,
    ...(email !== undefined && { customer_email: email }),
    ...(Array.isArray(shipping) && {
      shipping_address_collection: { allowed_countries: shipping as AllowedCountry[] },
    }),
    ...(expiresAt !== undefined && { expires_at: Math.floor(expiresAt / 1000) }),
    metadata,
    payment_intent_data: { metadata },
  }
}

/** A key that cannot be a secret one is refused at the start; whether Stripe knows it, `check` says. */
function checkedKey(key: string): string {
  const name = 'STRIPE_SECRET_KEY, or the secretKey of stripe()'
  if (!/^[\x21-\x7e]+$/.test(key)) throw new StartError(`${name}: set the secret key of the account, sk_…`)
  const other = /^(pk|whsec)_/.exec(key)?.[1]
  if (other === 'pk') throw new StartError(`${name}: this is the publishable key, set the secret key sk_…`)
  if (other === 'whsec')
    throw new StartError(`${name}: this is the secret of the webhook, set the secret key sk_…`)
  return key
}

/** A webhook signed with any other secret is no webhook of Stripe: https://docs.stripe.com/webhooks#verify-official-libraries */
function checkedWebhookSecret(secret: string | undefined): string | undefined {
  if (secret === undefined || secret === '') return undefined
  if (!/^whsec_[\x21-\x7e]+$/.test(secret))
    throw new StartError(
      'STRIPE_WEBHOOK_SECRET, or the webhookSecret of stripe(): set the signing secret of the webhook endpoint, whsec_…',
    )
  return secret
}
