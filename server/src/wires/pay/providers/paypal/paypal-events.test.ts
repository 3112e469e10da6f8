import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { stillClock } from '../../../../testing/clock.ts'
import type { PaymentSubject } from '../provider.ts'
import { eventOf } from './paypal-event.ts'
import {
  CAPTURE_ID,
  captured,
  DISPUTE_ID,
  disputed,
  EVENTS,
  happened,
  json,
  open,
  ORDER_ID,
  ordered,
  PATIENCE,
  REFUND_ID,
  refunded,
  serve,
  TRANSACTION,
  type ScriptedAnswer,
} from '../paypal.fixture.ts'

const HOUR = 3_600_000
const NOW = Date.UTC(2026, 0, 10)
/** Milliseconds; an event is listed some time after it was created. */
const DELAY = 60_000

type Kept = { at: number; id: string }

/** A server that lists events, the newest first, and says where the next page is. */
const listing =
  (kept: readonly Kept[], linkBase = 'https://api.paypal.com'): ScriptedAnswer =>
  ({ query }, response) => {
    const [start, end] = ['start_time', 'end_time'].map((name) => Date.parse(query.get(name)!))
    const size = Number(query.get('page_size'))
    const page = Number(query.get('page') ?? 0)
    const eventsInTime = kept.filter(({ at }) => at >= start! && at <= end!).toSorted((a, b) => b.at - a.at)
    const pageOfEvents = eventsInTime.slice(page * size, (page + 1) * size)
    const next = new URLSearchParams(query)
    next.set('page', String(page + 1))
    const href = `${linkBase}${EVENTS}?${next.toString()}`
    json(response, 200, {
      events: pageOfEvents.map(({ at, id }) =>
        happened('PAYMENT.CAPTURE.COMPLETED', captured(), { id, create_time: new Date(at).toISOString() }),
      ),
      count: pageOfEvents.length,
      links: eventsInTime.length > (page + 1) * size ? [{ rel: 'next', href, method: 'GET' }] : [],
    })
  }

async function list(t: TestContext, answer: ScriptedAnswer, since: number, limitMs = PATIENCE) {
  const clock = stillClock(NOW)
  const { apiBase, asked } = await serve(t, answer)
  const outcome = await open({ apiBase }, clock).events(since, limitMs)
  return { outcome, asked, clock }
}

const every = (count: number, from: number, stepMs: number): Kept[] =>
  Array.from({ length: count }, (_, i) => ({ at: from + i * stepMs, id: `WH-${i}` }))

describe('the list of events', () => {
  test('has all since a time, the oldest first, over windows and pages', async (t) => {
    const kept = every(350, NOW - 70 * HOUR, HOUR / 5)
    const { outcome, asked } = await list(t, listing(kept, ''), kept[10]!.at)
    assert.equal(outcome.kind, 'accepted')
    if (outcome.kind !== 'accepted') return
    assert.deepEqual(
      outcome.events.map(({ id }) => id),
      kept.slice(10).map(({ id }) => id),
    )
    assert.deepEqual(outcome.events[0]?.subject, {
      paymentId: CAPTURE_ID,
      reference: ORDER_ID,
      transactionId: TRANSACTION,
    })
    assert.equal(outcome.until, NOW - DELAY)
    assert.ok(asked.every(({ path, query }) => path === EVENTS && query.get('page_size') === '100'))
  })

  test('is complete to its end if there is nothing', async (t) => {
    const { outcome, asked } = await list(t, listing([]), NOW - HOUR)
    assert.deepEqual(outcome, { kind: 'accepted', events: [], until: NOW - DELAY })
    assert.equal(asked.length, 1)
  })

  test('never ends before its beginning', async (t) => {
    for (const since of [NOW - 1_000, NOW, NOW + HOUR]) {
      const { outcome } = await list(t, listing([]), since)
      assert.deepEqual(outcome, { kind: 'accepted', events: [], until: since })
    }
  })

  test('begins 30 days ago at the earliest', async (t) => {
    const kept = every(3, NOW - 29 * 24 * HOUR, HOUR)
    const { outcome, asked } = await list(t, listing(kept), 0)
    assert.equal(outcome.kind === 'accepted' && outcome.events.length, 3)
    assert.ok(Date.parse(asked[0]!.query.get('start_time')!) > NOW - 30 * 24 * HOUR)
    assert.equal(asked.length, 30)
  })

  test('halves a time with too many events, and remembers that', async (t) => {
    const kept = every(3000, NOW - 20 * HOUR, 24_000)
    const { outcome } = await list(t, listing(kept), NOW - 24 * HOUR)
    assert.equal(outcome.kind === 'accepted' && outcome.events.length, 3000)
  })

  test('may have events that are long: a page has the orders of 100 of them', async (t) => {
    const order = { id: '5O190127TN364715T', note: 'x'.repeat(20_000) }
    const { outcome } = await list(
      t,
      (_asked, response) =>
        json(response, 200, {
          events: Array.from({ length: 100 }, (_, i) =>
            happened('CHECKOUT.ORDER.APPROVED', order, { id: `WH-${i}` }),
          ),
        }),
      NOW - HOUR,
    )
    assert.equal(outcome.kind === 'accepted' && outcome.events.length, 100)
  })

  test('ends with what was read whole if PayPal fails then', async (t) => {
    const kept = every(30, NOW - 60 * HOUR, 2 * HOUR)
    let calls = 0
    const { outcome } = await list(
      t,
      (asked, response) => (++calls > 1 ? void response.destroy() : listing(kept)(asked, response)),
      NOW - 60 * HOUR,
    )
    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(outcome.kind === 'accepted' && [outcome.events.length, outcome.until], [
      13,
      NOW - 36 * HOUR,
    ])
  })

  test('never ends, if its pages do not, with more than it asked for', async (t) => {
    let calls = 0
    const { outcome } = await list(
      t,
      (_asked, response) => {
        calls++
        json(response, 200, {
          events: [happened('A.B', {})],
          links: [{ rel: 'next', href: `https://api.paypal.com${EVENTS}?page=1` }],
        })
      },
      NOW - 60_000,
    )
    assert.equal(outcome.kind, 'unknown')
    assert.ok(calls < 100, String(calls))
  })

  test('leaves out what has no id or type', async (t) => {
    const { outcome } = await list(
      t,
      (_asked, response) =>
        json(response, 200, {
          events: [null, {}, { id: 'WH-1' }, { id: 7, event_type: 'A.B' }, { id: 'WH-2', event_type: 'A.B' }],
        }),
      NOW - HOUR,
    )
    assert.deepEqual(outcome.kind === 'accepted' && outcome.events, [{ id: 'WH-2', type: 'A.B' }])
  })
})

describe('an event', () => {
  const capture: PaymentSubject = { paymentId: CAPTURE_ID, reference: ORDER_ID, transactionId: TRANSACTION }
  const order: PaymentSubject = { reference: ORDER_ID, transactionId: TRANSACTION }
  const refund: PaymentSubject = { paymentId: CAPTURE_ID, objects: [{ kind: 'refund', id: REFUND_ID }] }
  const reversal: PaymentSubject = { paymentId: CAPTURE_ID, objects: [{ kind: 'reversal', id: REFUND_ID }] }
  const dispute: PaymentSubject = { paymentId: CAPTURE_ID, objects: [{ kind: 'dispute', id: DISPUTE_ID }] }
  const approval = { order_id: ORDER_ID, purchase_units: [{ custom_id: TRANSACTION }] }
  const cases: readonly [string, Record<string, unknown>, PaymentSubject | undefined][] = [
    ['CHECKOUT.ORDER.APPROVED', ordered('APPROVED'), order],
    ['CHECKOUT.ORDER.COMPLETED', ordered('COMPLETED'), order],
    ['CHECKOUT.ORDER.APPROVED', { id: ORDER_ID }, { reference: ORDER_ID }],
    ['CHECKOUT.PAYMENT-APPROVAL.REVERSED', approval, order],
    ['PAYMENT.CAPTURE.COMPLETED', captured(), capture],
    ['PAYMENT.CAPTURE.PENDING', captured(), capture],
    ['PAYMENT.CAPTURE.DENIED', captured(), capture],
    ['PAYMENT.CAPTURE.DECLINED', captured(), capture],
    ['PAYMENT.CAPTURE.SOMETHING', captured(), capture],
    ['PAYMENT.CAPTURE.COMPLETED', captured({ links: [], custom_id: 'basket-17' }), { paymentId: CAPTURE_ID }],
    ['PAYMENT.CAPTURE.REFUNDED', refunded(), refund],
    ['PAYMENT.REFUND.PENDING', refunded(), refund],
    ['PAYMENT.REFUND.FAILED', refunded(), refund],
    ['PAYMENT.CAPTURE.REVERSED', refunded(), reversal],
    [
      'PAYMENT.CAPTURE.REVERSED',
      captured(),
      { paymentId: CAPTURE_ID, objects: [{ kind: 'reversal', id: CAPTURE_ID }] },
    ],
    ['CUSTOMER.DISPUTE.CREATED', disputed(), dispute],
    ['CUSTOMER.DISPUTE.RESOLVED', disputed(), dispute],
    ['PAYMENT.REFUND.PENDING', refunded({ links: [] }), undefined],
    ['PAYMENT.CAPTURE.COMPLETED', captured({ id: '../../v1/oauth2/token' }), undefined],
    ['CUSTOMER.DISPUTE.CREATED', disputed({ disputed_transactions: [] }), undefined],
    ['CHECKOUT.ORDER.APPROVED', {}, undefined],
    ['BILLING.SUBSCRIPTION.CREATED', { id: 'I-1' }, undefined],
    ['PAYMENT.SALE.COMPLETED', { id: 'S-1' }, undefined],
  ]
  test('names what it is about', () => {
    for (const [type, resource, subject] of cases)
      assert.deepEqual(
        eventOf(happened(type, resource, { id: 'WH-1' })),
        { id: 'WH-1', type, ...(subject && { subject }) },
        type,
      )
  })
})
