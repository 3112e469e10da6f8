import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { testClock } from '../../../../testing/clock.ts'
import type { PaymentSubject } from '../provider.ts'
import { disputed, DISPUTED, retrieve, movements, paid, PAID } from './stripe-retrieve.fixture.ts'
import {
  answers,
  CREATED,
  dispute,
  json,
  open,
  ORDER,
  PATIENCE,
  payment,
  problem,
  refund,
  serve,
  session,
  type Account,
} from '../stripe.fixture.ts'

const SINCE = ORDER.createdAt

describe('a retrieval from Stripe', () => {
  test('answers the address of an open session, and the id of a payment', async (t) => {
    const snapshots = await Promise.all(
      [session(), paid].map(async (one) => (await retrieve(t, { sessions: [one] })).outcome),
    )
    assert.deepEqual(snapshots, [
      {
        kind: 'accepted',
        snapshot: {
          reference: 'cs_1',
          transactionId: ORDER.id,
          url: 'https://checkout.example/c/cs_1',
          entries: [],
          buyer: {},
        },
      },
      {
        kind: 'accepted',
        snapshot: {
          reference: 'cs_1',
          transactionId: ORDER.id,
          paymentId: 'pi_1',
          entries: [PAID],
          buyer: {},
        },
      },
    ])
  })

  test('knows a payment of another integration by its missing metadata', async (t) => {
    const { outcome } = await retrieve(t, { sessions: [session({ metadata: {}, client_reference_id: 'x' })] })
    assert.equal(outcome.kind === 'accepted' && outcome.snapshot.transactionId, undefined)
    assert.equal(outcome.kind, 'accepted')
  })

  test('makes one call for an open session, and asks for no dispute where there is none', async (t) => {
    const paths = async (account: Partial<Account>, subject?: PaymentSubject): Promise<string[]> =>
      (await retrieve(t, account, subject)).asked.map(({ path }) => path.replace('/v1/', ''))
    assert.deepEqual(await paths({}), ['checkout/sessions/cs_1'])
    assert.deepEqual(await paths({ sessions: [paid] }), ['checkout/sessions/cs_1', 'refunds'])
    assert.deepEqual(await paths({ sessions: [disputed] }), ['checkout/sessions/cs_1', 'refunds', 'disputes'])
    assert.deepEqual(
      await paths({ sessions: [paid] }, { reference: 'cs_1', objects: [{ kind: 'dispute', id: 'dp_1' }] }),
      ['checkout/sessions/cs_1', 'refunds', 'disputes'],
    )
  })

  test('fetches what a server does not expand', async (t) => {
    const { apiBase, asked } = await serve(t, (one, response) => {
      if (one.path === '/v1/payment_intents/pi_1')
        return json(response, 200, { ...payment(), latest_charge: 'ch_1' })
      answers({
        sessions: [session({ status: 'complete', payment_intent: 'pi_1' })],
        disputes: [dispute({ status: 'lost', balance_transactions: movements(1) })],
      })(one, response)
    })
    const outcome = await open({ apiBase }).retrieve({ reference: 'cs_1', since: SINCE }, PATIENCE)
    assert.deepEqual(outcome.kind === 'accepted' && outcome.snapshot.entries, [
      PAID,
      { ...DISPUTED, status: 'lost', version: 1 },
    ])
    assert.equal(asked.length, 4)
  })

  test('reads all pages of refunds', async (t) => {
    const refunds = Array.from({ length: 250 }, (_, at) => refund({ id: `re_${at}` }))
    const { outcome, asked } = await retrieve(t, { sessions: [paid], refunds })
    assert.deepEqual(
      outcome.kind === 'accepted' && outcome.snapshot.entries.map(({ objectId }) => objectId),
      ['pi_1', ...refunds.map(({ id }) => id)],
    )
    assert.deepEqual(
      asked.slice(1).map(({ query }) => query.get('starting_after')),
      [null, 're_99', 're_199'],
    )
  })

  test('leaves out what is of another payment, where a server does not filter', async (t) => {
    const { apiBase } = await serve(t, (one, response) => {
      one.query.delete('payment_intent')
      answers({
        sessions: [session({ id: 'cs_2', payment_intent: payment({ id: 'pi_2' }) }), disputed],
        refunds: [refund({ id: 're_2', payment_intent: 'pi_2' })],
        disputes: [dispute({ id: 'dp_2', payment_intent: 'pi_2' }), dispute({ payment_intent: null })],
      })(one, response)
    })
    const outcome = await open({ apiBase }).retrieve({ paymentId: 'pi_1', since: SINCE }, PATIENCE)
    assert.deepEqual(outcome.kind === 'accepted' && outcome.snapshot.entries, [
      PAID,
      { ...DISPUTED, status: 'open', version: 0 },
    ])
  })

  test('does not take another session for the one asked for', async (t) => {
    const { apiBase } = await serve(t, (_one, response) => json(response, 200, session({ id: 'cs_2' })))
    const outcome = await open({ apiBase }).retrieve({ reference: 'cs_1', since: SINCE }, PATIENCE)
    assert.deepEqual(outcome, { kind: 'unknown', reason: 'Stripe answered without a session' })
  })

  test('finds a session by its payment', async (t) => {
    const other = session({ id: 'cs_2', payment_intent: payment({ id: 'pi_2' }) })
    const account = { sessions: [other, paid] }
    const { outcome } = await retrieve(t, account, { paymentId: 'pi_1', transactionId: 'another' })
    assert.equal(outcome.kind === 'accepted' && outcome.snapshot.reference, 'cs_1')
    assert.deepEqual((await retrieve(t, account, { paymentId: 'pi_3' })).outcome, {
      kind: 'refused',
      code: 'gone',
      reason: 'Stripe has no checkout session of this payment',
    })
  })

  test('finds a session by our transaction, on whatever page', async (t) => {
    const others = Array.from({ length: 5 }, (_, at) =>
      session({ id: `cs_x${at}`, metadata: {}, client_reference_id: null }),
    )
    const subject = { transactionId: ORDER.id }
    for (const mine of [session({ client_reference_id: null }), session({ metadata: {} })]) {
      const { outcome, asked } = await retrieve(t, { sessions: [...others, mine] }, subject, 2)
      assert.equal(outcome.kind === 'accepted' && outcome.snapshot.reference, 'cs_1')
      assert.equal(asked.length, 4)
      // Our clock may be ahead of Stripe's.
      assert.equal(asked[0]!.query.get('created[gte]'), String(CREATED - 60))
    }
    assert.deepEqual((await retrieve(t, { sessions: others }, subject, 2)).outcome, {
      kind: 'refused',
      code: 'gone',
      reason: 'Stripe has no checkout session of this transaction',
    })
    const late = session({ created: CREATED - 3600 })
    assert.equal((await retrieve(t, { sessions: [late] }, subject)).outcome.kind, 'refused')
  })

  for (const [what, list] of [
    ['an error', { status: 500, body: problem({ type: 'api_error', message: 'An error' }) }],
    ['no list', { status: 200, body: {} }],
    ['a page without end', { status: 200, body: { data: [{ id: 'cs_9' }], has_more: true } }],
    ['an empty page and more', { status: 200, body: { data: [], has_more: true } }],
    ['a missing object', { status: 404, body: problem({ code: 'resource_missing', message: 'No such' }) }],
  ] as const)
    test(`never takes ${what} for nothing`, async (t) => {
      const { apiBase } = await serve(t, (one, response) => {
        if (one.path === '/v1/refunds' || one.path === '/v1/checkout/sessions')
          return json(response, list.status, list.body)
        answers({ sessions: [paid] })(one, response)
      })
      const provider = open({ apiBase })
      const outcomes = [await provider.retrieve({ reference: 'cs_1', since: SINCE }, PATIENCE)]
      if (list.status !== 404)
        outcomes.push(await provider.retrieve({ transactionId: ORDER.id, since: SINCE }, PATIENCE))
      for (const { kind } of outcomes) assert.equal(kind, 'unknown')
    })

  test('ends at its limit if the list is too long for it', async (t) => {
    const clock = testClock()
    let pages = 0
    const { apiBase } = await serve(t, (_one, response) => {
      clock.advance(1_000)
      json(response, 200, { data: [{ id: `cs_${++pages}` }], has_more: true })
    })
    const outcome = await open({ apiBase }, clock).retrieve({ transactionId: 'x', since: SINCE }, 10_000)
    assert.deepEqual([outcome.kind, pages], ['unknown', 10])
  })
})
