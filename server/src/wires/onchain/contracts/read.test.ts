// What contracts answer, and what is refused before a node is asked.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Address } from '../../../base/hex.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { CONTRACTS } from '../../../testing/contracts.ts'
import { anyEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'

const SOMEBODY = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const MAX = (2n ** 256n - 1n).toString()
const ABI = CONTRACTS.Playground.abi
const ORDER = {
  id: '7',
  buyer: SOMEBODY,
  path: [
    { x: '-1', y: '2' },
    { x: MAX.slice(0, 70), y: '0' },
  ],
  note: 'Grüße 😀\n"quoted"',
}

anyEngine((engine) => {
  describe('a contract', () => {
    let node: TestNode
    let proxy: RpcProxy
    let app: TestApp
    let token: string
    let playground: Address
    let dollar: Address
    let silent: Address
    const ending = endOfSuite()

    before(async () => {
      node = await startTestNode(ending)
      proxy = await startRpcProxy(ending, node.url)
      playground = await node.deploy('Playground')
      dollar = await node.deploy('Token', ['Dollar', 'USDC', 6])
      silent = await node.deploy('SilentToken')
      app = await startApp(ending, engine, {
        config: { onchain: { chains: { ethereum: { rpcUrls: [proxy.url] } } } },
      })
      ;({ token } = await app.register())
    })

    const call = (body: object) =>
      app.request('POST', '/onchain/contracts/read', {
        token,
        body: { address: playground, abi: ABI, ...body },
      })

    async function read(method: string, args: readonly unknown[] = [], more: object = {}): Promise<string> {
      const { status, body, text } = await call({ method, args, ...more })
      assert.equal(status, 200, `${method}: ${text}`)
      assert.equal(body.method, method)
      return body.result as string
    }

    /** The first issue of a refusal. */
    async function refused(body: object): Promise<{ path: string; message: string }> {
      const answered = await call(body)
      assert.deepEqual(
        [answered.status, answered.body?.error?.code],
        [400, 'VALIDATION_ERROR'],
        answered.text,
      )
      return answered.body.error.details.issues[0]
    }

    const ECHOES: [method: string, value: unknown, result?: string][] = [
      ['echoUint', MAX],
      ['echoUint', 0, '0'],
      ['echoUint', 9_007_199_254_740_991, '9007199254740991'],
      ['echoInt', `-${2n ** 255n}`],
      ['echoUint8', '255'],
      ['echoInt8', -128, '-128'],
      ['echoBool', true, 'true'],
      ['echoBool', false, 'false'],
      ['echoAddress', SOMEBODY],
      ['echoAddress', SOMEBODY.toLowerCase(), SOMEBODY],
      ['echoString', 'a "text"\n\ufeff😀'],
      ['echoString', '\ufeffwith a byte order mark'],
      ['echoString', ''],
      ['echoBytes', '0x'],
      ['echoBytes', '0x00ABcd', '0x00abcd'],
      ['echoBytes4', '0x00000001'],
      ['echoBytes32', `0x${'ab'.repeat(32)}`],
      ['echoLevel', 2, '2'],
      ['echoList', [], '[]'],
      ['echoList', ['1', 2, MAX], `["1","2","${MAX}"]`],
      ['echoPair', ['1', '2'], '["1","2"]'],
      ['echoNested', [[], ['1'], ['2', '3']], '[[],["1"],["2","3"]]'],
      [
        'echoMatrix',
        [
          [1, -2],
          [3, 4],
          [5, 6],
        ],
        '[["1","-2"],["3","4"],["5","6"]]',
      ],
      ['echoStrings', ['a', ''], '["a",""]'],
      ['echoPoint', { y: '2', x: '-1' }, '{"x":"-1","y":"2"}'],
      ['echoPoint', ['-1', '2'], '{"x":"-1","y":"2"}'],
      ['echoOrder', ORDER, JSON.stringify(ORDER)],
      ['echoOrders', [ORDER, { ...ORDER, path: [] }], JSON.stringify([ORDER, { ...ORDER, path: [] }])],
    ]
    for (const [method, value, result = value as string] of ECHOES)
      test(`${method} answers ${JSON.stringify(value).slice(0, 40)}`, async () => {
        assert.equal(await read(method, [value]), result)
      })

    test('answers several outputs as a list, or by their names if all have one', async () => {
      assert.equal(await read('nothing'), '')
      assert.equal(await read('several'), `["${MAX}","0x000000000000000000000000000000000000bEEF",true]`)
      assert.equal(await read('partlyNamed'), '["1","two"]')
      assert.equal(await read('named'), `{"total":"2","position":{"x":"-1","y":"3"},"parts":["1","${MAX}"]}`)
    })

    test('finds overloads by the number of arguments, or by the signature', async () => {
      assert.equal(await read('sum', ['1']), '1')
      assert.equal(await read('sum', ['1', '2']), '3')
      assert.equal(await read('kindOf(address)', [SOMEBODY]), 'address')
      assert.equal(await read('kindOf( uint )', ['1']), 'uint256')
      const { path, message } = await refused({ method: 'kindOf', args: ['1'] })
      assert.equal(path, '/body/method')
      assert.match(message, /kindOf\(uint256\), kindOf\(address\)|kindOf\(address\), kindOf\(uint256\)/)
      assert.equal(await read('echoOrders((uint256,address,(int256,int256)[],string)[])', [[]]), '[]')
    })

    test('is read by the name of a standard interface, in any case', async () => {
      await node.send(dollar, 'Token', 'mint', [SOMEBODY, 1_500_000n])
      const erc20 = { address: dollar, abi: 'ERC20' }
      assert.equal(await read('balanceOf', [SOMEBODY], erc20), '1500000')
      assert.equal(await read('symbol', [], { ...erc20, abi: 'erc20' }), 'USDC')
      assert.equal(await read('decimals', undefined, erc20), '6')
      const nft = await node.deploy('EnumerableNft')
      const isErc721 = { address: nft, abi: 'Erc721' }
      assert.equal(await read('supportsInterface', ['0x80ac58cd'], isErc721), 'true')
      assert.equal(await read('supportsInterface', ['0xffffffff'], { ...isErc721, abi: 'erc165' }), 'false')
      assert.equal(await read('totalSupply', [], isErc721), '0')
      const { message } = await refused({ ...erc20, abi: 'erc777', method: 'x' })
      assert.match(message, /erc20, erc721, erc1155, erc165/)
    })

    test('may answer nothing where ERC-20 says bool, as USDT does', async () => {
      assert.equal(await read('transfer', [SOMEBODY, '0'], { address: silent, abi: 'erc20' }), '')
    })

    test('that is none is refused: there is no code at the address', async () => {
      for (const method of ['balanceOf', 'transfer']) {
        const args = [SOMEBODY, '0'].slice(0, method === 'balanceOf' ? 1 : 2)
        const { path, message } = await refused({ address: SOMEBODY, abi: 'erc20', method, args })
        assert.deepEqual([path, message], ['/body/address', 'is not the address of a contract on ethereum'])
      }
    })

    test('that answers otherwise than the ABI says is refused', async () => {
      const abi = (type: string) => [
        { type: 'function', name: 'several', outputs: [{ type }], stateMutability: 'view' },
      ]
      for (const type of [
        'uint8',
        'address',
        'bytes4',
        'string',
        'bytes',
        'uint256[]',
        'bool',
        'uint256[9]',
      ]) {
        const { path, message } = await refused({ abi: abi(type), method: 'several' })
        assert.equal(path, '/body/abi', type)
        assert.match(message, /does not fit the contract: this ABI says otherwise of several\(\)/)
      }
      // A contract that takes any call, and answers nothing.
      const anything = await node.deploy({ abi: [], bytecode: '0x60018060095f395ff300' })
      const { message } = await refused({
        address: anything,
        abi: 'erc20',
        method: 'balanceOf',
        args: [SOMEBODY],
      })
      assert.match(message, /nothing at all/)
    })

    test('that reverts is a 422 with its reason', async () => {
      const reverts: [method: string, args: unknown[], reason: string | RegExp][] = [
        ['failWithString', ['not yours'], 'not yours'],
        ['failWithError', ['5', '3'], 'TooMuch(5, 3)'],
        ['failWithOwnable', [], /^OwnableUnauthorizedAccount/],
        ['failWithoutData', [], 'no reason given'],
        ['failWithUnknownError', [], /0xdeadbeef/],
        ['failWithAssert', [], /assertion/],
        ['failWithOverflow', ['1'], /overflow/],
        ['failWithGas', [], /./],
      ]
      for (const [method, args, reason] of reverts) {
        const { status, body, text } = await call({ method, args })
        assert.deepEqual([status, body?.error?.code], [422, 'CONTRACT_REVERTED'], text)
        if (typeof reason === 'string') assert.equal(body.error.details.reason, reason)
        else assert.match(body.error.details.reason, reason)
      }
    })

    test('that needs more memory or gas than there is is a 422 as well', async () => {
      const code: [what: string, bytecode: `0x${string}`][] = [
        // Reads a word at 2^64 - 1, at 2^30, and at 2^255.
        ['an impossible offset', '0x67ffffffffffffffff51'],
        ['a gibibyte', '0x634000000051'],
        ['an offset of no number', `0x7f80${'00'.repeat(31)}51`],
      ]
      for (const [at, [what, bytecode]] of code.entries()) {
        const address = `0x00000000000000000000000000000000000c1de${at}` as const
        await node.client.setCode({ address, bytecode })
        const { status, body, text } = await call({ address, abi: 'erc20', method: 'totalSupply', args: [] })
        assert.deepEqual([status, body?.error?.code], [422, 'CONTRACT_REVERTED'], `${what}: ${text}`)
      }
      // What nodes answer: https://github.com/ethereum/go-ethereum/blob/master/core/vm/errors.go, and those of revm.
      for (const message of [
        'gas uint64 overflow',
        'out of gas',
        'EVM error MemoryOOG',
        'EVM error: MemoryLimitOOG',
        'InvalidOperandOOG',
      ]) {
        proxy.fault({ method: 'eth_call', error: { code: -32_000, message } })
        const { status, text } = await call({ method: 'echoUint', args: ['1'] })
        assert.equal(status, 422, text)
        proxy.heal()
      }
    })

    test('is read in one request to the node', async () => {
      await read('echoUint', ['1'])
      proxy.forget()
      for (let time = 0; time < 5; time++) await read('echoUint', ['1'])
      assert.equal(proxy.requests(), 5)
    })

    const ARGUMENTS: [method: string, args: unknown[], path: string, message: RegExp][] = [
      ['echoUint', [], '/body/args', /has 0 elements, which does not fit echoUint\(uint256\)/],
      ['echoUint', ['1', '2'], '/body/args', /has 2 elements/],
      ['sum', [1, 2, 3], '/body/args', /sum\(uint256\), sum\(uint256,uint256\)/],
      ['echoUint', [String(2n ** 256n)], '/body/args/0', /out of range: uint256 is from 0 to/],
      ['echoUint', ['9'.repeat(100)], '/body/args/0', /whole number/],
      ['echoUint', ['-1'], '/body/args/0', /out of range/],
      ['echoInt', [String(2n ** 255n)], '/body/args/0', /out of range/],
      ['echoUint8', ['256'], '/body/args/0', /uint8 is from 0 to 255/],
      ['echoInt8', [-129], '/body/args/0', /int8 is from -128 to 127/],
      ['echoLevel', ['256'], '/body/args/0', /out of range/],
      ...['1e18', '1.5', '0x10', ' 1', '+1', '01', '', '١', true, null, 1.5, 2 ** 60, ['1'], { a: 1 }].map(
        (value): [string, unknown[], string, RegExp] => [
          'echoUint',
          [value],
          '/body/args/0',
          /whole number|send it as a string/,
        ],
      ),
      ['echoBool', ['true'], '/body/args/0', /true or false/],
      ['echoBool', [1], '/body/args/0', /true or false/],
      ['echoString', [1], '/body/args/0', /string/],
      ['echoAddress', [SOMEBODY.slice(0, -1)], '/body/args/0', /40 hexadecimal digits/],
      ['echoAddress', [SOMEBODY.replace('aA', 'Aa')], '/body/args/0', /checksum/],
      ['echoAddress', ['vitalik.eth'], '/body/args/0', /40 hexadecimal digits/],
      ['echoBytes', ['0x1'], '/body/args/0', /even number/],
      ['echoBytes', ['ff'], '/body/args/0', /0x/],
      ['echoBytes4', ['0x010203'], '/body/args/0', /4 bytes/],
      ['echoBytes32', ['0x'], '/body/args/0', /32 bytes/],
      ['echoList', ['1'], '/body/args/0', /array/],
      ['echoList', [['1', 'x']], '/body/args/0/1', /whole number/],
      ['echoPair', [['1']], '/body/args/0', /2 elements, not 1/],
      ['echoNested', [[['1'], '2']], '/body/args/0/1', /array/],
      ['echoPoint', [{ x: '1' }], '/body/args/0/y', /required/],
      [
        'echoPoint',
        [{ x: '1', y: '2', z: '3' }],
        '/body/args/0/z',
        /no field of this struct, which has x, y/,
      ],
      ['echoPoint', [['1']], '/body/args/0', /2 elements/],
      ['echoPoint', ['1'], '/body/args/0', /object/],
      ['echoPoint', [null], '/body/args/0', /object/],
      ['echoOrder', [{ ...ORDER, path: [{ x: 'a', y: 1 }] }], '/body/args/0/path/0/x', /whole number/],
      ['echoList', [Array.from({ length: 10_001 }, () => 1)], '/body/args', /more than 10000 values/],
      ['echoString', ['x'.repeat(131_073)], '/body/args', /more than 131072 bytes/],
    ]
    for (const [method, args, path, message] of ARGUMENTS)
      test(`${method} refuses ${JSON.stringify(args).slice(0, 40)}`, async () => {
        const issue = await refused({ method, args })
        assert.equal(issue.path, path)
        assert.match(issue.message, message)
      })

    test('lists all arguments that are wrong', async () => {
      const { body } = await call({ method: 'sum', args: ['a', 'b'] })
      assert.deepEqual(
        body.error.details.issues.map(({ path }: { path: string }) => path),
        ['/body/args/0', '/body/args/1'],
      )
    })

    const f = (more: object) => [{ type: 'function', name: 'f', inputs: [], outputs: [], ...more }]
    const input = (more: object) => f({ inputs: [more] })
    const nested = (depth: number): object =>
      depth === 0
        ? { type: 'uint8', name: 'a' }
        : { type: 'tuple', name: 'a', components: [nested(depth - 1)] }
    const ABIS: [what: string, abi: unknown, path: string, args?: unknown[]][] = [
      ['a number', 1, '/body/abi'],
      ['an object', {}, '/body/abi'],
      ['null', null, '/body/abi'],
      ['501 items', Array.from({ length: 501 }, () => f({})[0]), '/body/abi'],
      ['signatures as text', ['function f()'], '/body/abi/0'],
      ['a list', [[]], '/body/abi/0'],
      ['a function without a name', f({ name: undefined }), '/body/abi/0/name'],
      ['a name with a parenthesis', f({ name: 'f(' }), '/body/abi/0/name'],
      ['the prototype as a name', input({ type: 'tuple', name: '__proto__' }), '/body/abi/0/inputs/0/name'],
      ['inputs that are an object', f({ inputs: {} }), '/body/abi/0/inputs'],
      ['outputs that are text', f({ outputs: 'uint256' }), '/body/abi/0/outputs'],
      ['a parameter without a type', input({ name: 'a' }), '/body/abi/0/inputs/0/type'],
      ['a parameter that is text', f({ inputs: ['uint256'] }), '/body/abi/0/inputs/0'],
      ...[
        'uint7',
        'uint264',
        'uint008',
        'bytes0',
        'bytes33',
        'bytes01',
        'fixed128x18',
        'Uint256',
        'uint256[',
        'x',
      ].map((type): [string, unknown, string, unknown[]] => [
        type,
        input({ type }),
        '/body/abi/0/inputs/0/type',
        [1],
      ]),
      ['a list of no elements', input({ type: 'uint8[0]' }), '/body/abi/0/inputs/0/type', [[]]],
      ['a long list', input({ type: 'uint8[99999999999999]' }), '/body/abi/0/inputs/0/type', [[]]],
      ['a deep list', input({ type: `uint8${'[]'.repeat(20)}` }), '/body/abi/0/inputs/0/type', [[]]],
      ['a struct without fields', input({ type: 'tuple' }), '/body/abi/0/inputs/0/type', [{}]],
      ['a deep struct', input(nested(14)), `/body/abi/0/inputs/0${'/components/0'.repeat(13)}/type`, [{}]],
      [
        'many parameters',
        f({ inputs: Array.from({ length: 501 }, () => ({ type: 'uint8' })) }),
        '/body/abi/0/inputs',
        Array.from({ length: 501 }, () => 1),
      ],
    ]
    for (const [what, abi, path, args = []] of ABIS)
      test(`is not called by an ABI that is or has ${what}`, async () => {
        assert.equal((await refused({ abi, method: 'f', args })).path, path)
      })

    test('is not called by a name that the ABI does not have', async () => {
      for (const method of [
        'echoUin',
        'constructor',
        'toString',
        '__proto__',
        '(',
        '()',
        'receive',
        ' ',
        'a b',
      ]) {
        const { path, message } = await refused({ method })
        assert.equal(path, '/body/method')
        assert.match(message, /is no function of this ABI/)
      }
      assert.match((await refused({ method: 'echoUint9' })).message, /did you mean/)
      assert.match((await refused({ method: 'sum(string)', args: ['1'] })).message, /sum\(uint256\)/)
    })

    test('is called by an ABI of an old compiler', async () => {
      const abi = [
        {
          constant: true,
          inputs: [{ name: '', type: 'uint' }],
          name: 'echoUint',
          outputs: [{ type: 'uint' }],
          payable: false,
        },
      ]
      assert.equal(await read('echoUint', [1], { abi }), '1')
    })

    test('cannot make the server answer much: what it answers is limited', async () => {
      // Returns 300,000 zero bytes: PUSH3 size, PUSH0, RETURN.
      const large = await node.deploy({ abi: [], bytecode: '0x60068060095f395ff3620493e05ff3' })
      const { message } = await refused({
        address: large,
        abi: 'erc20',
        method: 'balanceOf',
        args: [SOMEBODY],
      })
      assert.match(message, /more than 262144 bytes/)
    })

    test('cannot keep the server busy, nor can a small request', async () => {
      const word = (value: number) => value.toString(16).padStart(64, '0')
      // 3,000 offsets that lead to the same 128 KiB.
      const answer = [32, 3_000, ...Array.from({ length: 3_000 }, () => 32 * 3_000), 131_072].map(word)
      const heal = proxy.fault({
        method: 'eth_call',
        answer: ({ jsonrpc, id }) => ({
          jsonrpc,
          id,
          result: `0x${answer.join('')}${'ab'.repeat(131_072)}`,
        }),
      })
      const components = Array.from({ length: 499 }, (_one, at) => ({ name: `f${at}`, type: 'uint256' }))
      const structs = [{ type: 'function', name: 'f', inputs: [{ name: 'a', type: 'tuple[]', components }] }]
      const bytes = [{ type: 'function', name: 'f', outputs: [{ type: 'bytes[]' }] }]
      const unknown = Object.fromEntries(Array.from({ length: 90_000 }, (_one, at) => [`x${at}`, 1]))
      const begun = process.cpuUsage()
      const paths = [
        await refused({ abi: bytes, method: 'f' }),
        await refused({ abi: structs, method: 'f', args: [Array.from({ length: 9_999 }, () => ({}))] }),
        await refused({ abi: structs, method: 'f', args: [[unknown]] }),
      ].map(({ path }) => path)
      heal()
      assert.deepEqual(paths, ['/body/abi', '/body/args/0/0/f0', '/body/args/0/0/x0'])
      const ms = process.cpuUsage(begun).user / 1_000
      assert.ok(ms < 1_000, `it took ${ms} ms; before there were limits, 3 seconds`)
    })

    test('on a chain that the configuration does not have is refused', async () => {
      assert.equal((await refused({ method: 'nothing', chain: 'solana' })).path, '/body/chain')
      const { status, body } = await call({ method: 'nothing', chain: 'base' })
      assert.deepEqual([status, body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      assert.match(body.error.message, /BASE_RPC_URL/)
    })

    test('whose node answers nonsense is a 502', async () => {
      for (const lie of ['0x1', 'x', null, 1, {}]) {
        const heal = proxy.fault({ method: 'eth_call', lie: () => lie, times: 1 })
        const { status, body, text } = await call({ method: 'nothing' })
        heal()
        assert.deepEqual(
          [status, body.error.code],
          [502, 'PROVIDER_ERROR'],
          `${JSON.stringify(lie)}: ${text}`,
        )
      }
      assert.equal(await read('nothing'), '')
    })

    test('needs a token to be read', async () => {
      const { status } = await app.request('POST', '/onchain/contracts/read', {
        body: { address: playground, abi: ABI, method: 'nothing' },
      })
      assert.equal(status, 401)
    })
  })
})
