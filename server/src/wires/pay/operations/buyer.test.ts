import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { RETURN_URLS, startTill, URLS } from '../pay.fixture.ts'

const HOME = { line1: 'Rosenweg 1', postalCode: '10115', city: 'Berlin', country: 'DE' }

describe('a payment', () => {
  eachEngine((engine) => {
    test('has its items, and for operators the buyer that Stripe and PayPal tell', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      // The first account is an administrator.
      await app.register()
      const { token, _id } = await app.register()
      const { key } = await app.app.service('auth').keys.create('shop', ['pay'])
      const call = async (method: string, path: string, body?: object, by = token) => {
        const answer = await app.request(method, path, { token: by, body })
        assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
        return answer.body
      }
      const checkout = await call(
        'POST',
        '/pay/cardpay/checkout',
        {
          items: [
            { name: 'Momo', amount: 1250, currency: 'eur', quantity: 2 },
            { name: 'Postage', amount: 300, currency: 'eur' },
          ],
          shippingCountries: ['AT', 'DE'],
          email: 'buyer@example.com',
          userId: _id,
          ...URLS,
        },
        key,
      )
      const order = await call(
        'POST',
        '/pay/walletpay/order',
        {
          amount: 12.3,
          currency: 'EUR',
          description: 'Momo',
          hasShipping: true,
          userId: _id,
          ...RETURN_URLS,
        },
        key,
      )
      await call('POST', `/sandbox/api/cardpay/sessions/${checkout.sessionId}/pay`)
      await call('POST', `/sandbox/api/walletpay/orders/${order.orderId}/approve`)
      await call('POST', `/pay/walletpay/capture/${order.orderId}`, {})
      const read = (id: string, by?: string) => call('GET', `/pay/transactions/${id}`, undefined, by)
      await until(async () => (await read(checkout.transactionId)).status === 'completed')

      const card = await read(checkout.transactionId, key)
      assert.deepEqual(card.items, [
        { name: 'Momo', quantity: 2, amount: 1250, displayAmount: '12.50' },
        { name: 'Postage', quantity: 1, amount: 300, displayAmount: '3.00' },
      ])
      assert.deepEqual(card.buyer, {
        email: 'buyer@example.com',
        address: { postalCode: '10115', country: 'DE' },
        shipping: { name: 'Ada Lovelace', address: HOME },
      })
      const wallet = await read(order.transactionId, key)
      assert.deepEqual(wallet.items, [{ name: 'Momo', quantity: 1, amount: 12.3, displayAmount: '12.30' }])
      assert.deepEqual(wallet.buyer, {
        name: 'Ada Lovelace',
        email: 'buyer@sandbox.test',
        address: { country: 'DE' },
        shipping: { name: 'Ada Lovelace', address: HOME },
      })
      const own = await read(checkout.transactionId)
      assert.deepEqual([own.items, own.buyer], [card.items, undefined])
    })

    test('has no buyer any more when the account is deleted, whatever its provider tells later', async (t) => {
      const till = await startTill(t, engine)
      await till.app.register()
      const user = await till.app.register()
      const checkout = async () => {
        const { body } = await till.call('POST /pay/cardpay/checkout', {
          items: [{ name: 'Tea', amount: 500, currency: 'eur' }],
          userId: user._id,
          ...URLS,
        })
        return { _id: body.transactionId as string, reference: body.sessionId as string }
      }
      const [paid, unpaid] = [await checkout(), await checkout()]
      till.pay(paid.reference)
      await till.deliver()
      assert.equal((await till.transaction(paid._id)).buyer?.name, 'Carol Buyer')
      const { status, text } = await till.call(`DELETE /auth/users/${user._id}`)
      assert.ok(status < 300, text)
      await until(async () => (await till.transaction(paid._id)).buyer === undefined)
      till.pay(unpaid.reference)
      await till.deliver()
      const after = await till.transaction(unpaid._id)
      assert.deepEqual([after.status, after.buyer, after.items?.length], ['completed', undefined, 1])
    })
  })
})
