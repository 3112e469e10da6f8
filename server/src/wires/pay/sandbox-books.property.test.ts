// Through the real adapters and the protocols of the sandbox: whatever happens and fails, the books end equal.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { startApp, testClock, type TestApp } from '../../testing/app.ts'
import { someEngine } from '../../testing/engines.ts'
import { freePort } from '../../testing/free-port.ts'
import { isLongRun } from '../../testing/long-run.ts'
import { RETURN_URLS, URLS } from './pay.fixture.ts'
import { assertEqualBooks, readSandbox } from './sandbox-books.fixture.ts'

type Fault = { loseAnswer?: true; error?: number; callback?: string; times?: number }

const CARDS = [
  '4242424242424242',
  '4000000000000002',
  '4000000000000259',
  '4000000000001976',
  '4000000000005126',
  '4000000000007726',
]

const at = fc.nat(4)
const fault = fc.option(
  fc.constantFrom<Fault>({ loseAnswer: true, times: 1 }, { error: 500, times: 1 }, { error: 503, times: 2 }),
  { nil: undefined, freq: 2 },
)
const action = fc.oneof(
  // So that most runs have payments to refund and dispute.
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('sell'),
      wallet: fc.boolean(),
      amount: fc.integer({ min: 5_000, max: 9_999 }),
      card: fc.constantFrom('4242424242424242', '4000000000005126', '4000000000007726'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('checkout'),
      amount: fc.integer({ min: 100, max: 9999 }),
      fault,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('order'), amount: fc.integer({ min: 100, max: 9999 }), fault }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('pay'), at, card: fc.constantFrom(...CARDS, 'debit') }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('expire'), at }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('settle'), at, succeeded: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('approve'),
      at,
      funding: fc.constantFrom('balance', 'balance', 'declined', 'pending'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('capture'), at, fault }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('void'), at }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('refund'),
      at,
      amount: fc.option(fc.integer({ min: 1, max: 6000 }), { nil: undefined }),
      fault,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('dashboard'), at, amount: fc.integer({ min: 1, max: 3000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('refundEnds'), at, succeeded: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('dispute'),
      at,
      amount: fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('close'), at, outcome: fc.constantFrom('won', 'lost') }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('reverse'), at }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('webhooks'),
      provider: fc.constantFrom('cardpay', 'walletpay'),
      callback: fc.constantFrom('lost', 'doubled', 'late', undefined),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait'), ms: fc.constantFrom(1_000, 40_000) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart') }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

async function run(start: () => Promise<TestApp>, actions: readonly Action[]): Promise<void> {
  let app = await start()
  // A session would end while the clock is set forward.
  const { key: token } = await app.app.service('auth').keys.create('test', ['*'])
  const reversed = new Set<string>()
  const callbacks: Record<string, Fault> = { cardpay: {}, walletpay: {} }
  const json = (method: string, path: string, body?: unknown, allowed?: number[]) =>
    app.clock.through(app.request(method, path, { token, body })).then((answered) => {
      assert.ok(!allowed || allowed.includes(answered.status), `${path}: ${answered.status} ${answered.text}`)
      return answered.body
    })
  const setFault = (provider: string, one: Fault = {}) =>
    json('PUT', `/sandbox/api/faults/${provider}`, { ...callbacks[provider], ...one }, [200])
  /** Makes a call of the API while a fault is in force. */
  async function call(
    provider: 'cardpay' | 'walletpay',
    one: Fault | undefined,
    path: string,
    body?: unknown,
  ) {
    if (one) await setFault(provider, one)
    // A definite error of a provider is 4xx, an unknown outcome 502 or 200 pending; none is a 500.
    await json('POST', path, body, [200, 404, 409, 422, 502])
    if (one) await setFault(provider)
  }
  const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)]
  const api = (path: string, body?: unknown) => json('POST', `/sandbox/api/${path}`, body)
  const idOf = async (reference: string): Promise<string | undefined> =>
    (await json('GET', `/pay/transactions?reference=${reference}`)).transactions[0]?._id

  for (const one of actions) {
    if (one.does === 'checkout') {
      const items = [{ name: 'Book', amount: one.amount, currency: 'eur' }]
      await call('cardpay', one.fault, '/pay/cardpay/checkout', { items, ...URLS })
    } else if (one.does === 'sell') {
      if (one.wallet) {
        const order = { amount: one.amount / 100, currency: 'EUR', ...RETURN_URLS }
        const { orderId } = await json('POST', '/pay/walletpay/order', order, [200])
        await api(`walletpay/orders/${orderId}/approve`)
        await json('POST', `/pay/walletpay/capture/${orderId}`, undefined, [200])
      } else {
        const items = [{ name: 'Book', amount: one.amount, currency: 'eur' }]
        const { sessionId } = await json('POST', '/pay/cardpay/checkout', { items, ...URLS }, [200])
        await api(`cardpay/sessions/${sessionId}/pay`, { card: one.card })
      }
    } else if (one.does === 'order')
      await call('walletpay', one.fault, '/pay/walletpay/order', {
        amount: one.amount / 100,
        currency: 'EUR',
        ...RETURN_URLS,
      })
    else if (one.does === 'webhooks') {
      callbacks[one.provider] = one.callback === undefined ? {} : { callback: one.callback }
      await setFault(one.provider)
    } else if (one.does === 'wait') app.clock.advance(one.ms)
    else if (one.does === 'restart') {
      await app.stop()
      app = await start()
    } else {
      const { payments, orders } = await readSandbox(app)
      const payment = pick(payments, one.at)
      const order = pick(orders, one.at)
      if (one.does === 'pay' && payment)
        await api(
          `cardpay/sessions/${payment.id}/pay`,
          one.card === 'debit' ? { outcome: 'processing' } : { card: one.card },
        )
      else if (one.does === 'expire' && payment) await api(`cardpay/sessions/${payment.id}/expire`)
      else if (one.does === 'settle') {
        if (payment) await api(`cardpay/sessions/${payment.id}/settle`, { succeeded: one.succeeded })
        if (order?.capture)
          await api(`walletpay/captures/${order.capture.id}/settle`, {
            status: one.succeeded ? 'completed' : 'denied',
          })
      } else if (one.does === 'approve' && order)
        await api(`walletpay/orders/${order.id}/approve`, { funding: one.funding })
      else if (one.does === 'capture' && order)
        await call('walletpay', one.fault, `/pay/walletpay/capture/${order.id}`)
      else if (one.does === 'void' && order) await api(`walletpay/orders/${order.id}/void`)
      else if (one.does === 'refund') {
        const target = one.at % 2 === 0 ? payment : order
        const transactionId = target && (await idOf(target.id))
        if (transactionId === undefined) continue
        if (target === payment)
          await call('cardpay', one.fault, '/pay/cardpay/refund', { transactionId, amount: one.amount })
        else
          await call('walletpay', one.fault, '/pay/walletpay/refund', {
            transactionId,
            amount: one.amount === undefined ? undefined : one.amount / 100,
          })
      } else if (one.does === 'dashboard') {
        if (payment) await api(`cardpay/sessions/${payment.id}/refund`, { amount: one.amount })
        if (order) await api(`walletpay/orders/${order.id}/refund`, { amount: (one.amount / 100).toFixed(2) })
      } else if (one.does === 'refundEnds') {
        const refundId = (target: { refunds: { id: string }[] } | undefined) => target?.refunds.at(-1)?.id
        const [card, wallet] = [refundId(payment), refundId(order)]
        if (card)
          await api(`cardpay/refunds/${card}/settle`, { status: one.succeeded ? 'succeeded' : 'failed' })
        if (wallet)
          await api(`walletpay/refunds/${wallet}/settle`, { status: one.succeeded ? 'completed' : 'failed' })
      } else if (one.does === 'dispute') {
        const { amount } = one
        if (payment) await api(`cardpay/sessions/${payment.id}/dispute`, { amount })
        if (order)
          await api(`walletpay/orders/${order.id}/dispute`, {
            amount: amount === undefined ? undefined : (amount / 100).toFixed(2),
          })
      } else if (one.does === 'close') {
        if (payment?.dispute)
          await api(`cardpay/disputes/${payment.dispute.id}/close`, { outcome: one.outcome })
        if (order?.dispute)
          await api(`walletpay/disputes/${order.dispute.id}/close`, { outcome: one.outcome })
      } else if (one.does === 'reverse' && order) {
        const answered = await app.request('POST', `/sandbox/api/walletpay/orders/${order.id}/reverse`, {
          body: {},
        })
        if (answered.status === 200) reversed.add(order.id)
      }
    }
  }
  for (const provider of ['cardpay', 'walletpay']) {
    callbacks[provider] = {}
    await setFault(provider)
  }
  await assertEqualBooks(app, token, reversed)
  await app.stop()
}

describe('the books, with the providers of the sandbox', () => {
  someEngine((engine) => {
    test('end equal to the providers’', async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 40, size: 'max' }), async (actions) => {
          const clock = testClock()
          const databaseUrl = await engine.migratedUrl()
          const environment = { PORT: String(await freePort()) }
          await run(() => startApp(t, engine, { clock, databaseUrl, sandbox: true, environment }), actions)
        }),
        { numRuns: isLongRun ? 150 : 3, endOnFailure: true },
      )
    })
  })
})
