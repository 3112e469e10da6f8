// A server that speaks Stripe's protocol, and answers as a test tells it to.
import type Stripe from 'stripe'

import type { Clock } from '../../../base/clock.ts'
import type { Ending } from '../../../testing/engines.ts'
import {
  json,
  startScriptedServer,
  type ScriptedAnswer,
  type ScriptedRequest,
} from '../../../testing/scripted-http.ts'
import type { Order, RefundOrder } from './provider.ts'
import { stripe, type StripeOptions } from './stripe.ts'

export { json, type ScriptedAnswer, type ScriptedRequest }

/** Milliseconds: no outcome but those of a limit waits for it. */
export const PATIENCE = 20_000

export const KEY = `sk_test_${'c3'.repeat(20)}`
export const SECRET = `whsec_${'d4'.repeat(16)}`
/** Seconds since 1970. */
export const CREATED = 1_790_000_000

export const open = (more: Partial<StripeOptions>, clock?: Clock) =>
  stripe({ secretKey: KEY, webhookSecret: SECRET, ...more }, clock)

export const ORDER: Order = {
  id: '01k0order00000000000000000',
  createdAt: CREATED * 1000,
  amount: 3599n,
  currency: 'EUR',
  items: [
    { name: 'Grüße & mehr', amount: 1299n, quantity: 2 },
    { name: 'Post', amount: 1001n, quantity: 1 },
  ],
  successUrl: 'https://shop.example/done?session={CHECKOUT_SESSION_ID}',
  cancelUrl: 'https://shop.example/cart',
}

export const REFUND: RefundOrder = {
  id: '01k0refund0000000000000000',
  transactionId: ORDER.id,
  reference: 'cs_1',
  paymentId: 'pi_1',
  amount: 1000n,
  currency: 'EUR',
}

const METADATA = { transaction_id: ORDER.id }

// The fields of each object that are read, with the types of the package.
export const session = (more: Partial<Stripe.Checkout.Session> = {}) => ({
  id: 'cs_1',
  object: 'checkout.session' as const,
  amount_total: 3599,
  client_reference_id: ORDER.id,
  created: CREATED,
  currency: 'eur',
  livemode: false,
  metadata: METADATA,
  mode: 'payment' as const,
  payment_intent: null,
  payment_status: 'unpaid' as const,
  status: 'open' as const,
  url: 'https://checkout.example/c/cs_1',
  ...more,
})

export const charge = (more: Partial<Stripe.Charge> = {}): Partial<Stripe.Charge> => ({
  id: 'ch_1',
  object: 'charge',
  disputed: false,
  payment_intent: 'pi_1',
  metadata: METADATA,
  ...more,
})

export const payment = (more: Partial<Stripe.PaymentIntent> = {}): Stripe.PaymentIntent =>
  ({
    id: 'pi_1',
    object: 'payment_intent',
    amount: 3599,
    amount_received: 3599,
    created: CREATED + 1,
    currency: 'eur',
    latest_charge: charge() as Stripe.Charge,
    livemode: false,
    metadata: METADATA,
    status: 'succeeded',
    ...more,
  }) satisfies Partial<Stripe.PaymentIntent> as Stripe.PaymentIntent

export const refund = (more: Partial<Stripe.Refund> = {}) => ({
  id: 're_1',
  object: 'refund' as const,
  amount: 1000,
  created: CREATED + 2,
  currency: 'eur',
  metadata: { ...METADATA, refund_id: REFUND.id },
  payment_intent: 'pi_1',
  status: 'succeeded',
  ...more,
})

export const dispute = (more: Partial<Stripe.Dispute> = {}) => ({
  id: 'dp_1',
  object: 'dispute' as const,
  amount: 3599,
  balance_transactions: [] as Stripe.BalanceTransaction[],
  created: CREATED + 3,
  currency: 'eur',
  payment_intent: 'pi_1',
  reason: 'fraudulent',
  status: 'needs_response' as Stripe.Dispute.Status,
  ...more,
})

export const event = (object: object, more: Readonly<Record<string, unknown>> = {}) => ({
  id: 'evt_1',
  object: 'event',
  api_version: '2026-10-28.endive',
  created: CREATED,
  data: { object },
  livemode: false,
  pending_webhooks: 1,
  request: { id: null, idempotency_key: null },
  type: 'checkout.session.completed',
  ...more,
})

/** An error as Stripe answers it. */
export const problem = (error: {
  type?: string
  code?: string
  param?: string
  message: string
}): { error: object } => ({ error: { type: 'invalid_request_error', ...error } })

/** What the account has, the newest objects first. */
export type Account = {
  sessions: readonly object[]
  refunds: readonly object[]
  disputes: readonly object[]
  events: readonly { created: number }[]
}

type Listed = { id?: string; created?: number; payment_intent?: string | { id?: string } | null }

/** A page of a list: https://docs.stripe.com/api/pagination */
export function page(objects: readonly object[], query: URLSearchParams, size = 100): object {
  const wanted = query.get('payment_intent')
  const after = query.get('starting_after')
  const gte = Number(query.get('created[gte]') ?? 0)
  const lte = Number(query.get('created[lte]') ?? Infinity)
  const listed = objects.filter((object) => {
    const { created = 0, payment_intent: intent } = object as Listed
    const id = typeof intent === 'string' ? intent : intent?.id
    return (wanted === null || id === wanted) && created >= gte && created <= lte
  })
  const start = after === null ? 0 : listed.findIndex((one) => (one as Listed).id === after) + 1
  const limit = Math.min(size, Number(query.get('limit') ?? 10))
  return {
    object: 'list',
    url: '/v1/things',
    has_more: listed.length > start + limit,
    data: listed.slice(start, start + limit),
  }
}

/** Answers the calls of the provider over an account. */
export const answers =
  (account: Partial<Account> = {}, size?: number): ScriptedAnswer =>
  ({ method, path, query }, response) => {
    const { sessions = [session()], refunds = [], disputes = [], events = [] } = account
    const lists = { '/v1/checkout/sessions': sessions, '/v1/refunds': refunds, '/v1/disputes': disputes }
    if (method === 'POST')
      return json(response, 200, path === '/v1/refunds' ? refund({ status: 'pending' }) : sessions[0])
    if (path === '/v1/balance') return json(response, 200, { object: 'balance', livemode: false })
    if (path === '/v1/events') return json(response, 200, page(events, query, size))
    const list = Object.entries(lists).find(([prefix]) => prefix === path)?.[1]
    if (list) return json(response, 200, page(list, query, size))
    const found = sessions.find((one) => path === `/v1/checkout/sessions/${(one as { id: string }).id}`)
    if (found) return json(response, 200, found)
    json(
      response,
      404,
      problem({ code: 'resource_missing', param: 'session', message: `No such thing: '${path}'` }),
    )
  }

/** Starts a server; `asked` has each request whose body came. */
export async function serve(ending: Ending, answer: ScriptedAnswer) {
  const { port, ...rest } = await startScriptedServer(ending, answer)
  return { ...rest, apiBase: `http://127.0.0.1:${port}` }
}

export const posts = (asked: readonly { method: string }[]): number =>
  asked.filter(({ method }) => method === 'POST').length
