import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Ajv } from 'ajv'

import { anyEngine } from '../../../server/src/testing/engines.ts'
import { newKey, orderBody, REPRESENTATION, startWallet, type Json, type Reply } from './walletpay.fixture.ts'

const folder =
  process.env['SIXWIRE_CONTRACTS'] ?? fileURLToPath(new URL('../../../../shared/contracts', import.meta.url))
const FILES = [
  'paypal-checkout_orders_v2.json',
  'paypal-payments_payment_v2.json',
  'paypal-notifications_webhooks_v1.json',
  'paypal-customer_disputes_v1.json',
]
const missing = FILES.find((file) => !existsSync(join(folder, file)))

/** Sentences for people, of which PayPal's description fixes each word: the sandbox has its own. */
function withoutSentences(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutSentences)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      (name === 'description' || name === 'message') && (value as Json)?.enum
        ? { type: 'string' }
        : withoutSentences(value),
    ]),
  )
}

const pointer = (text: string): string => encodeURI(text.replaceAll('~', '~0').replaceAll('/', '~1'))

describe(
  "PayPal's own description of its API",
  { skip: missing ? `there is no ${missing} in ${folder}: SIXWIRE_CONTRACTS names the folder` : false },
  () => {
    anyEngine((engine) => {
      test('requests and answers are what it describes', async (t) => {
        const wallet = await startWallet(t, engine)
        const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, unicodeRegExp: false })
        const contracts = FILES.map((file) => {
          const contract = withoutSentences(JSON.parse(readFileSync(join(folder, file), 'utf8')))
          ajv.addSchema(contract, file)
          return { file, contract }
        })

        const compiled = new Map<string, ReturnType<typeof ajv.compile>>()

        function checkSchema(file: string, path: string, value: Json, what: string): void {
          const isRight = compiled.getOrInsertComputed(`${file}#${path}`, ($ref) => ajv.compile({ $ref }))
          assert.ok(isRight(value), `${what}: ${JSON.stringify(isRight.errors)} ${JSON.stringify(value)}`)
        }

        async function check(
          method: string,
          template: string,
          status: number,
          { id = '', body, query = '', key = newKey(), full = true }: Json = {},
        ): Promise<Json> {
          const [path] = template.split('?', 1) as [string]
          const { file, contract } = contracts.find((one) => one.contract.paths[path])!
          const operation = contract.paths[path][method.toLowerCase()]
          const at = `/paths/${pointer(path)}/${method.toLowerCase()}`
          const what = `${method} ${path} ${status}`
          if (operation.requestBody?.content)
            checkSchema(file, `${at}/requestBody/content/application~1json/schema`, body ?? {}, what)
          const headers = { 'paypal-request-id': key, ...(full && REPRESENTATION) }
          const reply: Reply = await wallet.call(
            method,
            path.replace(/\{\w+\}/, id) + query,
            method === 'POST' ? (body ?? {}) : undefined,
            headers,
          )
          assert.equal(reply.status, status, `${what}: ${reply.text}`)
          const described = operation.responses[status] ? status : 'default'
          const response = operation.responses[described]
          const responsePath = response.$ref ? response.$ref.slice(1) : `${at}/responses/${described}`
          checkSchema(file, `${responsePath}/content/application~1json/schema`, reply.body, what)
          return reply.body
        }

        const drive = (path: string, body?: unknown) => wallet.drive('POST', `/walletpay/${path}`, body)
        const orders = '/v2/checkout/orders'
        const order = `${orders}/{id}`
        const capturePath = '/v2/payments/captures/{capture_id}'
        const items = [
          { name: 'A hat', quantity: '1', unit_amount: { currency_code: 'EUR', value: '12.30' }, sku: 'hat' },
        ]
        const amount = {
          currency_code: 'EUR',
          value: '12.30',
          breakdown: { item_total: { currency_code: 'EUR', value: '12.30' } },
        }
        const body = () =>
          orderBody('12.30', 'EUR', { amount, items, custom_id: newKey(), invoice_id: newKey() })

        async function paid(funding = 'balance'): Promise<{ id: string; captureId: string }> {
          const { id } = await check('POST', orders, 201, { body: body() })
          await drive(`orders/${id}/approve`, { funding })
          await check('GET', order, 200, { id })
          const captured = await check('POST', `${order}/capture`, 201, { id })
          return { id, captureId: captured.purchase_units[0].payments.captures[0].id }
        }

        // Orders: all states, minimal answers, replays and refusals.
        const key = newKey()
        const same = body()
        const { id: open } = await check('POST', orders, 201, { body: same, key, full: false })
        await check('POST', orders, 200, { body: same, key })
        await check('POST', `${order}/capture`, 422, { id: open })
        await drive(`orders/${open}/approve`, { funding: 'declined' })
        await check('POST', `${order}/capture`, 422, { id: open })
        await check('POST', `${order}/capture`, 422, { id: open })
        await check('GET', order, 404, { id: 'NOTHING' })
        const wrongAmount = orderBody('1.005')
        await check('POST', orders, 422, { body: wrongAmount })
        const noUrl = orderBody()
        noUrl.payment_source.paypal.experience_context.return_url = '/done'
        await check('POST', orders, 400, { body: noUrl })

        // Captures and refunds.
        const { id, captureId } = await paid()
        await check('POST', `${order}/capture`, 422, { id })
        await check('GET', capturePath, 200, { id: captureId })
        await check('GET', capturePath, 404, { id: 'NOTHING' })
        const money = (value: string) => ({ amount: { currency_code: 'EUR', value } })
        const refunded = await check('POST', `${capturePath}/refund`, 201, {
          id: captureId,
          body: money('2.30'),
        })
        await check('POST', `${capturePath}/refund`, 201, { id: captureId, body: money('1.00'), full: false })
        await check('POST', `${capturePath}/refund`, 422, { id: captureId, body: money('20.00') })
        await check('GET', '/v2/payments/refunds/{refund_id}', 200, { id: refunded.id })
        await check('GET', '/v2/payments/refunds/{refund_id}', 404, { id: captureId })
        const shown = await check('GET', order, 200, { id })
        assert.equal(shown.purchase_units[0].payments.refunds.length, 2)
        const pending = await paid('pending')
        await check('POST', `${capturePath}/refund`, 422, { id: pending.captureId })
        await check('GET', capturePath, 200, { id: pending.captureId })

        // Disputes.
        const disputes = '/v1/customer/disputes'
        const query = `?disputed_transaction_id=${captureId}`
        await check('GET', disputes, 200, { query })
        await drive(`orders/${id}/dispute`)
        await check('POST', `${capturePath}/refund`, 422, { id: captureId })
        const { items: found } = await check('GET', disputes, 200, { query })
        const disputeId = found[0].dispute_id
        await check('GET', `${disputes}/{id}`, 200, { id: disputeId })
        await drive(`disputes/${disputeId}/close`, { outcome: 'lost' })
        const closed = await check('GET', `${disputes}/{id}`, 200, { id: disputeId })
        await check('GET', disputes, 400)

        // Events, and that what they are about is what the API shows.
        const root = '/v1/notifications'
        const { events } = await check('GET', `${root}/webhooks-events`, 200, { query: '?page_size=50' })
        const resolved = events.find((one: Json) => one.event_type === 'CUSTOMER.DISPUTE.RESOLVED')
        assert.deepEqual(resolved.resource, closed)
        await check('GET', `${root}/webhooks-events/{event_id}`, 200, { id: resolved.id })
        await check('GET', `${root}/webhooks-events/{event_id}`, 404, { id: 'WH-1' })
        await check('POST', `${root}/webhooks-events/{event_id}/resend`, 202, { id: resolved.id })
        await check('GET', `${root}/webhooks`, 200)
        const [{ headers, event }] = (await wallet.webhooks(1)) as [Json]
        await check('POST', `${root}/verify-webhook-signature`, 200, {
          body: {
            auth_algo: headers['paypal-auth-algo'],
            cert_url: headers['paypal-cert-url'],
            transmission_id: headers['paypal-transmission-id'],
            transmission_sig: headers['paypal-transmission-sig'],
            transmission_time: headers['paypal-transmission-time'],
            webhook_id: (await wallet.state()).webhookId,
            webhook_event: event,
          },
        })
      })
    })
  },
)
