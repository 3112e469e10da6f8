import assert from 'node:assert/strict'
import { readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { Address } from '../../../server/src/base/hex.ts'
import {
  startApp,
  type TestAnswer,
  type StartOptions,
  type TestApp,
} from '../../../server/src/testing/app.ts'
import { appForAll } from '../../../server/src/testing/auth.ts'
import { CONTRACTS } from '../../../server/src/testing/contracts.ts'
import { anyEngine, someEngine, temporaryFolder, type Engine } from '../../../server/src/testing/engines.ts'
import { startTestNode, testClient } from '../../../server/src/testing/node.ts'
import { sandboxForAll } from '../sandbox.fixture.ts'

type Json = TestAnswer['body']

const NOBODY = '0x000000000000000000000000000000000000dEaD'

const api = async (
  app: Pick<TestApp, 'request'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Json> => {
  const answered = await app.request(method, `/sandbox/api/chains${path}`, { body })
  assert.equal(answered.status, 200, answered.text)
  return answered.body
}

const rpc = async (app: TestApp, method: string, params: unknown[] = [], chain = 'ethereum'): Promise<Json> =>
  (await app.request('POST', `/sandbox/chains/${chain}`, { body: { jsonrpc: '2.0', id: 1, method, params } }))
    .body?.result

const running = async (app: TestApp): Promise<string[]> => {
  const { chains } = (await app.request('GET', '/sandbox/api')).body.chains
  return Object.entries(chains as Record<string, Json>).flatMap(([name, { isRunning }]) =>
    isRunning ? [name] : [],
  )
}

const balanceOf = async (app: TestApp, address = NOBODY): Promise<bigint> =>
  BigInt(await rpc(app, 'eth_getBalance', [address, 'latest']))

/** The process of a chain's node. */
const nodeOf = async (folder: string, chain = 'ethereum'): Promise<number> =>
  JSON.parse(await readFile(join(folder, 'sandbox/chains', `${chain}.node`), 'utf8')).pid

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Ends the pauses of the server until the condition holds. */
async function eventually(app: TestApp, condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    assert.ok(tries < 200, 'it does not happen')
    app.clock.advance(1_000)
    await delay(10)
  }
}

/** A server whose chains are kept in a folder. */
const startIn = (
  t: { after(work: () => Promise<void>): void },
  engine: Engine,
  folder: string,
  options: StartOptions = {},
) =>
  startApp(t, engine, {
    ...options,
    sandbox: true,
    environment: { DATA_DIR: folder, ...options.environment },
  })

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('a chain is started by its first call, and driven by the API', async () => {
    const app = await empty()
    const chains = await api(app, 'GET', '')
    assert.deepEqual(Object.keys(chains), ['ethereum', 'arbitrum', 'base'])
    const { ethereum } = chains
    assert.deepEqual(Object.keys(ethereum), ['rpcUrl', 'chainId', 'accounts', 'contracts'])
    assert.equal(ethereum.rpcUrl, `${app.app.settings.sandboxUrl}/chains/ethereum`)
    assert.equal(ethereum.chainId, 77_000_001)
    assert.notDeepEqual(ethereum.contracts, chains.base.contracts)
    await app.request('GET', '/sandbox')
    assert.deepEqual(await running(app), [])

    assert.equal(Number(await rpc(app, 'eth_chainId')), ethereum.chainId)
    assert.deepEqual(await running(app), ['ethereum'])

    const client = testClient(ethereum.rpcUrl, ethereum.chainId)
    const { erc20, erc721, erc1155 } = ethereum.contracts as Record<string, Address>
    const read = (
      address: Address | undefined,
      name: keyof typeof CONTRACTS,
      functionName: string,
      args: unknown[] = [],
    ) => client.readContract({ address: address!, abi: CONTRACTS[name].abi, functionName, args })
    assert.equal(await read(erc20, 'Token', 'symbol'), 'USDC')
    assert.equal(await read(erc20, 'Token', 'decimals'), 6)
    assert.equal(await read(erc721, 'Nft', 'supportsInterface', ['0x80ac58cd']), true)
    assert.equal(await read(erc1155, 'MultiToken', 'supportsInterface', ['0xd9b67a26']), true)

    const balances = async (): Promise<Json> => (await api(app, 'GET', '/ethereum/balances')).accounts
    const [first] = await balances()
    assert.deepEqual(first, { address: ethereum.accounts[0].address, balance: '10000', erc20: '1000000' })

    // All at once: each takes a nonce of its own.
    const payments = await Promise.all([
      api(app, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1.5' }),
      api(app, 'POST', '/ethereum/pay', { to: NOBODY, amount: '0.000000000000000001', viaContract: true }),
      api(app, 'POST', '/ethereum/pay', { to: NOBODY, amount: '2.25', token: 'USDC' }),
    ])
    for (const { hash } of payments)
      assert.equal((await client.getTransactionReceipt({ hash })).status, 'success')
    assert.equal(await balanceOf(app), 1_500_000_000_000_000_001n)
    assert.equal(await read(erc20, 'Token', 'balanceOf', [NOBODY]), 2_250_000n)
    assert.equal((await balances())[1].erc20, '999997.75')

    const { blocks } = await api(app, 'GET', '/ethereum/blocks?limit=3')
    assert.deepEqual(
      blocks.map((block: Json) => block.number),
      [blocks[0].number, blocks[0].number - 1, blocks[0].number - 2],
    )
    assert.deepEqual(Object.keys(blocks[0]), ['number', 'hash', 'timestamp', 'transactions'])
    // Among the empty blocks that are mined meanwhile.
    const more = (await api(app, 'GET', '/ethereum/blocks?limit=20')).blocks
    const hashes = new Set(payments.map(({ hash }) => hash))
    const sent = more
      .flatMap((block: Json) => block.transactions)
      .filter(({ hash }: Json) => hashes.has(hash))
    assert.deepEqual(
      new Set(sent.map((one: Json) => `${one.from} ${one.value}`)),
      new Set(
        ['1.5', '0.000000000000000001', '0'].map((value) => `${ethereum.accounts[1].address} ${value}`),
      ),
    )
    assert.ok(sent.some((one: Json) => one.to === NOBODY && one.hash === payments[0].hash))

    // So many that none is mined by itself any more.
    const mined = await api(app, 'POST', '/ethereum/mine', { blocks: 10 })
    assert.ok(mined.number >= blocks[0].number + 10)
    const receipts = await Promise.all([...hashes].map((hash) => client.getTransactionReceipt({ hash })))
    const paidAt = Math.min(...receipts.map(({ blockNumber }) => Number(blockNumber)))
    const reorganised = await api(app, 'POST', '/ethereum/reorg', { depth: mined.number - paidAt + 1 })
    assert.equal(reorganised.number, mined.number)
    assert.notEqual(reorganised.hash, mined.hash)
    assert.equal(await balanceOf(app), 0n)
    assert.equal((await api(app, 'POST', '/ethereum/mine')).number, mined.number + 1)
    assert.deepEqual(await running(app), ['ethereum'])

    for (const [path, body, issue] of [
      ['pay', { to: '0x12', amount: '1' }, '/body/to'],
      ['pay', { to: NOBODY.toLowerCase().replace('dead', 'DeAd'), amount: '1' }, '/body/to'],
      ['pay', { to: NOBODY, amount: '1e18' }, '/body/amount'],
      ['pay', { to: NOBODY, amount: '-1' }, '/body/amount'],
      ['pay', { to: NOBODY, amount: '0' }, '/body/amount'],
      ['pay', { to: NOBODY, amount: '0.0000001', token: 'USDC' }, '/body/amount'],
      ['pay', { to: NOBODY, amount: '1', token: 'DAI' }, '/body/token'],
      ['pay', { to: NOBODY, amount: '1', token: 'USDC', viaContract: true }, '/body/viaContract'],
      ['pay', { to: NOBODY }, '/body/amount'],
      ['mine', { blocks: 0 }, '/body/blocks'],
      ['reorg', {}, '/body/depth'],
      ['reorg', { depth: 90 }, '/body/depth'],
    ] as const) {
      const refused = await app.request('POST', `/sandbox/api/chains/ethereum/${path}`, { body })
      assert.equal(refused.status, 400, refused.text)
      assert.equal(refused.body.error.details.issues[0].path, issue)
    }
    const tooMuch = await app.request('POST', '/sandbox/api/chains/ethereum/pay', {
      body: { to: NOBODY, amount: '100000' },
    })
    assert.equal(tooMuch.status, 400)
    assert.match(tooMuch.body.error.message, /[Ii]nsufficient/)
    for (const path of ['/polygon/blocks', '/polygon/balances'])
      assert.equal((await app.request('GET', `/sandbox/api/chains${path}`)).status, 404)
  })

  test('a fault of "chains" delays, refuses, or loses answers; a page is told of new blocks', async () => {
    const app = await empty()
    await rpc(app, 'eth_chainId')
    const fault = (body: Json) => app.request('PUT', '/sandbox/api/faults/chains', { body })
    const ask = () =>
      app.request('POST', '/sandbox/chains/ethereum', {
        body: { jsonrpc: '2.0', id: 1, method: 'eth_chainId' },
      })
    await fault({ error: 429, times: 1 })
    const refused = await ask()
    assert.equal(refused.status, 429)
    assert.equal(refused.body.error.code, -32_005)
    assert.equal((await ask()).status, 200)

    await fault({ delayMs: 30_000, times: 1 })
    assert.equal((await app.clock.through(ask())).status, 200)

    await fault({ loseAnswer: true, times: 1 })
    await assert.rejects(rpc(app, 'anvil_setBalance', [NOBODY, '0x7']))
    assert.equal(await balanceOf(app), 7n)

    const text = await app.request('POST', '/sandbox/chains/ethereum', {
      raw: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
      headers: { 'content-type': 'text/plain' },
    })
    assert.equal(text.status, 415, 'any page could send it')

    const gone = new AbortController()
    const stream = await fetch(`${app.url}/sandbox/api/events`, { signal: gone.signal })
    let seen = ''
    const reading = stream
      .body!.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void (seen += text) }))
    await eventually(app, async () => seen.includes('retry:'))
    const known = seen.length
    await api(app, 'POST', '/ethereum/mine')
    await eventually(app, async () => seen.includes('data: chains', known))
    gone.abort()
    await assert.rejects(reading)
  })
})

// Chains are in files of their nodes, whatever the database.
anyEngine((engine) => {
  const shared = appForAll(engine, { sandbox: true, environment: { BASE_CONFIRMATIONS: '4' } })

  test('blocks follow a transaction until it is final, and then no more', async () => {
    const app = shared()
    const { hash } = await api(app, 'POST', '/base/pay', { to: NOBODY, amount: '1' })
    const { blockNumber } = await rpc(app, 'eth_getTransactionReceipt', [hash], 'base')
    const depth = async (): Promise<number> =>
      Number(await rpc(app, 'eth_blockNumber', [], 'base')) - Number(blockNumber) + 1
    assert.equal(await depth(), 1)
    await eventually(app, async () => (await depth()) === 8)
    for (let times = 0; times < 5; times++) {
      app.clock.advance(5_000)
      await delay(10)
    }
    assert.equal(await depth(), 8)
  })

  test('an open payment request is listed, and paid as a whole', async () => {
    const app = shared()
    const { token } = await app.register()
    for (const symbol of ['USDC', 'ETH']) {
      const body = { amount: '12.5', token: symbol, chain: 'arbitrum' }
      const made = await app.request('POST', '/pay/onchain/payment', { token, body })
      assert.equal(made.status, 200, made.text)
      const { requests } = await api(app, 'GET', '/requests')
      const request = requests.find(({ _id }: Json) => _id === made.body._id)
      const { chain, displayAmount, receiverAddress, status } = request
      assert.deepEqual([chain, displayAmount, request.token, status], ['arbitrum', '12.5', symbol, 'pending'])
      assert.equal(receiverAddress, made.body.receiverAddress)
      const { hash } = await api(app, 'POST', `/requests/${request._id}/pay`)
      assert.equal((await rpc(app, 'eth_getTransactionReceipt', [hash], 'arbitrum')).status, '0x1')
      const details = () => app.request('GET', `/pay/onchain/payment/${request._id}`, { token })
      await eventually(app, async () => (await details()).body.status === 'confirmed')
    }
    const unknown = await app.request('POST', '/sandbox/api/chains/requests/none/pay')
    assert.equal(unknown.status, 404)
  })

  test('a restart keeps the chain, and a reset begins another one', async (t) => {
    const folder = await temporaryFolder(t)
    const databaseUrl = await engine.migratedUrl()
    const first = await startIn(t, engine, folder, { databaseUrl })
    const genesis = await rpc(first, 'eth_getBlockByNumber', ['0x0', false])
    const { hash } = await api(first, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1', token: 'USDC' })
    await api(first, 'POST', '/ethereum/mine', { blocks: 4 })
    const receipt = await rpc(first, 'eth_getTransactionReceipt', [hash])
    const head = await rpc(first, 'eth_getBlockByNumber', ['latest', false])
    const logs = await rpc(first, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }])
    assert.equal(logs.length, 11)
    const pid = await nodeOf(folder)
    await first.stop()
    assert.ok(!exists(pid))

    // Several times: a node adds a first block of its own to the state that it loads.
    for (let times = 0; times < 2; times++) {
      const next = await startIn(t, engine, folder, { databaseUrl })
      assert.deepEqual(await rpc(next, 'eth_getBlockByNumber', ['0x0', false]), genesis)
      await api(next, 'POST', '/ethereum/mine')
      await next.stop()
    }
    const second = await startIn(t, engine, folder, { databaseUrl })
    assert.deepEqual(await running(second), [])
    assert.deepEqual(await rpc(second, 'eth_getTransactionReceipt', [hash]), receipt)
    assert.deepEqual(await rpc(second, 'eth_getBlockByNumber', ['0x0', false]), genesis)
    assert.equal((await rpc(second, 'eth_getBlockByNumber', [head.number, false])).hash, head.hash)
    assert.deepEqual(await rpc(second, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }]), logs)
    assert.equal(await rpc(second, 'eth_getTransactionCount', [receipt.from, 'latest']), '0x1')
    // Also what was true at older blocks, and so blocks from before the restart can be replaced.
    assert.equal(await rpc(second, 'eth_getTransactionCount', [receipt.from, '0x2']), '0x0')
    await api(second, 'POST', '/ethereum/pay', { to: NOBODY, amount: '2' })
    const { timestamp } = await rpc(second, 'eth_getBlockByNumber', ['latest', false])
    assert.ok(Math.abs(Number(timestamp) - Date.now() / 1000) < 30)
    await api(second, 'POST', '/ethereum/reorg', { depth: 9 })
    assert.equal(await rpc(second, 'eth_getTransactionReceipt', [hash]), null)

    const { status, text } = await second.request('DELETE', '/sandbox/api')
    assert.equal(status, 200, text)
    assert.deepEqual(await running(second), [])
    assert.notEqual((await rpc(second, 'eth_getBlockByNumber', ['0x0', false])).hash, genesis.hash)
    assert.equal((await api(second, 'GET', '/ethereum/balances')).accounts[1].erc20, '1000000')
  })

  test('with another secret a chain goes on, with other accounts and contracts', async (t) => {
    const folder = await temporaryFolder(t)
    const first = await startIn(t, engine, folder)
    await api(first, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1' })
    const before = (await api(first, 'GET', '')).ethereum
    // It is mined a moment after the answer.
    await eventually(first, async () => (await balanceOf(first)) === 10n ** 18n)
    await first.stop()
    const second = await startIn(t, engine, folder, {
      environment: { SIXWIRE_SECRET: 'another secret of the tests, long enough too' },
    })
    const { contracts, accounts } = (await api(second, 'GET', '')).ethereum
    assert.notDeepEqual(contracts, before.contracts)
    assert.notDeepEqual(accounts, before.accounts)
    const [balance] = (await api(second, 'GET', '/ethereum/balances')).accounts
    assert.deepEqual([balance.balance, balance.erc20], ['10000', '1000000'])
    assert.equal(await balanceOf(second), 10n ** 18n)
  })

  test('a chain that is configured has no node here, and gets nothing of the sandbox', async (t) => {
    const node = await startTestNode(t, { chainId: 31_337 })
    const app = await startApp(t, engine, {
      sandbox: true,
      environment: { ETHEREUM_RPC_URL: node.url, ARBITRUM_CONFIRMATIONS: '5' },
    })
    assert.deepEqual(Object.keys(await api(app, 'GET', '')), ['arbitrum', 'base'])
    assert.equal((await app.request('GET', '/sandbox/api/chains/ethereum/blocks')).status, 404)
    assert.equal(await rpc(app, 'eth_chainId'), undefined)
    const { chains } = (await app.request('GET', '/onchain/health')).body
    assert.deepEqual(
      Object.entries(chains as Record<string, Json>).map(([name, { status }]) => [name, status]),
      ['ethereum', 'arbitrum', 'base'].map((name) => [name, 'connected']),
    )
    assert.deepEqual(await running(app), ['arbitrum', 'base'])
    const { ethereum, arbitrum } = Object.fromEntries(
      app.app.service('onchain').chains.all.map((chain) => [chain.name, chain]),
    )
    assert.deepEqual(ethereum!.tokens, {})
    assert.equal(arbitrum!.depth, 5)
    assert.deepEqual(Object.keys(arbitrum!.tokens), ['USDC'])
  })

  test('two servers on one folder use one node; the second goes on when the first ends', async (t) => {
    const folder = await temporaryFolder(t)
    const [one, two] = await Promise.all([startIn(t, engine, folder), startIn(t, engine, folder)])
    await Promise.all([rpc(one, 'eth_chainId'), rpc(two, 'eth_chainId')])
    await api(one, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1' })
    await api(two, 'POST', '/ethereum/pay', { to: NOBODY, amount: '2' })
    for (const app of [one, two]) assert.equal(await balanceOf(app), 3n * 10n ** 18n)
    await one.stop()
    assert.equal(await balanceOf(two), 3n * 10n ** 18n)
    await api(two, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1' })

    const three = await startIn(t, engine, folder)
    assert.equal(await balanceOf(three), 4n * 10n ** 18n)
    // The node is another server's: a reset ends it all the same.
    assert.equal((await three.request('DELETE', '/sandbox/api')).status, 200)
    for (const app of [three, two]) assert.equal(await balanceOf(app), 0n)
  })

  test('a node that ends is started again with what was stored', async (t) => {
    const folder = await temporaryFolder(t)
    const app = await startIn(t, engine, folder)
    await api(app, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1' })
    await eventually(app, async () => (await rpc(app, 'eth_blockNumber')) >= '0x4')
    const state = join(folder, 'sandbox/chains/ethereum.state')
    await eventually(app, async () => (await readFile(state).catch(() => undefined)) !== undefined)
    process.kill(await nodeOf(folder), 'SIGKILL')
    await eventually(app, async () => (await running(app)).length === 0)
    assert.equal(await balanceOf(app), 10n ** 18n)
    assert.match(app.log(), /the node of the chain ethereum of the sandbox has ended/)
  })

  test('a file that is cut is refused, and the state before it used', async (t) => {
    const folder = await temporaryFolder(t)
    const state = join(folder, 'sandbox/chains/ethereum.state')
    const first = await startIn(t, engine, folder)
    await api(first, 'POST', '/ethereum/pay', { to: NOBODY, amount: '1' })
    await eventually(
      first,
      async () => (await readFile(`${state}.last`).catch(() => undefined)) !== undefined,
    )
    await first.stop()
    await truncate(state, 1_000)
    const second = await startIn(t, engine, folder)
    assert.equal(await balanceOf(second), 10n ** 18n)
    assert.match(second.log(), /ethereum\.state is damaged/)
    await second.stop()

    // With none that is good, the chain starts again from its first block.
    await truncate(state, 1_000)
    await truncate(`${state}.last`, 0)
    const third = await startIn(t, engine, folder)
    assert.equal(await balanceOf(third), 0n)
    assert.equal((await api(third, 'GET', '/ethereum/balances')).accounts[0].balance, '10000')
  })
})
