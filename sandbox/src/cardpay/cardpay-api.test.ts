import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import Stripe from 'stripe'

import type { TestAnswer } from '../../../server/src/testing/app.ts'
import { anyEngine, someEngine, endOfSuite } from '../../../server/src/testing/engines.ts'
import { orderOf, paid, refusal, startCardpay, type Cardpay } from './cardpay.fixture.ts'
import { API_VERSION } from './stripe-types.ts'

type Json = TestAnswer['body']
type Create = Stripe.Checkout.SessionCreateParams
type Item = NonNullable<Create['line_items']>[number]

const item = (currency: string, amount: number, more: Partial<Item> = {}): Item => ({
  quantity: 1,
  price_data: { currency, unit_amount: amount, product_data: { name: 'A book' } },
  ...more,
})

someEngine((engine) => {
  const ending = endOfSuite()
  let cardpay: Cardpay
  before(async () => {
    cardpay = await startCardpay(ending, engine)
  })
  const create = (more: Partial<Create> = {}, options: Stripe.RequestOptions = {}) =>
    cardpay.stripe.checkout.sessions.create({ ...orderOf(cardpay), ...more }, options)
  const setFault = (fault: unknown) => cardpay.request('PUT', '/sandbox/api/faults/cardpay', fault)

  test('a key replays the answer, and refuses other parameters', async () => {
    const first = await create({}, { idempotencyKey: 'order-1' })
    const second = await create({}, { idempotencyKey: 'order-1' })
    assert.equal(second.id, first.id)
    assert.equal(second.lastResponse.headers['idempotent-replayed'], 'true')
    assert.equal(second.lastResponse.headers['original-request'], first.lastResponse.requestId)
    const other = await refusal(create({ client_reference_id: 'x' }, { idempotencyKey: 'order-1' }))
    assert.deepEqual([other.statusCode, other.rawType], [400, 'idempotency_error'])
    cardpay.clock.advance(86_400_001)
    assert.notEqual((await create({}, { idempotencyKey: 'order-1' })).id, first.id)
  })

  test('of calls at once with one key one runs; the others are told to wait, or get its answer', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 8 }, () => create({}, { idempotencyKey: 'order-2' })),
    )
    const ids = new Set(answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value.id] : [])))
    assert.equal(ids.size, 1)
    for (const one of answers)
      if (one.status === 'rejected') {
        const { statusCode, code } = one.reason as Stripe.errors.StripeError
        assert.deepEqual([statusCode, code], [409, 'idempotency_key_in_use'])
      }
  })

  test('a call that is delayed holds its key', async () => {
    await setFault({ delayMs: 30_000, times: 1 })
    const first = create({}, { idempotencyKey: 'order-3' })
    const hasBegun = async () =>
      (await cardpay.request('GET', '/sandbox/api')).body.faults['cardpay'] === undefined
    while (!(await hasBegun())) await new Promise((resolve) => setTimeout(resolve, 5))
    const second = await refusal(create({}, { idempotencyKey: 'order-3' }))
    assert.deepEqual([second.statusCode, second.code], [409, 'idempotency_key_in_use'])
    const { id } = await cardpay.clock.through(first)
    assert.equal((await create({}, { idempotencyKey: 'order-3' })).id, id)
  })

  test('a refusal by the state of an object is stored under the key, and one of a parameter is not', async () => {
    const { intent } = await paid(cardpay)
    const refund = (amount: number) =>
      cardpay.stripe.refunds.create({ payment_intent: intent, amount }, { idempotencyKey: 'refund-1' })
    const over = await refusal(refund(2_000))
    const again = await refusal(refund(2_000))
    assert.equal(again.message, over.message)
    assert.equal(again.headers?.['idempotent-replayed'], 'true')
    const wrong = (amount: number) =>
      cardpay.stripe.refunds.create({ payment_intent: intent, amount }, { idempotencyKey: 'refund-2' })
    await refusal(wrong(-1))
    assert.equal((await wrong(10)).amount, 10)
  })

  test('an injected error does nothing; a lost answer does the work and is replayed', async () => {
    await setFault({ error: 503, times: 1 })
    const error = await refusal(create({}, { idempotencyKey: 'order-4' }))
    assert.deepEqual([error.statusCode, error.rawType], [503, 'api_error'])
    const before = await cardpay.payments()
    await setFault({ loseAnswer: true, times: 1 })
    // The package repeats a call once whose connection was closed.
    const { id, lastResponse } = await create({ client_reference_id: 'lost' }, { idempotencyKey: 'order-4' })
    assert.equal(lastResponse.headers['idempotent-replayed'], 'true')
    assert.deepEqual(
      (await cardpay.payments()).map((one) => one.id),
      [id, ...before.map((one) => one.id)],
    )
  })

  test('a session with a wrong parameter is refused with that parameter', async () => {
    const url = 'https://shop.example/'
    const items = (...list: Item[]): Partial<Create> => ({ line_items: list })
    for (const [params, param, code] of [
      [items(item('eur', 49)), 'line_items', 'amount_too_small'],
      [items(item('usd', 0)), 'line_items', 'amount_too_small'],
      [items(item('jpy', 49)), 'line_items', 'amount_too_small'],
      [items(item('eur', 100_000_000)), 'line_items', 'amount_too_large'],
      [items(item('eur', -1)), 'line_items[0][price_data][unit_amount]', 'parameter_invalid_integer'],
      [items(item('eur', 10.5)), 'line_items[0][price_data][unit_amount]', 'parameter_invalid_integer'],
      [items(item('eur', 1e21)), 'line_items[0][price_data][unit_amount]', 'parameter_invalid_integer'],
      [items(item('eur', 500), item('xyz', 500)), 'line_items[1][price_data][currency]', undefined],
      [items(item('eur', 500), item('usd', 500)), 'line_items', undefined],
      [items(item('kwd', 5_001)), 'line_items[0][price_data][unit_amount]', 'parameter_invalid_integer'],
      [items(item('isk', 5_050)), 'line_items[0][price_data][unit_amount]', 'parameter_invalid_integer'],
      [items(item('eur', 500, { quantity: 0 })), 'line_items[0][quantity]', 'parameter_invalid_integer'],
      [items(...Array.from({ length: 101 }, () => item('eur', 100))), 'line_items', undefined],
      [items(), 'line_items', 'parameter_missing'],
      [
        items({
          quantity: 1,
          price_data: { currency: 'eur', unit_amount: 500, product_data: { name: 'x'.repeat(251) } },
        }),
        'line_items[0][price_data][product_data][name]',
        undefined,
      ],
      [items({ quantity: 1, price: 'price_none' }), 'line_items[0][price]', 'resource_missing'],
      [{ success_url: 'javascript:alert(1)' }, 'success_url', 'url_invalid'],
      [{ success_url: '/relative' }, 'success_url', 'url_invalid'],
      [{ success_url: '' }, 'success_url', 'parameter_missing'],
      [{ cancel_url: 'ftp://x' }, 'cancel_url', 'url_invalid'],
      [{ mode: 'subscription', success_url: url }, 'mode', undefined],
      [{ customer: 'cus_none' }, 'customer', 'resource_missing'],
      [{ expires_at: 1 }, 'expires_at', undefined],
      [{ payment_method_types: ['ideal'] }, 'payment_method_types', undefined],
      [{ metadata: { ['k'.repeat(41)]: 'x' } }, `metadata[${'k'.repeat(41)}]`, undefined],
      [{ metadata: { k: 'v'.repeat(501) } }, 'metadata[k]', undefined],
      [{ colour: 'red' } as object, 'colour', 'parameter_unknown'],
    ] as [Partial<Create>, string, string | undefined][]) {
      const error = await refusal(create(params))
      assert.deepEqual(
        [error.param, error.code],
        [param, code],
        `${JSON.stringify(params).slice(0, 200)}: ${error.message}`,
      )
      assert.equal(error.rawType, 'invalid_request_error')
    }
    const hundred = await create(items(...Array.from({ length: 100 }, () => item('kwd', 500))))
    assert.equal(hundred.amount_total, 50_000)
    const lines = await cardpay.stripe.checkout.sessions.listLineItems(hundred.id, { limit: 3 })
    assert.deepEqual([lines.data.length, lines.has_more], [3, true])
  })

  test('garbage is answered in the form of an error', async () => {
    const send = async (body: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${cardpay.address}/v1/checkout/sessions`, {
        method: 'POST',
        body,
        headers: {
          authorization: `Bearer ${cardpay.secretKey}`,
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        },
      })
      const { error } = (await response.json()) as { error: { type: string; message: string } }
      return [response.status, error.type] as const
    }
    for (const body of [
      '',
      '%%%',
      'a[[b]=1',
      'line_items=x',
      'line_items[0]=x',
      'line_items[0][price_data][currency][x]=1&line_items[0][price_data][currency]=eur',
      'success_url=https://a.example/%00',
      `a${'[b]'.repeat(50)}=1`,
      Array.from({ length: 6_000 }, (_, at) => `a${at}=1`).join('&'),
      'constructor[prototype][x]=1&__proto__[x]=1',
    ])
      assert.deepEqual(await send(body), [400, 'invalid_request_error'], body.slice(0, 60))
    assert.deepEqual(await send('{}', { 'content-type': 'application/json' }), [415, 'invalid_request_error'])
    assert.deepEqual(await send(`name=${'x'.repeat(3_000_000)}`), [413, 'invalid_request_error'])
  })

  test('a call needs the key, as a bearer token or as the user of Basic', async () => {
    const wrong = await refusal(cardpay.client({ key: 'sk_test_wrong' }).balance.retrieve())
    assert.ok(wrong instanceof Stripe.errors.StripeAuthenticationError)
    assert.doesNotMatch(JSON.stringify(wrong), /sk_test_wrong/)
    const basic = `Basic ${Buffer.from(`${cardpay.secretKey}:`).toString('base64')}`
    for (const [authorization, status] of [
      [basic, 200],
      [undefined, 401],
      ['Bearer', 401],
      [`Digest ${cardpay.secretKey}`, 401],
    ] as const) {
      const response = await fetch(`${cardpay.address}/v1/balance`, {
        headers: { ...(authorization && { authorization }) },
      })
      assert.equal(response.status, status)
      assert.match(response.headers.get('request-id')!, /^req_/)
    }
    const missing = await refusal(cardpay.stripe.customers.retrieve('cus_1'))
    assert.match(missing.message, /Unrecognized request URL/)
    assert.equal((await cardpay.stripe.accounts.retrieveCurrent()).charges_enabled, true)
  })

  test('the version of the API is that of the package, and another one is echoed', async () => {
    assert.equal(API_VERSION, Stripe.API_VERSION)
    const { lastResponse } = await cardpay.client({ apiVersion: '2025-01-27.acacia' }).balance.retrieve()
    assert.equal(lastResponse.headers['stripe-version'], '2025-01-27.acacia')
  })

  test('lists are read page by page in both directions, and by their filters', async () => {
    const { stripe, clock } = cardpay
    clock.advance(10_000)
    const since = Math.floor(clock.now() / 1000)
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.unshift((await create()).id)
    const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)
    const created = { gte: since }
    const first = await stripe.checkout.sessions.list({ limit: 2, created })
    assert.deepEqual([idsOf(first), first.has_more], [ids.slice(0, 2), true])
    const second = await stripe.checkout.sessions.list({ limit: 3, created, starting_after: ids[1]! })
    assert.deepEqual([idsOf(second), second.has_more], [ids.slice(2), false])
    const back = await stripe.checkout.sessions.list({ limit: 2, created, ending_before: ids[3]! })
    assert.deepEqual([idsOf(back), back.has_more], [ids.slice(1, 3), true])
    const all: string[] = []
    for await (const { id } of stripe.checkout.sessions.list({ limit: 2, created })) all.push(id)
    assert.deepEqual(all, ids)
    clock.advance(10_000)
    assert.deepEqual(idsOf(await stripe.checkout.sessions.list({ created: { gt: since + 9 } })), [])
    assert.deepEqual(
      idsOf(await stripe.checkout.sessions.list({ created: { lt: since } })).includes(ids[0]!),
      false,
    )
    for (const [params, param] of [
      [{ starting_after: 'cs_none' }, 'starting_after'],
      [{ limit: 0 }, 'limit'],
      [{ limit: 101 }, 'limit'],
      [{ starting_after: ids[0]!, ending_before: ids[1]! }, 'ending_before'],
      [{ expand: ['data.id'] }, 'expand'],
      [{ expand: ['data.colour'] }, 'expand'],
      [{ expand: ['data.payment_intent.a.b.c.d'] }, 'expand'],
    ] as const)
      assert.equal((await refusal(stripe.checkout.sessions.list(params as object))).param, param)
  })

  test('events are found by type, types and time', async () => {
    const { stripe, clock } = cardpay
    clock.advance(2_000)
    const since = Math.floor(clock.now() / 1000)
    await paid(cardpay)
    const typesOf = async (params: Stripe.EventListParams) =>
      (await stripe.events.list({ created: { gte: since }, ...params })).data.map(
        ({ type }) => type as string,
      )
    assert.deepEqual(await typesOf({ type: 'payment_intent.succeeded' }), ['payment_intent.succeeded'])
    assert.deepEqual(await typesOf({ type: 'charge.*' }), ['charge.updated', 'charge.succeeded'])
    assert.deepEqual(await typesOf({ types: ['charge.succeeded', 'checkout.session.completed'] }), [
      'checkout.session.completed',
      'charge.succeeded',
    ])
  })
})

// Stripe's own samples, outside of the project.
const contracts =
  process.env['SIXWIRE_CONTRACTS'] ?? fileURLToPath(new URL('../../../../shared/contracts', import.meta.url))
const contractFile = join(contracts, 'stripe-fixtures.json')
describe(
  "Stripe's own samples",
  {
    skip: existsSync(contractFile)
      ? false
      : `there is no ${contractFile}: SIXWIRE_CONTRACTS names its folder`,
  },
  () => {
    anyEngine((engine) => {
      test('what is answered has their fields, and of the same types', async (t) => {
        const { resources } = JSON.parse(readFileSync(contractFile, 'utf8'))
        const cardpay = await startCardpay(t, engine)
        const { session, intent, charge } = await paid(cardpay)
        await cardpay.request('POST', `/sandbox/api/cardpay/sessions/${session.id}/refund`, { amount: 100 })
        await cardpay.request('POST', `/sandbox/api/cardpay/sessions/${session.id}/dispute`)
        const get = async (path: string) => {
          const response = await fetch(`${cardpay.address}/v1/${path}`, {
            headers: { authorization: `Bearer ${cardpay.secretKey}` },
          })
          return (await response.json()) as Json
        }
        const first = async (path: string) => (await get(path)).data[0]
        const answered: Record<string, Json> = {
          'checkout.session': await get(`checkout/sessions/${session.id}`),
          payment_intent: await get(`payment_intents/${intent}`),
          charge: await get(`charges/${charge}?expand[]=refunds`),
          refund: await first('refunds'),
          dispute: await first('disputes'),
          event: await first('events'),
          item: await first(`checkout/sessions/${session.id}/line_items`),
          balance: await get('balance'),
        }
        const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value)
        for (const [name, object] of Object.entries(answered)) {
          const sample = resources[name]
          // `connect_reserved` and `source` of newer and older versions are not in the package's types.
          const absent = Object.keys(sample).filter((key) => !(key in object))
          const optional = [
            'connect_reserved',
            'source',
            'transfer_data',
            'shipping',
            'processing',
            'enhanced_eligibility',
          ]
          assert.deepEqual(
            absent.filter((key) => !optional.includes(key)),
            [],
            name,
          )
          for (const [key, value] of Object.entries(object))
            if (value !== null && sample[key] !== null && sample[key] !== undefined)
              assert.equal(typeOf(value), typeOf(sample[key]), `${name}.${key}`)
        }
      })
    })
  },
)
