import Fastify from 'fastify'
import Stripe from 'stripe'

import { openDatabase } from '../../../server/src/db/open.ts'
import { readMigrations } from '../../../server/src/db/migrations.ts'
import { loadSettings } from '../../../server/src/kernel/config/config.ts'
import { createJobs } from '../../../server/src/kernel/jobs/jobs.ts'
import { testClock, type TestClock } from '../../../server/src/testing/clock.ts'
import { temporaryFolder, type Ending, type Engine } from '../../../server/src/testing/engines.ts'
import { freePort } from '../../../server/src/testing/free-port.ts'
import { createSandbox } from '../index.ts'
import { createCardpay } from './index.ts'
import type { CardPayment } from './payment-list.ts'
import { SANDBOX_TABLES } from '../wire.ts'

/** A webhook as the application received it. */
export type Received = { signature: string; body: string; event: Stripe.Event }

/** What the sandbox answers, as far as the tests read it. */
export type Answer = {
  id: string
  status: string
  payment_status: string
  payment_intent: string
  amount: number
  reason: string
  error: { type: string; code: string; decline_code?: string; message: string; param?: string }
  payments: CardPayment[]
  faults: Record<string, unknown>
}

/** A sandbox with the card provider alone, and an application that takes its webhooks. */
export type Cardpay = {
  url: string
  address: string
  secretKey: string
  webhookSecret: string
  clock: TestClock
  stripe: Stripe
  /** The official client with another key or other options. */
  client(options?: { key?: string; apiVersion?: string }): Stripe
  /** A request to the sandbox. */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: Answer }>
  /** The webhooks so far. */
  received: Received[]
  /** Waits until webhooks of this type, or any number of them, have arrived. */
  webhook(type: string, count?: number): Promise<Received>
  payments(): Promise<CardPayment[]>
  stop(): Promise<void>
}

const WAIT_MS = 5
const PATIENCE = 1_000

/** Puts the path before those of the package, which takes a host and a port only. */
function clientBelow(path: string): Stripe.HttpClient {
  const inner = Stripe.createNodeHttpClient()
  const makeRequest = inner.makeRequest.bind(inner)
  inner.makeRequest = (host, port, below, ...rest) => makeRequest(host, port, path + below, ...rest)
  return inner
}

export async function startCardpay(
  ending: Ending,
  engine: Pick<Engine, 'migratedUrl'>,
  options: { databaseUrl?: string; clock?: TestClock; webhookSecret?: string } = {},
): Promise<Cardpay> {
  const port = await freePort()
  const folder = await temporaryFolder(ending)
  const clock = options.clock ?? testClock()
  const settings = await loadSettings(
    { name: 'Corner shop' },
    { PORT: String(port), SIXWIRE_SECRET: 'a secret of the tests that is long enough', DATA_DIR: folder },
    folder,
  )
  const db = await openDatabase(options.databaseUrl ?? (await engine.migratedUrl()))
  const server = Fastify({ forceCloseConnections: true })
  const jobs = createJobs({ db, clock, log: server.log })
  const sandbox = createSandbox({ db, clock, jobs, settings, log: server.log }, { creators: [createCardpay] })
  const received: Received[] = []
  await sandbox.open(new Set(['STRIPE_SECRET_KEY']))
  await db.migrate([
    ...(await readMigrations(
      'sixwire',
      new URL('../../../server/src/kernel/migrations/', import.meta.url),
      db.dialect,
    )),
    ...(await readMigrations('sandbox', SANDBOX_TABLES.migrations, db.dialect)),
  ])
  await server.register(sandbox.plugin, { prefix: '/sandbox' })
  await server.register(async (shop) => {
    shop.removeAllContentTypeParsers()
    shop.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
    shop.post('/pay/cardpay/webhook', async ({ headers, body }) => {
      const event = JSON.parse(body as string) as Stripe.Event
      received.push({ signature: headers['stripe-signature'] as string, body: body as string, event })
      return { received: true }
    })
    shop.get('/done', async () => 'Thank you.')
    shop.get('/back', async () => 'Come again.')
  })
  const {
    STRIPE_API_BASE: address,
    STRIPE_SECRET_KEY: secretKey,
    STRIPE_WEBHOOK_SECRET: own,
  } = sandbox.variables
  const webhookSecret = options.webhookSecret ?? own!
  await sandbox.start({ ...sandbox.variables, STRIPE_WEBHOOK_SECRET: webhookSecret })
  await server.listen({ port, host: '127.0.0.1' })
  await jobs.start()
  let isStopped = false
  const stop = async (): Promise<void> => {
    if (isStopped) return
    isStopped = true
    await jobs.stop()
    await server.close()
    await sandbox.close()
    await db.close()
  }
  ending.after(stop)
  const url = `http://localhost:${port}`
  const { pathname } = new URL(address!)

  const client: Cardpay['client'] = ({ key = secretKey!, apiVersion } = {}) =>
    new Stripe(key, {
      host: 'localhost',
      port,
      protocol: 'http',
      httpClient: clientBelow(pathname),
      maxNetworkRetries: 0,
      telemetry: false,
      ...(apiVersion !== undefined && { apiVersion: apiVersion as Stripe.LatestApiVersion }),
    })

  const request: Cardpay['request'] = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    })
    return { status: response.status, body: (await response.json()) as Answer }
  }

  return {
    url,
    address: address!,
    secretKey: secretKey!,
    webhookSecret,
    clock,
    stripe: client(),
    client,
    request,
    received,
    async webhook(type, count = 1) {
      for (let looks = 0; looks < PATIENCE; looks++) {
        const found = received.filter(({ event }) => event.type === type)
        if (found.length >= count) return found.at(-1)!
        await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
      }
      throw new Error(`no webhook ${type}: there are ${received.map(({ event }) => event.type).join(', ')}`)
    },
    payments: async () => (await request('GET', '/sandbox/api/cardpay')).body.payments,
    stop,
  }
}

/** What a shop asks for; the amount is in minor units. */
export const orderOf = (
  { url }: { url: string },
  { amount = 1_000, currency = 'eur', quantity = 1, name = 'A book' } = {},
): Stripe.Checkout.SessionCreateParams => ({
  mode: 'payment',
  success_url: `${url}/done?session={CHECKOUT_SESSION_ID}`,
  cancel_url: `${url}/back`,
  metadata: { transactionId: 't1' },
  payment_intent_data: { metadata: { transactionId: 't1' } },
  line_items: [{ quantity, price_data: { currency, unit_amount: amount, product_data: { name } } }],
})

/** A session that was paid by card, with its payment intent and charge. */
export async function paid(
  cardpay: Cardpay,
  options: { amount?: number; card?: string; currency?: string } = {},
): Promise<{ session: Stripe.Checkout.Session; intent: string; charge: string }> {
  const { card, ...order } = options
  const { id } = await cardpay.stripe.checkout.sessions.create(orderOf(cardpay, order))
  const { status, body } = await cardpay.request('POST', `/sandbox/api/cardpay/sessions/${id}/pay`, {
    ...(card !== undefined && { card }),
  })
  if (status !== 200) throw new Error(`paying answered ${status}: ${JSON.stringify(body)}`)
  const intent = await cardpay.stripe.paymentIntents.retrieve(body.payment_intent)
  return {
    session: body as unknown as Stripe.Checkout.Session,
    intent: intent.id,
    charge: intent.latest_charge as string,
  }
}

/** The types of the events about a payment, in their order. */
export const eventTypes = async ({ stripe }: Cardpay, intent: string): Promise<string[]> =>
  (await stripe.events.list({ limit: 100 })).data
    .filter(({ data }) => {
      const object = data.object as { id?: string; payment_intent?: string }
      return object.id === intent || object.payment_intent === intent
    })
    .map(({ type }) => type as string)
    .toReversed()

/** The error that a call is refused with. */
export async function refusal(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof Stripe.errors.StripeError) return error
  throw new Error(`it was not refused by the API: ${String(error)}`)
}
