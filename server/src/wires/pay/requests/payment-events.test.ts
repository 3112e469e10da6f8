// The events of payment requests, as a receiver gets them.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { someEngine } from '../../../testing/engines.ts'
import { startTestNode } from '../../../testing/node.ts'
import { startReceiver } from '../../../testing/webhook-receiver.ts'
import { DEPTH, MNEMONIC, startShop } from './requests.fixture.ts'

someEngine((engine) => {
  test('a payment request is published when it is created, paid, confirmed and taken back', async (t) => {
    const [node, receiver] = [await startTestNode(t), await startReceiver(t)]
    const { url, secret } = receiver
    const chains = { ethereum: { rpcUrls: [node.url], confirmations: DEPTH, pollMs: 50 } }
    const shop = await startShop(
      t,
      engine,
      {},
      {
        config: {
          onchain: { chains },
          pay: { onchain: { mnemonic: MNEMONIC } },
          webhooks: [{ url, secret, events: ['onchain.payment.*'] }],
        },
      },
    )
    const { _id, receiverAddress, amount } = await shop.request()
    await node.fund(receiverAddress, amount)
    await receiver.arrived(2)
    await node.mine(DEPTH - 1)
    await shop.settled(node)
    await receiver.arrived(3)
    assert.deepEqual(
      receiver.events.map(({ type, data }) => [type, data['status'], data['receivedAmount']]),
      [
        ['onchain.payment.created', 'pending', '0'],
        ['onchain.payment.detected', 'detected', String(amount)],
        ['onchain.payment.confirmed', 'confirmed', String(amount)],
      ],
    )
    assert.deepEqual(receiver.events[2]!.data, await shop.read(_id))

    await node.reorg(DEPTH)
    await node.mine(1)
    await shop.settled(node)
    await receiver.arrived(4)
    assert.equal(receiver.events[3]!.type, 'onchain.payment.pending')

    const { _id: other } = await shop.request()
    await shop.call(`POST /pay/transactions/${other}/cancel`)
    await receiver.arrived(6)
    const { type, data } = receiver.events[5]!
    assert.deepEqual([type, data['_id'], data['status']], ['onchain.payment.cancelled', other, 'cancelled'])
  })
})
