import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { defineWire } from '../../../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine, type Ending, type Engine } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import { onchain, type Chain, type Consumer, type Follower } from '../index.ts'

const DAY = 1
const PATIENCE_MS = 10_000

type Follows = TestApp & { follower: Follower; chain: Chain; skipped: number[] }

/**
 * A server with a consumer that writes each block into a table, where a second time would break a unique key, and takes
 * rewound ones out of it.
 */
async function startFollowing(
  ending: Ending,
  engine: Engine,
  { url, databaseUrl, maxGap }: { url: string; databaseUrl?: string; maxGap?: number },
): Promise<Follows> {
  let follower!: Follower
  let chain!: Chain
  const skipped: number[] = []
  const consumer: Consumer = {
    name: 'copy',
    isNeeded: async () => true,
    apply: async ({ name }, blocks) =>
      blocks.map(
        ({ number, hash }) => sql`insert into onchain_spent (chain, subject, day, amount, version)
          values (${name}, ${String(number)}, ${DAY}, ${hash}, ${number})`,
      ),
    rewind: async ({ name }, number) => [
      sql`delete from onchain_spent where chain = ${name} and version > ${number}`,
    ],
    ...(maxGap !== undefined && {
      maxGap,
      skip: async (_chain, { number }) => {
        skipped.push(number)
        return []
      },
    }),
  }
  const copy = defineWire({
    name: 'copy',
    needs: [onchain],
    setup(context) {
      chain = context.onchain.chains.of('ethereum')
      follower = context.onchain.follow(consumer)
      return { routes: [], service: undefined }
    },
  })
  const app = await startApp(ending, engine, {
    config: { wires: [copy()], onchain: { chains: { ethereum: { pollMs: 50 } } } },
    environment: { ETHEREUM_RPC_URL: url, SIXWIRE_WIRES: 'core,onchain,auth,copy' },
    ...(databaseUrl !== undefined && { databaseUrl }),
  })
  return Object.assign(app, { follower, chain, skipped })
}

/** The copied blocks, by number. */
async function copied({ app }: TestApp): Promise<Map<number, string>> {
  const rows = await app.db.all(
    sql<{ version: number; amount: string }>`select version, amount from onchain_spent order by version`,
  )
  return new Map(rows.map(({ version, amount }) => [version, amount]))
}

/** Waits until the blocks that were copied are those of the node, from `from` to its head. */
async function assertCopied(app: TestApp, node: TestNode, from: number): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    const head = Number(await node.call('eth_blockNumber'))
    const wanted = new Map<number, string>()
    for (let number = from; number <= head; number++) {
      const block = (await node.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])) as {
        hash: string
      }
      wanted.set(number, block.hash)
    }
    const copiedBlocks = new Map([...(await copied(app))].filter(([number]) => number >= from))
    if (performance.now() > until || JSON.stringify([...copiedBlocks]) === JSON.stringify([...wanted]))
      return assert.deepEqual(copiedBlocks, wanted)
    await delay(50)
  }
}

const follow = async ({ app, follower, chain }: Follows): Promise<number> => {
  const head = await chain.head({ isFresh: true })
  await app.db.batch(await follower.followSql(chain, head))
  return head.number + 1
}

describe('a follower', () => {
  const suite = endOfSuite()
  let node: TestNode
  let proxy: RpcProxy

  before(async () => {
    node = await startTestNode(suite, { states: 512 })
    proxy = await startRpcProxy(suite, node.url)
  })

  eachEngine((engine) => {
    test('two replicas apply each block once, and take back what was reorganised', async (t) => {
      const first = await startFollowing(t, engine, { url: node.url })
      const second = await startFollowing(t, engine, {
        url: node.url,
        databaseUrl: first.app.settings.databaseUrl,
      })
      const from = await follow(first)
      await follow(second)
      await node.mine(60)
      await assertCopied(first, node, from)
      for (const depth of [1, 5, 40]) {
        await node.reorg(depth)
        await assertCopied(first, node, from)
      }
      await first.stop()
      await node.mine(3)
      await node.reorg(2)
      await assertCopied(second, node, from)
    })
  })

  someEngine((engine) => {
    test('a reorganisation deeper than what is remembered begins at the oldest block of it', async (t) => {
      const app = await startFollowing(t, engine, { url: node.url })
      const from = await follow(app)
      await node.mine(320)
      await assertCopied(app, node, from)
      await node.reorg(310)
      await assertCopied(app, node, from + 25)
    })

    test('a node that is behind changes nothing', async (t) => {
      const app = await startFollowing(t, engine, { url: proxy.url })
      const from = await follow(app)
      await node.mine(8)
      await assertCopied(app, node, from)
      const copiedBefore = await copied(app)
      const old = await node.call('eth_getBlockByNumber', [`0x${(from + 1).toString(16)}`, false])
      const heal = proxy.fault({
        method: 'eth_getBlockByNumber',
        when: ({ params }) => params?.[0] === 'latest',
        lie: () => old,
      })
      proxy.forget()
      while (proxy.calls() < 5) await delay(20)
      assert.deepEqual(await copied(app), copiedBefore)
      heal()
      app.clock.advance(10_000)
      await node.mine()
      await assertCopied(app, node, from)
      assert.doesNotMatch(app.log(), /was reorganised/)
    })

    test('a chain that started again is followed from its first block', async (t) => {
      const old = await startTestNode(t, { arguments: ['--timestamp', '1700000000'] })
      await old.mine(5)
      const front = await startRpcProxy(t, old.url)
      const app = await startFollowing(t, engine, { url: front.url })
      const from = await follow(app)
      await old.mine(3)
      await assertCopied(app, old, from)
      front.forwardTo(node.url)
      app.clock.advance(61_000)
      await assertCopied(app, node, 0)
    })

    test('blocks that are far away are skipped by a consumer that can skip', async (t) => {
      const app = await startFollowing(t, engine, { url: node.url, maxGap: 10 })
      const from = await follow(app)
      await node.mine(2)
      await assertCopied(app, node, from)
      await app.stop()
      await node.mine(11)
      const again = await startFollowing(t, engine, {
        url: node.url,
        maxGap: 10,
        databaseUrl: app.app.settings.databaseUrl,
      })
      const head = Number(await node.call('eth_blockNumber'))
      again.clock.advance(10_000)
      while (again.skipped.length === 0) await delay(20)
      await node.mine()
      await assertCopied(again, node, head + 1)
      assert.deepEqual(again.skipped, [head])
    })
  })
})
