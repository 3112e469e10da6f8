import assert from 'node:assert/strict'
import { test } from 'node:test'

import { anyEngine } from '../../../server/src/testing/engines.ts'
import { createOrder, issuesOf, newKey, orderBody, walletForAll, type Json } from './walletpay.fixture.ts'

const euros = (value: string): Json => ({ currency_code: 'EUR', value })
const unit = (more: Json): Json => orderBody('12.30', 'EUR', more)
const item = (more: Json = {}): Json => ({
  name: 'A hat',
  quantity: '2',
  unit_amount: euros('6.15'),
  ...more,
})
const withItems = (items: Json, breakdown: Json): Json =>
  unit({ amount: { ...euros('12.30'), breakdown }, items })
const returning = (url: unknown): Json => {
  const body = orderBody()
  body.payment_source.paypal.experience_context.return_url = url
  return body
}

const REFUSED: [what: string, body: unknown, status: number, issue: string][] = [
  ['no JSON', '{', 400, 'MALFORMED_REQUEST_JSON'],
  ['a list', [], 400, 'MALFORMED_REQUEST_JSON'],
  ['nothing', {}, 400, 'MISSING_REQUIRED_PARAMETER'],
  ['another intent', { ...orderBody(), intent: 'SAVE' }, 400, 'INVALID_PARAMETER_VALUE'],
  ['the intent AUTHORIZE', { ...orderBody(), intent: 'AUTHORIZE' }, 422, 'UNSUPPORTED_INTENT'],
  ['no unit', { ...orderBody(), purchase_units: [] }, 400, 'INVALID_ARRAY_MIN_ITEMS'],
  ['a unit that is null', { ...orderBody(), purchase_units: [null] }, 400, 'INVALID_PARAMETER_SYNTAX'],
  ['no amount', unit({ amount: undefined }), 400, 'MISSING_REQUIRED_PARAMETER'],
  [
    'a number as amount',
    unit({ amount: { currency_code: 'EUR', value: 12.3 } }),
    400,
    'INVALID_PARAMETER_SYNTAX',
  ],
  ['NaN', orderBody('NaN'), 400, 'INVALID_PARAMETER_SYNTAX'],
  ['an exponent', orderBody('1e21'), 400, 'INVALID_PARAMETER_SYNTAX'],
  ['33 characters', orderBody('1'.repeat(33)), 400, 'INVALID_STRING_LENGTH'],
  ['too much', orderBody('1000000000000000'), 422, 'MAX_VALUE_EXCEEDED'],
  ['nothing to pay', orderBody('0.00'), 422, 'CANNOT_BE_ZERO_OR_NEGATIVE'],
  ['less than nothing', orderBody('-1.00'), 422, 'CANNOT_BE_ZERO_OR_NEGATIVE'],
  ['half a cent', orderBody('1.005'), 422, 'DECIMAL_PRECISION'],
  ['cents of a yen', orderBody('10.00', 'JPY'), 422, 'DECIMAL_PRECISION'],
  ['fillér', orderBody('10.5', 'HUF'), 422, 'DECIMAL_PRECISION'],
  ['dinars', orderBody('10.000', 'KWD'), 422, 'INVALID_CURRENCY_CODE'],
  ['a currency in lower case', orderBody('1.00', 'eur'), 422, 'INVALID_CURRENCY_CODE'],
  ['a currency like a property', orderBody('1.00', 'toString'), 400, 'INVALID_STRING_LENGTH'],
  ['a long description', unit({ description: 'x'.repeat(128) }), 400, 'INVALID_STRING_LENGTH'],
  ['a NUL', unit({ custom_id: 'a\0b' }), 400, 'MALFORMED_REQUEST_JSON'],
  ['a lone surrogate', unit({ description: 'a\ud800b' }), 400, 'MALFORMED_REQUEST_JSON'],
  ['a script', returning('javascript:alert(1)'), 400, 'INVALID_PARAMETER_SYNTAX'],
  ['a path', returning('/done'), 400, 'INVALID_PARAMETER_SYNTAX'],
  ['an object as URL', returning({}), 400, 'INVALID_PARAMETER_SYNTAX'],
  ['a card', { ...orderBody(), payment_source: { card: {} } }, 400, 'NOT_SUPPORTED'],
  ['items without their total', withItems([item()], undefined), 422, 'ITEM_TOTAL_REQUIRED'],
  ['another total', withItems([item()], { item_total: euros('12.00') }), 422, 'AMOUNT_MISMATCH'],
  [
    'another sum',
    withItems([item({ quantity: '1' })], { item_total: euros('12.30') }),
    422,
    'ITEM_TOTAL_MISMATCH',
  ],
  [
    'two currencies',
    withItems([item()], { item_total: { currency_code: 'USD', value: '12.30' } }),
    422,
    'MULTI_CURRENCY_ORDER',
  ],
  [
    'a quantity of 0',
    withItems([item({ quantity: '0' })], { item_total: euros('12.30') }),
    400,
    'INVALID_PARAMETER_SYNTAX',
  ],
  [
    'an item that is null',
    withItems([null], { item_total: euros('12.30') }),
    400,
    'INVALID_PARAMETER_SYNTAX',
  ],
]

anyEngine((engine) => {
  const empty = walletForAll(engine)

  test('orders are refused as PayPal refuses them', async () => {
    const wallet = await empty()
    for (const [what, body, status, issue] of REFUSED) {
      const reply = await wallet.call('POST', '/v2/checkout/orders', body, { 'paypal-request-id': newKey() })
      assert.deepEqual([reply.status, issuesOf(reply)], [status, [issue]], what)
      assert.equal(reply.body.name, status === 400 ? 'INVALID_REQUEST' : 'UNPROCESSABLE_ENTITY')
      assert.equal(reply.body.debug_id, reply.headers.get('paypal-debug-id'))
    }
    assert.equal((await wallet.state()).orders, 0)
    const long = await wallet.call('POST', '/v2/checkout/orders', orderBody(), {
      'paypal-request-id': 'x'.repeat(109),
    })
    assert.deepEqual(issuesOf(long), ['INVALID_STRING_LENGTH'])
  })

  test('an order may have no decimals, the largest amount, items with tax and discount', async () => {
    const wallet = await empty()
    const breakdown = {
      item_total: euros('12.30'),
      tax_total: euros('2.00'),
      shipping: euros('3.00'),
      discount: euros('5.00'),
    }
    for (const body of [
      orderBody('10', 'JPY'),
      orderBody('999999999999999.99'),
      orderBody('7'),
      withItems([item({ tax: euros('1.00') })], breakdown),
    ]) {
      const { id } = await createOrder(wallet, body)
      const { body: order } = await wallet.call('GET', `/v2/checkout/orders/${id}`)
      const { amount } = order.purchase_units[0]
      assert.equal(Number(amount.value), Number(body.purchase_units[0].amount.value))
    }
  })

  test('unknown paths, methods and media types answer in PayPal’s form', async () => {
    const wallet = await empty()
    const { id } = await createOrder(wallet)
    for (const [method, path] of [
      ['GET', '/v2/checkout/orders/NOTHING'],
      ['GET', `/v2/payments/captures/${id}`],
      ['GET', '/v2/payments/refunds/a%00b'],
      ['GET', '/v3/nothing'],
      ['DELETE', `/v2/checkout/orders/${id}`],
      ['GET', '/v1/customer/disputes/PP-D-1'],
      ['GET', '/v1/notifications/webhooks-events/WH-1'],
    ] as const) {
      const { status, body } = await wallet.call(method, path)
      assert.ok(status === 404 || status === 400, `${method} ${path} answers ${status}`)
      assert.match(body.name, /^(RESOURCE_NOT_FOUND|INVALID_REQUEST)$/)
      assert.equal(typeof body.debug_id, 'string')
    }
    const text = await wallet.call('POST', '/v2/checkout/orders', 'x', { 'content-type': 'text/plain' })
    assert.deepEqual([text.status, text.body.name], [415, 'UNSUPPORTED_MEDIA_TYPE'])
    const huge = await wallet.call('POST', '/v2/checkout/orders', `"${'x'.repeat(1_100_000)}"`)
    assert.equal(huge.status, 413)
    for (const query of [
      'page_size=0',
      'page_size=x',
      'start_time=yesterday',
      'end_time=2026-13-01T00:00:00Z',
    ])
      assert.equal(
        (await wallet.call('GET', `/v1/notifications/webhooks-events?${query}`)).status,
        400,
        query,
      )
  })

  test('the sandbox’s own routes refuse bad input', async () => {
    const wallet = await empty()
    const { id } = await createOrder(wallet)
    for (const [path, body, status] of [
      [`orders/${id}/approve`, { funding: 'gold' }, 400],
      ['orders/NOTHING/approve', {}, 404],
      [`orders/${id}/refund`, {}, 409],
      [`orders/${id}/refund`, { amount: 'x' }, 400],
      [`orders/${id}/dispute`, {}, 409],
      [`orders/${id}/dispute`, { reason: 'BORED' }, 400],
      [`orders/${id}/reverse`, {}, 409],
      [`captures/${id}/settle`, { status: 'completed' }, 404],
      [`captures/${id}/settle`, {}, 400],
      ['refunds/x/settle', { status: 'failed' }, 404],
      ['disputes/x/close', { outcome: 'won' }, 404],
    ] as const)
      assert.equal((await wallet.drive('POST', `/walletpay/${path}`, body)).status, status, path)
  })
})
