// The events of transactions, as a receiver gets them.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { someEngine } from '../../../testing/engines.ts'
import { startReceiver, type WebhookReceiver } from '../../../testing/webhook-receiver.ts'
import { startTill } from '../pay.fixture.ts'

const typesOf = (receiver: WebhookReceiver, id: string) =>
  receiver.events
    .filter(({ data }) => data['_id'] === id)
    .map(({ type }) => type.replace('pay.transaction.', ''))

someEngine((engine) => {
  test('a transaction is published with each status, and with each change of its amounts', async (t) => {
    const receiver = await startReceiver(t)
    const { url, secret } = receiver
    const webhooks = [{ url, secret, events: ['pay.transaction.*'] }]
    const till = await startTill(t, engine, { config: { webhooks } })
    const { _id: transactionId } = await till.paid(1000)
    for (const amount of [400, 100, 500])
      await till.call('POST /pay/cardpay/refund', { transactionId, amount })
    await till.deliver()
    await receiver.arrived(5)
    assert.deepEqual(typesOf(receiver, transactionId), [
      'created',
      'completed',
      'partially_refunded',
      'updated',
      'refunded',
    ])
    const { body } = await till.call(`GET /pay/transactions`)
    assert.deepEqual(receiver.events[4]!.data, body.transactions[0])

    const { _id: cancelled } = await till.checkout()
    await till.call(`POST /pay/transactions/${cancelled}/cancel`)
    const { _id: disputed, reference } = await till.paid()
    const session = till.card.sessions.get(reference)!
    session.disputes.push({ id: 'dp_1', amount: 1000n, status: 'open', version: 1, at: 1 })
    await till.call(`GET /pay/transactions/${disputed}`)
    await till.app.app.service('pay').retrieve(disputed)
    await receiver.arrived(10)
    assert.deepEqual(typesOf(receiver, cancelled), ['created', 'cancelled'])
    assert.deepEqual(typesOf(receiver, disputed), ['created', 'completed', 'disputed'])
  })

  test('a refund that the provider refuses is not published', async (t) => {
    const receiver = await startReceiver(t)
    const { url, secret } = receiver
    const till = await startTill(t, engine, { config: { webhooks: [{ url, secret, events: ['pay.*'] }] } })
    till.card.faults.push('refused')
    await assert.rejects(till.checkout())
    const { _id } = await till.checkout()
    await receiver.arrived(1)
    assert.deepEqual(
      receiver.events.map(({ type, data }) => [type, data['_id']]),
      [['pay.transaction.created', _id]],
    )
  })
})
