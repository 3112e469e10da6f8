import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, someEngine } from '../../../testing/engines.ts'
import { webhookOf } from '../bank.fixture.ts'
import { startTill } from '../pay.fixture.ts'

const PATH = '/pay/cardpay/webhook'

describe('a webhook', () => {
  eachEngine((engine) => {
    test('is stored before it is answered, and has its effect once however often it comes', async (t) => {
      const till = await startTill(t, engine, { replicas: true })
      const { _id, reference } = await till.checkout()
      till.pay(reference)
      const [event] = till.card.outgoing.splice(0)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 === 0 ? till.app : till.other).request('POST', PATH, webhookOf(event!)),
        ),
      )
      for (const { status, body } of answers) assert.deepEqual([status, body], [200, { received: true }])
      const rows = await till.app.app.db.all(sql`select event_id, type from pay_events`)
      assert.deepEqual(rows, [{ event_id: event!.id, type: 'checkout.completed' }])
      await till.quiet()
      const { status, history } = await till.transaction(_id)
      assert.deepEqual([status, history.length], ['completed', 2])
      assert.equal(till.card.counts.retrieve, 1)
    })

    test('of a kind that is not used, or of another application, is stored and changes nothing', async (t) => {
      const till = await startTill(t, engine)
      const { _id } = await till.checkout()
      await till.receive('cardpay', [
        { id: 'evt_1', type: 'customer.created' },
        { id: 'evt_2', type: 'checkout.completed', subject: { reference: 'cs_foreign' } },
        { id: 'evt_3', type: 'refund.created', subject: { paymentId: 'pay_foreign' } },
        // Another application of the same account, which uses an id of ours for its own session.
        { id: 'evt_4', type: 'checkout.completed', subject: { transactionId: _id, reference: 'cs_foreign' } },
      ])
      const rows = await till.app.app.db.all<{ event_id: string; result: string }>(
        sql`select event_id, result from pay_events order by event_id`,
      )
      assert.deepEqual(
        rows.map(({ event_id, result }) => [event_id, result]),
        [
          ['evt_1', 'not used'],
          ['evt_2', 'not a transaction of this server'],
          ['evt_3', 'not a transaction of this server'],
          ['evt_4', 'not a transaction of this server'],
        ],
      )
      assert.equal((await till.transaction(_id)).status, 'pending')
    })

    test('is not given up because of an older one about the same payment, nor after days', async (t) => {
      const till = await startTill(t, engine)
      const { reference } = await till.checkout()
      const { db } = till.app.app
      till.pay(reference)
      const [event] = till.card.outgoing.splice(0)
      const now = till.app.clock.now()
      const insert = (id: string, subject: object, attempts: number) =>
        db.write(sql`
          insert into pay_events (provider, event_id, type, subject, received_at, due_at, attempts, result)
          values ('cardpay', ${id}, 'checkout.completed', ${JSON.stringify(subject)}, ${now}, ${now}, ${attempts}, null)`)
      await insert('evt_0', event!.subject!, 9_999)
      // The provider was away for three days.
      await insert('evt_00', { reference, paymentId: 'another subject' }, 80)
      till.card.retrieveFaults = ['unknown', 'unknown', 'unknown']
      assert.equal((await till.app.request('POST', PATH, webhookOf(event!))).status, 200)
      const unhandled = () =>
        db.all<{ event_id: string; due_at: number | null }>(
          sql`select event_id, due_at from pay_events where result is null`,
        )
      while ((await unhandled()).length > 0) await new Promise((resolve) => setTimeout(resolve, 2))
      const rows = await db.all<{ event_id: string; due_at: number | null }>(
        sql`select event_id, due_at from pay_events`,
      )
      const dueInMs = (id: string) => rows.find(({ event_id }) => event_id === id)!.due_at! - now
      assert.ok(dueInMs('evt_00') > 0)
      assert.ok(dueInMs(event!.id) > 0)
      assert.ok(dueInMs(event!.id) < 60_000)
    })

    test('that comes while the last recheck ends begins rechecks of its own', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.paid()
      const { db } = till.app.app
      const jobsOf = () =>
        db.all<{ id: string }>(sql`select id from sixwire_jobs where kind = 'pay.look' order by id`)
      // As another server has claimed it that saw the transaction settled, and is about to delete it.
      const [job] = await jobsOf()
      await db.write(
        sql`update sixwire_jobs set claimed_by = 'other', run_at = ${till.app.clock.now() + 60_000} where id = ${job!.id}`,
      )
      till.card.act(
        reference,
        (session) =>
          (session.disputes = [
            { id: 'dp_1', amount: 1000n, status: 'open', version: 1, at: till.app.clock.now() },
          ]),
        'dispute.created',
      )
      await till.deliver()
      assert.equal((await till.transaction(_id)).status, 'disputed')
      await db.write(sql`delete from sixwire_jobs where id = ${job!.id} and claimed_by = 'other'`)
      assert.equal((await jobsOf()).length, 1)
    })

    test('that was lost is looked for since the end of the last list that was complete', async (t) => {
      const till = await startTill(t, engine, {
        config: { pay: { reconcile: { eventsSeconds: 1_000_000 } } },
      })
      const { clock } = till.app
      const cursor = async (): Promise<number | undefined> => {
        const row = await till.app.app.db.get<{ listed_until: number }>(
          sql`select listed_until from pay_event_cursors where provider = 'cardpay'`,
        )
        return row?.listed_until
      }
      while ((await cursor()) === undefined) await new Promise((resolve) => setTimeout(resolve, 2))
      const first = (await cursor())!
      clock.advance(3 * 3_600_000)
      const asked: number[] = []
      const list = async (until: number | undefined) => {
        till.card.listedUntil = (since) => {
          asked.push(since)
          return until
        }
        await till.app.app.service('pay').listEvents()
        return cursor()
      }
      assert.equal(await list(first + 1000), first + 1000)
      assert.equal(await list(undefined), first + 1000)
      assert.equal(await list(first), first + 1000)
      // Its clock may be ahead.
      assert.ok((await list(clock.now() + 3_600_000))! <= clock.now())
      const overlap = 600_000
      // Our clock was ahead, and was set back.
      const later = clock.now() + 3_600_000
      await till.app.app.db.write(sql`update pay_event_cursors set listed_until = ${later}`)
      assert.ok((await list(first))! < later)
      assert.ok(asked.pop()! <= clock.now() - overlap)
      assert.deepEqual(
        asked.map((since) => since - first + overlap),
        [0, 1000, 1000, 1000],
      )
    })
  })

  someEngine((engine) => {
    test('with another signature, or none, is answered 400 and not stored', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      // The bank's list of events has it not: it is read at the start, and would be right.
      till.card.sessions.get(reference)!.status = 'paid'
      const event = { id: 'evt_1', type: 'checkout.completed', subject: { transactionId: _id, reference } }
      const forged = await till.app.request('POST', PATH, webhookOf(event, 'a guess'))
      const unsigned = await till.app.request('POST', PATH, { body: event })
      for (const { status, body } of [forged, unsigned])
        assert.deepEqual([status, body.error.code], [400, 'INVALID_SIGNATURE'])
      assert.deepEqual(await till.app.app.db.all(sql`select event_id from pay_events`), [])
      assert.equal((await till.transaction(_id)).status, 'pending')
    })

    test('says nothing by itself: what the provider shows is recorded', async (t) => {
      const till = await startTill(t, engine)
      const { _id } = await till.checkout()
      const subject = { transactionId: _id }
      await till.receive('cardpay', [{ id: 'evt_lie', type: 'checkout.completed', subject }])
      assert.equal((await till.transaction(_id)).status, 'pending')
    })

    test('in reverse order and long after each other, they lead to the same', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId, reference } = await till.checkout()
      till.pay(reference)
      const paid = till.card.outgoing.splice(0)
      till.card.act(
        reference,
        ({ refunds }) =>
          refunds.push({ id: 're_1', amount: 300n, status: 'completed', at: till.app.clock.now() }),
        'refund.created',
      )
      const refunded = till.card.outgoing.splice(0)
      await till.receive('cardpay', refunded)
      const { status, refundedAmount, history } = await till.transaction(transactionId)
      assert.deepEqual([status, refundedAmount], ['partially_refunded', 300])
      assert.deepEqual(
        history.map((one) => one.status),
        ['pending', 'completed', 'partially_refunded'],
      )
      till.app.clock.advance(3_600_000)
      await till.receive('cardpay', paid)
      assert.deepEqual((await till.transaction(transactionId)).history, history)
    })

    test('of a payment that is known by nothing but its id is found at the provider', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      till.pay(reference)
      till.card.outgoing.length = 0
      const subject = { paymentId: `pay_${reference}` }
      await till.receive('cardpay', [{ id: 'evt_1', type: 'charge.succeeded', subject }])
      assert.equal((await till.transaction(_id)).status, 'completed')
    })

    test('of another application of the account does not wait for those before it', async (t) => {
      const till = await startTill(t, engine)
      let [underWay, most] = [0, 0]
      till.card.hold = async () => {
        most = Math.max(most, ++underWay)
        await new Promise((resolve) => setTimeout(resolve, 50))
        underWay--
      }
      const foreign = Array.from({ length: 20 }, (_, at) => ({
        id: `evt_${at}`,
        type: 'charge.succeeded',
        subject: { paymentId: `pay_foreign_${at}` },
      }))
      await Promise.all(foreign.map((event) => till.app.request('POST', PATH, webhookOf(event))))
      await till.quiet()
      assert.equal(most, 4)
    })

    test('is handled again while the provider does not answer', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      till.pay(reference)
      till.card.retrieveFaults = ['unknown']
      const [event] = till.card.outgoing.splice(0)
      assert.equal((await till.app.request('POST', PATH, webhookOf(event!))).status, 200)
      const failed = async () =>
        till.app.app.db.get<{ attempts: number }>(
          sql`select attempts from pay_events where attempts = 1 and result = 'the bank is closed'`,
        )
      while (!(await failed())) await new Promise((resolve) => setTimeout(resolve, 2))
      assert.equal((await till.transaction(_id)).status, 'pending')
      const timer = setInterval(() => till.app.clock.advance(5_000), 5)
      await till.quiet()
      clearInterval(timer)
      assert.equal((await till.transaction(_id)).status, 'completed')
    })

    test('that another server stored before it died is handled', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      till.pay(reference)
      const [{ id, type, subject }] = till.card.outgoing.splice(0) as [
        { id: string; type: string; subject: object },
      ]
      await till.app.app.db.write(sql`
        insert into pay_events (provider, event_id, type, subject, received_at, due_at, attempts, result)
        values ('cardpay', ${id}, ${type}, ${JSON.stringify(subject)}, ${till.app.clock.now()},
          ${till.app.clock.now()}, 0, null)`)
      const timer = setInterval(() => till.app.clock.advance(5_000), 5)
      await till.quiet()
      clearInterval(timer)
      assert.equal((await till.transaction(_id)).status, 'completed')
    })

    test('that was lost is found in the provider’s list of events', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId, reference } = await till.paid()
      // The first recheck finds it settled, and is the last.
      till.app.clock.advance(11_000)
      while (till.card.counts.retrieve < 2) await new Promise((resolve) => setTimeout(resolve, 5))
      till.card.act(
        reference,
        (session) =>
          (session.disputes = [
            { id: 'dp_1', amount: 1000n, status: 'open', version: 1, at: till.app.clock.now() },
          ]),
        'dispute.created',
      )
      till.card.outgoing.length = 0
      const timer = setInterval(() => till.app.clock.advance(300_000), 5)
      while ((await till.transaction(transactionId)).status !== 'disputed')
        await new Promise((resolve) => setTimeout(resolve, 5))
      clearInterval(timer)
      const { history } = await till.transaction(transactionId)
      assert.match(history.at(-1)!.cause, /^event evt_/)
    })

    test('needs a secret that is not blank, and the server says so at its start', async (t) => {
      const app = await startApp(t, engine, {
        environment: {
          STRIPE_SECRET_KEY: 'sk_test_1',
          STRIPE_WEBHOOK_SECRET: ' ',
          STRIPE_API_BASE: 'http://127.0.0.1:1',
          PAYPAL_CLIENT_ID: 'id',
          PAYPAL_CLIENT_SECRET: 'secret',
          PAYPAL_WEBHOOK_ID: ' ',
          PAYPAL_API_BASE: 'http://127.0.0.1:1',
        },
      })
      for (const variable of ['STRIPE_WEBHOOK_SECRET', 'PAYPAL_WEBHOOK_ID'])
        assert.match(app.log(), new RegExp(`${variable}: it is not set: webhooks are refused`))
      for (const name of ['cardpay', 'walletpay']) {
        const { status, body } = await app.request('POST', `/pay/${name}/webhook`, { body: {} })
        assert.deepEqual([status, body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      }
    })

    test('is answered 400 if no such provider is configured', async (t) => {
      const app = await startApp(t, engine)
      const { status, body } = await app.request('POST', PATH, { body: {} })
      assert.deepEqual([status, body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      assert.match(body.error.message, /STRIPE_SECRET_KEY/)
    })
  })
})
