// Payments that end before anybody has paid: cancelled by the merchant, or because their time is over.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { eachEngine, someEngine } from '../../../testing/engines.ts'
import { RETURN_URLS, startTill, URLS, type Till } from '../pay.fixture.ts'

const cancel = (till: Till, id: string, options?: Parameters<Till['call']>[2]) =>
  till.call(`POST /pay/transactions/${id}/cancel`, undefined, options)
const statusOf = async (till: Till, id: string) => (await till.transaction(id)).status
const approve = (till: Till, reference: string) =>
  till.wallet.act(reference, (session) => (session.status = 'approved'), 'order.approved')

describe('a payment that waits for its buyer', () => {
  eachEngine((engine) => {
    test('is cancelled, once, at the provider of a checkout and here for an order', async (t) => {
      const till = await startTill(t, engine)
      const checkout = await till.checkout()
      const order = await till.order()
      for (const { _id } of [checkout, order])
        for (const round of [1, 2]) {
          const { status, body, text } = await cancel(till, _id)
          assert.deepEqual([status, body.status], [200, 'cancelled'], `${round} ${text}`)
          assert.match(body.history.at(-1).cause, /^request /)
          assert.equal(body.history.length, 2)
        }
      assert.equal(till.card.sessionOf(checkout._id).status, 'expired')
      assert.equal(till.card.counts.cancel, 1)
      await till.deliver()
      await till.reconcile()
      for (const { _id } of [checkout, order]) assert.equal(await statusOf(till, _id), 'cancelled')
      approve(till, order.reference)
      const captured = await till.call(`POST /pay/walletpay/capture/${order.reference}`)
      assert.deepEqual([captured.status, captured.body.error.code], [409, 'INVALID_STATE'])
      assert.equal(till.wallet.counts.capture, 0)
    })

    test('is cancelled by two replicas at once, and both say so', async (t) => {
      const till = await startTill(t, engine, { replicas: true })
      for (const kind of ['checkout', 'order'] as const) {
        const { _id } = await till[kind]()
        const all = await Promise.all(
          [till.app, till.other, till.app].map((app) => cancel(till, _id, { app })),
        )
        for (const { status, body, text } of all)
          assert.deepEqual([status, body.status, body.history?.length], [200, 'cancelled', 2], text)
      }
    })

    test('is never both cancelled and captured, of 10 that are both at once', async (t) => {
      const till = await startTill(t, engine)
      for (let round = 0; round < 10; round++) {
        const { _id, reference } = await till.order()
        approve(till, reference)
        const [captured, cancelled] = await Promise.all([
          till.call(`POST /pay/walletpay/capture/${reference}`),
          cancel(till, _id),
        ])
        assert.deepEqual(
          [captured.status, cancelled.status].toSorted((a, b) => a - b),
          [200, 409],
          `${captured.text} ${cancelled.text}`,
        )
        assert.equal(await statusOf(till, _id), captured.status === 200 ? 'completed' : 'cancelled')
        assert.equal(till.wallet.sessionOf(_id).status, captured.status === 200 ? 'paid' : 'approved')
      }
    })
  })

  someEngine((engine) => {
    test('cannot be cancelled once it is paid, or by somebody else', async (t) => {
      const environment = { SIXWIRE_POLICY: 'guarded', SIXWIRE_ADMINS: 'boss@example.com' }
      const till = await startTill(t, engine, { environment })
      const paid = await till.checkout()
      // Paid, and not known here yet.
      till.pay(paid.reference)
      till.card.outgoing.length = 0
      for (const { _id } of [paid, await till.captured()]) {
        const { status, body } = await cancel(till, _id)
        assert.deepEqual([status, body.error.code], [409, 'INVALID_STATE'])
        assert.equal(await statusOf(till, _id), 'completed')
      }
      const open = await till.checkout()
      const { token } = await till.app.register()
      assert.equal((await cancel(till, open._id, { token })).status, 404)
      assert.equal(await statusOf(till, open._id), 'pending')
    })

    for (const fault of ['lost', 'dropped', 'unsent'] as const)
      test(`whose cancelling is ${fault} is what its provider shows, and cancelled with the next call`, async (t) => {
        const till = await startTill(t, engine)
        const { _id } = await till.checkout()
        till.card.faults = [fault]
        const first = await till.app.clock.through(cancel(till, _id))
        assert.equal(first.status, fault === 'lost' ? 200 : 502, first.text)
        assert.equal(await statusOf(till, _id), fault === 'lost' ? 'cancelled' : 'pending')
        assert.equal((await cancel(till, _id)).body.status, 'cancelled')
      })

    test('is completed by money that arrives although it was cancelled', async (t) => {
      const till = await startTill(t, engine)
      const { _id, reference } = await till.checkout()
      assert.equal((await cancel(till, _id)).status, 200)
      till.pay(reference)
      await till.deliver()
      const { status, history } = await till.transaction(_id)
      assert.equal(status, 'completed')
      assert.deepEqual(
        history.map((one) => one.status),
        ['pending', 'cancelled', 'completed'],
      )
    })

    test('is cancelled at Stripe, and its page takes no payment any more', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token } = await app.register()
      const items = [{ name: 'Book', amount: 5_000, currency: 'eur' }]
      const { body } = await app.request('POST', '/pay/cardpay/checkout', { token, body: { items, ...URLS } })
      for (const round of [1, 2]) {
        const path = `/pay/transactions/${body.transactionId}/cancel`
        const cancelled = await app.request('POST', path, { token })
        assert.deepEqual(
          [cancelled.status, cancelled.body.status],
          [200, 'cancelled'],
          `${round} ${cancelled.text}`,
        )
      }
      const pay = `/sandbox/api/cardpay/sessions/${body.sessionId}/pay`
      assert.equal((await app.request('POST', pay)).status, 400)
    })

    test('expires at its own time, and is not captured after it', async (t) => {
      const till = await startTill(t, engine)
      const expiresAt = new Date(till.app.clock.now() + 600_000).toISOString()
      const create = async () => {
        const { body } = await till.call('POST /pay/walletpay/order', {
          amount: 5,
          currency: 'EUR',
          ...RETURN_URLS,
          expiresAt,
        })
        approve(till, body.orderId)
        return body as { orderId: string; transactionId: string }
      }
      const [early, late, left] = [await create(), await create(), await create()]
      till.app.clock.advance(500_000)
      assert.equal((await till.call(`POST /pay/walletpay/capture/${early.orderId}`)).status, 200)
      till.app.clock.advance(100_000)
      const { status, body } = await till.call(`POST /pay/walletpay/capture/${late.orderId}`)
      assert.deepEqual([status, body.error.code], [409, 'INVALID_STATE'])
      assert.match(body.error.message, /expired/)
      assert.equal(till.wallet.counts.capture, 1)
      await till.reconcile()
      for (const [{ transactionId }, expected] of [
        [early, 'completed'],
        [late, 'expired'],
        [left, 'expired'],
      ] as const)
        assert.equal(await statusOf(till, transactionId), expected)
    })
  })
})
