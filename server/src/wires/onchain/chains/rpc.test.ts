import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { before, beforeEach, test } from 'node:test'
import { inspect } from 'node:util'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { assemble, refused } from '../../../testing/assemble.ts'
import { anyEngine, someEngine, endOfSuite, type Ending, type Engine } from '../../../testing/engines.ts'
import { freePort } from '../../../testing/free-port.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { json, startScriptedServer, type ScriptedRequest } from '../../../testing/scripted-http.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import type { Chain } from '../index.ts'

type Served = TestApp & { chain: Chain }

async function serve(
  ending: Ending,
  engine: Engine,
  environment: Record<string, string>,
  databaseUrl?: string,
): Promise<Served> {
  const app = await startApp(ending, engine, {
    environment: { SIXWIRE_WIRES: 'core,auth,onchain', ...environment },
    ...(databaseUrl !== undefined && { databaseUrl }),
  })
  return Object.assign(app, { chain: app.app.service('onchain').chains.of('ethereum') })
}

const failure = async (work: Promise<unknown>): Promise<{ code: string; status: number; message: string }> =>
  work.then(
    () => assert.fail('it was answered'),
    (error: unknown) => error as { code: string; status: number; message: string },
  )

anyEngine((engine) => {
  const suite = endOfSuite()
  let node: TestNode
  let first: RpcProxy
  let second: RpcProxy

  before(async () => {
    node = await startTestNode(suite)
    first = await startRpcProxy(suite, node.url)
    second = await startRpcProxy(suite, node.url)
  })
  beforeEach(() => {
    for (const proxy of [first, second]) {
      proxy.heal()
      proxy.forget()
    }
  })

  const blockNumber = ({ chain }: Served): Promise<string> => chain.rpc.call<string>('eth_blockNumber')

  test('nodes are asked in their order, and the next one where one gives no answer', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: `${first.url},${second.url}` })
    assert.equal(await blockNumber(app), '0x0')
    assert.equal(second.requests(), 0)
    for (const fault of [
      { drop: 'before' },
      { drop: 'after' },
      { status: 429 },
      { status: 500 },
      { error: { code: -32_005, message: 'daily request count exceeded' } },
      { answer: () => ({ nothing: true }) as never },
    ] as const) {
      const heal = first.fault({ method: 'eth_blockNumber', ...fault })
      assert.equal(await blockNumber(app), '0x0')
      assert.equal(second.calls('eth_blockNumber'), 1, JSON.stringify(fault))
      heal()
      second.forget()
      first.forget()
      assert.equal(await blockNumber(app), '0x0')
      assert.equal(first.calls('eth_blockNumber'), 0, 'one that failed is asked last for a while')
      app.clock.advance(11_000)
      assert.equal(await blockNumber(app), '0x0')
      assert.equal(first.calls('eth_blockNumber'), 1)
      second.forget()
    }
  })

  test('a node that hangs is given up in time for the next one', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: `${first.url},${second.url}` })
    await blockNumber(app)
    first.fault({ hang: true })
    const asked = blockNumber(app)
    assert.equal(await app.clock.through(asked, () => first.calls('eth_blockNumber')), '0x0')
    // It costs nobody a wait again before it has answered: only a probe waits for it.
    for (let time = 0; time < 3; time++) {
      app.clock.advance(11_000)
      const begun = app.clock.elapsed()
      assert.equal(await blockNumber(app), '0x0')
      // 40 % of the twelve seconds of a call is what the first node may take.
      assert.ok(app.clock.elapsed() - begun < 4_800)
      app.clock.advance(5_000)
    }
    first.heal()
    app.clock.advance(11_000)
    await blockNumber(app)
    // It is asked first again once a probe was answered, which may be a moment after the call that began it.
    const until = Date.now() + 5_000
    const isFirst = (): boolean => first.calls('eth_blockNumber') > 0 && second.calls('eth_blockNumber') === 0
    do {
      assert.ok(Date.now() < until, 'it is asked first again')
      await delay(10)
      app.clock.advance(1_000)
      first.forget()
      second.forget()
      assert.equal(await blockNumber(app), '0x0')
    } while (!isFirst())
  })

  test('where no node answers it is a PROVIDER_ERROR that names the hosts only', async (t) => {
    const secret = 'k3y0fth3n0d3'
    const [port, other] = [await freePort(), await freePort()]
    const app = await serve(t, engine, {
      ETHEREUM_RPC_URL: `http://user:${secret}@127.0.0.1:${port}/v2/${secret},http://127.0.0.1:${other}/?key=${secret}`,
    })
    const error = await failure(blockNumber(app))
    assert.equal(error.code, 'PROVIDER_ERROR')
    assert.equal(error.status, 502)
    assert.match(error.message, new RegExp(`ethereum.*127\\.0\\.0\\.1:${port}.*127\\.0\\.0\\.1:${other}`))
    const { body, status, text } = await app.request('GET', '/onchain/health')
    assert.equal(status, 200)
    assert.deepEqual(body.chains.ethereum, { status: 'unhealthy', blockNumber: 0 })
    assert.equal(body.status, 'unhealthy')
    for (const output of [JSON.stringify(error), error.message, text, app.log()])
      assert.doesNotMatch(output, new RegExp(`${secret}|user:`))
    assert.match(app.log(), /no node of a chain answers/)
  })

  test('a chain on which nothing can be sent is not healthy, and says why', async (t) => {
    const node = await startTestNode(t, { arguments: ['--hardfork', 'berlin'] })
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: node.url })
    const { status, chains } = (await app.request('GET', '/onchain/health')).body
    const reason = 'nothing can be sent: its blocks have no base fee (EIP-1559)'
    assert.deepEqual(
      [status, chains.ethereum],
      ['unhealthy', { status: 'unhealthy', blockNumber: 0, reason }],
    )
    const { token } = await app.register()
    const { _id, address } = (await app.request('POST', '/onchain/wallets', { token, body: {} })).body
    const sent = await app.request('POST', '/onchain/transactions', {
      token,
      body: { walletId: _id, to: address, value: '0' },
    })
    assert.deepEqual([sent.status, sent.body.error.code], [422, 'UNSUPPORTED_CHAIN'], sent.text)
  })

  test('what a node says is shown without addresses and long values', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: first.url })
    first.fault({
      method: 'eth_blockNumber',
      error: {
        code: -32_000,
        message: `failed at https://node.example/v2/key: 0x${'ab'.repeat(40)}\nnext line`,
      },
    })
    const { message } = await failure(blockNumber(app))
    assert.match(message, /eth_blockNumber: failed at its address … next line/)
  })

  test('what a node says is shown without the key that is in its address', async (t) => {
    const message =
      'the key k3y0fth3n0d3 of p@ssw0rdp@ssw0rd is unknown (127.0.0.1/v2/k3y0fth3n0d3?q=qu3rys3cr3t)'
    const { port } = await startScriptedServer(t, ({ body }, response) => {
      const { id } = JSON.parse(body)
      json(response, 200, { jsonrpc: '2.0', id, error: { code: -32_000, message } })
    })
    const app = await serve(t, engine, {
      ETHEREUM_RPC_URL: `http://ada:p%40ssw0rdp%40ssw0rd@127.0.0.1:${port}/v2/k3y0fth3n0d3?q=qu3rys3cr3t`,
    })
    const error = await failure(blockNumber(app))
    for (const output of [JSON.stringify(error), error.message, app.log()])
      assert.doesNotMatch(output, /k3y0f|ssw0rd|qu3ry/)
  })

  test('credentials of an address are sent as a header, and a node that takes no batches is asked one by one', async (t) => {
    let refused = 0
    const authorizations = new Set<string | undefined>()
    async function answer({ headers, body }: ScriptedRequest, response: ServerResponse): Promise<void> {
      authorizations.add(headers.authorization)
      if (Array.isArray(JSON.parse(body))) {
        refused++
        return json(response, 200, {
          jsonrpc: '2.0',
          id: null,
          error: { code: -32_600, message: 'no batches' },
        })
      }
      const { method, params, id } = JSON.parse(body)
      json(response, 200, { jsonrpc: '2.0', id, result: await node.call(method, params) })
    }
    const { port } = await startScriptedServer(t, (asked, response) => void answer(asked, response))
    const host = `127.0.0.1:${port}`
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: `http://ada:se%40cret@${host}/` })
    for (let round = 0; round < 2; round++) {
      const answers = await app.chain.rpc.batch(
        Array.from({ length: 25 }, () => ({ method: 'eth_blockNumber' })),
      )
      assert.deepEqual(
        answers,
        Array.from({ length: 25 }, () => ({ result: '0x0' })),
      )
    }
    assert.equal(refused, 1, 'only the first batch is tried')
    assert.deepEqual([...authorizations], [`Basic ${Buffer.from('ada:se@cret').toString('base64')}`])
    assert.deepEqual(app.chain.rpc.hosts, [host])
  })

  test('a node that refused a batch gets one again later, and a limit of calls is no such refusal', async (t) => {
    let requests = 0
    let answer: { status: number; error: object } | undefined
    async function serveCalls({ body }: ScriptedRequest, response: ServerResponse): Promise<void> {
      requests++
      const calls = JSON.parse(body)
      if (Array.isArray(calls) && answer)
        return json(response, answer.status, { jsonrpc: '2.0', id: null, error: answer.error })
      const results = await Promise.all(
        [calls].flat().map(async ({ id, method, params }) => ({
          jsonrpc: '2.0',
          id,
          result: await node.call(method, params),
        })),
      )
      json(response, 200, Array.isArray(calls) ? results : results[0])
    }
    const { port } = await startScriptedServer(t, (asked, response) => void serveCalls(asked, response))
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: `http://127.0.0.1:${port}/` })
    async function requestsOfBatch(): Promise<number> {
      requests = 0
      const calls = Array.from({ length: 5 }, () => ({ method: 'eth_blockNumber' }))
      assert.equal((await app.chain.rpc.batch(calls)).length, 5)
      return requests
    }
    await requestsOfBatch()
    for (const overload of [
      { status: 200, error: { code: -32_005, message: 'rate limit exceeded' } },
      { status: 429, error: { code: -32_000, message: 'too many requests' } },
      { status: 503, error: { code: -32_603, message: 'try again' } },
    ]) {
      answer = overload
      assert.match((await failure(requestsOfBatch())).message, new RegExp(overload.error.message))
      answer = undefined
      await app.chain.head({ isFresh: true })
      assert.equal(await requestsOfBatch(), 1, JSON.stringify(overload))
    }
    for (const refusal of [
      { status: 400, error: { code: -32_600, message: 'invalid request' } },
      { status: 429, error: { code: -32_005, message: 'batch size limit exceeded' } },
    ]) {
      answer = refusal
      assert.equal(await requestsOfBatch(), 6)
      answer = undefined
      assert.equal(await requestsOfBatch(), 5)
      app.clock.advance(600_000)
      await app.chain.head({ isFresh: true })
      assert.equal(await requestsOfBatch(), 1)
    }
  })

  test('answers in another order belong to their calls', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: first.url })
    first.fault({ reverse: true })
    const [id, number] = await app.chain.rpc.batch([{ method: 'eth_chainId' }, { method: 'eth_blockNumber' }])
    assert.equal(Number(id!.result), node.chainId)
    assert.equal(number!.result, '0x0')
  })

  test('an error of the node is the answer of its call, with the data of a revert wherever it stands', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: first.url })
    for (const data of [
      '0x08c379a0',
      { data: '0x08c379a0' },
      { originalError: { data: '0x08c379a0' } },
      'Reverted 0x08c379a0',
    ]) {
      const heal = first.fault({
        method: 'eth_call',
        error: { code: 3, message: 'execution reverted', data },
      })
      const [answer] = await app.chain.rpc.batch([{ method: 'eth_call', params: [{}, 'latest'] }])
      assert.deepEqual(answer, { error: { code: 3, message: 'execution reverted', data: '0x08c379a0' } })
      heal()
    }
  })

  test('an address that cannot be read stops the start, and nothing of it is shown', async (t) => {
    for (const address of [
      'wss://node.example/v2/k3y0fth3n0d3',
      'https://no host/v2/k3y0fth3n0d3',
      'https://node.example:99999/v2/k3y0fth3n0d3',
      'https://',
      'https://k3y0fth3n0d3:%ss@node.example/',
      'https://node.example/,https://no host/v2/k3y0fth3n0d3',
    ])
      await assert.rejects(serve(t, engine, { ETHEREUM_RPC_URL: address }), (error: Error) => {
        assert.equal(error.name, 'StartError')
        assert.match(error.message, /ETHEREUM_RPC_URL/)
        assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /k3y0fth3n0d3/)
        return true
      })
  })
})

someEngine((engine) => {
  const suite = endOfSuite()
  let node: TestNode
  let other: TestNode
  let proxy: RpcProxy

  before(async () => {
    node = await startTestNode(suite)
    other = await startTestNode(suite, { chainId: 77_000_002 })
    proxy = await startRpcProxy(suite, node.url)
  })
  beforeEach(() => proxy.heal())

  test('the chain id of the first contact is kept, and a node of another one is not believed', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: proxy.url })
    assert.deepEqual(await app.chain.head().then(({ number }) => number), 0)
    const { databaseUrl } = app.app.settings
    await app.stop()
    const again = await serve(t, engine, { ETHEREUM_RPC_URL: other.url }, databaseUrl)
    const { message, code } = await failure(again.chain.head())
    assert.equal(code, 'PROVIDER_ERROR')
    assert.match(message, /is of the chain id 77000002, not 77000001 as at the first contact/)
    const { body } = await again.request('GET', '/onchain/health')
    assert.deepEqual(body.chains.ethereum, { status: 'unhealthy', blockNumber: 0 })
    await again.stop()
    const named = await serve(
      t,
      engine,
      { ETHEREUM_RPC_URL: other.url, ETHEREUM_ID: '77000002' },
      databaseUrl,
    )
    assert.equal((await named.chain.identity()).chainId, 77_000_001)
    await named.chain.head()
    assert.equal(
      (await named.chain.identity()).chainId,
      77_000_002,
      'the configuration says that it is another',
    )
  })

  test('a node of another chain than the configuration says is passed over', async (t) => {
    const app = await serve(t, engine, {
      ETHEREUM_RPC_URL: `${other.url},${node.url}`,
      ETHEREUM_ID: '77000001',
    })
    assert.equal(await app.chain.rpc.call('eth_chainId'), `0x${(77_000_001).toString(16)}`)
  })

  test('a node that turns to another chain later is noticed', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: proxy.url, ETHEREUM_ID: '77000001' })
    await app.chain.head()
    proxy.fault({ method: 'eth_chainId', lie: () => '0x1' })
    app.clock.advance(61_000)
    assert.match((await failure(app.chain.head())).message, /is of the chain id 1, not 77000001/)
  })

  test('a node that lags behind what was seen is passed over', async (t) => {
    const app = await serve(t, engine, { ETHEREUM_RPC_URL: `${proxy.url},${node.url}` })
    const old = await node.call('eth_getBlockByNumber', ['latest', false])
    await app.chain.head({ isFresh: true })
    await node.mine(10)
    const head = await app.chain.head({ isFresh: true })
    proxy.fault({
      method: 'eth_getBlockByNumber',
      when: ({ params }) => params?.[0] === 'latest',
      lie: () => old,
    })
    assert.deepEqual(await app.chain.head({ isFresh: true }), head)
  })

  test('in production a chain id is needed, and known ones are checked', async (t) => {
    const production = {
      NODE_ENV: 'production',
      SIXWIRE_SANDBOX: '',
      APP_URL: 'https://shop.example',
    }
    const app = await serve(t, engine, { ...production, ETHEREUM_RPC_URL: node.url })
    assert.match((await failure(app.chain.head())).message, /is of the chain id 77000001, not 1/)
    await assert.rejects(
      startApp(t, engine, {
        config: { onchain: { chains: { polygon: { rpcUrls: [node.url] } } } },
        environment: production,
      }),
      /onchain\.chains\.polygon\.id: set the chain id/,
    )
  })

  test('two names of one chain, which would each give its nonces, stop the start', async (t) => {
    const chains = { backup: { rpcUrls: [node.url], id: 1 }, ethereum: { rpcUrls: [node.url], id: 1 } }
    await assert.rejects(
      startApp(t, engine, { config: { onchain: { chains } } }),
      /onchain\.chains\.backup\.id: 1 is the id of ethereum already/,
    )
    // Outside production, where the id is that of the first contact.
    await assert.rejects(
      startApp(t, engine, {
        environment: {
          ETHEREUM_RPC_URL: `http://127.0.0.1:1,${node.url}`,
          BASE_RPC_URL: `${node.url.toUpperCase().replace('HTTP', 'http')}/`,
        },
      }),
      /BASE_RPC_URL: address 1 of 1 is one of ethereum already: two names of one chain/,
    )
  })

  test('a chain of which settings are known and no node stops the start', async (t) => {
    for (const [environment, chains, line] of [
      [{}, { polygon: { id: 137 } }, /^POLYGON_RPC_URL, or onchain\.chains\.polygon\.rpcUrls: it is not set/],
      [{ ETHEREUM_ID: '1' }, {}, /^ETHEREUM_RPC_URL, or onchain\.chains\.ethereum\.rpcUrls: it is not set/],
      [{ BASE_CONFIRMATIONS: '5' }, {}, /^BASE_RPC_URL/],
      // The sandbox has no node for a chain that has settings of its own.
      [{ ETHEREUM_ID: '1', SIXWIRE_SANDBOX: 'on' }, {}, /^ETHEREUM_RPC_URL/],
    ] as const)
      await refused(t, line, {
        environment: { SIXWIRE_SANDBOX: 'off', ...environment },
        config: { onchain: { chains } },
        standIns: false,
      })
    await assemble(t, { environment: { BASE_CONFIRMATIONS: '5' }, standIns: false })
  })

  test('a token with the symbol of the native coin, or a default chain that does not exist, stops the start', async (t) => {
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    await assert.rejects(serve(t, engine, { ETHEREUM_TOKENS: `ETH=${address}` }), /ETH is the native coin/)
    await assert.rejects(
      serve(t, engine, { DEFAULT_CHAIN: 'etherium' }),
      /DEFAULT_CHAIN: there is no chain "etherium": there are ethereum, arbitrum, base/,
    )
  })
})
