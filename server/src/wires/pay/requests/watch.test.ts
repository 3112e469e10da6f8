// What a chain shows over time: expiry, pauses of the server, many open requests, faults.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy } from '../../../testing/rpc-proxy.ts'
import { DEPTH, ETHER, MNEMONIC, startShop, type Shop } from './requests.fixture.ts'

const MINUTE_MS = 60_000
const OVER_S = 4_000

describe('the watch of payments', () => {
  someEngine((engine) => {
    const end = endOfSuite()
    const open = async () => {
      const node = await startTestNode(end)
      const proxy = await startRpcProxy(end, node.url)
      return { node, proxy, shop: await startShop(end, engine, { ethereum: proxy.url }) }
    }
    let opening: ReturnType<typeof open> | undefined
    const start = () => (opening ??= open())

    /** From now on the chain is past the expiry of what there is, and the server's clock as well. */
    async function expire(node: TestNode, shop: Shop): Promise<void> {
      shop.app.clock.advance(OVER_S * 1000)
      await node.call('evm_increaseTime', [OVER_S])
    }

    test('tells late from in time by the block, and expires what was not paid, once that is deep', async () => {
      const { shop, node, proxy } = await start()
      const [inTime, late, part, unpaid] = [
        await shop.request(),
        await shop.request(),
        await shop.request(),
        await shop.request(),
      ]
      await node.fund(part.receiverAddress, part.amount / 2n)
      await shop.settled(node)
      // The last block before the expiry is seen after it.
      const heal = proxy.fault({
        method: 'eth_getBlockByNumber',
        error: { code: -32_000, message: 'not now' },
      })
      await node.fund(inTime.receiverAddress, inTime.amount)
      await expire(node, shop)
      await node.fund(late.receiverAddress, late.amount)
      heal()
      assert.deepEqual(await shop.statuses(inTime._id, node), ['detected', 'pending'])
      assert.deepEqual(await shop.statuses(late._id, node), ['late', 'pending'])
      assert.deepEqual(await shop.statuses(unpaid._id, node), ['expired', 'pending'])
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(inTime._id, node), ['confirmed', 'completed'])
      assert.deepEqual(await shop.statuses(late._id, node), ['late', 'expired'])
      assert.deepEqual(await shop.statuses(part._id, node), ['underpaid', 'expired'])
      assert.deepEqual(await shop.statuses(unpaid._id, node), ['expired', 'expired'])
      // While another request has the chain followed, it is seen at once.
      await shop.request()
      const topUp = await node.fund(part.receiverAddress, part.amount)
      assert.deepEqual(await shop.statuses(part._id, node), ['late', 'expired'])
      assert.equal((await shop.read(part._id)).transactionHashes.at(-1), topUp)
    })

    test('cancels a request, and completes it if it is paid all the same', async () => {
      const { shop, node } = await start()
      const [unpaid, paid] = [await shop.request(), await shop.request()]
      for (const { _id } of [unpaid, paid]) {
        const { status, body, text } = await shop.call(`POST /pay/transactions/${_id}/cancel`)
        assert.deepEqual([status, body.status], [200, 'cancelled'], text)
        assert.equal((await shop.read(_id)).status, 'cancelled')
      }
      await node.fund(paid.receiverAddress, paid.amount)
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(paid._id, node), ['confirmed', 'completed'])
      await expire(node, shop)
      await node.mine(DEPTH)
      assert.deepEqual(await shop.statuses(unpaid._id, node), ['cancelled', 'cancelled'])
    })

    test('loses a payment for good that a reorganisation moved past the expiry', async () => {
      const { shop, node } = await start()
      const { _id, receiverAddress, amount } = await shop.request()
      await node.fund(receiverAddress, amount)
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(_id, node), ['confirmed', 'completed'])
      await node.reorg(DEPTH)
      await shop.settled(node)
      await expire(node, shop)
      await node.fund(receiverAddress, amount)
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(_id, node), ['late', 'lost'])
    })

    test('counts no coin that a node shows in another block of the same number', async () => {
      const { shop, node, proxy } = await start()
      const { _id, receiverAddress, amount } = await shop.request('2')
      await shop.settled(node)
      // The node behind the address changes: this one has the block of a fork, in which something was paid.
      proxy.fault({
        method: 'eth_call',
        answer: (answer, { params }) =>
          typeof params?.[1] === 'string'
            ? {
                jsonrpc: '2.0',
                id: answer.id!,
                result: String(answer.result).replaceAll(
                  /0{32}/g,
                  (amount / 2n).toString(16).padStart(32, '0'),
                ),
              }
            : { jsonrpc: '2.0', id: answer.id!, error: { code: -32_000, message: 'header not found' } },
      })
      // A fault is followed by a pause.
      async function after(method: string, change: () => Promise<unknown>): Promise<string> {
        const asked = proxy.calls(method)
        await change()
        while (proxy.calls(method) === asked) await delay(5)
        proxy.heal()
        const settled = shop.settled(node).then(() => 'settled')
        while ((await Promise.race([settled, delay(20)])) !== 'settled') shop.app.clock.advance(1_000)
        return (await shop.read(_id)).receivedAmount
      }
      assert.equal(await after('eth_call', () => node.mine()), '0')
      // In the block that is part of the chain the transaction succeeds, in that of a fork it did not.
      proxy.fault({
        method: 'eth_getTransactionReceipt',
        times: 1,
        lie: (receipt) => ({ ...(receipt as object), blockHash: `0x${'ab'.repeat(32)}`, status: '0x0' }),
      })
      const pay = () => node.fund(receiverAddress, amount / 2n)
      assert.equal(await after('eth_getTransactionReceipt', pay), (amount / 2n).toString())
      assert.equal((await shop.read(_id)).transactionHashes.length, 1)
    })

    test('finds after a pause of many blocks what was paid meanwhile, and in which block', async () => {
      const node = await startTestNode(end)
      const forwarder = await node.deploy('Playground')
      const databaseUrl = await engine.migratedUrl()
      const before = await startShop(end, engine, { ethereum: node.url }, { databaseUrl })
      const [coin, sent, late] = [await before.request(), await before.request(), await before.request()]
      await before.settled(node)
      await before.app.stop()
      await node.mine(30)
      await node.fund(coin.receiverAddress, coin.amount)
      await node.send(forwarder, 'Playground', 'forward', [sent.receiverAddress], {
        from: 0,
        value: sent.amount,
      })
      const paidIn = (await node.client.getBlock()).number
      await node.mine(7)
      await node.call('evm_increaseTime', [OVER_S])
      await node.send(forwarder, 'Playground', 'forward', [late.receiverAddress], {
        from: 0,
        value: late.amount,
      })
      await node.mine(40)
      const after = await startShop(end, engine, { ethereum: node.url }, { databaseUrl })
      assert.deepEqual(await after.statuses(coin._id, node), ['confirmed', 'completed'])
      assert.deepEqual(await after.statuses(sent._id, node), ['confirmed', 'completed'])
      assert.deepEqual(await after.statuses(late._id, node), ['late', 'expired'])
      // Blocks are read 25 at a time, and no further once no request needs it: that may be before the newest block.
      const { number: head } = (await after.app.app.db.get(
        sql<{ number: number }>`select number from pay_heads where chain = 'ethereum'`,
      ))!
      const { confirmations } = await after.read(sent._id)
      assert.ok(confirmations >= DEPTH)
      assert.equal(confirmations, head - Number(paidIn) + 1)
      await after.app.stop()
    })

    test('goes on after a pause that is longer than the node keeps states', async () => {
      const node = await startTestNode(end, { states: 20 })
      const forwarder = await node.deploy('Playground')
      const databaseUrl = await engine.migratedUrl()
      const before = await startShop(end, engine, { ethereum: node.url }, { databaseUrl })
      const [coin, sent] = [await before.request(), await before.request()]
      await before.settled(node)
      await before.app.stop()
      await node.fund(coin.receiverAddress, coin.amount)
      await node.send(forwarder, 'Playground', 'forward', [sent.receiverAddress], {
        from: 0,
        value: sent.amount,
      })
      await node.call('evm_increaseTime', [OVER_S])
      await node.mine(70)
      const after = await startShop(end, engine, { ethereum: node.url }, { databaseUrl })
      assert.deepEqual(await after.statuses(coin._id, node), ['confirmed', 'completed'])
      // In which block it came cannot be known any more.
      assert.deepEqual(await after.statuses(sent._id, node), ['late', 'expired'])
      assert.equal((await after.read(sent._id)).receivedAmount, sent.amount.toString())
      await after.app.stop()
    })

    test('asks the node as often for a block with many open requests as with a few', async () => {
      const node = await startTestNode(end)
      const proxy = await startRpcProxy(end, node.url)
      const shop = await startShop(end, engine, { ethereum: proxy.url })
      const { _id } = await shop.request()
      const [row] = await shop.app.app.db.all<Record<string, string | number>>(
        sql`select * from pay_requests where id = ${_id}`,
      )
      const [order] = await shop.app.app.db.all<Record<string, string | number>>(
        sql`select * from pay_transactions where id = ${_id}`,
      )
      async function requestsFor(open: number, from: number): Promise<number> {
        await shop.app.app.db.batch(
          Array.from({ length: open }, (_one, at) => {
            const id = `${_id}${from + at}`
            const address = `0x${(from + at + 1_000).toString(16).padStart(40, '0')}`
            return [
              sql.insert('pay_transactions', { ...order!, id, reference: id }, ['id']),
              sql.insert('pay_requests', { ...row!, id, address, address_index: 1_000_000 + from + at }, [
                'id',
              ]),
            ]
          }).flat(),
        )
        await shop.settled(node)
        const counts: number[] = []
        for (let block = 0; block < 3; block++) {
          await shop.settled(node)
          proxy.forget()
          await node.mine()
          await shop.settled(node)
          // The head is asked for by time, whether there is a block or not.
          const isHead = ({ params }: { params?: unknown[] }): boolean => params?.[0] === 'latest'
          counts.push(proxy.log.filter((call) => !isHead(call)).length)
        }
        return Math.min(...counts)
      }
      const few = await requestsFor(9, 0)
      assert.equal(await requestsFor(990, 9), few)
      assert.equal(few, 3)
      // Nor does a block read the requests that are over.
      if (engine.name === 'sqlite') {
        const [plan] = await shop.app.app.db.all<{ detail: string }>(sql`
          explain query plan select id, address from pay_requests
          where chain = ${'ethereum'} and is_open = 1 and is_swept = 0`)
        assert.match(plan!.detail, /COVERING INDEX pay_requests_open/)
      }
      await shop.app.stop()
    })

    test('expires by the clock what nobody pays on a chain that makes no blocks', async () => {
      const node = await startTestNode(end)
      const shop = await startShop(end, engine, { ethereum: node.url })
      const { _id } = await shop.request()
      shop.app.clock.advance(59 * MINUTE_MS)
      assert.equal((await shop.read(_id)).status, 'pending')
      shop.app.clock.advance(2 * MINUTE_MS)
      assert.equal((await shop.read(_id)).status, 'expired')
      shop.app.clock.advance(10 * MINUTE_MS)
      while ((await shop.transaction(_id)).status !== 'expired')
        await shop.app.app.service('pay').expireSilent()
      assert.deepEqual(await shop.app.app.service('pay').openPaymentRequests(), [])
      await shop.app.stop()
    })

    test('expires nothing by the clock in production, where a node may stand still', async () => {
      const node = await startTestNode(end, { chainId: 1 })
      const proxy = await startRpcProxy(end, node.url)
      const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', SIXWIRE_RATE_LIMITS: 'off' }
      const shop = await startShop(end, engine, { ethereum: proxy.url }, { environment })
      const { _id, receiverAddress, amount } = await shop.request()
      await shop.settled(node)
      const stopped = await node.call('eth_getBlockByNumber', ['latest', false])
      const heal = proxy.fault({
        method: 'eth_getBlockByNumber',
        when: ({ params }) => params?.[0] === 'latest',
        lie: () => stopped,
      })
      await node.fund(receiverAddress, amount)
      await node.mine(DEPTH - 1)
      shop.app.clock.advance(75 * MINUTE_MS)
      await shop.app.app.service('pay').expireSilent()
      assert.deepEqual(
        [(await shop.read(_id)).status, (await shop.transaction(_id)).status],
        ['pending', 'pending'],
      )
      heal()
      assert.deepEqual(await shop.statuses(_id, node), ['confirmed', 'completed'])
      await shop.app.stop()
    })

    test('shows coin on a chain that no request asks for, from a block that is deep, at a low frequency', async () => {
      const [asked, elsewhere] = [await startTestNode(end), await startTestNode(end, { chainId: 77_008_453 })]
      const proxy = await startRpcProxy(end, elsewhere.url)
      const shop = await startShop(end, engine, { ethereum: asked.url, base: proxy.url })
      const [one, two] = [await shop.request(), await shop.request()]
      const before = proxy.calls('eth_call')
      const recheck = async () => {
        shop.app.clock.advance(600_000)
        const reads = proxy.calls('eth_call')
        while (proxy.calls('eth_call') === reads) await delay(5)
        // The next recheck begins only when this one has ended.
        const isDone = sql`select 1 as one from sixwire_jobs
          where kind = 'pay.look-elsewhere' and claimed_by is null and run_at > ${shop.app.clock.now()}`
        while (!(await shop.app.app.db.get(isDone))) await delay(5)
        return (await shop.read(one._id)).unexpected
      }
      await elsewhere.fund(one.receiverAddress, ETHER / 4n)
      assert.deepEqual(await recheck(), [])
      await elsewhere.mine(DEPTH - 1)
      const coin = (amount: bigint) => [{ chain: 'base', token: 'ETH', amount: amount.toString() }]
      assert.deepEqual(await recheck(), coin(ETHER / 4n))
      await elsewhere.fund(one.receiverAddress, ETHER / 4n)
      await elsewhere.mine(DEPTH)
      assert.deepEqual(await recheck(), coin(ETHER / 2n))
      assert.deepEqual(await recheck(), coin(ETHER / 2n))
      assert.deepEqual((await shop.read(two._id)).unexpected, [])
      assert.equal((await shop.read(one._id)).status, 'pending')
      // Two addresses, four rechecks: one call each. Blocks are not read one by one.
      assert.equal(proxy.calls('eth_call') - before, 4)
      assert.equal(proxy.calls('eth_getLogs'), 0)
      await shop.app.stop()
    })

    test('lists the requests that did not expire', async () => {
      const { shop, node } = await start()
      const pay = shop.app.app.service('pay')
      const { _id, receiverAddress } = await shop.request('0.5')
      const [newest] = await pay.openPaymentRequests()
      const { expiresAt } = await shop.read(_id)
      assert.deepEqual(newest, {
        _id,
        chain: 'ethereum',
        token: 'ETH',
        displayAmount: '0.5',
        receiverAddress,
        status: 'pending',
        expiresAt,
        receivedAmount: '0',
        confirmations: 0,
        transactionHashes: [],
      })
      await node.fund(receiverAddress, ETHER / 2n)
      await node.mine(DEPTH)
      await shop.settled(node)
      assert.equal((await pay.openPaymentRequests())[0]!.status, 'confirmed')
    })

    test('never shows the mnemonic, and health tells of the node', async () => {
      const { shop, proxy } = await start()
      const { body } = await shop.call('GET /pay/health')
      assert.equal(body.providers.onchain, 'connected')
      const heal = proxy.fault({ status: 503 })
      shop.app.clock.advance(MINUTE_MS)
      const { status, body: answer } = await shop.call('POST /pay/onchain/payment', {
        amount: '1',
        token: 'ETH',
        chain: 'ethereum',
      })
      assert.deepEqual([status, answer.error.code], [502, 'PROVIDER_ERROR'])
      const down = (await shop.call('GET /pay/health')).body
      assert.deepEqual([down.status, down.providers.onchain], ['unhealthy', 'error'])
      heal()
      for (const word of MNEMONIC.split(' ')) assert.doesNotMatch(shop.app.log(), new RegExp(`\\b${word}\\b`))
    })
  })
})
