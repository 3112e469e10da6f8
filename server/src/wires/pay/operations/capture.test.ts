import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { eachEngine, someEngine } from '../../../testing/engines.ts'
import { RETURN_URLS, startTill, type Till } from '../pay.fixture.ts'

const capture = (reference: string) => `POST /pay/walletpay/capture/${reference}`
const approve = (till: Till, reference: string) =>
  till.wallet.act(reference, (session) => (session.status = 'approved'), 'order.approved')

describe('a wallet order', () => {
  eachEngine((engine) => {
    test('is created, approved and captured; capturing again answers the same', async (t) => {
      const till = await startTill(t, engine)
      const created = await till.call('POST /pay/walletpay/order', {
        amount: 12.3,
        currency: 'EUR',
        description: 'Momo',
        ...RETURN_URLS,
      })
      const { orderId, approvalUrl, transactionId } = created.body
      assert.deepEqual(created.body, { orderId, approvalUrl, status: 'CREATED', transactionId })
      const early = await till.call(capture(orderId))
      assert.deepEqual([early.status, early.body.error.code], [409, 'INVALID_STATE'], early.text)
      assert.equal(early.body.error.details.approvalUrl, approvalUrl)
      // The same key is no obstacle to what was not possible before.
      const key = 'capture'
      assert.equal((await till.call(capture(orderId), undefined, { key })).status, 409)
      approve(till, orderId)
      const captured = await till.call(capture(orderId), undefined, { key })
      assert.deepEqual(
        [captured.status, captured.body],
        [200, { orderId, status: 'COMPLETED', transactionId }],
      )
      assert.deepEqual((await till.call(capture(orderId))).body, captured.body)
      assert.equal(till.wallet.counts.capture, 3)
      await till.deliver()
      const { status, displayAmount, history } = await till.transaction(transactionId)
      assert.deepEqual([status, displayAmount, history.length], ['completed', '12.30', 2])
      await till.call('POST /pay/walletpay/refund', { transactionId })
      assert.deepEqual((await till.call(capture(orderId))).body, captured.body)
    })

    test('captured many times at the same moment on two servers is captured once', async (t) => {
      const till = await startTill(t, engine, { replicas: true })
      const { reference } = await till.order()
      approve(till, reference)
      till.wallet.hold = () => new Promise((resolve) => setTimeout(resolve, 50))
      const timer = setInterval(() => till.app.clock.advance(100), 10)
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          till.call(capture(reference), undefined, { app: at % 2 === 0 ? till.app : till.other }),
        ),
      )
      clearInterval(timer)
      for (const { status, body, text } of answers) {
        assert.equal(status, 200, text)
        assert.deepEqual(body, answers[0]!.body)
      }
      assert.equal(till.wallet.counts.capture, 1)
    })
  })

  someEngine((engine) => {
    test('whose capture was certainly not made is captured by the same Idempotency-Key', async (t) => {
      const till = await startTill(t, engine)
      const { reference } = await till.order()
      approve(till, reference)
      till.wallet.faults = ['unsent']
      const failed = await till.call(capture(reference), undefined, { key: 'capture' })
      assert.deepEqual([failed.status, failed.headers.get('retry-after')], [502, '1'], failed.text)
      assert.match(failed.body.error.message, /^Nothing was done/)
      const { status, body } = await till.call(capture(reference), undefined, { key: 'capture' })
      assert.deepEqual([status, body.status], [200, 'COMPLETED'])
    })

    test('whose payment is declined is answered 422, and can be tried again', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.order()
      approve(till, reference)
      till.wallet.sessions.get(reference)!.isDeclined = true
      const declined = await till.call(capture(reference))
      assert.deepEqual([declined.status, declined.body.error.code], [422, 'PAYMENT_DECLINED'], declined.text)
      assert.equal(declined.body.error.details.approvalUrl, `https://bank.example/${reference}`)
      assert.equal((await till.transaction(_id)).status, 'pending')
      approve(till, reference)
      assert.equal((await till.call(capture(reference))).status, 200)
      assert.equal((await till.transaction(_id)).status, 'completed')
    })

    test('whose payment is pending is answered PENDING, then what became of it', async (t) => {
      const till = await startTill(t, engine)
      for (const [end, status, code] of [
        ['paid', 200, undefined],
        ['failed', 409, 'INVALID_STATE'],
      ] as const) {
        const { _id, reference } = await till.order()
        till.wallet.act(reference, (session) => (session.status = 'pending'), 'capture.pending')
        await till.deliver()
        const pending = await till.call(capture(reference))
        assert.deepEqual([pending.status, pending.body.status], [200, 'PENDING'], pending.text)
        assert.equal((await till.transaction(_id)).status, 'pending')
        till.wallet.act(reference, (session) => (session.status = end), 'capture.changed')
        const answered = await till.call(capture(reference))
        assert.deepEqual([answered.status, answered.body.error?.code], [status, code], answered.text)
        assert.equal((await till.transaction(_id)).status, end === 'paid' ? 'completed' : 'failed')
      }
    })

    for (const fault of ['lost', 'dropped'] as const)
      test(`whose capture is ${fault} is captured once, by the next call or reconciliation`, async (t) => {
        const till = await startTill(t, engine)
        for (const again of ['call', 'reconcile'] as const) {
          const { _id, reference } = await till.order()
          approve(till, reference)
          till.wallet.faults = [fault]
          till.wallet.retrieveFaults = Array.from({ length: 40 }, () => 'unknown' as const)
          const unknown = await till.app.clock.through(till.call(capture(reference)))
          assert.deepEqual([unknown.status, unknown.body.error.code], [502, 'PROVIDER_ERROR'], unknown.text)
          till.wallet.retrieveFaults = []
          till.app.clock.advance(30_000)
          if (again === 'call') assert.equal((await till.call(capture(reference))).status, 200)
          // The job of reconciliation may be at it already.
          else while ((await till.transaction(_id)).status === 'pending') await till.reconcile()
          assert.equal((await till.transaction(_id)).status, 'completed')
          const attempts = await till.app.app.db.all(
            sql`select id from pay_calls where transaction_id = ${_id} and kind = 'capture'`,
          )
          assert.equal(attempts.length, 1, 'a second idempotency key was used')
        }
      })

    test('of unknown outcome is not captured again before it could be rechecked', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.order()
      approve(till, reference)
      till.wallet.faults = ['lost']
      till.wallet.retrieveFaults = Array.from({ length: 100 }, () => 'unknown' as const)
      const timer = setInterval(() => till.app.clock.advance(500), 2)
      for (let time = 1; time <= 2; time++) {
        const { status, body, text } = await till.call(capture(reference))
        assert.deepEqual([status, body.error.code], [502, 'PROVIDER_ERROR'], text)
        assert.equal(body.error.details.transactionId, _id)
        assert.match(body.error.message, new RegExp(` GET /pay/transactions/${_id} shows `))
      }
      clearInterval(timer)
      assert.equal(till.wallet.counts.capture, 1)
      till.wallet.retrieveFaults = []
      assert.equal((await till.call(capture(reference))).body.status, 'COMPLETED')
      assert.equal(till.wallet.counts.capture, 1)
    })

    test('that the provider forgot is expired after three hours, and not before', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.order()
      till.wallet.sessions.delete(reference)
      await till.reconcile()
      assert.equal((await till.transaction(_id)).status, 'pending')
      till.app.clock.advance(3 * 3_600_000)
      await till.reconcile()
      const { status, history } = await till.transaction(_id)
      assert.deepEqual([status, history.at(-1)!.cause], ['expired', 'reconciliation'])
      assert.equal((await till.call(capture(reference))).status, 409)
    })

    test('of another user is answered 404, with the policy guarded', async (t) => {
      const till = await startTill(t, engine, {
        environment: { SIXWIRE_POLICY: 'guarded', SIXWIRE_ADMINS: 'boss@example.com' },
      })
      const [ada, eve] = [await till.app.register(), await till.app.register()]
      const created = await till.call(
        'POST /pay/walletpay/order',
        { amount: 5, currency: 'EUR', ...RETURN_URLS },
        ada,
      )
      const { orderId, transactionId } = created.body
      approve(till, orderId)
      const theirs = await till.call(capture(orderId), undefined, eve)
      const none = await till.call(capture('O-NONE'), undefined, eve)
      assert.deepEqual([theirs.status, none.status], [404, 404])
      assert.equal(theirs.body.error.message.replace(orderId, 'O-NONE'), none.body.error.message)
      assert.equal((await till.call(`GET /pay/transactions/${transactionId}`, undefined, eve)).status, 404)
      assert.equal((await till.call('GET /pay/transactions', undefined, eve)).body.total, 0)
      assert.equal((await till.call('GET /pay/transactions', undefined, ada)).body.total, 1)
      assert.equal((await till.call(capture(orderId), undefined, ada)).status, 200)
    })
  })
})
