// The events of transactions that this server sends, as a receiver gets them.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { someEngine } from '../../../testing/engines.ts'
import { startReceiver } from '../../../testing/webhook-receiver.ts'
import { DEPTH, startSending } from './sending.fixture.ts'

const TO = '0x00000000000000000000000000000000000000aa'

someEngine((engine) => {
  test('a transaction is published when it is sent, mined, confirmed, and taken out of its block', async (t) => {
    const receiver = await startReceiver(t)
    const { url, secret } = receiver
    const webhooks = [{ url, secret, events: ['onchain.transaction.*'] }]
    const chain = await startSending(t, engine, { webhooks })
    const wallet = await chain.wallet()
    const { hash } = await chain.sent(wallet, TO, '0.3')
    await receiver.arrived(2)
    await chain.node.mine(DEPTH)
    await receiver.arrived(3)
    assert.deepEqual(
      receiver.events.map(({ type, data }) => [type, data['status'], data['hash']]),
      [
        ['onchain.transaction.created', 'pending', hash],
        ['onchain.transaction.mined', 'pending', hash],
        ['onchain.transaction.confirmed', 'confirmed', hash],
      ],
    )
    const { transactions } = await chain.list()
    assert.deepEqual(receiver.events[2]!.data, transactions[0])

    chain.proxy.forget()
    await chain.node.reorg(DEPTH + 1)
    await chain.node.mine(1)
    await receiver.arrived(4)
    const { type, data } = receiver.events[3]!
    assert.deepEqual(
      [type, data['status'], data['blockNumber']],
      ['onchain.transaction.unmined', 'pending', undefined],
    )
  })
})
