import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Chain, Head } from '../chains/chain.ts'
import { createRpc } from '../chains/rpc.ts'
import { stillClock } from '../../../testing/clock.ts'
import { endOfSuite } from '../../../testing/engines.ts'
import { startTestNode } from '../../../testing/node.ts'
import { startRpcProxy, type ProxyFault, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import { bumpedFees, createFees } from './fees.ts'

const GWEI = 1_000_000_000n
const CAP = 500n * GWEI

describe('the fees of a replacement', () => {
  const bumps: [
    what: string,
    old: [bigint, bigint],
    current: [bigint, bigint],
    expected?: [bigint, bigint],
  ][] = [
    ['12.5 % more', [80n, 8n], [1n, 1n], [90n, 9n]],
    ['rounded up', [81n, 9n], [1n, 1n], [92n, 11n]],
    ['at least a wei more', [1n, 0n], [0n, 0n], [2n, 1n]],
    ['at least what one of now pays', [80n, 8n], [200n, 20n], [200n, 20n]],
    ['the tip of now, the fee of before', [80n, 8n], [10n, 9n], [90n, 9n]],
    ['at the cap', [400n * GWEI, GWEI], [900n * GWEI, 2n * GWEI], [CAP, 2n * GWEI]],
    ['just at the cap', [(CAP * 8n) / 9n, 8n], [1n, 1n], [CAP, 9n]],
    [
      'a tip above the cap',
      [100n * GWEI, 8n],
      [90n * GWEI, 900n * GWEI],
      [112_500_000_000n, 112_500_000_000n],
    ],
    ['above the cap', [(CAP * 8n) / 9n + 1n, 8n], [1n, 1n]],
  ]
  for (const [what, [maxFee, priorityFee], [currentMax, currentTip], expected] of bumps)
    test(what, () => {
      const bumped = bumpedFees({ maxFee, priorityFee }, { maxFee: currentMax, priorityFee: currentTip }, CAP)
      assert.deepEqual(bumped && [bumped.maxFee, bumped.priorityFee], expected)
      if (bumped) assert.ok(bumped.priorityFee <= bumped.maxFee)
    })
})

describe('the fees of now', () => {
  const ending = endOfSuite()
  const clock = stillClock()
  let proxy: RpcProxy
  let chain: Chain
  before(async () => {
    proxy = await startRpcProxy(ending, (await startTestNode(ending)).url)
    const rpc = createRpc({
      chain: 'test',
      urls: [proxy.url],
      clock,
      log: { warn: () => undefined },
      verify: async () => undefined,
      trustMs: 60_000,
    })
    ending.after(async () => rpc.close())
    chain = { name: 'test', maxFee: CAP, usualTip: GWEI, rpc } as Chain
  })

  const head = (baseFeePerGas?: bigint): Head => ({
    number: 1,
    hash: '0x',
    parentHash: '0x',
    timestamp: 0,
    baseFeePerGas,
  })
  const absent = { error: { code: -32_601, message: 'the method does not exist' } }
  const says = (result: unknown) => ({ lie: () => result })

  const tips: [what: string, suggested: Partial<ProxyFault>, history: Partial<ProxyFault>, tip: bigint][] = [
    ['as suggested', says('0x77359400'), absent, 2n * GWEI],
    ['none', says('0x0'), absent, 0n],
    ['the median', absent, says({ reward: [['0x5'], ['0x1'], ['0x9'], ['0x7'], ['0x2']] }), 5n],
    ['1 gwei', absent, absent, GWEI],
    ['1 gwei if nothing can be read', says('much'), says({ reward: ['0x5', [5]] }), GWEI],
    [
      'at most twice what a block paid',
      says('0x2386f26fc10000'),
      says({ reward: [['0x77359400'], ['0x1'], ['0x0']] }),
      4n * GWEI,
    ],
    ['the usual one where blocks paid nothing', says('0x2386f26fc10000'), says({ reward: [['0x0']] }), GWEI],
    ['at most five usual ones where nothing is known', says('0x2386f26fc10000'), absent, 5n * GWEI],
    ['never above the cap', says('0xffffffffffffffff'), says({ reward: [['0xffffffffffffffff']] }), CAP],
  ]
  for (const [what, suggested, history, tip] of tips)
    test(what, async () => {
      proxy.heal()
      proxy.fault({ method: 'eth_maxPriorityFeePerGas', ...suggested })
      proxy.fault({ method: 'eth_feeHistory', ...history })
      const fees = await createFees({ clock })(chain, head(7n))
      assert.equal(fees.priorityFee, tip)
      assert.equal(fees.maxFee, tip === CAP ? CAP : 14n + tip)
    })

  test('a tip is asked for once in three seconds', async () => {
    proxy.heal()
    proxy.forget()
    const current = createFees({ clock })
    const { maxFee, priorityFee: tip } = await current(chain, head(10n))
    assert.equal(maxFee, 20n + tip)
    assert.equal((await current(chain, head(20n))).maxFee, 40n + tip)
    assert.equal(proxy.requests(), 1)
    clock.advance(3_000)
    await current(chain, head(20n))
    assert.equal(proxy.requests(), 2)
  })

  test('a chain without a base fee, or with one above the cap, is refused', async () => {
    const current = createFees({ clock })
    await assert.rejects(current(chain, head()), { code: 'UNSUPPORTED_CHAIN', status: 422 })
    await assert.rejects(current(chain, head(CAP + 1n)), { code: 'UNAVAILABLE' })
    assert.equal((await current(chain, head(CAP))).maxFee, CAP)
  })
})
