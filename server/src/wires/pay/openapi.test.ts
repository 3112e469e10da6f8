// What /openapi.json says of payments, as a client generator reads it.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { codesIn, resolved } from '../../testing/description.ts'
import { anyEngine, endOfSuite } from '../../testing/engines.ts'

type Schema = { enum?: string[]; items?: Schema; properties?: Record<string, Schema> }
type Described = {
  parameters?: { name: string; schema: Schema }[]
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

const STATUSES = [
  'pending',
  'completed',
  'failed',
  'expired',
  'cancelled',
  'partially_refunded',
  'refunded',
  'disputed',
  'lost',
]
const REFUND_STATUSES = ['pending', 'completed', 'failed']

anyEngine((engine) => {
  let paths: Record<string, Record<string, Described>>
  const ending = endOfSuite()
  before(async () => {
    const app = await startApp(ending, engine)
    paths = resolved((await app.request('GET', '/openapi.json')).body).paths
  })

  const described = (key: string): Described => {
    const [method, path] = key.split(' ') as [string, string]
    return paths[path]![method.toLowerCase()]!
  }
  /** The values of a field in the answer 200, where `*` is any item of an array. */
  function valuesOf(key: string, field: string): string[] | undefined {
    const { content } = described(key).responses['200']!
    const [media] = Object.values(content!)
    return field
      .split('.')
      .reduce<Schema>(
        (schema, part) => (part === '*' ? schema.items! : schema.properties![part]!),
        media!.schema,
      ).enum
  }

  for (const [key, field, values] of [
    ['GET /pay/transactions', 'transactions.*.status', STATUSES],
    ['GET /pay/transactions', 'transactions.*.provider', ['cardpay', 'walletpay', 'onchain']],
    ['GET /pay/transactions/{id}', 'status', STATUSES],
    ['GET /pay/transactions/{id}', 'history.*.status', STATUSES],
    ['GET /pay/transactions/{id}', 'refunds.*.status', REFUND_STATUSES],
    ['GET /pay/transactions/{id}', 'dispute.status', ['inquiry', 'open', 'won', 'lost']],
    ['POST /pay/cardpay/refund', 'status', REFUND_STATUSES],
    ['POST /pay/walletpay/refund', 'status', REFUND_STATUSES],
    ['POST /pay/walletpay/capture/{orderId}', 'status', ['COMPLETED', 'PENDING']],
    ['GET /pay/health', 'status', ['healthy', 'unhealthy']],
    ['GET /pay/health', 'providers.cardpay', ['connected', 'not_configured', 'error']],
    ['GET /pay/health', 'providers.onchain', ['connected', 'not_configured', 'error']],
  ] as const)
    test(`${key} shows every value of ${field}`, () => {
      assert.deepEqual(valuesOf(key, field), values)
    })

  test('the list shows every status by which it filters', () => {
    const { schema } = described('GET /pay/transactions').parameters!.find(({ name }) => name === 'status')!
    assert.deepEqual(schema.enum, STATUSES)
  })

  for (const [key, codes] of [
    ['POST /pay/cardpay/checkout', ['400 PROVIDER_NOT_CONFIGURED', '502 PROVIDER_ERROR']],
    [
      'POST /pay/cardpay/refund',
      ['403 FORBIDDEN', '404 NOT_FOUND', '409 INVALID_STATE', '422 AMOUNT_EXCEEDED', '502 PROVIDER_ERROR'],
    ],
    [
      'POST /pay/walletpay/capture/{orderId}',
      ['404 NOT_FOUND', '409 INVALID_STATE', '422 PAYMENT_DECLINED', '502 PROVIDER_ERROR'],
    ],
    [
      'POST /pay/walletpay/webhook',
      ['400 INVALID_SIGNATURE', '400 PROVIDER_NOT_CONFIGURED', '503 UNAVAILABLE'],
    ],
  ] as const)
    test(`${key} shows its errors`, () => {
      const { responses } = described(key)
      const found = Object.entries(responses).flatMap(([status, { content = {} }]) =>
        Object.values(content).flatMap(({ schema }) => codesIn(schema).map((code) => `${status} ${code}`)),
      )
      for (const code of codes) assert.ok(found.includes(code), `${code} is not among ${found.join(', ')}`)
    })
})
