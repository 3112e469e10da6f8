import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  account,
  APPROVE_URL,
  captureOrder,
  json,
  open,
  order,
  ORDER_ID,
  ordered,
  PATIENCE,
  REFUND_ID,
  refundOrder,
  serve,
  TOKEN,
  TRANSACTION,
} from './paypal.fixture.ts'
import { paypal } from './paypal.ts'

describe('paypal', () => {
  test('sends an order with our id as key and custom_id, and the exact amount', async (t) => {
    const { apiBase, asked } = await serve(t, account())
    const outcome = await open({ apiBase }).create(order({ amount: 5n, currency: 'EUR' }), PATIENCE)
    assert.deepEqual(outcome, { kind: 'accepted', reference: ORDER_ID, url: APPROVE_URL })
    const [call] = asked
    assert.equal(call?.headers['paypal-request-id'], TRANSACTION)
    assert.equal(call?.headers['prefer'], 'return=representation')
    assert.equal(call?.headers['authorization'], `Bearer ${TOKEN}`)
    assert.deepEqual(call?.json, {
      intent: 'CAPTURE',
      purchase_units: [
        {
          reference_id: 'default',
          custom_id: TRANSACTION,
          invoice_id: TRANSACTION,
          description: 'Two mugs',
          amount: { currency_code: 'EUR', value: '0.05' },
        },
      ],
      payment_source: {
        paypal: {
          experience_context: {
            return_url: 'https://shop.example/thanks',
            cancel_url: 'https://shop.example/basket',
            user_action: 'PAY_NOW',
            shipping_preference: 'NO_SHIPPING',
          },
        },
      },
    })
  })

  test('takes the link approve as well', async (t) => {
    const links = [{ rel: 'approve', href: APPROVE_URL, method: 'GET' }]
    const { apiBase } = await serve(t, (_asked, response) =>
      json(response, 201, ordered('CREATED', { links })),
    )
    assert.deepEqual(await open({ apiBase }).create(order(), PATIENCE), {
      kind: 'accepted',
      reference: ORDER_ID,
      url: APPROVE_URL,
    })
  })

  test('refuses a currency that PayPal does not take, without a call', async (t) => {
    const { apiBase, asked, tokens } = await serve(t, account())
    const outcome = await open({ apiBase }).create(order({ currency: 'KWD' }), PATIENCE)
    assert.equal(outcome.kind === 'refused' && outcome.code, 'parameter')
    assert.equal(asked.length + tokens.length, 0)
  })

  test('sends a refund with its id as key and custom_id', async (t) => {
    const { apiBase, asked } = await serve(t, account())
    const refund = refundOrder({ amount: 230n })
    const outcome = await open({ apiBase }).refund(refund, PATIENCE)
    assert.deepEqual(outcome, {
      kind: 'accepted',
      entry: {
        kind: 'refund',
        objectId: REFUND_ID,
        status: 'completed',
        amount: 230n,
        currency: 'USD',
        callId: refund.id,
        createdAt: Date.UTC(2026, 0, 2, 10),
      },
    })
    assert.equal(asked[0]?.headers['paypal-request-id'], refund.id)
    assert.deepEqual(asked[0]?.json, {
      amount: { currency_code: 'USD', value: '2.30' },
      custom_id: refund.id,
    })
  })

  test('shows the reason of a refund to the buyer, unless it is a word for the books', async (t) => {
    for (const [reason, note] of [
      ['Damaged in the post', 'Damaged in the post'],
      ['fraudulent', undefined],
    ] as const) {
      const { apiBase, asked } = await serve(t, account())
      await open({ apiBase }).refund({ ...refundOrder({ amount: 230n }), reason }, PATIENCE)
      assert.equal((asked[0]!.json as { note_to_payer?: string }).note_to_payer, note)
    }
  })

  test('follows no redirect', async (t) => {
    const other = await serve(t, account())
    for (const status of [301, 302, 307, 308]) {
      const { apiBase } = await serve(t, ({ path }, response) =>
        response.writeHead(status, { location: other.apiBase + path }).end(),
      )
      assert.equal((await open({ apiBase }).capture(captureOrder(), PATIENCE)).kind, 'retry')
    }
    assert.equal(other.asked.length, 0)
  })

  test('works below a path', async (t) => {
    const { apiBase, asked } = await serve(t, (one, response) =>
      account()({ ...one, path: one.path.replace('/sandbox/walletpay', '') }, response),
    )
    const tokenBase = `${apiBase}/sandbox/walletpay`
    const outcome = await open({ apiBase: tokenBase }).create(order(), PATIENCE)
    // The token path is below it, too, and this server gives tokens at its root only.
    assert.equal(outcome.kind, 'retry')
    assert.deepEqual(
      asked.map(({ path }) => path),
      ['/sandbox/walletpay/v1/oauth2/token'],
    )
  })

  test('refuses an address that is none when it is made', () => {
    for (const apiBase of ['paypal', 'ftp://paypal.example', 'https://', 'https://a:b@paypal.example'])
      assert.throws(() => paypal({ clientId: 'a', clientSecret: 'b', apiBase }), { name: 'StartError' })
  })

  test('knows currencies with and without decimal places, and no others', () => {
    const { currencies } = paypal({ clientId: 'a', clientSecret: 'b' })
    assert.equal(Object.keys(currencies).length, 24)
    assert.deepEqual(
      ['USD', 'HUF', 'JPY', 'TWD', 'CNY'].map((code) => currencies[code]?.exponent),
      [2, 0, 0, 0, 2],
    )
    assert.equal(currencies['KWD'], undefined)
  })
})
