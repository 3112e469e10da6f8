import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { parseEther } from 'viem'

import type { Address, Hex } from '../../../base/hex.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { anyEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { startRpcProxy, type RpcProxy } from '../../../testing/rpc-proxy.ts'

const SOMEBODY = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const HOUR_MS = 3_600_000

/** A contract that answers 18 to any call but symbol(). */
const answersSymbol = (code: string): Hex => `0x5f3560e01c6395d89b411460165760125f5260205ff35b${code}`
/** Returns 32 bytes. */
const word = (text: string): string => `7f${Buffer.from(text).toString('hex').padEnd(64, '0')}5f5260205ff3`

anyEngine((engine) => {
  describe('a balance', () => {
    let node: TestNode
    let proxy: RpcProxy
    let app: TestApp
    let token: string
    const ending = endOfSuite()

    before(async () => {
      node = await startTestNode(ending)
      proxy = await startRpcProxy(ending, node.url)
      app = await startApp(ending, engine, {
        config: { onchain: { chains: { ethereum: { rpcUrls: [proxy.url] } } } },
      })
      ;({ key: token } = await app.app.service('auth').keys.create('balances', ['onchain:read']))
    })

    const balance = (address: string, query = '') =>
      app.request('GET', `/onchain/balance/${address}${query}`, { token })

    async function tokenWith(code: Hex): Promise<Address> {
      const address: Address = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex')}`
      await node.call('anvil_setCode', [address, code])
      return address
    }

    test('of the native coin is exact to the wei', async () => {
      const { status, body, text } = await balance(SOMEBODY)
      assert.equal(status, 200, text)
      assert.deepEqual(body, { address: SOMEBODY, balance: '0', symbol: 'ETH', chain: 'ethereum' })
      await node.fund(SOMEBODY, 1n)
      assert.equal((await balance(SOMEBODY)).body.balance, '0.000000000000000001')
      await node.fund(SOMEBODY, parseEther('1.5'))
      assert.equal((await balance(SOMEBODY.toLowerCase())).body.balance, '1.500000000000000001')
      assert.equal((await balance(SOMEBODY.toLowerCase())).body.address, SOMEBODY)
      assert.equal((await balance(SOMEBODY, '?chain=ethereum')).status, 200)
    })

    test('of a token has its symbol and its decimals', async () => {
      const dollar = await node.deploy('Token', ['Dollar', 'USDC', 6])
      await node.send(dollar, 'Token', 'mint', [SOMEBODY, 1_234_560n])
      const { body } = await balance(SOMEBODY, `?token=${dollar}`)
      assert.deepEqual(body, { address: SOMEBODY, balance: '1.23456', symbol: 'USDC', chain: 'ethereum' })
    })

    test('of a token with a fee is what arrived', async () => {
      const fee = await node.deploy('FeeToken')
      await node.send(fee, 'FeeToken', 'mint', [node.accounts[0]!.address, parseEther('100')])
      await node.send(fee, 'FeeToken', 'transfer', [SOMEBODY, parseEther('100')], { from: 0 })
      assert.equal((await balance(SOMEBODY, `?token=${fee}`)).body.balance, '99')
    })

    test('of a token that answers nothing to transfers is as of any other', async () => {
      const silent = await node.deploy('SilentToken')
      await node.send(silent, 'SilentToken', 'mint', [SOMEBODY, 5n])
      const { body } = await balance(SOMEBODY, `?token=${silent}`)
      assert.deepEqual([body.balance, body.symbol], ['0.000005', 'SILENT'])
    })

    test('of a token takes its symbol as old and hostile contracts answer it', async () => {
      const hostile = '60205f525f1960205261ffff5ff3'
      const symbols: [code: string, symbol: string][] = [
        [word('MKR'), 'MKR'],
        [word('two\nlines'), 'two lines'],
        [word(''), ''],
        // 65,535 bytes of a text that says to be 2^256 - 1 bytes long.
        [hostile, ''],
        ['5f5ff3', ''],
        // Reverts.
        ['5f5ffd', ''],
      ]
      for (const [code, symbol] of symbols) {
        const { status, body, text } = await balance(
          SOMEBODY,
          `?token=${await tokenWith(answersSymbol(code))}`,
        )
        assert.equal(status, 200, text)
        assert.deepEqual([body.balance, body.symbol], ['0.000000000000000018', symbol])
      }
    })

    test('of a token whose proxy gets another contract has the new symbol within an hour', async () => {
      const proxied = await tokenWith(answersSymbol(word('OLD')))
      const symbol = async (): Promise<string> =>
        (await balance(SOMEBODY, `?token=${proxied}`)).body.symbol as string
      assert.equal(await symbol(), 'OLD')
      await node.call('anvil_setCode', [proxied, answersSymbol(word('NEW'))])
      assert.equal(await symbol(), 'OLD')
      app.clock.advance(HOUR_MS)
      assert.equal(await symbol(), 'NEW')
    })

    test('of what is no token is refused', async () => {
      const nft = await node.deploy('Nft', ['Cats', 'CAT'])
      const nothing = await tokenWith('0x00')
      const decimals78 = await tokenWith('0x604e5f5260205ff3')
      for (const address of [SOMEBODY, node.accounts[0]!.address, nft, nothing, decimals78]) {
        const { status, body, text } = await balance(SOMEBODY, `?token=${address}`)
        assert.deepEqual([status, body.error.code], [400, 'VALIDATION_ERROR'], text)
        assert.deepEqual(body.error.details.issues, [
          { path: '/query/token', message: 'is not the address of an ERC-20 token on ethereum' },
        ])
      }
    })

    test('is refused for what is no address', async () => {
      const wrong: [address: string, query: string, path: string, message: RegExp][] = [
        [SOMEBODY.replace('aA', 'Aa'), '', '/params/address', /checksum/],
        [SOMEBODY.slice(0, -1), '', '/params/address', /40 hexadecimal digits/],
        [SOMEBODY.slice(2), '', '/params/address', /0x/],
        [SOMEBODY, `?token=${SOMEBODY.replace('aA', 'Aa')}`, '/query/token', /checksum/],
        [SOMEBODY, '?token=USDC', '/query/token', /40 hexadecimal digits/],
        [SOMEBODY, '?chain=solana', '/query/chain', /ethereum, arbitrum, base/],
        [SOMEBODY, '?chain=__proto__', '/query/chain', /ethereum, arbitrum, base/],
      ]
      for (const [address, query, path, message] of wrong) {
        const { status, body, text } = await balance(address, query)
        assert.equal(status, 400, text)
        assert.equal(body.error.details.issues[0].path, path)
        assert.match(body.error.details.issues[0].message, message)
      }
      assert.equal((await balance(SOMEBODY, '?chain=base')).body.error.code, 'PROVIDER_NOT_CONFIGURED')
      assert.equal((await app.request('GET', `/onchain/balance/${SOMEBODY}`)).status, 401)
    })

    test('is a 502 if the node answers an error or nonsense, for tokens too', async () => {
      const dollar = await node.deploy('Token', ['Dollar', 'USDC', 6])
      const busy = { code: -32_603, message: `busy, see https://user:secret@node.example/v2/key` }
      for (const fault of [
        { method: 'eth_getBalance', lie: () => '0x' },
        { method: /eth_(getBalance|call)/, error: busy },
        { method: /eth_(getBalance|call)/, status: 500 },
        { method: /eth_(getBalance|call)/, drop: 'after' },
      ] as const) {
        for (const query of fault.method === 'eth_getBalance' ? [''] : ['', `?token=${dollar}`]) {
          const heal = proxy.fault(fault)
          const { status, body, text } = await balance(SOMEBODY, query)
          heal()
          assert.deepEqual([status, body.error.code], [502, 'PROVIDER_ERROR'], text)
          assert.doesNotMatch(text + app.log(), /secret|v2\/key/)
        }
      }
    })
  })
})
