import { getCACertificates } from 'node:tls'

import { systemClock } from '../../../base/clock.ts'
import { StartError } from '../../../base/start-error.ts'
import { createOutbound } from '../../../outbound/outbound.ts'
import { PendingPromises } from '../../../base/pending-promises.ts'
import {
  REFUND_WORDS,
  type CaptureOrder,
  type LedgerEntry,
  type Order,
  type Outcome,
  type PaymentProvider,
  type RefundOrder,
  type PaymentSnapshot,
} from './provider.ts'
import { createCertificates } from './paypal/paypal-certificate.ts'
import { rootsOf } from './paypal/paypal-chain.ts'
import { createClient, type PaypalClient } from './paypal/paypal-client.ts'
import { createEventList } from './paypal/paypal-event-list.ts'
import { idOf, linkOf, objectOf } from './paypal/paypal-fields.ts'
import { createRetrievePayment } from './paypal/paypal-retrieve.ts'
import { amountOf, CURRENCIES } from './paypal/paypal-money.ts'
import { outcomeOf, refusedAt, sentence } from './paypal/paypal-outcome.ts'
import { orderOf, refundOf } from './paypal/paypal-snapshot.ts'
import { paypalReceiver } from './paypal/paypal-webhook.ts'

const API_BASE = 'https://api-m.paypal.com'
/** Where real money is moved; test accounts are at others. */
const LIVE_HOSTS: ReadonlySet<string> = new Set(['api-m.paypal.com', 'api.paypal.com'])
const CHECK_MS = 10_000
/** A page has 100 events, each with its order. */
const ANSWER_BYTES_MAX = 16 * 1_048_576
const CERTIFICATE_BYTES_MAX = 65_536
const ORDERS = '/v2/checkout/orders'

/**
 * A provider of payments through PayPal: orders (https://developer.paypal.com/docs/api/orders/v2/), payments
 * (https://developer.paypal.com/docs/api/payments/v2/), and their webhooks.
 *
 * @param options.webhookId the ID of the webhook at PayPal; without it webhooks are refused, and events are found by
 *   listing them only
 * @param options.apiBase the address of PayPal's API. Default: https://api-m.paypal.com
 * @param clock for the time limits of calls, and the age of webhooks
 * @param roots the root certificates, in PEM, to which the certificates of webhooks must lead. Default: those of Node
 * @throws StartError if `apiBase` is not a URL
 * @example
 * import { defineConfig } from 'sixwire'
 * import { paypal } from 'sixwire/paypal'
 *
 * export default defineConfig({
 *   pay: { walletpay: paypal({ clientId: '…', clientSecret: '…', webhookId: '…' }) },
 * })
 */
export function paypal(
  options: { clientId: string; clientSecret: string; webhookId?: string; apiBase?: string },
  clock = systemClock,
  roots: () => readonly string[] = () => getCACertificates('default'),
): PaymentProvider & Required<Pick<PaymentProvider, 'capture' | 'authorize'>> {
  const apiBase = readBase(options.apiBase ?? API_BASE)
  const headers = { accept: 'application/json' }
  const outbound = createOutbound({
    name: 'PayPal',
    base: apiBase,
    headers,
    maxBytes: ANSWER_BYTES_MAX,
    clock,
  })
  const client = createClient({ clock }, { outbound }, { credentials: options })
  const certificateOutbound = createOutbound({
    name: 'PayPal',
    maxBytes: CERTIFICATE_BYTES_MAX,
    clock,
  })
  const retrieve = createRetrievePayment({ clock }, { client })
  const events = createEventList({ clock }, { client })
  const calls = new PendingPromises()

  return {
    name: 'paypal',
    isLive: LIVE_HOSTS.has(apiBase.hostname),
    currencies: CURRENCIES,
    create: (order, limitMs) => calls.add(create(client, order, limitMs)),
    capture: (order, limitMs) => calls.add(capture(client, order, limitMs)),
    refund: (order, limitMs) => calls.add(refund(client, order, limitMs)),
    retrieve: (subject, limitMs) => calls.add(retrieve(subject, limitMs)),
    events: (since, limitMs) => calls.add(events(since, limitMs)),
    check: () => calls.add(check(client)),
    ...paypalReceiver({
      webhookId: options.webhookId?.trim() || undefined,
      certificates: createCertificates({
        fetch: (address, limitMs) => calls.add(certificateOutbound.call(address, { limitMs })),
        apiBase,
        roots: rootsOf(roots),
        clock,
      }),
      ask: (body, limitMs) =>
        calls.add(
          client.call('/v1/notifications/verify-webhook-signature', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
            limitMs,
          }),
        ),
      clock,
    }),
    async close() {
      await calls.idle()
      await client.idle()
    },
  }
}

/** Changes something at PayPal, once under its key, and asks for the whole object in the answer. */
const change = (client: PaypalClient, path: string, key: string, json: object, limitMs: number) =>
  client.call(path, {
    headers: { 'paypal-request-id': key, prefer: 'return=representation' },
    json,
    limitMs,
  })

async function create(
  client: PaypalClient,
  order: Order,
  limitMs: number,
): Promise<Outcome<{ reference: string; url: string }>> {
  if (!Object.hasOwn(CURRENCIES, order.currency))
    return {
      kind: 'refused',
      code: 'parameter',
      reason: `PayPal does not take ${order.currency}`,
      details: { parameter: 'currency' },
    }
  const unit = {
    reference_id: order.merchantReference ?? 'default',
    custom_id: order.id,
    invoice_id: order.id,
    ...(order.description !== undefined && { description: order.description }),
    amount: amountOf(order),
  }
  const context = {
    return_url: order.successUrl,
    cancel_url: order.cancelUrl,
    user_action: 'PAY_NOW',
    shipping_preference: order.shipping === undefined ? 'NO_SHIPPING' : 'GET_FROM_FILE',
  }
  const body = {
    intent: 'CAPTURE',
    purchase_units: [unit],
    payment_source: {
      paypal: {
        ...(order.email !== undefined && { email_address: order.email }),
        experience_context: context,
      },
    },
  }
  return outcomeOf(await change(client, ORDERS, order.id, body, limitMs), {
    call: 'create',
    expects: 'an order to approve',
    accept(answer) {
      const { id, status, links } = objectOf(answer)
      const reference = idOf(id)
      const url = linkOf(links, 'payer-action', 'approve')
      if (status !== 'CREATED' && status !== 'PAYER_ACTION_REQUIRED') return undefined
      return reference === undefined || url === undefined ? undefined : { reference, url }
    },
  })
}

async function capture(
  client: PaypalClient,
  { id, reference }: CaptureOrder,
  limitMs: number,
): Promise<Outcome<{ snapshot: PaymentSnapshot }>> {
  const path = `${ORDERS}/${encodeURIComponent(reference)}/capture`
  return outcomeOf(await change(client, path, id, {}, limitMs), {
    call: 'capture',
    expects: 'a captured order',
    accept(answer) {
      const view = orderOf(answer)
      if (view?.snapshot.reference !== reference) return undefined
      const { snapshot, status, links, isDeclined } = view
      if (isDeclined) return refusedAt('declined', 'PayPal declined the capture', links)
      if (status === 'PAYER_ACTION_REQUIRED')
        return refusedAt('not_approved', 'PayPal needs the buyer to approve the order', links)
      return snapshot.entries.some(({ kind }) => kind === 'charge') ? { snapshot } : undefined
    },
  })
}

async function refund(
  client: PaypalClient,
  order: RefundOrder,
  limitMs: number,
): Promise<Outcome<{ entry: LedgerEntry & { kind: 'refund' } }>> {
  const path = `/v2/payments/captures/${encodeURIComponent(order.paymentId)}/refund`
  // PayPal shows it to the buyer, who is not to read that a refund is `fraudulent`.
  const note = REFUND_WORDS.some((word) => word === order.reason) ? undefined : order.reason
  const body = {
    amount: amountOf(order),
    custom_id: order.id,
    ...(note !== undefined && { note_to_payer: note }),
  }
  return outcomeOf(await change(client, path, order.id, body, limitMs), {
    call: 'refund',
    expects: 'a refund',
    accept(answer) {
      const entry = refundOf(answer)
      return entry && { entry: { ...entry, callId: order.id } }
    },
  })
}

async function check(client: PaypalClient): Promise<void> {
  const reply = await client.call('/v1/notifications/webhooks', { limitMs: CHECK_MS })
  if (reply.kind !== 'answered') throw new Error(reply.reason)
  if (reply.status !== 200) throw new Error(sentence(reply))
}

function readBase(base: string): URL {
  const url = /^https?:\/\/./i.test(base) && URL.canParse(base) ? new URL(base) : undefined
  if (!url)
    throw new StartError(
      `PAYPAL_API_BASE, or the apiBase of paypal(): "${base}" is not an address like ${API_BASE}`,
    )
  return url
}
