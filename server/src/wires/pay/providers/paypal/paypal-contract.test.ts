import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { Ajv } from 'ajv'

import {
  account,
  CAPTURE_ID,
  captured,
  captureOrder,
  DISPUTE_ID,
  disputed,
  happened,
  json,
  open,
  order,
  ORDER_ID,
  ordered,
  PATIENCE,
  problem,
  refunded,
  refundOrder,
  REFUND_ID,
  serve,
  VERIFY,
  webhook,
} from '../paypal.fixture.ts'
import { ISSUES } from './paypal-outcome.ts'

const folder =
  process.env['SIXWIRE_CONTRACTS'] ??
  fileURLToPath(new URL('../../../../../../../shared/contracts', import.meta.url))
const FILES = [
  'checkout_orders_v2',
  'payments_payment_v2',
  'notifications_webhooks_v1',
  'customer_disputes_v1',
]
const fileOf = (name: string): string => join(folder, `paypal-${name}.json`)
const missing = FILES.map(fileOf).find((file) => !existsSync(file))

type Schema = {
  $ref?: string
  allOf?: Schema[]
  oneOf?: Schema[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  readOnly?: boolean
}
type Operation = {
  parameters?: { $ref?: string; name: string; in: string }[]
  requestBody?: { $ref?: string; content: Record<string, { schema: Schema }> }
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: Schema }> }>
}
type Contract = { paths: Record<string, Record<string, Operation>> }

/** PayPal's descriptions: finds an operation, and checks what is sent and answered. */
function readContracts() {
  // Some of PayPal's patterns are no Unicode patterns.
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false, validateFormats: false })
  const contracts = FILES.map((name) => {
    const contract = JSON.parse(readFileSync(fileOf(name), 'utf8')) as Contract
    ajv.addSchema(contract, name)
    return { name, contract }
  })
  const step = (text: string): string => text.replaceAll('~', '~0').replaceAll('/', '~1')
  const follow = <T extends { $ref?: string }>(contract: Contract, value: T): T =>
    value.$ref === undefined
      ? value
      : (value.$ref
          .split('/')
          .slice(1)
          .reduce(
            (at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')] as typeof at,
            contract as unknown as Record<string, unknown>,
          ) as T)

  function find(method: string, path: string) {
    for (const { name, contract } of contracts)
      for (const [template, operations] of Object.entries(contract.paths)) {
        const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
        const operation = operations[method.toLowerCase()]
        if (operation && pattern.test(path))
          return { name, contract, operation, pointer: `/paths/${step(template)}/${method.toLowerCase()}` }
      }
    throw new Error(`PayPal describes no ${method} ${path}`)
  }
  function fits(name: string, pointer: string, value: unknown): void {
    const isRight = ajv.compile({ $ref: `${name}#${encodeURI(pointer)}` })
    assert.ok(isRight(value), JSON.stringify([pointer, value, isRight.errors?.slice(0, 3)]))
  }

  /** The schemas of a field, through references and alternatives; undefined if none describes it. */
  function fieldOf(contract: Contract, schema: Schema, name: string): Schema[] {
    const { properties, allOf = [], oneOf = [], anyOf = [] } = follow(contract, schema)
    const own = properties?.[name]
    return [
      ...(own ? [own] : []),
      ...[...allOf, ...oneOf, ...anyOf].flatMap((part) => fieldOf(contract, part, name)),
    ]
  }
  function isWritable(contract: Contract, schemas: Schema[], value: unknown, path = ''): void {
    if (Array.isArray(value)) {
      const items = schemas.flatMap((schema) => follow(contract, schema).items ?? [])
      for (const item of value) isWritable(contract, items, item, path)
    } else if (typeof value === 'object' && value !== null)
      for (const [name, field] of Object.entries(value)) {
        const fieldSchemas = schemas.flatMap((schema) => fieldOf(contract, schema, name))
        assert.ok(fieldSchemas.length > 0, `${path}/${name} is not described`)
        assert.ok(
          fieldSchemas.some((one) => !one.readOnly && !follow(contract, one).readOnly),
          `${path}/${name} is read-only`,
        )
        isWritable(contract, fieldSchemas, field, `${path}/${name}`)
      }
  }

  return {
    request(
      { method, path, query, headers, json }: Parameters<Parameters<typeof serve>[1]>[0],
      isEvent = false,
    ): void {
      const { name, contract, operation, pointer } = find(method, path)
      const parameters = (operation.parameters ?? []).map((one) => follow(contract, one))
      const has = (where: string, key: string): boolean =>
        parameters.some((one) => one.in === where && one.name.toLowerCase() === key)
      for (const key of query.keys()) assert.ok(has('query', key), `${path}?${key}`)
      for (const key of ['paypal-request-id', 'prefer'])
        if (headers[key] !== undefined) assert.ok(has('header', key), `${path} with ${key}`)
      if (json === undefined) return
      fits(name, `${pointer}/requestBody/content/application~1json/schema`, json)
      const schema = follow(contract, operation.requestBody!).content['application/json']!.schema
      // An event is sent back as it came.
      isWritable(contract, [schema], isEvent ? { ...json, webhook_event: {} } : json)
    },
    answer(method: string, path: string, status: number, body: unknown): void {
      const { name, contract, operation, pointer } = find(method, path)
      const response = operation.responses[status]
      assert.ok(response && follow(contract, response).content, `${method} ${path} ${status}`)
      fits(name, `${pointer}/responses/${status}/content/application~1json/schema`, body)
    },
  }
}

describe(
  "PayPal's own descriptions of its API",
  { skip: missing === undefined ? false : `there is no ${missing}: SIXWIRE_CONTRACTS names its folder` },
  () => {
    test('know every field and parameter that we send', async (t) => {
      const contracts = readContracts()
      const objects = [
        { kind: 'refund', id: REFUND_ID },
        { kind: 'dispute', id: DISPUTE_ID },
      ] as const
      const { apiBase, asked } = await serve(t, account({ refund: refunded(), dispute: disputed() }))
      const provider = open({ apiBase }, undefined, [])
      await provider.create(order(), PATIENCE)
      await provider.create(order({ amount: 500n, currency: 'JPY' }), PATIENCE)
      await provider.capture(captureOrder(), PATIENCE)
      await provider.refund(refundOrder(), PATIENCE)
      await provider.retrieve({ paymentId: CAPTURE_ID, objects, since: 0 }, PATIENCE)
      await provider.events(Date.now() - 3_600_000, PATIENCE)
      await provider.check()
      // The path of the certificate answers 404, so PayPal is asked.
      await provider.receive(webhook(`${apiBase}/v1/notifications/certs/CERT-1`))
      const described = asked.filter(({ path }) => !path.includes('/certs/'))
      assert.equal(described.length, 11)
      for (const one of described) contracts.request(one, one.path === VERIFY)
    })

    test('describe what the server of these tests answers', async (t) => {
      const contracts = readContracts()
      const orders = `/v2/checkout/orders/${ORDER_ID}`
      contracts.answer('POST', '/v2/checkout/orders', 201, ordered('PAYER_ACTION_REQUIRED'))
      for (const status of ['CREATED', 'SAVED', 'APPROVED', 'VOIDED', 'COMPLETED'])
        contracts.answer('GET', orders, 200, ordered(status))
      for (const status of ['COMPLETED', 'DECLINED', 'PARTIALLY_REFUNDED', 'PENDING', 'REFUNDED', 'FAILED']) {
        const paid = ordered('COMPLETED', { captures: [captured({ status })], refunds: [refunded()] })
        contracts.answer('POST', `${orders}/capture`, 201, paid)
        contracts.answer('GET', `/v2/payments/captures/${CAPTURE_ID}`, 200, captured({ status }))
      }
      for (const status of ['PENDING', 'COMPLETED', 'FAILED', 'CANCELLED']) {
        contracts.answer('GET', `/v2/payments/refunds/${REFUND_ID}`, 200, refunded({ status }))
        contracts.answer('POST', `/v2/payments/captures/${CAPTURE_ID}/refund`, 201, refunded({ status }))
      }
      for (const more of [{}, { status: 'RESOLVED', dispute_outcome: { outcome_code: 'ACCEPTED' } }])
        contracts.answer('GET', `/v1/customer/disputes/${DISPUTE_ID}`, 200, disputed(more))
      const events = [happened('PAYMENT.CAPTURE.COMPLETED', captured())]
      contracts.answer('GET', '/v1/notifications/webhooks-events', 200, { events, count: 1, links: [] })
      contracts.answer('POST', VERIFY, 200, { verification_status: 'SUCCESS' })
      contracts.answer('GET', '/v1/notifications/webhooks', 200, { webhooks: [] })
      const { apiBase } = await serve(t, (_asked, response) => json(response, 404, missingOrder))
      const missingOrder = {
        ...problem('RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID'),
        message: 'The specified resource does not exist.',
        details: [
          {
            issue: 'INVALID_RESOURCE_ID',
            description: 'Specified resource ID does not exist. Please check the resource ID and try again.',
          },
        ],
      }
      contracts.answer('GET', orders, 404, missingOrder)
      const outcome = await open({ apiBase }).retrieve({ reference: ORDER_ID, since: 0 }, PATIENCE)
      assert.equal(outcome.kind === 'refused' && outcome.code, 'gone')
    })

    test('list every issue that decides an outcome, but for some that PayPal answers elsewhere', () => {
      const text = FILES.map((name) => readFileSync(fileOf(name), 'utf8')).join('\n')
      const unlisted = ISSUES.filter((issue) => !text.includes(`"${issue}"`))
      assert.deepEqual(unlisted, [
        'DUPLICATE_REQUEST_ID',
        'CAPTURE_DISPUTED_PARTIAL_REFUND_NOT_ALLOWED',
        'CURRENCY_NOT_SUPPORTED',
        'UNSUPPORTED_CURRENCY',
      ])
    })
  },
)
