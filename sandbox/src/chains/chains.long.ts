import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { TestAnswer } from '../../../server/src/testing/app.ts'
import { temporaryFolder } from '../../../server/src/testing/engines.ts'
import { startProgram, startScript, urlLiteral } from '../../../server/src/testing/program.ts'

const KILLS = 30
const SECRET = 'a secret of the tests that is long enough'
const NOBODY = '0x000000000000000000000000000000000000dEaD'

/** Waits for the end of a chain's node. */
async function assertEnded(folder: string): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(folder, 'ethereum.node'), 'utf8'))
  for (let tries = 0; tries < 200; tries++) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    if (stat === '' || stat.includes(') Z ')) return
    await delay(20)
  }
  assert.fail('the node is an orphan')
}

// It stores its chain as often as it can, so that many kills come while it does.
const MINER = `
  import { systemClock } from ${urlLiteral('base/clock.ts')}
  import { createAccounts } from ${urlLiteral('../../sandbox/src/chains/accounts.ts')}
  import { createLocalChain } from ${urlLiteral('../../sandbox/src/chains/chain.ts')}
  const print = (text) => console.log(text)
  const chain = createLocalChain({
    name: 'ethereum',
    chainId: 77000001,
    folder: process.cwd(),
    accounts: createAccounts('${SECRET}'),
    clock: { ...systemClock, sleep: (ms, options) => systemClock.sleep(5, options) },
    log: { warn: print, error: print, debug: print },
    onChange: () => undefined,
  })
  print('head ' + Number(await chain.call('eth_blockNumber')) + ' loaded')
  for (;;) await chain.call('anvil_mine', ['0x1'])`

test(`${KILLS} kills while a chain is stored leave no node, and a whole chain`, async (t) => {
  const folder = await temporaryFolder(t)
  let last = 0
  for (let kills = 0; kills < KILLS; kills++) {
    const miner = await startScript(t, MINER, { folder })
    const [, head] = await miner.until(/head (\d+) loaded/)
    assert.ok(Number(head) >= last, `block ${head} after ${last}`)
    last = Number(head)
    await delay(Math.random() * 500)
    await miner.kill()
    assert.doesNotMatch(miner.output(), /damaged|can't read|could not/)
    await assertEnded(folder)
  }
  assert.ok(last > KILLS, 'nothing was ever stored')
})

test('a kill -9 of a server ends its nodes, and the next server goes on with their chains', async (t) => {
  const folder = await temporaryFolder(t)
  const chains = join(folder, 'data/sandbox/chains')
  async function start() {
    const program = startProgram(t, ['start'], { folder, environment: { SIXWIRE_SECRET: SECRET } })
    const url = await program.url()
    const api = async (method: string, path: string, body?: unknown) => {
      const answered = await fetch(`${url}/sandbox/api/chains/ethereum${path}`, {
        method,
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      })
      assert.equal(answered.status, 200)
      return (await answered.json()) as TestAnswer['body']
    }
    return { program, api }
  }
  const first = await start()
  await first.api('POST', '/pay', { to: NOBODY, amount: '1' })
  for (let tries = 0; tries < 100; tries++) {
    if (await readFile(join(chains, 'ethereum.state.last')).catch(() => undefined)) break
    await delay(100)
  }
  await first.program.kill()
  await assertEnded(chains)
  const second = await start()
  const { blocks } = await second.api('GET', '/blocks')
  const sent = blocks.flatMap(({ transactions }: { transactions: unknown[] }) => transactions)
  assert.ok(sent.some(({ to }: { to: string }) => to === NOBODY))
})
