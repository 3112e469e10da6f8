import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'node:test'

import type { Address } from '../../../server/src/base/hex.ts'
import { startScript, urlLiteral } from '../../../server/src/testing/program.ts'
import { startTestNode } from '../../../server/src/testing/node.ts'
import { startRpcProxy } from '../../../server/src/testing/rpc-proxy.ts'
import { until } from '../../../server/src/testing/until.ts'
import { NodeError, startNode } from './node.ts'

/** The processes of a process group that have not ended: a node and its watchdog. */
async function groupOf(pid: number): Promise<number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    names.map(async (name) => {
      // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
      const [state, , group] = stat.replace(/^.*\) /, '').split(' ')
      return state !== 'Z' && Number(group) === pid ? [Number(name)] : []
    }),
  )
  return found.flat()
}

async function assertGone(pid: number): Promise<void> {
  for (let tries = 0; tries < 100 && (await groupOf(pid)).length > 0; tries++) await delay(20)
  assert.deepEqual(await groupOf(pid), [])
}

test('a node funds accounts, and says what it refuses', async () => {
  const address = '0x00000000000000000000000000000000000000aa'
  const started = performance.now()
  const node = await startNode({ chainId: 77_000_001, funded: [address] })
  assert.ok(performance.now() - started < 5_000)
  assert.equal(await node.call('eth_chainId'), '0x496ed41')
  assert.equal(await node.call('eth_getBalance', [address, 'latest']), '0x21e19e0c9bab2400000')
  // It holds no keys: nobody can make it sign.
  assert.deepEqual(await node.call('eth_accounts'), [])
  await assert.rejects(node.call('eth_nothing'), NodeError)
  assert.ok((await groupOf(node.pid)).length > 1, 'the watchdog')
  await node.close()
  await node.ended
  await assertGone(node.pid)
})

test('a node that ends by itself leaves no watchdog', async () => {
  const node = await startNode({ chainId: 77_000_001 })
  process.kill(node.pid, 'SIGKILL')
  await node.ended
  await assertGone(node.pid)
  await node.close()
})

test('a node ends with a process that is killed, and with one that forgets it', async (t) => {
  const script = `
    import { startNode } from ${urlLiteral('../../sandbox/src/chains/node.ts')}
    const nodes = await Promise.all([startNode({ chainId: 1 }), startNode({ chainId: 2 })])
    console.log('nodes', nodes.map(({ pid }) => pid).join(' '), 'end')`
  const killed = await startScript(t, `${script}\nsetInterval(() => undefined, 1000)`)
  const forgetful = await startScript(t, `${script}\nprocess.exit()`)
  for (const program of [killed, forgetful]) {
    const [, pids] = await program.until(/nodes (\d+ \d+) end/)
    if (program === killed) {
      // The node, its watchdog, and what the watchdog waits for.
      for (const pid of pids!.split(' ')) await until(async () => (await groupOf(Number(pid))).length === 3)
      await program.kill()
    }
    await program.ended
    for (const pid of pids!.split(' ')) await assertGone(Number(pid))
  }
})

test('a port that is in use is an error', async () => {
  const node = await startNode({ chainId: 1 })
  await assert.rejects(startNode({ chainId: 1, port: node.port }), /ended at once/)
  await node.close()
})

test('the node of the tests deploys, mines and reorganises; the proxy before it fails as it is told to', async (t) => {
  const node = await startTestNode(t)
  const [holder, other] = node.accounts.map(({ address }) => address) as [Address, Address]
  const token = await node.deploy('Token', ['USD Coin', 'USDC', 6])
  await node.send(token, 'Token', 'mint', [holder, 5_000_000n])
  await node.send(token, 'Token', 'transfer', [other, 1n], { from: 0 })
  assert.equal(await node.read(token, 'Token', 'balanceOf', [other]), 1n)
  await node.mine(2)
  const head = await node.client.getBlockNumber()
  await node.reorg(3)
  assert.equal(await node.client.getBlockNumber(), head)
  assert.equal(await node.read(token, 'Token', 'balanceOf', [other]), 0n)

  const proxy = await startRpcProxy(t, node.url)
  const ask = async (body: unknown): Promise<{ status: number; body: unknown }> => {
    const response = await fetch(proxy.url, { method: 'POST', body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const call = (method: string, id = 1, params: unknown[] = []) => ({ jsonrpc: '2.0', id, method, params })
  const chainId = { jsonrpc: '2.0', id: 1, result: '0x496ed41' }
  assert.deepEqual((await ask(call('eth_chainId'))).body, chainId)

  proxy.fault({ method: 'eth_chainId', times: 1, error: { code: -32_000, message: 'busy' } })
  proxy.fault({ method: 'eth_blockNumber', lie: () => '0x1', reverse: true })
  const batch = [call('eth_chainId'), call('eth_blockNumber', 2)]
  assert.deepEqual((await ask(batch)).body, [
    { jsonrpc: '2.0', id: 2, result: '0x1' },
    { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'busy' } },
  ])
  proxy.heal()
  proxy.fault({ times: 1, skip: 1, status: 429 })
  assert.deepEqual((await ask(call('eth_chainId'))).body, chainId)
  assert.equal((await ask(call('eth_chainId'))).status, 429)
  assert.deepEqual((await ask(call('eth_chainId'))).body, chainId)

  for (const drop of ['before', 'after'] as const) {
    const nonce = () => node.client.getTransactionCount({ address: holder })
    const before = await nonce()
    const { account } = node.accounts[0]!
    const request = await node.client.prepareTransactionRequest({ account, to: other, value: 1n })
    const raw = await node.client.signTransaction(request)
    proxy.fault({ method: 'eth_sendRawTransaction', times: 1, drop })
    await assert.rejects(ask(call('eth_sendRawTransaction', 1, [raw])))
    assert.equal(await nonce(), before + (drop === 'after' ? 1 : 0))
    if (drop === 'before') continue
    // It is in a block already.
    const { body } = await ask(call('eth_sendRawTransaction', 1, [raw]))
    assert.match(JSON.stringify(body), /nonce too low|already (known|imported)/)
  }
  assert.equal(proxy.calls('eth_sendRawTransaction'), 3)
  assert.equal(proxy.requests(), 8)
})
