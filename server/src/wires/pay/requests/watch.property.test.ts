// Whatever a chain does, and whenever the server is away, what a request shows is what the chain has.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'
import { parseEventLogs, erc20Abi } from 'viem'

import type { Address } from '../../../base/hex.ts'
import { someEngine } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { requestState, type PaymentReceipt } from './request-state.ts'
import { DEPTH, startShop, type Shop } from './requests.fixture.ts'

const REQUESTS = 3
const UNITS = 100n

type Action =
  | { kind: 'coin'; at: number; amount: number }
  | { kind: 'contract'; at: number; amount: number }
  | { kind: 'token'; at: number; amount: number }
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorg'; blocks: number }
  | { kind: 'expire' }
  | { kind: 'restart' }
  | { kind: 'settle' }

const payment: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom<'coin' | 'contract' | 'token'>('coin', 'contract', 'token'),
  at: fc.nat(REQUESTS - 1),
  amount: fc.constantFrom(30, 50, 100, 101),
})
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: payment },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reorg' as const), blocks: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
)

/** What the chain has of an address, read block by block. */
async function receiptsOf(
  node: TestNode,
  address: Address,
  token: Address | undefined,
  from: bigint,
): Promise<PaymentReceipt[]> {
  const receipts: PaymentReceipt[] = []
  const head = await node.client.getBlockNumber()
  for (let number = from + 1n; number <= head; number++) {
    const { timestamp } = await node.client.getBlock({ blockNumber: number })
    const block = { block: Number(number), time: Number(timestamp) * 1000, transactionHash: undefined }
    if (token) {
      const logs = await node.client.getLogs({ address: token, fromBlock: number, toBlock: number })
      for (const { args } of parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs }))
        if (args.to === address) receipts.push({ ...block, amount: args.value })
    } else {
      const [before, after] = await Promise.all(
        [number - 1n, number].map((blockNumber) => node.client.getBalance({ address, blockNumber })),
      )
      if (after! > before!) receipts.push({ ...block, amount: after! - before! })
    }
  }
  return receipts
}

someEngine((engine) => {
  test('random payments, reorganisations and restarts end as the chain shows them', async (t) => {
    const property = fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 30 }), async (actions) => {
      const node = await startTestNode(t)
      const usdc = await node.deploy('Token', ['USD Coin', 'USDC', 6])
      const forwarder = await node.deploy('Playground')
      await node.send(usdc, 'Token', 'mint', [node.accounts[0]!.address, 10n ** 12n])
      const databaseUrl = await engine.migratedUrl()
      const open = () => startShop(t, engine, { ethereum: node.url }, { databaseUrl, tokens: { USDC: usdc } })
      let shop: Shop = await open()
      let ahead = 0
      const requests = [
        await shop.request('0.0000000000000001'),
        await shop.request('0.0000000000000001'),
        await shop.request('0.0001', 'USDC'),
      ]
      const first = await node.client.getBlockNumber()

      for (const one of actions) {
        if (one.kind === 'mine') await node.mine(one.blocks)
        else if (one.kind === 'reorg') {
          const since = Number((await node.client.getBlockNumber()) - first)
          if (since > 0) await node.reorg(Math.min(one.blocks, since))
        } else if (one.kind === 'settle') await shop.settled(node)
        else if (one.kind === 'expire') {
          ahead += 4_000
          await node.call('evm_increaseTime', [4_000])
          shop.app.clock.advance(4_000_000)
          // What comes then is seen in its block while the chain is followed for another request.
          await shop.request()
        } else if (one.kind === 'restart') {
          await shop.app.stop()
          shop = await open()
          shop.app.clock.advance(ahead * 1000)
        } else {
          const { receiverAddress } = requests[one.at]!
          const amount = (UNITS * BigInt(one.amount)) / 100n
          if (one.kind === 'coin') await node.fund(receiverAddress, amount)
          else if (one.kind === 'token')
            await node.send(usdc, 'Token', 'transfer', [receiverAddress, amount], { from: 0 })
          // After the expiry the balances are not watched.
          else if (ahead === 0)
            await node.send(forwarder, 'Playground', 'forward', [receiverAddress], { from: 0, value: amount })
        }
      }
      await node.mine(DEPTH)
      await shop.settled(node)

      const head = Number(await node.client.getBlockNumber())
      for (const [at, { _id, receiverAddress, amount }] of requests.entries()) {
        const receipts = await receiptsOf(node, receiverAddress, at === 2 ? usdc : undefined, first)
        const answer = await shop.read(_id)
        const expiresAt = Date.parse(answer.expiresAt)
        let expiredBlock: number | null = null
        for (let number = head; number > first; number--) {
          const { timestamp } = await node.client.getBlock({ blockNumber: BigInt(number) })
          if (Number(timestamp) * 1000 > expiresAt) expiredBlock = number
        }
        const expected = requestState({ amount, expiresAt, head, depth: DEPTH, expiredBlock }, receipts)
        const isSilent = shop.app.clock.now() > expiresAt && expected.status === 'pending'
        assert.deepEqual(
          [answer.status, answer.receivedAmount, answer.confirmations],
          [isSilent ? 'expired' : expected.status, expected.received.toString(), expected.confirmations],
        )
        const { status } = await shop.transaction(_id)
        const possible = expected.isPaid
          ? ['completed', 'expired', 'lost']
          : expected.isFinal
            ? ['expired', 'lost']
            : ['pending', 'disputed', 'expired', 'lost']
        assert.ok(possible.includes(status), `${status} of ${expected.status}`)
        // Only a reorganisation deeper than what is final, or one after which the node's time is another, can change what
        // is over for good.
        const isOver = actions.some(({ kind }) => kind === 'expire')
        if (!actions.some((one) => one.kind === 'reorg' && (isOver || one.blocks >= DEPTH)))
          assert.equal(status, expected.isPaid ? 'completed' : expected.isFinal ? 'expired' : 'pending')
      }
      await shop.app.stop()
      await node.stop()
    })
    // The seed and the path are in what a failure prints.
    await fc.assert(property, { numRuns: isLongRun ? 25 : 2, endOnFailure: true })
  })
})
