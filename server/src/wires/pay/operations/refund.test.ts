import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { testClock } from '../../../testing/app.ts'
import { eachEngine, someEngine } from '../../../testing/engines.ts'
import { startTill, type Till } from '../pay.fixture.ts'

const REFUND = 'POST /pay/cardpay/refund'

/** Waits until reconciliation has nothing to recheck any more. */
async function rechecksEnded({ app }: Till): Promise<void> {
  const job = sql`select 1 as one from sixwire_jobs where kind = 'pay.look' limit 1`
  while (await app.app.db.get(job)) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('a refund', () => {
  eachEngine((engine) => {
    test('of a part, of another part and of the rest add up to the payment', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const first = await till.call(REFUND, { transactionId, amount: 400 })
      assert.equal(first.status, 200, first.text)
      const { refundId, ...rest } = first.body
      assert.deepEqual(rest, {
        transactionId,
        provider: 'cardpay',
        status: 'completed',
        amount: 400,
        currency: 'EUR',
      })
      const part = await till.transaction(transactionId)
      assert.deepEqual([part.status, part.refundedAmount], ['partially_refunded', 400])
      assert.deepEqual(
        part.refunds.map((one) => [one.refundId, one.amount, one.status]),
        [[refundId, 400, 'completed']],
      )
      assert.equal((await till.call(REFUND, { transactionId, amount: 100 })).status, 200)
      const last = await till.call(REFUND, { transactionId })
      assert.equal(last.body.amount, 500)
      await till.deliver()
      const all = await till.transaction(transactionId)
      assert.deepEqual([all.status, all.refundedAmount, all.amount], ['refunded', 1000, 1000])
      assert.deepEqual(
        all.history.map(({ status }) => status),
        ['pending', 'completed', 'partially_refunded', 'refunded'],
      )
    })

    test('50 at once on two servers never give back more than was paid', async (t) => {
      const till = await startTill(t, engine, { replicas: true })
      const { _id: transactionId } = await till.paid(1000)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          till.call(REFUND, { transactionId, amount: 90 }, { app: at % 2 === 0 ? till.app : till.other }),
        ),
      )
      const count = (status: number) => answers.filter((one) => one.status === status).length
      assert.deepEqual([count(200), count(422)], [11, 39], answers.map(({ text }) => text).join('\n'))
      for (const { status, body } of answers)
        if (status === 422) assert.equal(body.error.code, 'AMOUNT_EXCEEDED')
      await till.deliver()
      const { refundedAmount, refunds } = await till.transaction(transactionId)
      assert.deepEqual([refundedAmount, refunds.length], [990, 11])
      assert.equal(till.card.counts.refund, 11)
      const { refunds: atBank } = till.card.sessionOf(transactionId)
      assert.equal(
        atBank.reduce((sum, one) => sum + one.amount, 0n),
        990n,
      )
    })

    test('50 at once on one payment are all made, by a few statements each', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const { db } = till.app.app
      const batch = db.batch.bind(db)
      let batches = 0
      db.batch = (steps) => (batches++, batch(steps))
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => till.call(REFUND, { transactionId, amount: 4 })),
      )
      for (const { status, text } of answers) assert.equal(status, 200, text)
      // One reserves, and one records: none is repeated because of the others.
      assert.ok(batches >= 100 && batches < 125, String(batches))
      const { status, refundedAmount, refunds } = await till.transaction(transactionId)
      assert.deepEqual([status, refundedAmount, refunds.length], ['partially_refunded', 200, 50])
      assert.equal(till.card.counts.refund, 50)
      assert.equal(till.card.sessionOf(transactionId).refunds.length, 50)
    })

    test('of all that is left, 10 at once, is made once', async (t) => {
      const till = await startTill(t, engine, { replicas: true })
      const { _id: transactionId } = await till.paid(1000)
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          till.call(REFUND, { transactionId }, { app: at % 2 === 0 ? till.app : till.other }),
        ),
      )
      assert.equal(answers.filter(({ status }) => status === 200).length, 1)
      assert.equal((await till.transaction(transactionId)).refundedAmount, 1000)
    })

    test('that another server has claimed is not repeated because the first call of it ends late', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const { card } = till
      const held: { end: () => void }[] = []
      card.hold = () => new Promise((end) => held.push({ end }))
      card.faults = ['dropped']
      const answering = till.call(REFUND, { transactionId, amount: 800 })
      while (held.length < 1) await delay(2)
      const first = held[0]!
      card.hold = async () => undefined
      // A server whose clock is ahead: to it the lease of the call is over.
      const clock = testClock()
      const { databaseUrl } = till.app.app.settings
      const next = await startTill(t, engine, { banks: [card, till.wallet], clock, databaseUrl })
      clock.advance(40_000)
      // Rechecks are answered, and the repeated call is held.
      const isUnderWay = () => card.counts.refund > 1
      card.hold = () => (isUnderWay() ? new Promise((end) => held.push({ end })) : Promise.resolve())
      const reconciling = next.reconcile()
      while (held.length < 2) await delay(2)
      card.hold = async () => undefined
      first.end()
      const { body, status } = await till.app.clock.through(answering)
      assert.deepEqual([status, body.status], [200, 'pending'])
      await next.reconcile()
      assert.equal(card.counts.refund, 2)
      // A recheck may be held besides the repeated call.
      for (const { end } of held.slice(1)) end()
      await reconciling
      await next.reconcile()
      assert.equal(card.counts.refund, 2)
      assert.equal((await next.transaction(transactionId)).refundedAmount, 800)
    })

    test('of two people under the same Idempotency-Key is one, and of another payment is another', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const [one, other] = [await till.app.register(), await till.app.register()]
      const refund = (token: string, body: object) =>
        till.call(REFUND, { transactionId, amount: 100, ...body }, { token, key: 'refund' })
      const answers = await Promise.all([refund(one.token, {}), refund(other.token, {})])
      const firstAnswer = answers.find(({ status }) => status === 200)!
      for (const { status, body } of answers)
        assert.ok(status === 200 || body.error.code === 'IDEMPOTENCY_CONFLICT')
      const again = await refund(other.token, {})
      assert.deepEqual(again.body, firstAnswer.body)
      assert.equal(till.card.sessionOf(transactionId).refunds.length, 1)
      assert.equal((await refund(other.token, { amount: 200 })).status, 409)
      const { _id: next } = await till.paid(1000)
      assert.equal((await refund(one.token, { transactionId: next })).status, 200)
      assert.equal(till.card.sessionOf(next).refunds.length, 1)
    })
  })

  someEngine((engine) => {
    test('of a wallet payment is in decimal numbers', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.captured(12.3)
      const { status, body, text } = await till.call('POST /pay/walletpay/refund', {
        transactionId,
        amount: 6.15,
      })
      assert.equal(status, 200, text)
      assert.equal(body.amount, 6.15)
      const { amount, refundedAmount, displayAmount } = await till.transaction(transactionId)
      assert.deepEqual([amount, refundedAmount, displayAmount], [12.3, 6.15, '12.30'])
    })

    test('in another currency than the payment is refused, and nothing is given back', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const { status, body } = await till.call(REFUND, { transactionId, amount: 400, currency: 'usd' })
      assert.deepEqual(
        [status, body.error.details.issues],
        [400, [{ path: '/body/currency', message: 'must be EUR, as the payment is' }]],
      )
      assert.equal(till.card.counts.refund, 0)
      assert.equal((await till.call(REFUND, { transactionId, amount: 400, currency: 'eur' })).status, 200)
    })

    test('with a reason shows it, and sends it to the provider', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const reason = 'Damaged in the post'
      // The repetition of a call of unknown outcome is the same call.
      till.card.faults = ['dropped']
      const { body } = await till.app.clock.through(till.call(REFUND, { transactionId, amount: 400, reason }))
      assert.deepEqual([body.status, body.reason], ['pending', reason])
      till.app.clock.advance(30_000)
      while ((await till.transaction(transactionId)).refundedAmount === 0) await till.reconcile()
      assert.deepEqual(till.card.refundReasons, [reason, reason])
      await till.call(REFUND, { transactionId, amount: 100 })
      const { refunds } = await till.transaction(transactionId)
      assert.deepEqual(
        refunds.map((one) => one.reason),
        [reason, undefined],
      )
      for (const wrong of ['', 'a\nb', 'x'.repeat(256), 7])
        assert.equal((await till.call(REFUND, { transactionId, reason: wrong })).status, 400)
    })

    for (const [fault, refundsMade] of [
      ['lost', 1],
      ['dropped', 0],
    ] as const)
      test(`whose answer is ${fault} is pending, stays reserved, and is settled by reconciliation`, async (t) => {
        const till = await startTill(t, engine)
        const { _id: transactionId } = await till.paid(1000)
        till.card.faults = [fault]
        // The recheck within the request fails as well.
        till.card.retrieveFaults = Array.from({ length: 40 }, () => 'unknown' as const)
        const answered = await till.app.clock.through(
          till.call(REFUND, { transactionId, amount: 800 }, { key: 'refund' }),
        )
        assert.equal(answered.status, 200, answered.text)
        assert.equal(answered.body.status, 'pending')
        assert.equal(till.card.sessionOf(transactionId).refunds.length, refundsMade)
        assert.equal((await till.call(REFUND, { transactionId, amount: 300 })).status, 422)
        const pending = await till.transaction(transactionId)
        assert.deepEqual(
          [pending.refundedAmount, pending.refunds.map(({ status, amount }) => [status, amount])],
          [0, [['pending', 800]]],
        )
        till.card.retrieveFaults = []
        till.app.clock.advance(30_000)
        // The job of reconciliation may be at it already.
        while ((await till.transaction(transactionId)).refundedAmount === 0) await till.reconcile()
        const settled = await till.transaction(transactionId)
        assert.deepEqual(
          [
            settled.status,
            settled.refundedAmount,
            settled.refunds.map(({ status, refundId }) => [status, refundId]),
          ],
          ['partially_refunded', 800, [['completed', answered.body.refundId]]],
        )
        assert.equal(till.card.sessionOf(transactionId).refunds.length, 1)
        // What the recheck shows as done is not repeated.
        assert.equal(till.card.counts.refund, refundsMade === 1 ? 1 : 2)
      })

    test('of unknown outcome stays reserved if its repetition does not reach the provider', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      till.card.faults = ['dropped']
      till.card.lastingFault = 'unsent'
      const timer = setInterval(() => till.app.clock.advance(500), 2)
      const { body } = await till.call(REFUND, { transactionId, amount: 800 })
      clearInterval(timer)
      assert.equal(body.status, 'pending')
      till.app.clock.advance(30_000)
      await till.reconcile()
      assert.ok(till.card.counts.refund > 1)
      assert.equal((await till.transaction(transactionId)).refunds[0]!.status, 'pending')
      assert.equal((await till.call(REFUND, { transactionId, amount: 300 })).status, 422)
      till.card.lastingFault = undefined
      // The call of reconciliation may still be under its lease.
      while ((await till.transaction(transactionId)).refunds[0]!.status !== 'completed') {
        till.app.clock.advance(30_000)
        await till.reconcile()
      }
    })

    test('of unknown outcome is rechecked by reconciliation, whose rechecks had ended', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      till.app.clock.advance(11_000)
      await rechecksEnded(till)
      till.card.faults = ['dropped']
      const timer = setInterval(() => till.app.clock.advance(500), 2)
      const { body } = await till.call(REFUND, { transactionId, amount: 800 })
      assert.equal(body.status, 'pending')
      await rechecksEnded(till)
      clearInterval(timer)
      assert.equal((await till.transaction(transactionId)).refundedAmount, 800)
    })

    test('that was begun by a server that died is rechecked at once by the next one', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      till.app.clock.advance(11_000)
      await rechecksEnded(till)
      const began = Promise.withResolvers<void>()
      const begun = till.app.clock.now()
      till.card.hold = () => (began.resolve(), new Promise(() => undefined))
      const answering = till.call(REFUND, { transactionId, amount: 800 }).catch(() => undefined)
      await began.promise
      till.card.hold = async () => undefined
      const retrievals = till.card.counts.retrieve
      till.app.clock.advance(1)
      const { databaseUrl } = till.app.app.settings
      const next = await startTill(t, engine, {
        banks: [till.card, till.wallet],
        clock: till.app.clock,
        databaseUrl,
      })
      while (till.card.counts.retrieve === retrievals) await new Promise((resolve) => setTimeout(resolve, 5))
      // Before the recheck that was due 10 seconds after the call began.
      assert.ok(till.app.clock.now() - begun < 10_000)
      // The call may still be under way: it is not repeated yet.
      assert.equal(till.card.counts.refund, 1)
      next.app.clock.advance(40_000)
      while (till.card.counts.refund < 2 || (await next.transaction(transactionId)).refundedAmount === 0)
        await next.reconcile()
      assert.equal(till.card.counts.refund, 2)
      const { refundedAmount } = await next.transaction(transactionId)
      assert.equal(refundedAmount, 800)
      assert.equal(till.card.sessionOf(transactionId).refunds.length, 1)
      void answering
    })

    test('that was certainly not made is made by the same Idempotency-Key', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      till.card.faults = ['unsent', 'unsent']
      const refund = () => till.call(REFUND, { transactionId, amount: 800 }, { key: 'refund' })
      for (let time = 1; time <= 2; time++) {
        const { status, headers, body } = await refund()
        assert.deepEqual(
          [status, headers.get('retry-after'), body.error.code, body.error.message],
          [502, '1', 'PROVIDER_ERROR', 'Nothing was done: no connection. Send the same request again.'],
        )
        assert.deepEqual((await till.transaction(transactionId)).refunds, [])
      }
      const refundAnswer = await refund()
      assert.deepEqual([refundAnswer.status, refundAnswer.body.status], [200, 'completed'], refundAnswer.text)
      assert.deepEqual((await refund()).body, refundAnswer.body)
      assert.equal(till.card.sessionOf(transactionId).refunds.length, 1)
      assert.equal((await till.transaction(transactionId)).refundedAmount, 800)
    })

    test('that the provider refuses gives its reservation back', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId, reference } = await till.paid(1000)
      for (const [fault, status, code] of [
        ['refused', 502, 'PROVIDER_ERROR'],
        ['unsent', 502, 'PROVIDER_ERROR'],
      ] as const) {
        till.card.faults = [fault]
        const answered = await till.call(REFUND, { transactionId, amount: 1000 })
        assert.deepEqual([answered.status, answered.body.error.code], [status, code], answered.text)
      }
      // Another refund, made at the provider, of which nothing is known here yet.
      till.card.sessions.get(reference)!.refunds.push({
        id: 're_dashboard',
        amount: 900n,
        status: 'completed',
        at: till.app.clock.now(),
      })
      const refused = await till.call(REFUND, { transactionId, amount: 500 })
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'INVALID_STATE'], refused.text)
      till.card.act(reference, () => undefined, 'charge.refunded')
      await till.deliver()
      const { refundedAmount, refunds } = await till.transaction(transactionId)
      assert.deepEqual([refundedAmount, refunds.map(({ refundId }) => refundId)], [900, ['re_dashboard']])
      assert.equal((await till.call(REFUND, { transactionId })).body.amount, 100)
    })

    test('that is pending is rechecked until it has ended', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId, reference } = await till.paid(1000)
      const refund = { id: 're_1', amount: 300n, at: till.app.clock.now() }
      till.card.act(
        reference,
        ({ refunds }) => refunds.push({ ...refund, status: 'pending' }),
        'refund.created',
      )
      await till.deliver()
      const pending = await till.transaction(transactionId)
      assert.deepEqual([pending.status, pending.refunds[0]!.status], ['completed', 'pending'])
      assert.equal((await till.call(REFUND, { transactionId, amount: 800 })).status, 422)
      // Nobody is told.
      till.card.sessions.get(reference)!.refunds[0]!.status = 'completed'
      await till.reconcile()
      const { status, refundedAmount } = await till.transaction(transactionId)
      assert.deepEqual([status, refundedAmount], ['partially_refunded', 300])
    })

    test('that fails later takes the transaction back', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId, reference } = await till.paid(1000)
      await till.call(REFUND, { transactionId })
      await till.deliver()
      till.card.act(reference, ({ refunds }) => (refunds[0]!.status = 'failed'), 'refund.failed')
      await till.deliver()
      const { status, refundedAmount, refunds, history } = await till.transaction(transactionId)
      assert.deepEqual([status, refundedAmount, refunds[0]!.status], ['completed', 0, 'failed'])
      assert.deepEqual(
        history.map((one) => one.status),
        ['pending', 'completed', 'refunded', 'completed'],
      )
      assert.equal((await till.call(REFUND, { transactionId })).status, 200)
    })

    test('that the version before made under the caller’s own key is not made again', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const { token, _id } = await till.app.register()
      const refund = () => till.call(REFUND, { transactionId, amount: 100 }, { token, key: 'refund' })
      const first = await refund()
      assert.equal(first.status, 200, first.text)
      await till.app.app.db.write(
        sql`update sixwire_idempotency set caller = ${`user:${_id}`} where key = 'refund'`,
      )
      assert.deepEqual((await refund()).body, first.body)
      assert.equal(till.card.sessionOf(transactionId).refunds.length, 1)
    })

    test('over what is left says in decimals how much that is', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(8200)
      await till.call(REFUND, { transactionId, amount: 4200 })
      const { body } = await till.call(REFUND, { transactionId, amount: 4001 })
      assert.equal(body.error.message, 'Only 40.00 EUR of this payment is left to refund.')
      assert.equal(body.error.details.left, 4000)
      const unknown = await till.call(REFUND, { transactionId: '01arz3ndektsv4rrffq69g5fav' })
      assert.equal(unknown.body.error.message, 'There is no cardpay transaction 01arz3ndektsv4rrffq69g5fav.')
    })

    test('the same Idempotency-Key refunds once, also after the answer was lost', async (t) => {
      const till = await startTill(t, engine)
      const { _id: transactionId } = await till.paid(1000)
      const first = await till.call(REFUND, { transactionId, amount: 100 }, { key: 'r1' })
      const second = await till.call(REFUND, { transactionId, amount: 100 }, { key: 'r1' })
      assert.deepEqual(second.body, first.body)
      assert.equal(till.card.sessionOf(transactionId).refunds.length, 1)
    })
  })
})
