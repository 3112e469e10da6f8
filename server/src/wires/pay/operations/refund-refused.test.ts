import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTill, type Till } from '../pay.fixture.ts'

const REFUND = 'POST /pay/cardpay/refund'

describe('a refund that is not possible', () => {
  eachEngine((engine) => {
    const end = endOfSuite()
    let starting: Promise<Till> | undefined
    const start = () => (starting ??= startTill(end, engine))

    for (const [what, body, status, code] of [
      ['over what was paid', { amount: 1001 }, 422, 'AMOUNT_EXCEEDED'],
      ['of 0', { amount: 0 }, 400, 'VALIDATION_ERROR'],
      ['of a negative amount', { amount: -1 }, 400, 'VALIDATION_ERROR'],
      ['of a fraction of a minor unit', { amount: 1.5 }, 400, 'VALIDATION_ERROR'],
      ['of 1e21', { amount: 1e21 }, 400, 'VALIDATION_ERROR'],
      ['of text', { amount: '10' }, 400, 'VALIDATION_ERROR'],
      ['of null', { amount: null }, 400, 'VALIDATION_ERROR'],
      [
        'of a transaction that does not exist',
        { transactionId: '01arz3ndektsv4rrffq69g5fav' },
        404,
        'NOT_FOUND',
      ],
      ['of what is no id', { transactionId: "' or 1=1" }, 400, 'VALIDATION_ERROR'],
    ] as [string, object, number, string][])
      test(`${what} is answered ${status}, and changes nothing`, async () => {
        const till = await start()
        const { _id: transactionId } = await till.paid(1000)
        const answered = await till.call(REFUND, { transactionId, ...body })
        assert.deepEqual([answered.status, answered.body.error.code], [status, code], answered.text)
        assert.equal((await till.transaction(transactionId)).status, 'completed')
        assert.equal(till.card.sessionOf(transactionId).refunds.length, 0)
      })

    test('of a transaction of the other provider is answered 404', async () => {
      const till = await start()
      const { _id: transactionId } = await till.paid()
      assert.equal((await till.call('POST /pay/walletpay/refund', { transactionId })).status, 404)
    })

    for (const [state, change] of [
      ['pending', undefined],
      ['expired', 'expired'],
      ['cancelled', 'cancelled'],
      ['failed', 'failed'],
    ] as const)
      test(`of what is ${state} is answered 409`, async () => {
        const till = await start()
        const { _id: transactionId, reference } = await till.checkout()
        if (change) till.card.act(reference, (session) => (session.status = change), 'session.changed')
        await till.deliver()
        assert.equal((await till.transaction(transactionId)).status, state)
        const { status, body } = await till.call(REFUND, { transactionId })
        assert.deepEqual([status, body.error.code], [409, 'INVALID_STATE'])
      })

    test('of what is disputed or lost is answered 409, and of what was won again is made', async () => {
      const till = await start()
      const { _id: transactionId, reference } = await till.paid()
      const dispute = (status: 'open' | 'won' | 'lost', version: number) =>
        till.card.act(
          reference,
          (session) =>
            (session.disputes = [
              { id: `dp_${reference}`, amount: 1000n, status, version, at: till.app.clock.now() },
            ]),
          'dispute.changed',
        )
      dispute('open', 1)
      await till.deliver()
      const disputed = await till.transaction(transactionId)
      assert.deepEqual(
        [disputed.status, disputed.dispute?.status, disputed.dispute?.amount, disputed.dispute?.reason],
        ['disputed', 'open', 1000, 'product_not_received'],
      )
      assert.equal((await till.call(REFUND, { transactionId })).status, 409)
      dispute('won', 2)
      await till.deliver()
      assert.equal((await till.transaction(transactionId)).status, 'completed')
      assert.equal((await till.call(REFUND, { transactionId, amount: 1 })).status, 200)
      dispute('lost', 3)
      await till.deliver()
      assert.equal((await till.transaction(transactionId)).status, 'lost')
      assert.equal((await till.call(REFUND, { transactionId })).status, 409)
      dispute('won', 4)
      await till.deliver()
      const { status, lostAmount, history } = await till.transaction(transactionId)
      assert.deepEqual([status, lostAmount], ['partially_refunded', 0])
      assert.match(history.at(-1)!.cause, /^event /)
      assert.match(
        till.app.log(),
        /"level":40.*"from":"lost","to":"partially_refunded","cause":"event evt_\d+".*looked final/,
      )
      assert.equal((await till.call(REFUND, { transactionId })).body.amount, 999)
    })

    test('of more than what a dispute about a part leaves is answered 422, and of the rest is made', async () => {
      const till = await start()
      const { _id: transactionId, reference } = await till.paid(8200)
      const dispute = (status: 'open' | 'lost', version: number) =>
        till.card.act(
          reference,
          (session) =>
            (session.disputes = [
              { id: `dp_${reference}`, amount: 100n, status, version, at: till.app.clock.now() },
            ]),
          'dispute.changed',
        )
      const amounts = async () => {
        const { status, refundedAmount, disputedAmount, lostAmount } = await till.transaction(transactionId)
        return [status, refundedAmount, disputedAmount, lostAmount]
      }
      const refused = async (message: string) => {
        const { status, body } = await till.call(REFUND, { transactionId, amount: 8101 })
        assert.deepEqual([status, body.error.code], [422, 'AMOUNT_EXCEEDED'])
        assert.equal(body.error.message, message)
      }
      dispute('open', 1)
      await till.deliver()
      assert.deepEqual(await amounts(), ['disputed', 0, 100, 0])
      await refused('Only 81.00 EUR of this payment is left to refund: 1.00 EUR is disputed.')
      assert.equal((await till.call(REFUND, { transactionId, amount: 100 })).status, 200)
      assert.deepEqual(await amounts(), ['disputed', 100, 100, 0])
      dispute('lost', 2)
      await till.deliver()
      assert.deepEqual(await amounts(), ['partially_refunded', 100, 0, 100])
      await refused('Only 80.00 EUR of this payment is left to refund: 1.00 EUR is lost.')
      assert.equal((await till.call(REFUND, { transactionId })).body.amount, 8000)
      await till.deliver()
      assert.deepEqual(await amounts(), ['lost', 8100, 0, 100])
      const { history } = await till.transaction(transactionId)
      assert.deepEqual(
        history.map(({ status }) => status),
        ['pending', 'completed', 'disputed', 'partially_refunded', 'lost'],
      )
    })

    for (const [state, paid] of [
      ['expired', 'paid'],
      ['cancelled', 'paid'],
      ['failed', 'paid'],
    ] as const)
      test(`of what was ${state} and then paid after all is made`, async () => {
        const till = await start()
        const { _id: transactionId, reference } = await till.checkout()
        for (const status of [state, paid] as const) {
          till.card.act(reference, (session) => (session.status = status), 'session.changed')
          await till.deliver()
        }
        const { history } = await till.transaction(transactionId)
        assert.deepEqual(
          history.map(({ status }) => status),
          ['pending', state, 'completed'],
        )
        assert.match(history[2]!.cause, /^event /)
        assert.match(till.app.log(), new RegExp(`"level":40.*"from":"${state}","to":"completed"`))
        assert.equal((await till.call(REFUND, { transactionId })).status, 200)
      })

    for (const [where, environment] of [
      ['with the policy guarded', { SIXWIRE_POLICY: 'guarded', SIXWIRE_ADMINS: 'boss@example.com' }],
      [
        'in production with open',
        {
          NODE_ENV: 'production',
          HOST: '127.0.0.1',
          SIXWIRE_POLICY: 'open',
          APP_URL: 'https://shop.example',
        },
      ],
    ] as const)
      test(`without the role is answered 403 before anything is looked up, ${where}`, async (t) => {
        const till = await startTill(t, engine, { environment })
        const { token } = await till.app.register()
        const { key } = await till.app.app.service('auth').keys.create('reader', ['pay:read'])
        const { _id: transactionId } = await till.paid()
        for (const one of [token, key]) {
          const { status, body } = await till.call(REFUND, { transactionId }, { token: one })
          assert.deepEqual([status, body.error.code], [403, 'FORBIDDEN'])
        }
        assert.equal((await till.transaction(transactionId)).status, 'completed')
      })
  })
})
