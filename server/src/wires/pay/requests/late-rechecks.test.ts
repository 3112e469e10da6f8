// What arrives at the addresses of requests that are over, while nobody follows their chain.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import { DEPTH, startShop, type Shop } from './requests.fixture.ts'
import { isFollowed } from './watch.ts'

const OVER_S = 4_000
const HOUR_MS = 3_600_000

describe('late payments', () => {
  someEngine((engine) => {
    const end = endOfSuite()

    async function open() {
      const node = await startTestNode(end)
      const usdc = await node.deploy('Token', ['USD Coin', 'USDC', 6])
      await node.send(usdc, 'Token', 'mint', [node.accounts[0]!.address, 10n ** 12n])
      const proxy = await startRpcProxy(end, node.url)
      const databaseUrl = await engine.migratedUrl()
      const shop = await startShop(
        end,
        engine,
        { ethereum: proxy.url },
        { databaseUrl, tokens: { USDC: usdc } },
      )
      const pay = (to: string, amount: bigint) =>
        node.send(usdc, 'Token', 'transfer', [to, amount], { from: 0 })
      return { node, usdc, proxy, shop, pay, databaseUrl }
    }

    const followed = (shop: Shop): Promise<boolean> =>
      isFollowed(shop.app.app.db, { name: 'ethereum', depth: DEPTH }, shop.app.clock.now())

    /** Ends the time of all requests, and waits until nobody follows the chain. */
    async function expire({ node, shop, proxy }: Awaited<ReturnType<typeof open>>): Promise<void> {
      shop.app.clock.advance(OVER_S * 1000)
      await node.call('evm_increaseTime', [OVER_S])
      await node.mine(DEPTH)
      while (await followed(shop)) await delay(5)
      await shop.settled(node)
      await idle(proxy, shop)
    }

    /** Waits until the follower has ended. */
    async function idle(proxy: RpcProxy, shop: Shop): Promise<void> {
      const isRunning = sql`select 1 as one from sixwire_jobs where kind = 'onchain.follow-payments'`
      while (await shop.app.app.db.get(isRunning)) {
        shop.app.clock.advance(50)
        await delay(5)
      }
      proxy.forget()
    }

    /** Moves the clock, and waits until requests that are due then were rechecked. */
    async function recheck(shop: Shop, ms: number): Promise<void> {
      shop.app.clock.advance(ms)
      const isDue = sql`select 1 as one from pay_requests
        where look_at <= ${shop.app.clock.now()} and is_open = 0 and expired_block is not null`
      while (await shop.app.app.db.get(isDue)) {
        shop.app.clock.advance(1_000)
        await delay(5)
      }
    }

    test('are found in coin and in a token, whole or as the rest of a part, and no block is read for them', async () => {
      const opened = await open()
      const { node, proxy, shop, pay } = opened
      const [coin, token, part, twice, unpaid] = [
        await shop.request(),
        await shop.request('5', 'USDC'),
        await shop.request('5', 'USDC'),
        await shop.request('2'),
        await shop.request(),
      ]
      await pay(part.receiverAddress, 2_000_000n)
      await node.fund(twice.receiverAddress, 5n)
      await expire(opened)
      assert.deepEqual(await shop.statuses(part._id, node), ['underpaid', 'expired'])
      await recheck(shop, 0)

      proxy.forget()
      await node.mine(200)
      await delay(300)
      assert.equal(proxy.calls('eth_getLogs'), 0)
      assert.equal(proxy.calls('eth_getBlockByNumber'), 0, 'nobody follows the chain')

      await node.fund(coin.receiverAddress, coin.amount)
      await node.fund(twice.receiverAddress, 7n)
      const hash = await pay(token.receiverAddress, token.amount)
      const rest = await pay(part.receiverAddress, 3_000_000n)
      await node.mine(DEPTH - 2)
      await recheck(shop, 3 * HOUR_MS)
      const [shallow] = [await shop.read(part._id)]
      assert.deepEqual(
        [shallow.status, shallow.receivedAmount],
        ['underpaid', '2000000'],
        'its block is not deep',
      )
      await node.mine(DEPTH)
      proxy.forget()
      await recheck(shop, 7 * HOUR_MS)
      // One call for all coin, one for each token, and the logs of the one that the recheck before did not find.
      assert.deepEqual([proxy.calls('eth_getLogs'), proxy.calls('eth_call')], [1, 3])
      for (const one of [coin, token, part, twice])
        assert.deepEqual(await shop.statuses(one._id, node), ['late', 'expired'])
      assert.deepEqual(await shop.statuses(unpaid._id, node), ['expired', 'expired'])
      const lateRequests = await Promise.all([coin, token, part, twice].map(({ _id }) => shop.read(_id)))
      assert.deepEqual(
        lateRequests.map(({ receivedAmount }) => receivedAmount),
        [coin.amount.toString(), '5000000', '5000000', '12'],
      )
      assert.deepEqual(lateRequests[1]!.transactionHashes, [hash])
      assert.equal(lateRequests[2]!.transactionHashes.at(-1), rest)
      assert.ok(lateRequests.every(({ confirmations }) => confirmations >= DEPTH))

      // Nothing is counted again: not by the next recheck, and not by blocks that are read after all.
      await recheck(shop, 30 * HOUR_MS)
      await shop.request()
      await node.mine()
      await shop.settled(node)
      await recheck(shop, 30 * HOUR_MS)
      const after = await Promise.all([coin, token, part, twice].map(({ _id }) => shop.read(_id)))
      assert.deepEqual(
        after.map(({ receivedAmount }) => receivedAmount),
        lateRequests.map(({ receivedAmount }) => receivedAmount),
      )
      await shop.app.stop()
    })

    test('are counted once where the follower stops, and where it begins again at blocks that were read', async () => {
      const opened = await open()
      const { node, shop, databaseUrl, usdc, proxy, pay } = opened
      const [before, after, token] = [
        await shop.request(),
        await shop.request(),
        await shop.request('5', 'USDC'),
      ]
      await shop.settled(node)
      shop.app.clock.advance(OVER_S * 1000)
      await node.call('evm_increaseTime', [OVER_S])
      // It is late in a block that is not deep when the expiry is, and the chain is followed until it is.
      await node.mine(DEPTH - 1)
      await node.fund(before.receiverAddress, before.amount)
      await shop.settled(node)
      assert.equal(await followed(shop), true)
      await node.mine(DEPTH - 1)
      while (await followed(shop)) await delay(5)
      await idle(proxy, shop)
      const { confirmations, transactionHashes } = await shop.read(before._id)
      assert.deepEqual([confirmations, transactionHashes.length], [DEPTH, 1])
      await node.fund(after.receiverAddress, after.amount)
      await pay(token.receiverAddress, token.amount)
      await node.mine(DEPTH)
      // The node has no logs of so many blocks.
      const heal = proxy.fault({ method: 'eth_getLogs', error: { code: -32_005, message: 'block range' } })
      // What is due is in the database: another process finds it.
      await shop.app.stop()
      const next = await startShop(
        end,
        engine,
        { ethereum: proxy.url },
        { databaseUrl, tokens: { USDC: usdc } },
      )
      next.app.clock.advance(OVER_S * 1000)
      await recheck(next, HOUR_MS)
      heal()
      const states = async () =>
        Promise.all(
          [before, after, token].map(async ({ _id }) => {
            const { status, receivedAmount } = await next.read(_id)
            return [status, receivedAmount]
          }),
        )
      const expected = [before, after, token].map(({ amount }) => ['late', amount.toString()])
      assert.deepEqual(await states(), expected)
      // The next request has the blocks read from where the follower stopped.
      await next.request()
      await node.mine()
      await next.settled(node)
      assert.deepEqual(await states(), expected)
      await next.app.stop()
    })
  })
})
