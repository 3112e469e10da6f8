// Many transfers from one wallet at once, through two real servers that are killed, over a node that fails and lies, on a
// chain that is reorganised meanwhile: each is mined exactly once, and no nonce is left out.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { getAddress } from 'viem'

import type { Address, Hex } from '../../../base/hex.ts'
import type { Database } from '../../../db/database.ts'
import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { someEngine, temporaryFolder, type Ending } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startProgram, type Program } from '../../../testing/program.ts'
import { startRpcProxy, type ProxyFault, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import type { SentTransaction } from './transactions.ts'

const TRANSFERS = isLongRun ? 1_000 : 40
const KILLS = isLongRun ? 12 : 1
const DEPTH = 3
const REORG = 6
const LIMIT_MS = isLongRun ? 600_000 : 90_000
const SECRET = 'a secret of the tests that is long enough'
const CONFIG = `export default {
  auth: { bcryptCost: 4 },
  onchain: { chains: { ethereum: { confirmations: ${DEPTH}, pollMs: 100 } } },
}
`
const SEND = 'eth_sendRawTransaction'
const FAULTS: readonly ProxyFault[] = [
  { drop: 'before' },
  { drop: 'after' },
  { method: SEND, drop: 'before' },
  { method: SEND, drop: 'after' },
  { delayMs: 150 },
  { answerDelayMs: 150 },
  { status: 500 },
  { method: SEND, twice: true },
  { method: SEND, error: { code: -32_000, message: 'already known' } },
  { method: SEND, lie: () => `0x${'11'.repeat(32)}` },
  { method: 'eth_getTransactionCount', lie: () => '0x0' },
  { method: 'eth_getTransactionReceipt', lie: () => null },
  { reverse: true },
]
/** What a caller is told to repeat a request after. */
const TRY_AGAIN = [409, 502, 503]

const random = (below: number): number => Math.floor(Math.random() * below)

type Server = { program: Program; url: string }

async function startServer(ending: Ending, environment: Record<string, string>): Promise<Server> {
  const folder = await temporaryFolder(ending)
  await writeFile(join(folder, 'sixwire.config.mjs'), CONFIG)
  const program = startProgram(ending, ['start'], {
    folder,
    environment: {
      DATA_DIR: folder,
      SIXWIRE_SECRET: SECRET,
      SIXWIRE_SANDBOX: 'off',
      LOG_LEVEL: 'warn',
      ...environment,
    },
  })
  return { program, url: await program.url() }
}

/** As if the lease of what a dead process has claimed were over. Those of the living end as well, which must do no harm. */
async function endLeases(db: Database): Promise<void> {
  await db.write(
    sql`update sixwire_jobs set run_at = ${Date.now()} where claimed_by is not null and kind like 'onchain.%'`,
  )
  await db.write(sql`update sixwire_idempotency set lease_until = 0 where answer is null`)
}

/** Lets the node fail in one way after the other until it is told to stop. */
async function fail(proxy: RpcProxy, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const heal = proxy.fault({ ...FAULTS[random(FAULTS.length)], times: 1 + random(4) })
    await delay(30 + random(120))
    heal()
    await delay(random(100))
  }
}

/** What the chain has of an address, by walking through its blocks. */
async function minedBy(node: TestNode, address: Address) {
  const head = Number(await node.client.getBlockNumber())
  const blocks = await Promise.all(
    Array.from({ length: head + 1 }, (_block, at) =>
      node.client.getBlock({ blockNumber: BigInt(at), includeTransactions: true }),
    ),
  )
  return blocks
    .flatMap(({ transactions }) => transactions)
    .filter(({ from }) => getAddress(from) === address)
    .map(({ hash, nonce, value, to }) => ({ hash, nonce, value, to: getAddress(to!) }))
}

someEngine((engine) => {
  test(`${TRANSFERS} transfers at once are each mined once`, { timeout: LIMIT_MS + 30_000 }, async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const node = await startTestNode(t)
    const proxy = await startRpcProxy(t, node.url)
    const variables = { DATABASE_URL: databaseUrl, ETHEREUM_RPC_URL: proxy.url }
    const to = getAddress(`0x${randomBytes(20).toString('hex')}`)

    const first = await startApp(t, engine, { databaseUrl })
    const { key: token } = await first.app.service('auth').keys.create('test', ['*'])
    const { body: wallet } = await first.request('POST', '/onchain/wallets', { token, body: {} })
    await first.stop()
    await node.client.setBalance({ address: wallet.address, value: 10n ** 22n })

    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const servers = await Promise.all([startServer(t, variables), startServer(t, variables)])
    let until = Date.now() + LIMIT_MS
    const chaos = new AbortController()
    // If one part fails, the others end, too.
    t.after(() => {
      until = 0
      chaos.abort()
    })
    const count = (): Promise<number> => node.client.getTransactionCount({ address: wallet.address })

    /** Each transfer has another value, so that the chain shows which is which. */
    async function transfer(wei: number): Promise<SentTransaction> {
      const key = randomUUID()
      const body = JSON.stringify({
        to,
        value: `0.${String(wei).padStart(18, '0')}`,
        walletId: wallet._id,
      })
      for (;;) {
        assert.ok(Date.now() < until, `the transfer of ${wei} wei has no answer`)
        try {
          const response = await fetch(`${servers[random(2)]!.url}/onchain/transactions`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
              'idempotency-key': key,
            },
            body,
          })
          const text = await response.text()
          if (response.status === 200) return JSON.parse(text) as SentTransaction
          assert.ok(TRY_AGAIN.includes(response.status), `${response.status} ${text}`)
        } catch (error) {
          // The server is gone: fetch throws a TypeError.
          if (!(error instanceof TypeError)) throw error
        }
        await delay(100 + random(200))
      }
    }

    async function killServers(): Promise<void> {
      for (let kill = 0; kill < KILLS && Date.now() < until; kill++) {
        await delay(200 + random(600))
        const at = random(2)
        await servers[at]!.program.kill()
        await endLeases(db)
        servers[at] = await startServer(t, variables)
      }
    }

    async function reorganise(): Promise<void> {
      while ((await count()) < TRANSFERS / 3) {
        assert.ok(Date.now() < until, 'the transfers are not mined')
        await delay(20)
      }
      // Of the blocks that there are: a node puts many transactions into one.
      await node.reorg(Math.min(REORG, Number(await node.client.getBlockNumber())))
    }

    const failing = fail(proxy, chaos.signal)
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: TRANSFERS }, (_one, at) => transfer(at + 1))),
      killServers(),
      reorganise(),
    ])
    chaos.abort()
    await failing
    proxy.heal()
    await endLeases(db)
    while ((await count()) < TRANSFERS) {
      assert.ok(Date.now() < until, `${await count()} of ${TRANSFERS} transfers are mined`)
      await delay(50)
    }
    // What is sent twice would be mined by now.
    await node.mine(DEPTH)

    const inOrder = Array.from({ length: TRANSFERS }, (_one, at) => at)
    const mined = await minedBy(node, wallet.address)
    assert.deepEqual(
      mined.map(({ nonce }) => nonce).toSorted((one, other) => one - other),
      inOrder,
    )
    assert.deepEqual(
      mined.map(({ value }) => Number(value)).toSorted((one, other) => one - other),
      inOrder.map((one) => one + 1),
    )
    assert.ok(mined.every((one) => one.to === to))
    const total = (TRANSFERS * (TRANSFERS + 1)) / 2
    assert.equal(await node.client.getBalance({ address: to }), BigInt(total))
    assert.deepEqual(
      answers.map(({ nonce }) => nonce).toSorted((one, other) => one - other),
      inOrder,
    )
    // The value of each answered nonce is the one that was asked for.
    const byNonce = new Map(mined.map((one) => [one.nonce, one]))
    for (const [at, { nonce }] of answers.entries()) assert.equal(byNonce.get(nonce)!.value, BigInt(at + 1))

    let hashes: Hex[] = []
    while (hashes.length < TRANSFERS) {
      assert.ok(Date.now() < until, `${hashes.length} of ${TRANSFERS} records are confirmed`)
      const rows = await db.all(sql<{ hash: Hex }>`
        select hash from onchain_transactions where status = 'confirmed' and succeeded = 1`)
      hashes = rows.map(({ hash }) => hash)
      await delay(50)
    }
    assert.deepEqual(hashes.toSorted(), mined.map(({ hash }) => hash).toSorted())
  })
})
