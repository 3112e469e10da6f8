import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { getAddress } from 'viem'

import { sql } from '../../../db/sql.ts'
import { anyEngine, eachEngine, endOfSuite, someEngine } from '../../../testing/engines.ts'
import { startApp } from '../../../testing/app.ts'
import { startTestNode, type TestNode } from '../../../testing/node.ts'
import { DEPTH, MNEMONIC, startShop } from './requests.fixture.ts'

const HOUR_MS = 3_600_000

describe('a payment request', () => {
  someEngine((engine) => {
    const end = endOfSuite()
    const open = async () => {
      const [node, other] = await Promise.all([
        startTestNode(end),
        startTestNode(end, { chainId: 77_008_453 }),
      ])
      const usdc = await node.deploy('Token', ['USD Coin', 'USDC', 6])
      const fee = await node.deploy('FeeToken')
      const mis = await node.deploy('MisloggingToken')
      const forwarder = await node.deploy('Playground')
      const dai = await node.deploy('Token', ['Dai', 'DAI', 18])
      const [buyer] = node.accounts
      for (const [token, name] of [
        [usdc, 'Token'],
        [dai, 'Token'],
        [fee, 'FeeToken'],
        [mis, 'MisloggingToken'],
      ] as const)
        await node.send(token, name, 'mint', [buyer!.address, 10n ** 24n])
      const shop = await startShop(
        end,
        engine,
        { ethereum: node.url, base: other.url },
        { tokens: { USDC: usdc, FEE: fee, MIS: mis } },
      )
      return { shop, node, other, usdc, fee, mis, dai, forwarder }
    }
    let opening: ReturnType<typeof open> | undefined
    const start = () => (opening ??= open())

    test('is answered as specified, with an address of its own, and its transaction is pending', async () => {
      const { shop } = await start()
      const answered = await shop.call('POST /pay/onchain/payment', {
        amount: '12.50',
        token: 'USDC',
        chain: 'ethereum',
      })
      assert.equal(answered.status, 200, answered.text)
      const { _id, receiverAddress, expiresAt, createdAt, paymentUri, ...rest } = answered.body
      assert.deepEqual(rest, {
        amount: '12500000',
        displayAmount: '12.50',
        token: 'USDC',
        chain: 'ethereum',
        status: 'pending',
        transactionId: _id,
      })
      assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), HOUR_MS)
      assert.match(paymentUri, /^ethereum:0x\w{40}@77000001\/transfer\?address=0x\w{40}&uint256=12500000$/)
      const { receivedAmount, confirmations, transactionHashes, unexpected } = await shop.read(_id)
      assert.deepEqual([receivedAmount, confirmations, transactionHashes, unexpected], ['0', 0, [], []])
      const transaction = await shop.transaction(_id)
      assert.deepEqual(
        [
          transaction.provider,
          transaction.status,
          transaction.amount,
          transaction.displayAmount,
          transaction.currency,
        ],
        ['onchain', 'pending', 12.5, '12.5', 'USDC'],
      )
      assert.notEqual((await shop.request()).receiverAddress, receiverAddress)
    })

    test('of coin is detected, and confirmed once it is deep enough', async () => {
      const { shop, node } = await start()
      const { _id, receiverAddress, amount } = await shop.request('0.000000000000000001')
      assert.equal(amount, 1n)
      const hash = await node.fund(receiverAddress, 1n)
      assert.deepEqual(await shop.statuses(_id, node), ['detected', 'pending'])
      await node.mine(DEPTH - 2)
      assert.deepEqual(await shop.statuses(_id, node), ['detected', 'pending'])
      await node.mine()
      assert.deepEqual(await shop.statuses(_id, node), ['confirmed', 'completed'])
      const { receivedAmount, confirmations, transactionHashes } = await shop.read(_id)
      assert.deepEqual([receivedAmount, confirmations, transactionHashes], ['1', DEPTH, [hash]])
      const { history, displayAmount } = await shop.transaction(_id)
      assert.equal(displayAmount, '0.000000000000000001')
      assert.match(history[1]!.cause, /^block \d+ of ethereum$/)
    })

    test('of a token counts what arrived: a fee on the transfer is topped up', async () => {
      const { shop, node, fee, usdc } = await start()
      const { _id, receiverAddress, amount } = await shop.request('100', 'FEE')
      await node.send(fee, 'FeeToken', 'transfer', [receiverAddress, amount], { from: 0 })
      await node.mine(DEPTH)
      assert.deepEqual(await shop.statuses(_id, node), ['underpaid', 'pending'])
      assert.equal((await shop.read(_id)).receivedAmount, ((amount * 99n) / 100n).toString())
      await node.send(fee, 'FeeToken', 'transfer', [receiverAddress, amount], { from: 0 })
      await node.mine(DEPTH)
      assert.deepEqual(await shop.statuses(_id, node), ['overpaid', 'completed'])
      assert.equal((await shop.transaction(_id)).amount, 100)

      const second = await shop.request('5', 'USDC')
      await node.send(usdc, 'Token', 'transfer', [second.receiverAddress, second.amount], { from: 0 })
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(second._id, node), ['confirmed', 'completed'])
    })

    test('of a token that logs more than it moves counts what the balance has grown by', async () => {
      const { shop, node, mis } = await start()
      const pay = (to: string, value: bigint, how = 'transfer') =>
        node.send(mis, 'MisloggingToken', how, [to, value], { from: 0 })
      const [kept, twice, only] = [
        await shop.request('100', 'MIS'),
        await shop.request('100', 'MIS'),
        await shop.request('100', 'MIS'),
      ]
      await pay(kept.receiverAddress, kept.amount)
      await pay(twice.receiverAddress, twice.amount / 2n, 'transferLoggedTwice')
      await pay(only.receiverAddress, only.amount, 'logOnly')
      await node.mine(DEPTH)
      assert.deepEqual(await shop.statuses(kept._id, node), ['underpaid', 'pending'])
      assert.equal((await shop.read(kept._id)).receivedAmount, ((kept.amount * 98n) / 100n).toString())
      assert.deepEqual(await shop.statuses(twice._id, node), ['underpaid', 'pending'])
      assert.equal((await shop.read(twice._id)).receivedAmount, (twice.amount / 2n).toString())
      assert.deepEqual(await shop.statuses(only._id, node), ['pending', 'pending'])
      await pay(twice.receiverAddress, twice.amount / 2n, 'transferLoggedTwice')
      await node.mine(DEPTH)
      assert.deepEqual(await shop.statuses(twice._id, node), ['confirmed', 'completed'])
    })

    test('that a contract pays is confirmed without a transaction hash', async () => {
      const { shop, node, forwarder } = await start()
      const { _id, receiverAddress, amount } = await shop.request('2')
      await node.send(forwarder, 'Playground', 'forward', [receiverAddress], { from: 0, value: amount / 2n })
      await node.send(forwarder, 'Playground', 'forward', [receiverAddress], { from: 0, value: amount / 2n })
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(_id, node), ['confirmed', 'completed'])
      const { receivedAmount, transactionHashes } = await shop.read(_id)
      assert.deepEqual([receivedAmount, transactionHashes], [amount.toString(), []])
    })

    test('that is paid in another token, or on another chain, shows that and stays pending', async () => {
      const { shop, node, other, dai, usdc } = await start()
      const { _id, receiverAddress } = await shop.request('1')
      await shop.request('1', 'ETH', 'base')
      await node.send(dai, 'Token', 'transfer', [receiverAddress, 7n], { from: 0 })
      await node.send(usdc, 'Token', 'transfer', [receiverAddress, 8n], { from: 0 })
      await other.fund(receiverAddress, 9n)
      await shop.settled(other, 'base')
      assert.deepEqual(await shop.statuses(_id, node), ['pending', 'pending'])
      const { unexpected } = await shop.read(_id)
      const sorted = unexpected.toSorted((one, two) => Number(one.amount) - Number(two.amount))
      assert.deepEqual(sorted, [
        { chain: 'ethereum', token: getAddress(dai), amount: '7' },
        { chain: 'ethereum', token: 'USDC', amount: '8' },
        { chain: 'base', token: 'ETH', amount: '9' },
      ])
    })

    test('that a reorganisation takes back is disputed, and completed once it is paid again', async () => {
      const { shop, node } = await start()
      const { _id, receiverAddress, amount } = await shop.request()
      await node.fund(receiverAddress, amount)
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(_id, node), ['confirmed', 'completed'])
      await node.reorg(DEPTH)
      assert.deepEqual(await shop.statuses(_id, node), ['pending', 'disputed'])
      assert.equal((await shop.transaction(_id)).dispute?.reason, 'reorg')
      await node.fund(receiverAddress, amount)
      assert.deepEqual(await shop.statuses(_id, node), ['detected', 'disputed'])
      await node.mine(DEPTH - 1)
      assert.deepEqual(await shop.statuses(_id, node), ['confirmed', 'completed'])
      const { history } = await shop.transaction(_id)
      assert.deepEqual(
        history.map(({ status }) => status),
        ['pending', 'completed', 'disputed', 'completed'],
      )
      assert.equal(history[2]!.cause, 'reorg')
    })

    for (const [body, path] of [
      [{ amount: '1e18' }, '/body/amount'],
      [{ amount: '-1' }, '/body/amount'],
      [{ amount: '0' }, '/body/amount'],
      [{ amount: '0.0000000000000000001' }, '/body/amount'],
      [{ amount: `1${'0'.repeat(70)}` }, '/body/amount'],
      [{ amount: '0.0000001', token: 'USDC' }, '/body/amount'],
      [{ amount: 1 }, '/body/amount'],
      [{ token: 'usdc' }, '/body/token'],
      [{ token: 'constructor' }, '/body/token'],
      [{ token: undefined }, '/body/token'],
      [{ chain: undefined }, '/body/chain'],
      [{ chain: 'bitcoin' }, '/body/chain'],
    ] as const)
      test(`of ${JSON.stringify(body)} is answered 400`, async () => {
        const { shop } = await start()
        const answered = await shop.call('POST /pay/onchain/payment', {
          amount: '1',
          token: 'ETH',
          chain: 'ethereum',
          ...body,
        })
        assert.equal(answered.status, 400, answered.text)
        assert.equal(answered.body.error.details.issues[0].path, path)
      })

    test('is not found by an unknown id; on a chain without a node it is not configured', async () => {
      const { shop } = await start()
      assert.equal((await shop.call('GET /pay/onchain/payment/nothing')).status, 404)
      const answered = await shop.call('POST /pay/onchain/payment', {
        amount: '1',
        token: 'ETH',
        chain: 'arbitrum',
      })
      assert.deepEqual([answered.status, answered.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      assert.match(answered.body.error.message, /ARBITRUM_RPC_URL/)
    })
  })
})

describe('payment requests', () => {
  const suite = endOfSuite()
  let node: TestNode
  before(async () => {
    node = await startTestNode(suite)
  })

  eachEngine((engine) => {
    test('with the same idempotency key are one; at once, all have addresses of their own', async (t) => {
      const shop = await startShop(t, engine, { ethereum: node.url })
      const body = { amount: '1', token: 'ETH', chain: 'ethereum' }
      const send = () => shop.call('POST /pay/onchain/payment', body, { key: 'again' })
      assert.deepEqual((await send()).body, (await send()).body)
      const many = await Promise.all(Array.from({ length: 20 }, () => shop.request()))
      assert.equal(new Set(many.map(({ receiverAddress }) => receiverAddress)).size, 20)
    })
  })
})

describe('payments on chains', () => {
  anyEngine((engine) => {
    test('are not configured without a mnemonic, and the error names the variable', async (t) => {
      const app = await startApp(t, engine)
      const { token } = await app.register()
      const body = { amount: '1', token: 'ETH', chain: 'ethereum' }
      for (const answered of [
        await app.request('POST', '/pay/onchain/payment', { token, body }),
        await app.request('GET', '/pay/onchain/payment/x', { token }),
      ]) {
        assert.deepEqual([answered.status, answered.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
        assert.match(answered.body.error.message, /PAYMENT_MNEMONIC/)
      }
      const { body: health } = await app.request('GET', '/pay/health')
      assert.equal(health.providers.onchain, 'not_configured')
    })

    for (const [mnemonic, fault] of [
      [MNEMONIC.replace(/\w+$/, 'wave'), /checksum is wrong/],
      [MNEMONIC.replace('wave', 'wawe'), /its word 5 is none of the list/],
      ['chair desk', /12 to 24 words, and has 2/],
    ] as const)
      test(`do not start with ${fault.source}, and the mnemonic is not shown`, async (t) => {
        const started = startApp(t, engine, { environment: { PAYMENT_MNEMONIC: mnemonic } })
        await assert.rejects(started, ({ message }: Error) => {
          assert.match(message, /^PAYMENT_MNEMONIC: /)
          assert.match(message, fault)
          return mnemonic.split(' ').every((word) => !message.split(/\W+/).includes(word))
        })
      })

    test('of others are not found under the policy guarded', async (t) => {
      const node = await startTestNode(t)
      const shop = await startShop(
        t,
        engine,
        { ethereum: node.url },
        { environment: { SIXWIRE_POLICY: 'guarded' } },
      )
      const [owner, other] = [await shop.app.register(), await shop.app.register()]
      await shop.app.app.db.write(sql`update auth_users set email_verified_at = 1`)
      const created = await shop.call(
        'POST /pay/onchain/payment',
        { amount: '1', token: 'ETH', chain: 'ethereum' },
        { token: owner.token },
      )
      assert.equal(created.status, 200, created.text)
      const path = `GET /pay/onchain/payment/${created.body._id}`
      assert.equal((await shop.call(path, undefined, { token: owner.token })).status, 200)
      assert.equal((await shop.call(path, undefined, { token: other.token })).status, 404)
    })
  })
})
