// Calls of contracts by transactions, and what is refused before anything is signed.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { getAddress, parseEther } from 'viem'

import type { Address } from '../../../base/hex.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { CONTRACTS } from '../../../testing/contracts.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'

const SOMEBODY = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

someEngine((engine) => {
  describe('a contract', () => {
    let node: TestNode
    let app: TestApp
    let token: string
    let wallet: { _id: string; address: Address }
    let playground: Address
    const ending = endOfSuite()

    before(async () => {
      node = await startTestNode(ending)
      playground = await node.deploy('Playground')
      app = await startApp(ending, engine, {
        config: { onchain: { chains: { ethereum: { rpcUrls: [node.url], pollMs: 50 } } } },
        environment: { SIXWIRE_POLICY: 'guarded' },
      })
      ;({ token } = await app.register())
      wallet = (await app.request('POST', '/onchain/wallets', { token, body: { name: 'Till' } })).body
      await node.fund(wallet.address, parseEther('10'))
    })

    const write = (body: object, headers: Record<string, string> = {}) =>
      app.request('POST', '/onchain/contracts/write', {
        token,
        body: { address: playground, abi: CONTRACTS.Playground.abi, walletId: wallet._id, ...body },
        headers,
      })

    async function sent(body: object) {
      const { status, body: answer, text } = await write(body)
      assert.equal(status, 200, text)
      const receipt = await node.client.waitForTransactionReceipt({ hash: answer.hash })
      assert.equal(receipt.status, 'success')
      return answer
    }

    test('is called by a transaction, whose hash is answered', async () => {
      const { hash, ...answer } = await sent({ method: 'count' })
      assert.match(hash, /^0x[0-9a-f]{64}$/)
      assert.deepEqual(answer, {
        status: 'pending',
        chain: 'ethereum',
        from: wallet.address,
        to: getAddress(playground),
        value: '0',
        nonce: 0,
      })
      assert.equal(await node.read(playground, 'Playground', 'counter'), 1n)
    })

    test('gets native coin with a payable function', async () => {
      const { value } = await sent({ method: 'deposit', value: '1.000000000000000001' })
      assert.equal(value, '1.000000000000000001')
      assert.equal(
        await node.read(playground, 'Playground', 'deposits', [wallet.address]),
        parseEther('1') + 1n,
      )
    })

    test('of a token transfers, also if it answers nothing', async () => {
      for (const [contract, args] of [
        ['Token', ['Dollar', 'USDC', 6]],
        ['SilentToken', []],
      ] as const) {
        const address = await node.deploy(contract, args)
        await node.send(address, contract, 'mint', [wallet.address, 100n])
        await sent({ address, abi: 'erc20', method: 'transfer', args: [SOMEBODY, '40'] })
        assert.equal(await node.read(address, contract, 'balanceOf', [SOMEBODY]), 40n)
        const over = await write({ address, abi: 'erc20', method: 'transfer', args: [SOMEBODY, '61'] })
        assert.deepEqual([over.status, over.body.error.code], [422, 'CONTRACT_REVERTED'], over.text)
        if (contract === 'Token')
          assert.deepEqual(over.body.error.details.error, 'ERC20InsufficientBalance', over.text)
      }
    })

    test('is called once for one Idempotency-Key', async () => {
      const counter = await node.read(playground, 'Playground', 'counter')
      const key = { 'idempotency-key': 'count-once' }
      const first = await write({ method: 'count' }, key)
      const again = await write({ method: 'count' }, key)
      assert.equal(first.status, 200, first.text)
      assert.deepEqual(again.body, first.body)
      await node.client.waitForTransactionReceipt({ hash: first.body.hash })
      assert.equal(await node.read(playground, 'Playground', 'counter'), (counter as bigint) + 1n)
    })

    test('refuses before anything is signed, and no nonce is used up', async () => {
      const stored = async () =>
        app.app.db.all(sql`select nonce, hash from onchain_transactions order by nonce`)
      const before = await stored()
      const other = await app.register()
      const refusals: [body: object, status: number, code: string, where: RegExp][] = [
        [{ method: 'echoUint', args: ['1'] }, 400, 'VALIDATION_ERROR', /changes nothing.*contracts\/read/],
        [{ method: 'count', value: '1' }, 400, 'VALIDATION_ERROR', /count\(\) is not payable/],
        [{ method: 'setCounter', args: ['-1'] }, 400, 'VALIDATION_ERROR', /\/body\/args\/0/],
        [{ method: 'setCounter', args: [] }, 400, 'VALIDATION_ERROR', /setCounter\(uint256\)/],
        [{ method: 'burn' }, 400, 'VALIDATION_ERROR', /is no function/],
        [{ method: 'count', address: SOMEBODY }, 400, 'VALIDATION_ERROR', /not the address of a contract/],
        [{ method: 'count', address: '0x5a' }, 400, 'VALIDATION_ERROR', /\/body\/address/],
        [{ method: 'count', chain: 'solana' }, 400, 'VALIDATION_ERROR', /ethereum, arbitrum, base/],
        [{ method: 'count', chain: 'base' }, 400, 'PROVIDER_NOT_CONFIGURED', /BASE_RPC_URL/],
        ...['1e18', '-1', '0.0000000000000000001', '', ' 1', '0x1', '9'.repeat(80)].map(
          (value): [object, number, string, RegExp] => [
            { method: 'deposit', value },
            400,
            'VALIDATION_ERROR',
            /\/body\/value/,
          ],
        ),
        [{ method: 'deposit', value: '11' }, 422, 'INSUFFICIENT_FUNDS', /./],
        [{ method: 'count', walletId: 'nobody' }, 404, 'NOT_FOUND', /./],
        [{ method: 'setCounter', args: ['1'] }, 422, 'CONTRACT_REVERTED', /OwnableUnauthorizedAccount/],
        [{ method: 'countFrom', args: ['999'] }, 422, 'CONTRACT_REVERTED', /counter has changed/],
      ]
      for (const [body, status, code, where] of refusals) {
        const answered = await write(body)
        assert.deepEqual([answered.status, answered.body?.error?.code], [status, code], answered.text)
        assert.match(answered.text, where)
      }
      const foreign = await app.request('POST', '/onchain/contracts/write', {
        token: other.token,
        body: { address: playground, abi: CONTRACTS.Playground.abi, method: 'count', walletId: wallet._id },
      })
      assert.equal(foreign.status, 404, foreign.text)
      assert.deepEqual(await stored(), before)
    })
  })
})
