import assert from 'node:assert/strict'
import { before } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { fastify } from 'fastify'

import { loadSettings } from '../../../server/src/kernel/config/config.ts'
import { createJobs } from '../../../server/src/kernel/jobs/jobs.ts'
import { readMigrations } from '../../../server/src/db/migrations.ts'
import { openDatabase } from '../../../server/src/db/open.ts'
import type { TestAnswer } from '../../../server/src/testing/app.ts'
import { testClock, type TestClock } from '../../../server/src/testing/clock.ts'
import { endOfSuite, temporaryFolder, type Ending, type Engine } from '../../../server/src/testing/engines.ts'
import { freePort } from '../../../server/src/testing/free-port.ts'
import { until } from '../../../server/src/testing/until.ts'
import { createSandbox } from '../index.ts'
import { createWalletpay } from './index.ts'
import { SANDBOX_TABLES } from '../wire.ts'

/** A JSON body, as far as the tests read it. */
export type Json = TestAnswer['body']

export type Reply = { status: number; headers: Headers; text: string; body: Json }

/** A webhook as the application received it. */
export type Received = { headers: Record<string, string>; text: string; event: Json }

export type WalletServer = {
  /** The address of PayPal's API. */
  address: string
  url: string
  clock: TestClock
  databaseUrl: string
  port: number
  received: Received[]
  /** Status codes to answer webhooks with; 200 if there is none. */
  answers: number[]
  /** Any request below the server's address. */
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>
  /** A call of PayPal's API with a token. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  /** A call of the sandbox's own API. */
  drive(method: string, path: string, body?: unknown): Promise<Reply>
  state(): Promise<Json>
  /** Waits for this many webhooks. */
  webhooks(count: number): Promise<Received[]>
  stop(): Promise<void>
}

type RequestOptions = { raw?: string; headers?: Record<string, string> }

export type WalletOptions = { databaseUrl?: string; port?: number; clock?: TestClock; webhookId?: string }

const CHECK_MS = 10
const CHECKS_MAX = 2_000
const TOKEN_MS = 8 * 3_600_000

/** The wallet provider alone, on an HTTP server that is also the application which receives its webhooks. */
export async function startWallet(
  ending: Ending,
  engine: Engine,
  options: WalletOptions = {},
): Promise<WalletServer> {
  const port = options.port ?? (await freePort())
  const databaseUrl = options.databaseUrl ?? (await engine.migratedUrl())
  const clock = options.clock ?? testClock()
  const environment = {
    PORT: String(port),
    SIXWIRE_SANDBOX: 'on',
    SIXWIRE_SECRET: 'a secret of the tests that is long enough',
    DATABASE_URL: databaseUrl,
  }
  const settings = await loadSettings({ name: 'shop' }, environment, await temporaryFolder(ending))
  const db = await openDatabase(databaseUrl)
  const app = fastify()
  const jobs = createJobs({ db, clock, log: app.log })
  const sandbox = createSandbox({ db, clock, jobs, settings, log: app.log }, { creators: [createWalletpay] })
  const frame = new URL('../../../server/src/kernel/migrations/', import.meta.url)
  await db.migrate([
    ...(await readMigrations('sixwire', frame, db.dialect)),
    ...(await readMigrations('sandbox', SANDBOX_TABLES.migrations, db.dialect)),
  ])
  await sandbox.open(new Set(['PAYPAL_CLIENT_ID']))
  await sandbox.start({
    ...sandbox.variables,
    ...(options.webhookId !== undefined && { PAYPAL_WEBHOOK_ID: options.webhookId }),
  })
  const received: Received[] = []
  const answers: number[] = []
  await app.register(async (receiver) => {
    receiver.removeAllContentTypeParsers()
    receiver.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => done(null, text))
    receiver.post('/pay/walletpay/webhook', async ({ headers, body }, reply) => {
      const text = body as string
      received.push({ headers: headers as Record<string, string>, text, event: JSON.parse(text) })
      return reply.code(answers.shift() ?? 200).send({})
    })
  })
  app.get('/shop', async () => 'The shop')
  await app.register(sandbox.plugin, { prefix: '/sandbox' })
  await app.listen({ port, host: 'localhost' })
  await jobs.start()

  let isOpen = true
  async function stop(): Promise<void> {
    if (!isOpen) return
    isOpen = false
    sandbox.endStreams()
    await app.close()
    await jobs.stop()
    await sandbox.close()
    await db.close()
  }
  ending.after(stop)

  const url = `http://localhost:${port}`
  const { PAYPAL_API_BASE: address, PAYPAL_CLIENT_ID: id, PAYPAL_CLIENT_SECRET: secret } = sandbox.variables
  let token: Promise<string> | undefined
  let tokenUntil = 0

  async function request(
    method: string,
    path: string,
    { raw, headers }: RequestOptions = {},
  ): Promise<Reply> {
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      ...(headers && { headers }),
      ...(raw !== undefined && { body: raw }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    }
  }

  async function newToken(): Promise<string> {
    const { body } = await request('POST', '/sandbox/walletpay/v1/oauth2/token', {
      raw: 'grant_type=client_credentials',
      headers: {
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    })
    return body.access_token
  }

  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    request(method, path, {
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { raw: typeof body === 'string' ? body : JSON.stringify(body) }),
    })

  return {
    address: address!,
    url,
    clock,
    databaseUrl,
    port,
    received,
    answers,
    request,
    async call(method, path, body, headers) {
      if (clock.now() >= tokenUntil) {
        token = newToken()
        tokenUntil = clock.now() + TOKEN_MS
      }
      return send(method, `/sandbox/walletpay${path}`, body, {
        authorization: `Bearer ${await token!}`,
        ...headers,
      })
    },
    drive: (method, path, body) => send(method, `/sandbox/api${path}`, body),
    state: async () => (await request('GET', '/sandbox/api')).body.walletpay,
    async webhooks(count) {
      for (let checks = 0; received.length < count; checks++) {
        if (checks > CHECKS_MAX) throw new Error(`${received.length} of ${count} webhooks arrived`)
        await delay(CHECK_MS)
      }
      return received
    },
    stop,
  }
}

/**
 * One server for all tests of a suite; call it where the suite is described.
 *
 * @returns what a test calls for the server, whose sandbox has forgotten everything but its credentials
 */
export function walletForAll(engine: Engine): () => Promise<WalletServer> {
  const ending = endOfSuite()
  let wallet: WalletServer
  before(async () => {
    wallet = await startWallet(ending, engine)
  })
  return async () => {
    // A webhook under way would arrive in the next test.
    await until(async () => (await wallet.state()).webhooksWaiting === 0)
    const { status, text } = await wallet.drive('DELETE', '')
    assert.equal(status, 200, text)
    wallet.received.length = 0
    return wallet
  }
}

let numbers = 0

/** A new idempotency key. */
export const newKey = (): string => `key-${++numbers}`

export const orderBody = (value = '12.30', currency = 'EUR', more: Json = {}): Json => ({
  intent: 'CAPTURE',
  purchase_units: [
    { reference_id: 'default', amount: { currency_code: currency, value }, description: 'A hat', ...more },
  ],
  payment_source: {
    paypal: {
      experience_context: {
        return_url: 'https://shop.example/done?cart=1',
        cancel_url: 'https://shop.example/cancel',
        user_action: 'PAY_NOW',
        shipping_preference: 'NO_SHIPPING',
      },
    },
  },
})

export const REPRESENTATION = { prefer: 'return=representation' }

/** Creates an order, with a new idempotency key. */
export async function createOrder(wallet: WalletServer, body: Json = orderBody()): Promise<Json> {
  const key = { 'paypal-request-id': newKey(), ...REPRESENTATION }
  const { status, text, body: order } = await wallet.call('POST', '/v2/checkout/orders', body, key)
  if (status !== 201) throw new Error(`the order was answered with ${status}: ${text}`)
  return order
}

export const capture = (wallet: WalletServer, id: string, key = newKey()): Promise<Reply> =>
  wallet.call('POST', `/v2/checkout/orders/${id}/capture`, undefined, {
    'paypal-request-id': key,
    ...REPRESENTATION,
  })

/** An order that is approved and captured. */
export async function pay(
  wallet: WalletServer,
  funding = 'balance',
  body: Json = orderBody(),
): Promise<{ id: string; captureId: string; order: Json }> {
  const { id } = await createOrder(wallet, body)
  await wallet.drive('POST', `/walletpay/orders/${id}/approve`, { funding })
  const { body: order } = await capture(wallet, id)
  return { id, order, captureId: order.purchase_units[0].payments.captures[0].id }
}

export const refund = (
  wallet: WalletServer,
  captureId: string,
  value?: string,
  key = newKey(),
  currency = 'EUR',
): Promise<Reply> =>
  wallet.call(
    'POST',
    `/v2/payments/captures/${captureId}/refund`,
    value === undefined ? {} : { amount: { currency_code: currency, value } },
    { 'paypal-request-id': key, ...REPRESENTATION },
  )

/** The codes of an error. */
export const issuesOf = ({ body }: Reply): string[] => body.details.map(({ issue }: Json) => issue)
