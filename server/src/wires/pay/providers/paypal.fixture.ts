// A server that speaks PayPal's protocol, and answers as a test tells it to.
import { generateKeyPairSync, sign } from 'node:crypto'
import type { TestContext } from 'node:test'
import { crc32 } from 'node:zlib'

import type { Clock } from '../../../base/clock.ts'
import { newId } from '../../../base/ids.ts'
import type { WebhookRequest } from '../../../providers/receive.ts'
import { issueCertificate } from '../../../testing/certificate-chain.ts'
import {
  json,
  startScriptedServer,
  type ScriptedAnswer,
  type ScriptedRequest,
} from '../../../testing/scripted-http.ts'
import type { CaptureOrder, Order, RefundOrder } from './provider.ts'
import { paypal } from './paypal.ts'

export const CLIENT_ID = 'client-a1'
export const CLIENT_SECRET = 'secret-b2c3d4'
export const TOKEN = 'A21AAtoken-e5f6'
export const WEBHOOK_ID = '1JE4291016473214C'
export const TRANSACTION = newId()
export const REFUND_CALL = newId()
export const ORDER_ID = '5O190127TN364715T'
export const CAPTURE_ID = '3C679366HH908993F'
export const REFUND_ID = '1JU08902781691411'
export const DISPUTE_ID = 'PP-D-27803'
export const EVENTS = '/v1/notifications/webhooks-events'
export const VERIFY = '/v1/notifications/verify-webhook-signature'
export const APPROVE_URL = `https://www.paypal.com/checkoutnow?token=${ORDER_ID}`

export { json, type ScriptedAnswer, type ScriptedRequest }

/** Milliseconds: no outcome but those of a limit waits for it. */
export const PATIENCE = 10_000

type Json = Record<string, unknown>
/** An error as PayPal describes it. */
export const problem = (name: string, issue?: string, more: Json = {}, detail: Json = {}): Json => ({
  name,
  message: 'The requested action could not be performed.',
  debug_id: 'f5e4d3c2',
  details: issue === undefined ? [] : [{ issue, description: `It is ${issue}.`, ...detail }],
  links: [],
  ...more,
})

const link = (rel: string, href: string, method = 'GET'): Json => ({ rel, href, method })
const api = (path: string): string => `https://api.paypal.com${path}`
const MADE = '2026-01-01T10:00:00Z'
const usd = (value: string): Json => ({ currency_code: 'USD', value })

export const captured = (more: Json = {}): Json => ({
  id: CAPTURE_ID,
  status: 'COMPLETED',
  amount: usd('12.30'),
  final_capture: true,
  custom_id: TRANSACTION,
  invoice_id: TRANSACTION,
  create_time: MADE,
  update_time: MADE,
  links: [
    link('self', api(`/v2/payments/captures/${CAPTURE_ID}`)),
    link('up', api(`/v2/checkout/orders/${ORDER_ID}`)),
  ],
  ...more,
})

export const refunded = (more: Json = {}): Json => ({
  id: REFUND_ID,
  status: 'COMPLETED',
  amount: usd('2.30'),
  custom_id: REFUND_CALL,
  create_time: '2026-01-02T10:00:00Z',
  update_time: '2026-01-02T10:00:00Z',
  links: [
    link('self', api(`/v2/payments/refunds/${REFUND_ID}`)),
    link('up', api(`/v2/payments/captures/${CAPTURE_ID}`)),
  ],
  ...more,
})

export const disputed = (more: Json = {}): Json => ({
  dispute_id: DISPUTE_ID,
  create_time: '2026-01-03T10:00:00.000Z',
  update_time: '2026-01-04T10:00:00.000Z',
  disputed_transactions: [{ seller_transaction_id: CAPTURE_ID, custom: TRANSACTION }],
  reason: 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED',
  status: 'OPEN',
  dispute_amount: usd('12.30'),
  dispute_life_cycle_stage: 'INQUIRY',
  links: [link('self', api(`/v1/customer/disputes/${DISPUTE_ID}`))],
  ...more,
})

/** An order in a state, with what was paid for it. */
export const ordered = (
  status: string,
  { captures = [], refunds = [], ...more }: Json & { captures?: Json[]; refunds?: Json[] } = {},
): Json => ({
  id: ORDER_ID,
  intent: 'CAPTURE',
  status,
  purchase_units: [
    {
      reference_id: 'default',
      amount: usd('12.30'),
      custom_id: TRANSACTION,
      invoice_id: TRANSACTION,
      ...(captures.length + refunds.length > 0 && { payments: { captures, refunds } }),
    },
  ],
  create_time: MADE,
  links: [
    link('self', api(`/v2/checkout/orders/${ORDER_ID}`)),
    ...(['CREATED', 'PAYER_ACTION_REQUIRED'].includes(status) ? [link('payer-action', APPROVE_URL)] : []),
  ],
  ...more,
})

export const happened = (event_type: string, resource: Json, more: Json = {}): Json => ({
  id: 'WH-58D329510W468432D-8HN650336L201105X',
  event_version: '1.0',
  create_time: '2026-01-01T10:00:01.000Z',
  event_type,
  resource_version: '2.0',
  summary: 'Something happened.',
  resource,
  links: [],
  ...more,
})

/** An account with one order, in the state that a test gives it. */
export const account =
  (
    objects: { order?: Json; capture?: Json; refund?: Json; dispute?: Json; events?: Json[] } = {},
  ): ScriptedAnswer =>
  ({ method, path }, response) => {
    const answersByRoute = new Map<string, [number, Json | undefined]>([
      ['POST /v2/checkout/orders', [201, ordered('PAYER_ACTION_REQUIRED')]],
      [
        `POST /v2/checkout/orders/${ORDER_ID}/capture`,
        [201, objects.order ?? ordered('COMPLETED', { captures: [captured()] })],
      ],
      [
        `GET /v2/checkout/orders/${ORDER_ID}`,
        [200, 'order' in objects ? objects.order : ordered('COMPLETED', { captures: [captured()] })],
      ],
      [`GET /v2/payments/captures/${CAPTURE_ID}`, [200, 'capture' in objects ? objects.capture : captured()]],
      [`POST /v2/payments/captures/${CAPTURE_ID}/refund`, [201, objects.refund ?? refunded()]],
      [`GET /v2/payments/refunds/${REFUND_ID}`, [200, objects.refund]],
      [`GET /v1/customer/disputes/${DISPUTE_ID}`, [200, objects.dispute]],
      [
        `GET ${EVENTS}`,
        [200, { events: objects.events ?? [], count: objects.events?.length ?? 0, links: [] }],
      ],
      ['GET /v1/notifications/webhooks', [200, { webhooks: [] }]],
      [`POST ${VERIFY}`, [200, { verification_status: 'SUCCESS' }]],
    ])
    const [status, body] = answersByRoute.get(`${method} ${path}`) ?? []
    if (status === undefined || !body)
      return json(response, 404, problem('RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID'))
    json(response, status, body)
  }

/** Starts a server. It gives tokens itself, unless `token` does, and counts the calls that change something. */
export async function serve(t: TestContext, answer: ScriptedAnswer, token?: ScriptedAnswer) {
  const asked: ScriptedRequest[] = []
  const tokens: ScriptedRequest[] = []
  const { port, server } = await startScriptedServer(t, (one, response) => {
    const isToken = one.path === '/v1/oauth2/token'
    ;(isToken ? tokens : asked).push(one)
    if (!isToken) return answer(one, response)
    if (token) return token(one, response)
    json(response, 200, { access_token: TOKEN, token_type: 'Bearer', expires_in: 32_400 })
  })
  const changes = (): number =>
    asked.filter(({ method, path }) => method === 'POST' && path !== VERIFY).length
  return { asked, tokens, changes, server, apiBase: `http://localhost:${port}` }
}

export const open = (
  more: Partial<Parameters<typeof paypal>[0]>,
  clock?: Clock,
  roots: readonly string[] = [ROOT_PEM],
) =>
  paypal(
    { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, webhookId: WEBHOOK_ID, ...more },
    clock,
    () => roots,
  )

export const order = (more: Partial<Order> = {}): Order => ({
  id: TRANSACTION,
  createdAt: Date.UTC(2026, 0, 1),
  amount: 1230n,
  currency: 'USD',
  description: 'Two mugs',
  successUrl: 'https://shop.example/thanks',
  cancelUrl: 'https://shop.example/basket',
  ...more,
})

export const captureOrder = (more: Partial<CaptureOrder> = {}): CaptureOrder => ({
  id: newId(),
  transactionId: TRANSACTION,
  reference: ORDER_ID,
  ...more,
})

export const refundOrder = (more: Partial<RefundOrder> = {}): RefundOrder => ({
  id: REFUND_CALL,
  transactionId: TRANSACTION,
  reference: ORDER_ID,
  paymentId: CAPTURE_ID,
  amount: 230n,
  currency: 'USD',
  ...more,
})

const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const root = { commonName: 'Root', keys: ec() }
export const intermediate = { commonName: 'Intermediate', keys: ec() }
export const signer = { commonName: 'localhost', keys: generateKeyPairSync('rsa', { modulusLength: 2048 }) }
export const ROOT_PEM = issueCertificate({ subject: root, isAuthority: true })
export const INTERMEDIATE_PEM = issueCertificate({ subject: intermediate, issuer: root, isAuthority: true })
/** What the server of a test signs its webhooks with: leaf and intermediate. */
export const CHAIN_PEM = issueCertificate({ subject: signer, issuer: intermediate }) + INTERMEDIATE_PEM

/** A webhook as PayPal sends and signs it. */
export function webhook(
  certUrl: string,
  {
    event = happened('PAYMENT.CAPTURE.COMPLETED', captured()),
    bytes = Buffer.from(JSON.stringify(event)),
    signed = bytes,
    time = new Date().toISOString(),
    webhookId = WEBHOOK_ID,
    key = signer.keys.privateKey,
    headers = {},
  }: {
    event?: Json
    bytes?: Buffer
    signed?: Buffer
    time?: string
    webhookId?: string
    key?: Parameters<typeof sign>[2]
    headers?: WebhookRequest['headers']
  } = {},
): WebhookRequest {
  const id = 'b2384410-f8d2-11e4-8bf3-77339302725b'
  const message = Buffer.from(`${id}|${time}|${webhookId}|${crc32(signed)}`)
  return {
    headers: {
      'paypal-transmission-id': id,
      'paypal-transmission-time': time,
      'paypal-transmission-sig': sign('sha256', message, key).toString('base64'),
      'paypal-cert-url': certUrl,
      'paypal-auth-algo': 'SHA256withRSA',
      ...headers,
    },
    bytes,
    contentType: 'application/json',
    url: '/pay/walletpay/webhook',
    publicUrl: 'https://shop.example/pay/walletpay/webhook',
  }
}
