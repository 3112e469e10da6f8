import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { inspect } from 'node:util'

import fc from 'fast-check'

import { newId } from '../../../../base/ids.ts'
import type { LedgerEntry, PaymentSubject } from '../provider.ts'
import {
  account,
  APPROVE_URL,
  CAPTURE_ID,
  captured,
  captureOrder,
  DISPUTE_ID,
  disputed,
  json,
  open,
  ORDER_ID,
  ordered,
  PATIENCE,
  problem,
  REFUND_CALL,
  REFUND_ID,
  refunded,
  serve,
  TRANSACTION,
} from '../paypal.fixture.ts'
import { orderOf } from './paypal-snapshot.ts'

type Objects = NonNullable<Parameters<typeof account>[0]>

/** Looks up a transaction in an account. */
async function retrieve(t: TestContext, objects: Objects, subject: PaymentSubject = { reference: ORDER_ID }) {
  const { apiBase, asked } = await serve(t, account(objects))
  const outcome = await open({ apiBase }).retrieve({ ...subject, since: 0 }, PATIENCE)
  return { outcome, asked: asked.map(({ method, path }) => `${method} ${path}`) }
}

/** What of each entry decides: its kind, state, amount, and call. */
async function entries(t: TestContext, objects: Objects, subject?: PaymentSubject) {
  const { outcome } = await retrieve(t, objects, subject)
  assert.equal(outcome.kind, 'accepted', inspect(outcome))
  return outcome.kind === 'accepted' ? outcome.snapshot.entries.map(brief) : []
}
const brief = ({ kind, status, amount, ...rest }: LedgerEntry): string =>
  [kind, status, amount, rest.callId === undefined ? '' : 'ours'].join(' ').trim()

describe('an order at PayPal', () => {
  for (const status of ['CREATED', 'SAVED', 'PAYER_ACTION_REQUIRED', 'APPROVED'])
    test(`that is ${status} has no entries`, async (t) => {
      const { outcome } = await retrieve(t, { order: ordered(status) })
      const isForBuyer = status === 'CREATED' || status === 'PAYER_ACTION_REQUIRED'
      assert.deepEqual(outcome, {
        kind: 'accepted',
        snapshot: {
          transactionId: TRANSACTION,
          reference: ORDER_ID,
          ...(isForBuyer && { url: APPROVE_URL }),
          entries: [],
          buyer: {},
        },
      })
    })

  test('that is paid has its capture with all facts', async (t) => {
    const { outcome, asked } = await retrieve(t, { order: ordered('COMPLETED', { captures: [captured()] }) })
    assert.deepEqual(outcome, {
      kind: 'accepted',
      snapshot: {
        transactionId: TRANSACTION,
        reference: ORDER_ID,
        paymentId: CAPTURE_ID,
        entries: [
          {
            kind: 'charge',
            objectId: CAPTURE_ID,
            status: 'completed',
            amount: 1230n,
            currency: 'USD',
            createdAt: Date.UTC(2026, 0, 1, 10),
          },
        ],
        buyer: {},
      },
    })
    assert.deepEqual(asked, [`GET /v2/checkout/orders/${ORDER_ID}`])
  })

  const pending = captured({ status: 'PENDING', status_details: { reason: 'ECHECK' } })
  const declined = captured({ id: 'DECLINED1', status: 'DECLINED' })
  const yen = { currency_code: 'JPY', value: '500.00' }
  const cases: readonly [string, object, string[]][] = [
    ['was voided', ordered('VOIDED'), ['session cancelled 1230']],
    ['has a pending capture', ordered('COMPLETED', { captures: [pending] }), ['charge pending 1230']],
    ['has a denied capture', ordered('COMPLETED', { captures: [declined] }), ['charge failed 1230']],
    [
      'has a failed capture',
      ordered('COMPLETED', { captures: [captured({ status: 'FAILED' })] }),
      ['charge failed 1230'],
    ],
    ['was declined and is not over', ordered('APPROVED', { captures: [declined] }), []],
    [
      'was declined before it was paid',
      ordered('COMPLETED', { captures: [declined, captured()] }),
      ['charge completed 1230'],
    ],
    [
      'was paid with another amount',
      ordered('COMPLETED', { captures: [captured({ amount: { currency_code: 'USD', value: '1' } })] }),
      ['charge completed 100'],
    ],
    [
      'was paid in yen with zeros',
      ordered('COMPLETED', { captures: [captured({ amount: yen })] }),
      ['charge completed 500'],
    ],
    [
      'was refunded in part',
      ordered('COMPLETED', {
        captures: [captured({ status: 'PARTIALLY_REFUNDED' })],
        refunds: [refunded()],
      }),
      ['charge completed 1230', 'refund completed 230 ours'],
    ],
    [
      'has refunds in every state',
      ordered('COMPLETED', {
        captures: [captured({ status: 'REFUNDED' })],
        refunds: ['PENDING', 'COMPLETED', 'FAILED', 'CANCELLED'].map((status) =>
          refunded({ id: `R-${status}`, status, custom_id: newId() }),
        ),
      }),
      [
        'charge completed 1230',
        'refund pending 230 ours',
        'refund completed 230 ours',
        'refund failed 230 ours',
        'refund failed 230 ours',
      ],
    ],
    [
      'has refunds that others made',
      ordered('COMPLETED', {
        captures: [captured()],
        refunds: [
          refunded({ id: 'R-1', custom_id: TRANSACTION }),
          refunded({ id: 'R-2', custom_id: 'of the shop' }),
        ],
      }),
      ['charge completed 1230', 'refund completed 230', 'refund completed 230'],
    ],
  ]
  for (const [what, order, expected] of cases)
    test(`that ${what}`, async (t) => {
      assert.deepEqual(await entries(t, { order: order as Record<string, unknown> }), expected)
    })

  test('whose refund does not show its call: the refund is fetched, once', async (t) => {
    const order = ordered('COMPLETED', {
      captures: [captured()],
      refunds: [refunded({ custom_id: undefined })],
    })
    const { apiBase, asked } = await serve(t, account({ order, refund: refunded() }))
    const provider = open({ apiBase })
    for (let i = 0; i < 2; i++) {
      const outcome = await provider.retrieve({ reference: ORDER_ID, since: 0 }, PATIENCE)
      assert.equal(outcome.kind === 'accepted' && outcome.snapshot.entries[1]?.callId, REFUND_CALL)
    }
    assert.equal(asked.filter(({ path }) => path.includes('refunds')).length, 1)
  })

  test('of another application has no transaction of ours', async (t) => {
    const order = ordered('COMPLETED', { captures: [captured({ custom_id: undefined })] })
    ;(order['purchase_units'] as Record<string, unknown>[])[0]!['custom_id'] = 'basket-17'
    const { outcome } = await retrieve(t, { order })
    assert.equal(outcome.kind === 'accepted' && 'transactionId' in outcome.snapshot, false)
  })

  test('that has something unknown is not guessed at', async (t) => {
    const odd: Record<string, unknown>[] = [
      ordered('ODD'),
      ordered('COMPLETED', { id: 'OTHER' }),
      ordered('COMPLETED', { captures: [captured({ status: 'ODD' })] }),
      ordered('COMPLETED', { captures: [captured({ amount: { currency_code: 'USD', value: '1.005' } })] }),
      ordered('COMPLETED', { captures: [captured({ amount: { currency_code: 'USD', value: '-1' } })] }),
      ordered('COMPLETED', { captures: [captured()], refunds: [refunded({ status: 'ODD' })] }),
    ]
    for (const order of odd) assert.equal((await retrieve(t, { order })).outcome.kind, 'unknown')
  })
})

describe('a retrieval', () => {
  test('by the payment finds the order of the capture', async (t) => {
    const related = { related_ids: { order_id: ORDER_ID } }
    for (const capture of [captured(), captured({ links: [], supplementary_data: related })]) {
      const { outcome, asked } = await retrieve(t, { capture }, { paymentId: CAPTURE_ID })
      assert.equal(outcome.kind === 'accepted' && outcome.snapshot.reference, ORDER_ID)
      assert.deepEqual(asked, [
        `GET /v2/payments/captures/${CAPTURE_ID}`,
        `GET /v2/checkout/orders/${ORDER_ID}`,
      ])
    }
  })

  test('of a payment whose order PayPal has forgotten takes the capture', async (t) => {
    const expected = ['charge completed 1230']
    assert.deepEqual(await entries(t, { order: undefined! }, { paymentId: CAPTURE_ID }), expected)
    const both = { reference: ORDER_ID, paymentId: CAPTURE_ID }
    assert.deepEqual(await entries(t, { order: undefined! }, both), expected)
  })

  test('of what PayPal certainly does not have is gone', async (t) => {
    for (const subject of [{ reference: ORDER_ID }, { paymentId: CAPTURE_ID }]) {
      const { outcome } = await retrieve(t, { order: undefined!, capture: undefined! }, subject)
      assert.deepEqual([outcome.kind, outcome.kind === 'refused' && outcome.code], ['refused', 'gone'])
    }
  })

  test('without an order or a payment is unknown, without a call', async (t) => {
    const { outcome, asked } = await retrieve(t, {}, { transactionId: TRANSACTION })
    assert.equal(outcome.kind, 'unknown')
    assert.deepEqual(asked, [])
  })

  test('that does not get all of it says nothing', async (t) => {
    const { apiBase } = await serve(t, (asked, response) =>
      asked.path.includes('disputes')
        ? json(response, 403, problem('NOT_AUTHORIZED', 'PERMISSION_DENIED'))
        : account()(asked, response),
    )
    const objects = [{ kind: 'dispute', id: DISPUTE_ID }] as const
    const outcome = await open({ apiBase }).retrieve({ reference: ORDER_ID, objects, since: 0 }, PATIENCE)
    assert.equal(outcome.kind, 'unknown')
  })

  const outcomes: readonly [object, string][] = [
    [{ status: 'OPEN' }, 'open'],
    [{ status: 'WAITING_FOR_SELLER_RESPONSE', dispute_life_cycle_stage: 'CHARGEBACK' }, 'open'],
    [{ status: 'UNDER_REVIEW' }, 'open'],
    [{ status: 'SOMETHING' }, 'open'],
    [{ status: 'RESOLVED' }, 'open'],
    ...(
      [
        ['RESOLVED_SELLER_FAVOUR', 'won'],
        ['CANCELED_BY_BUYER', 'won'],
        ['DENIED', 'won'],
        ['RESOLVED_WITH_PAYOUT', 'won'],
        ['RESOLVED_BUYER_FAVOUR', 'lost'],
        ['ACCEPTED', 'lost'],
        ['NONE', 'open'],
        ['SOMETHING', 'open'],
      ] as const
    ).map(([outcome_code, state]): [object, string] => [
      { status: 'RESOLVED', dispute_outcome: { outcome_code } },
      state,
    ]),
  ]
  test('adds the dispute that a webhook named, in its state', async (t) => {
    for (const [more, state] of outcomes) {
      const objects = [{ kind: 'dispute', id: DISPUTE_ID }] as const
      const { outcome } = await retrieve(
        t,
        { dispute: disputed(more as never) },
        { paymentId: CAPTURE_ID, objects },
      )
      const entry = outcome.kind === 'accepted' ? outcome.snapshot.entries.at(-1) : undefined
      assert.deepEqual(
        { ...entry, reason: undefined },
        {
          kind: 'dispute',
          objectId: DISPUTE_ID,
          status: state,
          amount: 1230n,
          currency: 'USD',
          version: Date.UTC(2026, 0, 4, 10),
          createdAt: Date.UTC(2026, 0, 3, 10),
          reason: undefined,
        },
        JSON.stringify(more),
      )
      assert.match(entry?.reason ?? '', /^MERCHANDISE_OR_SERVICE_NOT_RECEIVED ?\w*$/)
    }
  })

  test('by a dispute alone finds its payment', async (t) => {
    const objects = [{ kind: 'dispute', id: DISPUTE_ID }] as const
    assert.deepEqual(await entries(t, { dispute: disputed() }, { objects }), [
      'charge completed 1230',
      'dispute open 1230',
    ])
  })

  test('takes a refund that was named as it is now, once', async (t) => {
    const order = ordered('COMPLETED', { captures: [captured()], refunds: [refunded({ status: 'PENDING' })] })
    const objects = [{ kind: 'refund', id: REFUND_ID }] as const
    const refund = refunded({ status: 'FAILED' })
    assert.deepEqual(await entries(t, { order, refund }, { paymentId: CAPTURE_ID, objects }), [
      'charge completed 1230',
      'refund failed 230 ours',
    ])
  })

  test('leaves out a named object of another payment', async (t) => {
    const objects = [
      { kind: 'dispute', id: DISPUTE_ID },
      { kind: 'refund', id: REFUND_ID },
    ] as const
    const dispute = disputed({ disputed_transactions: [{ seller_transaction_id: 'OTHER' }] })
    const refund = refunded({
      links: [{ rel: 'up', href: 'https://api.paypal.com/v2/payments/captures/OTHER' }],
    })
    assert.deepEqual(await entries(t, { dispute, refund }, { paymentId: CAPTURE_ID, objects }), [
      'charge completed 1230',
    ])
  })

  test('does not take another object for the one that was asked for', async (t) => {
    const { outcome } = await retrieve(t, { capture: captured({ id: 'OTHER' }) }, { paymentId: CAPTURE_ID })
    assert.equal(outcome.kind, 'unknown')
  })

  test('adds a reversal: of its own amount, or of the whole payment', async (t) => {
    const named = (id: string) => ({ paymentId: CAPTURE_ID, objects: [{ kind: 'reversal' as const, id }] })
    const refund = refunded({ custom_id: undefined, amount: { currency_code: 'USD', value: '12.00' } })
    const listed = ordered('COMPLETED', { captures: [captured()], refunds: [refund] })
    assert.deepEqual(await entries(t, { refund }, named(REFUND_ID)), [
      'charge completed 1230',
      'reversal completed 1200',
    ])
    assert.deepEqual(await entries(t, { refund, order: listed }, named(REFUND_ID)), [
      'charge completed 1230',
      'reversal completed 1200',
    ])
    assert.deepEqual(await entries(t, {}, named(CAPTURE_ID)), [
      'charge completed 1230',
      'reversal completed 1230',
    ])
  })
})

describe('a capture', () => {
  test('sends its own id as key, and answers the order as it is then', async (t) => {
    const { apiBase, asked } = await serve(t, account())
    const call = captureOrder()
    const outcome = await open({ apiBase }).capture(call, PATIENCE)
    assert.deepEqual(outcome.kind === 'accepted' && outcome.snapshot.entries.map(brief), [
      'charge completed 1230',
    ])
    assert.equal(asked[0]?.path, `/v2/checkout/orders/${ORDER_ID}/capture`)
    assert.equal(asked[0]?.headers['paypal-request-id'], call.id)
    assert.equal(asked[0]?.headers['content-type'], 'application/json')
  })

  test('that is pending, or failed for good, is accepted with that state', async (t) => {
    for (const [status, state] of [
      ['PENDING', 'pending'],
      ['DECLINED', 'failed'],
    ]) {
      const order = ordered('COMPLETED', { captures: [captured({ status })] })
      const { apiBase } = await serve(t, account({ order }))
      const outcome = await open({ apiBase }).capture(captureOrder(), PATIENCE)
      assert.deepEqual(outcome.kind === 'accepted' && outcome.snapshot.entries.map(brief), [
        `charge ${state} 1230`,
      ])
    }
  })
})

test('an order with anything in its fields is read or not, and never throws', () => {
  const field = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('COMPLETED', 'VOIDED', 'DECLINED', 'PENDING', CAPTURE_ID, TRANSACTION, '1.00', 'USD'),
  )
  const money = fc.oneof(field, fc.record({ currency_code: field, value: field }, { requiredKeys: [] }))
  const payment = fc.record(
    { id: field, status: field, amount: money, custom_id: field, create_time: field, status_details: field },
    { requiredKeys: [] },
  )
  const unit = fc.record(
    {
      amount: money,
      custom_id: field,
      payments: fc.oneof(field, fc.record({ captures: fc.array(payment), refunds: fc.array(payment) })),
    },
    { requiredKeys: [] },
  )
  const order = fc.record({
    id: fc.oneof(field, fc.constant(ORDER_ID)),
    status: fc.constantFrom('COMPLETED', 'VOIDED', 'APPROVED', 'ODD'),
    purchase_units: fc.oneof(field, fc.array(unit)),
    links: fc.oneof(field, fc.array(fc.record({ rel: field, href: field }))),
  })
  let read = 0
  fc.assert(
    fc.property(order, (value) => {
      const view = orderOf(value)
      if (!view) return
      read++
      for (const entry of view.snapshot.entries) {
        assert.equal(typeof entry.amount, 'bigint')
        assert.match(entry.objectId, /^[\w-]+$/)
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(read > 0)
})
