import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import Stripe from 'stripe'

import { ISO_4217 } from '../../../base/money.ts'
import { StartError } from '../../../base/start-error.ts'
import { startPeer } from '../../../outbound/peer.fixture.ts'
import { testClock } from '../../../testing/clock.ts'
import {
  describePaymentProvider,
  type CallEnd,
  type PaymentConformance,
} from '../../../testing/payment-conformance.ts'
import { startSilence } from '../../../testing/silence.ts'
import type { RefusalCode } from '../provider.ts'
import { signed } from './stripe-signed.fixture.ts'
import { stripe } from './stripe.ts'
import {
  answers,
  dispute,
  event,
  json,
  KEY,
  open,
  ORDER,
  PATIENCE,
  payment,
  posts,
  problem,
  REFUND,
  SECRET,
  serve,
  session,
  type Answer,
} from './stripe.fixture.ts'

const LOOK = { reference: 'cs_1', since: ORDER.createdAt }
const PAID = session({ status: 'complete', payment_status: 'paid', payment_intent: payment() })

const answered =
  (answer: Answer): CallEnd['start'] =>
  async (t, clock) => {
    const { apiBase, asked } = await serve(t, answer)
    return { provider: open({ apiBase }, clock), asked: () => posts(asked) }
  }
const scripted =
  (status: number, error: Parameters<typeof problem>[0], headers = {}): CallEnd['start'] =>
  (t, clock) =>
    answered((_asked, response) => json(response, status, problem(error), headers))(t, clock)

const elsewhere: CallEnd['start'] = async (t, clock) => {
  const { apiBase, server } = await serve(t, answers())
  server.close()
  await once(server, 'close')
  return { provider: open({ apiBase }, clock), asked: () => 0 }
}

type Refusal = [verb: 'create' | 'refund' | 'look', error: Parameters<typeof problem>[0], code?: RefusalCode]
const REFUSALS: readonly Refusal[] = [
  ['create', { param: 'line_items[0][price_data][unit_amount]', message: 'Invalid integer' }, 'parameter'],
  ['create', { param: 'success_url', code: 'url_invalid', message: 'Not a valid URL' }, 'parameter'],
  ['create', { code: 'amount_too_small', message: 'At least 50 cents' }, 'parameter'],
  ['create', { param: 'mode', message: 'Your account cannot do this' }],
  ['create', { type: 'idempotency_error', message: 'Keys need the same parameters' }],
  ['refund', { code: 'charge_already_refunded', message: 'Charge ch_1 has been refunded' }, 'state'],
  ['refund', { code: 'charge_disputed', message: 'Charge ch_1 has been charged back' }, 'state'],
  ['refund', { param: 'amount', message: 'The amount is greater than the unrefunded amount' }, 'state'],
  ['refund', { code: 'balance_insufficient', message: 'Insufficient funds in your balance' }],
  ['refund', { code: 'resource_missing', param: 'payment_intent', message: 'No such intent' }, 'gone'],
  ['refund', { type: 'idempotency_error', message: 'Keys need the same parameters' }],
  ['look', { code: 'resource_missing', param: 'session', message: 'No such session' }, 'gone'],
  ['look', { code: 'url_invalid', message: 'What is that' }],
]

type Passing = [status: number, error: Parameters<typeof problem>[0], reason?: string]
const PASSING: readonly Passing[] = [
  [401, { message: `Invalid API Key provided: ${KEY}` }, 'Stripe does not accept the secret key'],
  [
    403,
    { message: `The key '${KEY}' lacks a permission on rk_test_****1234` },
    "Stripe invalid_request_error: The key '…' lacks a permission on rk_…",
  ],
  [400, { code: 'lock_timeout', message: 'The object is in use' }],
  [429, { type: 'rate_limit_error', code: 'lock_timeout', message: 'The object is in use' }],
  [
    404,
    {
      code: 'resource_missing',
      message: 'No such thing; a similar object exists in live mode, but not here',
    },
  ],
]

const UNREADABLE: readonly string[] = ['', 'null', '[]', '"x"', '{}', '{"id":""}', '{"id":5}', '<html>']

describePaymentProvider({
  name: 'stripe',
  calls: { create: ORDER, refund: REFUND, look: LOOK, events: ORDER.createdAt },
  secrets: [KEY, SECRET],

  async working(t, clock) {
    let wait = async (): Promise<void> => undefined
    const answer = answers({ sessions: [session()], events: [event(session())] })
    const { apiBase, asked } = await serve(
      t,
      (one, response) => void wait().then(() => answer(one, response)),
    )
    return {
      provider: open({ apiBase }, clock),
      asked: () => posts(asked),
      hold: (next) => void (wait = next),
    }
  },

  ends: [
    ...REFUSALS.map(([verb, error, code]): CallEnd => ({
      what: `Stripe refuses ${error.code ?? error.param ?? error.type}`,
      verb,
      kind: 'refused',
      ...(code && { code }),
      ...(code === 'parameter' && error.param !== undefined && { details: { parameter: error.param } }),
      reason:
        code === 'parameter'
          ? error.message
          : `Stripe ${error.code ?? error.type ?? 'invalid_request_error'}: ${error.message}`,
      start: scripted(400, error),
    })),
    ...PASSING.flatMap(([status, error, reason]) =>
      (['create', 'refund', 'look'] as const).map((verb): CallEnd => ({
        what: `Stripe answers ${status} with ${error.code ?? 'no code'}`,
        verb,
        kind: 'retry',
        ...(reason !== undefined && { reason }),
        start: scripted(status, error),
      })),
    ),
    {
      what: 'Stripe answers 429 and says how long to wait',
      verb: 'create',
      kind: 'retry',
      afterMs: 7000,
      start: scripted(429, { message: 'Too many requests' }, { 'retry-after': '7' }),
    },
    ...(['create', 'refund'] as const).flatMap((verb): CallEnd[] => [
      {
        what: 'the first call with the key is under way',
        verb,
        kind: 'unknown',
        start: scripted(409, {
          type: 'idempotency_error',
          code: 'idempotency_key_in_use',
          message: 'Another request is being processed',
        }),
      },
      ...[500, 502, 503].map((status): CallEnd => ({
        what: `Stripe answers ${status}, and that it should be repeated`,
        verb,
        kind: 'unknown',
        start: scripted(
          status,
          { type: 'api_error', message: 'An error' },
          { 'stripe-should-retry': 'true' },
        ),
      })),
      ...UNREADABLE.map((body): CallEnd => ({
        what: `Stripe answers 200 with ${JSON.stringify(body)}`,
        verb,
        kind: 'unknown',
        reason: /^Stripe answered (200 )?without a (session|refund)$/,
        start: answered((_asked, response) => response.writeHead(200).end(body)),
      })),
      {
        what: 'the connection is closed after the request',
        verb,
        kind: 'unknown',
        reason: /^the connection to Stripe was lost \(ECONNRESET\)$/,
        start: answered((_asked, response) => void response.destroy()),
      },
      {
        what: 'the connection is closed within the answer',
        verb,
        kind: 'unknown',
        start: answered((_asked, response) => {
          response.writeHead(200, { 'content-length': '1000' }).write('{"id":')
          setImmediate(() => response.destroy())
        }),
      },
      {
        what: 'a proxy answers 404 with a page',
        verb,
        kind: 'refused',
        reason: 'Stripe answered 404',
        start: answered((_asked, response) => response.writeHead(404).end('<h1>no</h1>')),
      },
      {
        what: 'nobody listens',
        verb,
        kind: 'retry',
        reason: "Stripe can't be reached (ECONNREFUSED)",
        start: elsewhere,
      },
      {
        what: 'it sends the call elsewhere',
        verb,
        kind: 'retry',
        start: answered((_asked, response) =>
          response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
        ),
      },
    ]),
    {
      what: 'a page without an error of Stripe says 404',
      verb: 'look',
      kind: 'refused',
      start: answered((_asked, response) => response.writeHead(404).end('<h1>no</h1>')),
    },
    {
      what: 'the answer is not a session',
      verb: 'look',
      kind: 'unknown',
      start: answered((_asked, response) => json(response, 200, { id: 5 })),
    },
    {
      what: 'the answer is no list',
      verb: 'events',
      kind: 'unknown',
      reason: 'Stripe answered without a list',
      start: answered((_asked, response) => json(response, 200, { data: 'x' })),
    },
  ],

  silences: [
    ...(['create', 'refund', 'look', 'events'] as const).map((verb) => ({
      what: 'after the request',
      verb,
      kind: 'unknown' as const,
      start: ((t, clock, reach) =>
        answered(() => reach())(t, clock)) satisfies PaymentConformance['silences'][number]['start'],
    })),
    {
      what: 'within its answer',
      verb: 'refund',
      kind: 'unknown',
      start: (t, clock, reach) =>
        answered((_asked, response) => {
          response.writeHead(200).write('{"id":')
          reach()
        })(t, clock),
    },
    {
      what: 'after the first of several calls',
      verb: 'look',
      kind: 'unknown',
      start: (t, clock, reach) =>
        answered((one, response) => {
          if (one.path === '/v1/refunds') reach()
          else answers({ sessions: [PAID] })(one, response)
        })(t, clock),
    },
    {
      what: 'while TLS begins',
      verb: 'create',
      kind: 'retry',
      async start(t, clock, reach) {
        const silence = await startSilence(t)
        const watch = async (): Promise<void> => {
          while (silence.requests() === 0) await turn()
          reach()
        }
        void watch()
        return { provider: open({ apiBase: `https://${silence.host}` }, clock), asked: () => 0 }
      },
    },
  ],

  async garbled(t, bytes) {
    const peer = await startPeer(t, (socket) => socket.end(bytes, 'latin1'))
    return { provider: open({ apiBase: `http://127.0.0.1:${peer.port}` }), asked: () => 0 }
  },

  unusable: [
    {
      what: 'nobody listens',
      start: async (t) => (await elsewhere(t, testClock())).provider,
      sentence: /^Stripe can't be reached \(ECONNREFUSED\)$/,
    },
    ...(
      [
        [401, problem({ message: `Invalid API Key provided: ${KEY}` }), /^Stripe does not accept the secret/],
        [403, problem({ message: `${KEY} may not read it` }), /^Stripe invalid_request_error: … may not/],
        [200, { object: 'list' }, /^Stripe answered without a balance$/],
        [500, {}, /^Stripe answered 500$/],
      ] as const
    ).map(([status, body, sentence]) => ({
      what: `Stripe answers ${status} with ${JSON.stringify(body).slice(0, 60)}`,
      start: async (t: Parameters<CallEnd['start']>[0]) =>
        (await answered((_asked, response) => json(response, status, body))(t, testClock())).provider,
      sentence,
    })),
  ],

  webhooks: {
    start: async () => open({}),
    good: [
      {
        what: 'of a session',
        request: () => signed(event(session())),
        events: [
          {
            id: 'evt_1',
            type: 'checkout.session.completed',
            subject: { reference: 'cs_1', transactionId: ORDER.id },
          },
        ],
      },
      {
        what: 'of a dispute',
        request: () => signed(event(dispute(), { type: 'charge.dispute.created' })),
        events: [
          {
            id: 'evt_1',
            type: 'charge.dispute.created',
            subject: { paymentId: 'pi_1', objects: [{ kind: 'dispute', id: 'dp_1' }] },
          },
        ],
      },
    ],
    forged: [
      { what: 'without a signature', request: () => ({ ...signed(event({})), headers: {} }) },
      { what: 'of another secret', request: () => signed(event({}), { secret: 'whsec_other' }) },
    ],
    garbage: [
      { what: 'that is a list', request: () => signed([]) },
      { what: 'that is not JSON', request: () => signed('{') },
      { what: 'that is not UTF-8', request: () => signed(Buffer.from([0x22, 0xff, 0x22])) },
      { what: 'without an id', request: () => signed(event({}, { id: undefined })) },
      { what: 'whose id is no id', request: () => signed(event({}, { id: 'evt\0' })) },
    ],
  },
})

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
    const { apiBase, asked } = await serve(t, answers({ sessions: [PAID] }))
    const clock = testClock()
    for (const limitMs of [0, 0.5, -1]) {
      const outcome = await open({ apiBase }, clock).look(LOOK, limitMs)
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
