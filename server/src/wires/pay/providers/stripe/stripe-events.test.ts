import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { testClock } from '../../../../testing/clock.ts'
import { EVENT_TYPES } from './stripe-events.ts'
import { answers, CREATED, event, json, open, ORDER, PATIENCE, serve, session } from '../stripe.fixture.ts'

const SINCE = CREATED * 1000
/** Events at these seconds after the beginning, the newest first, as an account lists them. */
const eventsAt = (seconds: readonly number[]) =>
  seconds
    .map((second, at) => ({ ...event(session()), id: `evt_${at}`, created: CREATED + second }))
    .toSorted((a, b) => a.created - b.created)
    .toReversed()

describe('the events of Stripe', () => {
  test('are listed with one call, the oldest first', async (t) => {
    const { apiBase, asked } = await serve(t, answers({ events: eventsAt([200, 0, 100, -1]) }))
    const outcome = await open({ apiBase }).events(SINCE, PATIENCE)
    assert.ok(outcome.kind === 'accepted')
    assert.deepEqual(
      outcome.events.map(({ id }) => id),
      ['evt_1', 'evt_2', 'evt_0'],
    )
    assert.deepEqual(outcome.events[0]!.subject, {
      reference: 'cs_1',
      transactionId: ORDER.id,
    })
    // An event may be listed late.
    assert.equal(outcome.until, SINCE + 140_000)
    assert.equal(asked.length, 1)
    const { query } = asked[0]!
    assert.deepEqual(
      [query.get('created[gte]'), query.get('limit'), query.getAll('types[0]').length],
      [String(CREATED), '100', 1],
    )
  })

  test('are of at most 20 types, which a call may name', () => {
    assert.ok(EVENT_TYPES.length <= 20)
    assert.equal(new Set(EVENT_TYPES).size, EVENT_TYPES.length)
  })

  test('that are none leave the time where it was', async (t) => {
    const { apiBase } = await serve(t, answers())
    for (const since of [SINCE, SINCE + 1, 0])
      assert.deepEqual(await open({ apiBase }).events(since, PATIENCE), {
        kind: 'accepted',
        events: [],
        until: since,
      })
  })

  test('of another mode, and unknown objects, have no subject', async (t) => {
    const [live, other] = [event(session(), { livemode: true }), event({ id: 'x_1', object: 'x' })]
    const { apiBase } = await serve(
      t,
      answers({ events: [{ ...live, id: 'evt_2' }, other, { id: 5, created: CREATED } as never] }),
    )
    const outcome = await open({ apiBase }).events(SINCE, PATIENCE)
    assert.deepEqual(outcome.kind === 'accepted' && outcome.events, [
      { id: 'evt_1', type: 'checkout.session.completed' },
      { id: 'evt_2', type: 'checkout.session.completed' },
    ])
  })

  test('are listed whole and in order, however many there are and wherever they are', async (t) => {
    let events = eventsAt([])
    const { apiBase } = await serve(t, (one, response) => answers({ events }, 3)(one, response))
    const provider = open({ apiBase })
    const seconds = fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 100_000 })), {
      maxLength: 20,
    })
    await fc.assert(
      fc.asyncProperty(seconds, async (list) => {
        events = eventsAt(list)
        const outcome = await provider.events(SINCE, PATIENCE)
        assert.ok(outcome.kind === 'accepted')
        assert.deepEqual(
          outcome.events.map(({ id }) => id),
          events.map(({ id }) => id).toReversed(),
        )
        assert.equal(outcome.until, Math.max(SINCE, SINCE + (Math.max(0, ...list) - 60) * 1000))
      }),
      { numRuns: 40 },
    )
  })

  test('that do not fit into the time are listed up to a time, and the rest by the next calls', async (t) => {
    const clock = testClock()
    const events = eventsAt(Array.from({ length: 1_000 }, (_, at) => at * 60))
    const { apiBase } = await serve(t, (one, response) => {
      clock.advance(1_000)
      answers({ events }, 100)(one, response)
    })
    const provider = open({ apiBase }, clock)
    const eventIds: string[] = []
    let calls = 0
    for (let since = SINCE; calls < 20; calls++) {
      const outcome = await provider.events(since, 10_000)
      assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
      eventIds.push(...outcome.events.map(({ id }) => id))
      // Complete until there: none of these is seen again, unless it may be late.
      if (outcome.until === SINCE + (999 * 60 - 60) * 1000) break
      assert.ok(outcome.until > since)
      since = outcome.until
    }
    assert.ok(calls > 1 && calls < 20, `${calls} calls`)
    assert.deepEqual(eventIds, events.map(({ id }) => id).toReversed())
  })

  test('keep what was listed before an error', async (t) => {
    const events = eventsAt(Array.from({ length: 10 }, (_, at) => at * 100))
    let calls = 0
    const { apiBase } = await serve(t, (one, response) => {
      if (++calls > 4) json(response, 500, {})
      else answers({ events }, 3)(one, response)
    })
    const outcome = await open({ apiBase }).events(SINCE, PATIENCE)
    assert.ok(outcome.kind === 'accepted')
    const listed = events.toReversed().filter(({ created }) => created * 1000 < outcome.until)
    assert.ok(listed.length > 0 && listed.length < events.length)
    assert.deepEqual(
      outcome.events.map(({ id }) => id),
      listed.map(({ id }) => id),
    )
  })

  for (const [what, body] of [
    ['a page that is always the same', { data: [{ ...event({}), created: CREATED }], has_more: true }],
    ['events without a time', { data: [{ ...event({}), created: 'now' }], has_more: true }],
    ['empty pages', { data: [], has_more: true }],
    ['no list', { data: {} }],
  ] as const)
    test(`are unknown if Stripe answers ${what}`, async (t) => {
      const { apiBase, asked } = await serve(t, (_one, response) => json(response, 200, body))
      assert.equal((await open({ apiBase }).events(SINCE, PATIENCE)).kind, 'unknown')
      assert.ok(asked.length < 5, `${asked.length} calls`)
    })
})
