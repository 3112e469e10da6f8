import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { runHere } from '../../../testing/command.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startTestNode } from '../../../testing/node.ts'
import { DEPTH, ETHER, MNEMONIC, startShop } from './requests.fixture.ts'
import type { SweepProgress } from './sweep.ts'

const TREASURY = '0x00000000000000000000000000000000c0ffee00'
const OVER_S = 4_000

describe('a sweep', () => {
  eachEngine((engine) => {
    test('gathers coin and tokens into the treasury once, with gas from a wallet', async (t) => {
      const node = await startTestNode(t)
      const usdc = await node.deploy('Token', ['USD Coin', 'USDC', 6])
      await node.send(usdc, 'Token', 'mint', [node.accounts[0]!.address, 10n ** 12n])
      const databaseUrl = await engine.migratedUrl()
      const open = () =>
        startShop(
          t,
          engine,
          { ethereum: node.url },
          { databaseUrl, tokens: { USDC: usdc }, environment: { TREASURY_ADDRESS: TREASURY } },
        )
      const shop = await open()
      const other = await open()
      const [coin, token, pending] = [
        await shop.request('3'),
        await shop.request('5', 'USDC'),
        await shop.request('1'),
      ]
      await node.fund(coin.receiverAddress, coin.amount)
      await node.send(usdc, 'Token', 'transfer', [token.receiverAddress, token.amount], { from: 0 })
      await node.mine(DEPTH)
      await shop.settled(node)
      const sweep = shop.app.app.service('pay').sweep()
      assert.deepEqual(await sweep.plan(), [], 'a payment may still come')
      for (const one of [shop, other]) one.app.clock.advance(OVER_S * 1000)
      await node.call('evm_increaseTime', [OVER_S])
      await node.mine(DEPTH)
      assert.deepEqual(await shop.statuses(pending._id, node), ['expired', 'expired'])

      const items = await sweep.plan()
      assert.deepEqual(
        items.map(({ symbol, amount, address }) => [symbol, amount, address]),
        [
          ['USDC', token.amount, token.receiverAddress],
          ['ETH', coin.amount, coin.receiverAddress],
        ],
      )
      const options = {
        folder: await temporaryFolder(t),
        environment: {
          DATABASE_URL: databaseUrl,
          SIXWIRE_SECRET: 'a secret of the tests that is long enough',
          ETHEREUM_RPC_URL: node.url,
          ETHEREUM_TOKENS: `USDC=${usdc}`,
          PAYMENT_MNEMONIC: MNEMONIC,
          TREASURY_ADDRESS: TREASURY,
        },
      }
      const { code, output, errors } = await runHere(['pay', 'sweep'], options)
      assert.equal(code, 0, errors)
      assert.match(output, /^ethereum +USDC +1 +5 +0\.\d+ +1$/m)
      assert.match(output, /^ethereum +ETH +1 +3 +0\.\d+ +0$/m)
      assert.match(output, /^Nothing was sent\./m)
      const asJson = JSON.parse((await runHere(['pay', 'sweep', '--json'], options)).output)
      assert.deepEqual([asJson.treasury.toLowerCase(), asJson.transfers, asJson.progress], [TREASURY, 0, []])
      assert.deepEqual(
        asJson.items.map((one: { symbol: string; amount: string }) => [one.symbol, one.amount]),
        items.map(({ symbol, amount }) => [symbol, String(amount)]),
      )
      assert.deepEqual(await sweep.progress(), [])

      const wallet = (await shop.call('POST /onchain/wallets', { name: 'gas' })).body
      await node.fund(wallet.address, ETHER)
      async function gathered(): Promise<readonly SweepProgress[]> {
        for (;;) {
          const progress = await sweep.progress()
          if (progress.every(({ status }) => status === 'failed')) return progress
          await node.mine()
          for (const one of [shop, other]) one.app.clock.advance(2_000)
          await delay(20)
        }
      }
      // What is refused ends, and can be begun again.
      assert.equal(await sweep.begin([{ ...items[0]!, amount: token.amount + 1n }], wallet._id), 1)
      const [refused] = await gathered()
      assert.match(refused!.error!, /ERC20InsufficientBalance|revert/)

      const begun = await Promise.all([
        sweep.begin(items, wallet._id),
        other.app.app.service('pay').sweep().begin(items, wallet._id),
      ])
      assert.equal(begun[0] + begun[1], 2)
      assert.equal((await gathered()).length, 1)
      // What is left is worth less than its transfer.
      assert.ok((await sweep.plan()).every(({ address }) => address !== coin.receiverAddress))
      assert.equal(await node.read(usdc, 'Token', 'balanceOf', [TREASURY]), token.amount)
      const received = await node.client.getBalance({ address: TREASURY })
      assert.ok(received > (coin.amount * 99n) / 100n && received < coin.amount, String(received))

      await shop.settled(node)
      const { unexpected, receivedAmount, status } = await shop.read(token._id)
      assert.deepEqual([unexpected, receivedAmount, status], [[], token.amount.toString(), 'confirmed'])
      assert.equal((await shop.transaction(coin._id)).status, 'completed')
    })
  })
})
