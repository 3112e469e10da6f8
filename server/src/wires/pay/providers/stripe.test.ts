import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import Stripe from 'stripe'

import { ISO_4217 } from '../../../base/money.ts'
import { StartError } from '../../../base/start-error.ts'
import { stripe } from './stripe.ts'
import { answers, KEY, open, ORDER, PATIENCE, REFUND, serve } from './stripe.fixture.ts'

describe('a call of Stripe', () => {
  test('creates a session with the items, under the id of the order', async (t) => {
    const { apiBase, asked } = await serve(t, answers())
    assert.deepEqual(await open({ apiBase: `${apiBase}/sandbox/card/` }).create(ORDER, PATIENCE), {
      kind: 'accepted',
      reference: 'cs_1',
      url: 'https://checkout.example/c/cs_1',
    })
    const [call] = asked
    assert.equal(call!.path, '/sandbox/card/v1/checkout/sessions')
    assert.deepEqual(Object.fromEntries(call!.form), {
      mode: 'payment',
      'line_items[0][price_data][currency]': 'eur',
      'line_items[0][price_data][unit_amount]': '1299',
      'line_items[0][price_data][product_data][name]': 'Grüße & mehr',
      'line_items[0][quantity]': '2',
      'line_items[1][price_data][currency]': 'eur',
      'line_items[1][price_data][unit_amount]': '1001',
      'line_items[1][price_data][product_data][name]': 'Post',
      'line_items[1][quantity]': '1',
      success_url: ORDER.successUrl,
      cancel_url: ORDER.cancelUrl,
      client_reference_id: ORDER.id,
      'metadata[transaction_id]': ORDER.id,
      'payment_intent_data[metadata][transaction_id]': ORDER.id,
    })
  })

  test('sends what Stripe needs to know, and nothing about this machine', async (t) => {
    const { apiBase, asked } = await serve(t, answers())
    const provider = open({ apiBase })
    await provider.create(ORDER, PATIENCE)
    await provider.check()
    const [post, get] = asked.map(({ headers }) => headers)
    const { host: _host, 'user-agent': agent, ...headers } = post!
    assert.match(agent!, /^Stripe\/v1 NodeBindings\/\S+ sixwire\b/)
    assert.deepEqual(headers, {
      accept: 'application/json',
      'accept-encoding': 'identity',
      authorization: `Bearer ${KEY}`,
      connection: 'close',
      'content-length': headers['content-length'],
      'content-type': 'application/x-www-form-urlencoded',
      'idempotency-key': ORDER.id,
      'stripe-version': Stripe.API_VERSION,
    })
    assert.deepEqual(
      Object.keys(post!).filter((name) => !(name in get!)),
      ['idempotency-key', 'content-length'],
    )
  })

  test('creates a session for an order without items', async (t) => {
    const { apiBase, asked } = await serve(t, answers())
    const { items: _items, ...order } = ORDER
    const provider = open({ apiBase })
    await provider.create({ ...order, description: 'Ticket' }, PATIENCE)
    await provider.create(order, PATIENCE)
    assert.deepEqual(
      asked.map(({ form }) => [
        form.get('line_items[0][price_data][product_data][name]'),
        form.get('line_items[0][price_data][unit_amount]'),
        form.get('line_items[0][quantity]'),
      ]),
      [
        ['Ticket', '3599', '1'],
        ['Payment', '3599', '1'],
      ],
    )
  })

  test('refunds a part of a payment, under the id of the refund', async (t) => {
    const { apiBase, asked } = await serve(t, answers())
    assert.deepEqual(await open({ apiBase }).refund(REFUND, PATIENCE), {
      kind: 'accepted',
      entry: {
        kind: 'refund',
        objectId: 're_1',
        status: 'pending',
        amount: 1000n,
        currency: 'EUR',
        callId: REFUND.id,
        createdAt: ORDER.createdAt + 2000,
      },
    })
    assert.equal(asked[0]!.headers['idempotency-key'], REFUND.id)
    assert.deepEqual(Object.fromEntries(asked[0]!.form), {
      payment_intent: 'pi_1',
      amount: '1000',
      'metadata[transaction_id]': ORDER.id,
      'metadata[refund_id]': REFUND.id,
    })
  })

  for (const [reason, word] of [
    ['requested_by_customer', { reason: 'requested_by_customer' }],
    ['Damaged in the post', {}],
  ] as const)
    test(`refunds with the reason ${reason} as metadata${'reason' in word ? ', and as its own word' : ''}`, async (t) => {
      const { apiBase, asked } = await serve(t, answers())
      await open({ apiBase }).refund({ ...REFUND, reason }, PATIENCE)
      const { 'metadata[refund_reason]': metadata, reason: sent } = Object.fromEntries(asked[0]!.form)
      assert.deepEqual([metadata, sent], [reason, 'reason' in word ? word.reason : undefined])
    })

  test('is not made with an amount that a number cannot hold', async (t) => {
    const { apiBase, asked } = await serve(t, answers())
    const outcome = await open({ apiBase }).create({ ...ORDER, amount: 2n ** 60n }, PATIENCE)
    assert.deepEqual(outcome, {
      kind: 'refused',
      code: 'parameter',
      reason: 'This amount is too large for Stripe.',
    })
    assert.equal(asked.length, 0)
  })

  test('has no more time than is left of the limit', async (t) => {
    const { apiBase, asked } = await serve(t, answers())
    for (const limitMs of [0, 0.5, -1]) {
      const outcome = await open({ apiBase }).retrieve({ reference: 'cs_1', since: ORDER.createdAt }, limitMs)
      assert.equal(outcome.kind, 'unknown')
      assert.match((outcome as { reason: string }).reason, /^Stripe has not answered all that was asked/)
    }
    assert.equal(asked.length, 0)
  })
})

describe('the provider of card payments', () => {
  for (const [what, options, sentence] of [
    ['a blank key', { secretKey: '' }, /^STRIPE_SECRET_KEY, .* set the secret key/],
    ['a key of spaces', { secretKey: ' ' }, /^STRIPE_SECRET_KEY/],
    ['a key with a line break', { secretKey: 'sk_test_1\n' }, /^STRIPE_SECRET_KEY/],
    ['the publishable key', { secretKey: 'pk_live_1' }, /this is the publishable key/],
    ['the secret of the webhook', { secretKey: 'whsec_1' }, /this is the secret of the webhook/],
    ['a secret of no webhook', { webhookSecret: 'foo' }, /^STRIPE_WEBHOOK_SECRET, .*whsec_…$/],
    ['a base without a scheme', { apiBase: 'api.stripe.example' }, /^STRIPE_API_BASE, .*"api\.stripe/],
    ['a base of files', { apiBase: 'file:///etc' }, /^STRIPE_API_BASE/],
    ['a base with credentials', { apiBase: 'https://a:b@stripe.example' }, /send credentials by a header/],
  ] as const)
    test(`does not start with ${what}`, () => {
      assert.throws(
        () => stripe({ secretKey: KEY, ...options }),
        (error) => error instanceof StartError && sentence.test(error.message),
      )
    })

  test('starts with a restricted key, and with any other that may be one', () => {
    for (const secretKey of ['rk_live_1', 'sk_1', 'sandbox'])
      assert.equal(stripe({ secretKey }).name, 'stripe')
  })

  test("has Stripe's table of currencies", () => {
    const { currencies } = open({})
    assert.deepEqual(
      ['EUR', 'JPY', 'MGA', 'KWD', 'ISK', 'UGX', 'HUF', 'TWD'].map((code) => currencies[code]),
      [
        { exponent: 2 },
        { exponent: 0 },
        { exponent: 0 },
        { exponent: 3, multiple: 10 },
        { exponent: 2, multiple: 100 },
        { exponent: 2, multiple: 100 },
        { exponent: 2 },
        { exponent: 2 },
      ],
    )
    // Those that differ from ISO 4217 are these, and no other.
    const differing = Object.entries(currencies).filter(([code, terms]) => ISO_4217[code] !== terms.exponent)
    assert.deepEqual(
      differing.map(([code]) => code),
      ['MGA', 'ISK', 'UGX'],
    )
  })
})
