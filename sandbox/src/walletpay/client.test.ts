import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Client, Environment, OrdersController, PaymentsController } from '@paypal/paypal-server-sdk'

import { someEngine } from '../../../server/src/testing/engines.ts'
import { newKey, startWallet, type WalletServer, type Json } from './walletpay.fixture.ts'

/** The official client, of which nothing is changed but the address: it knows PayPal's own two only. */
function clientOf({ address }: WalletServer, { PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET }: Json): Client {
  class LocalClient extends Client {
    override getRequestBuilderFactory(): ReturnType<Client['getRequestBuilderFactory']> {
      const createBuilder = super.getRequestBuilderFactory()
      return (method, path) => {
        const builder = createBuilder(method, path)
        builder.interceptRequest((request) => ({
          ...request,
          url: request.url.replace('https://api-m.sandbox.paypal.com', address),
        }))
        return builder
      }
    }
  }
  return new LocalClient({
    environment: Environment.Sandbox,
    clientCredentialsAuthCredentials: {
      oAuthClientId: PAYPAL_CLIENT_ID,
      oAuthClientSecret: PAYPAL_CLIENT_SECRET,
    },
  })
}

someEngine((engine) => {
  test('the official client creates, captures and refunds', async (t) => {
    const wallet = await startWallet(t, engine)
    const client = clientOf(wallet, (await wallet.state()).variables)
    const [orders, payments] = [new OrdersController(client), new PaymentsController(client)]
    const { result: created } = await orders.createOrder({
      paypalRequestId: newKey(),
      prefer: 'return=representation',
      body: {
        intent: 'CAPTURE' as never,
        purchaseUnits: [{ amount: { currencyCode: 'EUR', value: '12.30' }, customId: 'ours' }],
        paymentSource: {
          paypal: {
            experienceContext: {
              returnUrl: 'https://shop.example/done',
              cancelUrl: 'https://shop.example/no',
            },
          },
        },
      },
    })
    assert.equal(created.status, 'PAYER_ACTION_REQUIRED')
    const id = created.id!
    await assert.rejects(orders.captureOrder({ id, paypalRequestId: newKey() }), { statusCode: 422 })
    await wallet.drive('POST', `/walletpay/orders/${id}/approve`)
    const { result: captured } = await orders.captureOrder({
      id,
      paypalRequestId: newKey(),
      prefer: 'return=representation',
    })
    const [payment] = captured.purchaseUnits![0]!.payments!.captures!
    assert.deepEqual([payment!.status, payment!.customId], ['COMPLETED', 'ours'])
    const { result: refund } = await payments.refundCapturedPayment({
      captureId: payment!.id!,
      paypalRequestId: newKey(),
      prefer: 'return=representation',
      body: { amount: { currencyCode: 'EUR', value: '2.30' } },
    })
    assert.equal(refund.status, 'COMPLETED')
    const { result: shown } = await payments.getCapturedPayment({ captureId: payment!.id! })
    assert.equal(shown.status, 'PARTIALLY_REFUNDED')
    const { result: found } = await payments.getRefund({ refundId: refund.id! })
    assert.equal(found.amount!.value, '2.30')
  })
})
