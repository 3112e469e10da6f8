// What becomes of signed transactions when nodes fail, fees rise, blocks vanish and servers stop.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { parseEther, parseGwei } from 'viem'

import type { Address, Hex } from '../../../base/hex.ts'
import { startApp } from '../../../testing/app.ts'
import { runHere } from '../../../testing/command.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../testing/engines.ts'
import { sample } from '../../../testing/long-run.ts'
import { startRpcProxy, type ProxyFault, type RpcProxy } from '../../../testing/rpc-proxy.ts'
import { FAULTS, NOT_FOR_GOOD, refusal, REFUSALS, refuse, SEND } from './nonce-queue.fixture.ts'
import {
  DEPTH,
  eventually,
  eventuallyLater,
  startSending,
  type Sending,
  type Shown,
} from './sending.fixture.ts'

const TO: Address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const STUCK_MS = 60_000
someEngine((engine) => {
  const ending = endOfSuite()
  let chain: Sending
  /** A node that is asked first, and behaves unless a test lets it lie. */
  let first: RpcProxy
  before(async () => {
    first = await startRpcProxy(ending, 'http://127.0.0.1:1')
    chain = await startSending(ending, engine, {
      maxFeeGwei: 100,
      stuckSeconds: STUCK_MS / 1000,
      before: [first.url],
    })
    first.forwardTo(chain.node.url)
  })

  /** Waits for a transaction, or for what replaced it because the clock ran ahead of a busy machine. */
  const minedAt = (hash: Hex): Promise<Shown & { blockNumber: number }> => eventually(() => minedNow(hash))
  const newestOf = async (hash: Hex): Promise<Shown> => {
    const asked = await chain.get(hash)
    return asked.replacedBy ? chain.get(asked.replacedBy) : asked
  }
  const minedNow = async (hash: Hex) => {
    const found = await newestOf(hash)
    return found.blockNumber !== undefined && { ...found, blockNumber: found.blockNumber }
  }
  const sent = async (wallet: { _id: string }): Promise<Hex> => (await chain.sent(wallet, TO, '0.1')).hash
  const balanceOf = (address: Address): Promise<bigint> => chain.node.client.getBalance({ address })
  /** Until the node has it. */
  const inPool = (hash: Hex) =>
    eventually(() => chain.node.client.getTransaction({ hash }).catch(() => undefined))
  /** Until the record says so, too. */
  const recorded = (walletId: string, is: (row: Shown) => boolean): Promise<Shown[]> =>
    eventually(async () => {
      const { transactions } = await chain.list(`walletId=${walletId}`)
      return transactions.every(is) && transactions
    })
  const later = <T>(check: () => Promise<T | undefined | false>, stepMs?: number): Promise<T> =>
    eventuallyLater(chain.app.clock, check, stepMs)

  for (const [name, fault] of sample(Object.entries(FAULTS), 2))
    test(`a transaction is mined once where the only node ${name}`, async () => {
      const wallet = await chain.wallet()
      const heals = [first, chain.proxy].map((proxy) => proxy.fault({ ...fault, method: SEND, times: 3 }))
      const before = await balanceOf(TO)
      const hashes = [await sent(wallet), await sent(wallet)]
      await later(async () => (await balanceOf(TO)) - before === 2n * 10n ** 17n)
      for (const hash of hashes) await minedAt(hash)
      heals.forEach((heal) => heal())
      assert.equal(await chain.node.client.getTransactionCount({ address: wallet.address }), 2)
    })

  test('a node that answers another hash is not believed: the next one gets the transaction', async () => {
    const heal = first.fault({ method: SEND, lie: () => `0x${'11'.repeat(32)}` })
    await minedAt(await sent(await chain.wallet()))
    heal()
  })

  test('a stuck transaction is replaced with higher fees, and both hashes are shown', async () => {
    const { node, app } = chain
    const wallet = await chain.wallet()
    await node.client.setAutomine(false)
    const old = await sent(wallet)
    await inPool(old)
    // What is in no block waits for a base fee that is higher than what it pays.
    const { maxFeePerGas } = await node.client.getTransaction({ hash: old })
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: maxFeePerGas! + parseGwei('1') })
    await node.mine()
    assert.equal((await chain.get(old)).status, 'pending')
    app.clock.advance(STUCK_MS)
    const replaced = await later(async () => {
      const found = await chain.get(old)
      return found.status === 'replaced' && found
    })
    const newest = replaced.replacedBy!
    await inPool(newest)
    const version = await node.client.getTransaction({ hash: newest })
    assert.ok(version.maxFeePerGas! * 8n >= maxFeePerGas! * 9n)
    await node.client.setAutomine(true)
    await node.mine(DEPTH)
    const mined = await minedAt(newest)
    assert.equal(mined.nonce, 0)
    assert.equal((await chain.get(old)).replacedBy, newest)
    const [row, ...others] = await recorded(wallet._id, ({ blockNumber }) => blockNumber !== undefined)
    assert.equal(row!.hash, newest)
    assert.equal(others.length, 0)
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('1') })
    await node.mine()
  })

  test('after a rise of the base fee all that pay less are replaced together', async () => {
    const { node, app } = chain
    const wallet = await chain.wallet()
    await node.client.setAutomine(false)
    const hashes: Hex[] = []
    for (let n = 0; n < 8; n++) hashes.push(await sent(wallet))
    for (const hash of hashes) await inPool(hash)
    const { maxFeePerGas } = await node.client.getTransaction({ hash: hashes[0]! })
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: maxFeePerGas! + parseGwei('1') })
    await node.mine()
    // It is sent again before it is taken to be stuck.
    const sends = first.calls(SEND)
    app.clock.advance(STUCK_MS / 2)
    await eventually(async () => first.calls(SEND) >= sends + hashes.length)
    app.clock.advance(STUCK_MS / 2 + 1_000)
    const replaced = await eventually(async () => {
      const shown = await Promise.all(hashes.map((hash) => chain.get(hash)))
      return shown.every(({ status }) => status === 'replaced') && shown
    })
    for (const { replacedBy } of replaced) await inPool(replacedBy!)
    await node.client.setAutomine(true)
    await node.mine(DEPTH)
    await recorded(wallet._id, ({ status }) => status === 'confirmed')
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('1') })
    await node.mine()
  })

  for (const message of sample(REFUSALS, 2))
    test(`what every node refuses for good gives its nonce up: ${message}`, async () => {
      const { node } = chain
      const wallet = await chain.wallet()
      const heal = refuse([first, chain.proxy], '0.3', refusal(message))
      const before = await balanceOf(TO)
      const { hash } = await chain.sent(wallet, TO, '0.3')
      const next = await sent(wallet)
      await minedAt(next)
      heal()
      await node.mine(DEPTH)
      const { replacedBy } = await chain.get(hash)
      const cancellation = await chain.get(replacedBy!)
      assert.equal(cancellation.status, 'failed')
      assert.equal(cancellation.reason, `no node takes it: ${message}`)
      await recorded(wallet._id, ({ status }) => status !== 'pending')
      const { transactions } = await chain.list(`walletId=${wallet._id}`)
      assert.deepEqual(
        transactions.map(({ status, value, reason }) => [status, value, reason]),
        [
          ['confirmed', '0.1', undefined],
          ['failed', '0.3', `no node takes it: ${message}`],
        ],
      )
      assert.equal((await balanceOf(TO)) - before, parseEther('0.1'))
    })

  for (const [what, one, two] of sample(NOT_FOR_GOOD, 2))
    test(`what nodes refuse is sent on where ${what}`, async () => {
      const wallet = await chain.wallet()
      const heals = [refuse([first], '0.3', one), refuse([chain.proxy], '0.3', two)]
      const { hash } = await chain.sent(wallet, TO, '0.3')
      const asked = () => first.calls(SEND) + chain.proxy.calls(SEND)
      const begun = asked()
      await later(async () => asked() >= begun + 4, 2_000)
      assert.equal((await newestOf(hash)).status, 'pending')
      heals.forEach((heal) => heal())
      assert.equal((await later(() => minedNow(hash), 2_000)).reason, undefined)
    })

  test('a transaction that a node had is not given up if all nodes refuse it later', async () => {
    const { node } = chain
    const wallet = await chain.wallet()
    await node.client.setAutomine(false)
    const { hash } = await chain.sent(wallet, TO, '0.3')
    await inPool(hash)
    await node.client.dropTransaction({ hash })
    const heal = refuse([first, chain.proxy], '0.3', refusal(REFUSALS[0]!))
    const begun = first.calls(SEND)
    await later(async () => first.calls(SEND) > begun + 2, 1_000)
    assert.equal((await newestOf(hash)).status, 'pending')
    heal()
    await node.client.setAutomine(true)
    assert.equal((await later(() => minedNow(hash), 2_000)).reason, undefined)
  })

  describe('an operator', () => {
    /** A transaction that waits in the pool. */
    async function pending(): Promise<{ wallet: { _id: string; address: Address }; hash: Hex }> {
      const wallet = await chain.wallet()
      await chain.node.client.setAutomine(false)
      const { hash } = await chain.sent(wallet, TO, '0.3')
      await inPool(hash)
      return { wallet, hash }
    }
    const act = async (hash: Hex, action: 'cancel' | 'speed-up', token?: string, app = chain.app) => {
      const { key } = await chain.app.app.service('auth').keys.create('desk', ['onchain:transactions'])
      return app.request('POST', `/onchain/transactions/${hash}/${action}`, { token: token ?? key })
    }
    /** Mines what waits, and answers what is shown of a hash then. */
    async function settled(hash: Hex): Promise<Shown> {
      await chain.node.client.setAutomine(true)
      await chain.node.mine(DEPTH)
      return eventually(async () => {
        const found = await chain.get(hash)
        return found.status !== 'pending' && found
      })
    }

    test('cancels, from two replicas at once: one transfer of nothing takes the nonce', async (t) => {
      const { node, app } = chain
      const other = await startApp(t, engine, { ...chain.options, clock: app.clock })
      const { wallet, hash } = await pending()
      const before = await balanceOf(TO)
      const answers = await Promise.all([
        act(hash, 'cancel'),
        act(hash, 'cancel', undefined, other),
        act(hash, 'cancel'),
      ])
      for (const { status, text } of answers) assert.equal(status, 200, text)
      const waiting = await chain.get(hash)
      assert.equal(waiting.status, 'replaced')
      const newest = waiting.replacedBy!
      const { to, value, nonce } = await inPool(newest)
      assert.deepEqual([to, value, nonce], [wallet.address.toLowerCase(), 0n, 0])
      assert.equal((await chain.get(newest)).reason, 'cancelled by an operator')
      const settledTransaction = await settled(newest)
      assert.deepEqual(
        [settledTransaction.status, settledTransaction.reason],
        ['failed', 'cancelled by an operator'],
      )
      assert.equal(await balanceOf(TO), before)
      assert.equal((await act(hash, 'cancel')).status, 409)
      assert.equal((await chain.sent(wallet, TO, '0.1')).nonce, 1)
      const [, first] = await recorded(wallet._id, ({ nonce: at, status }) => at > 0 || status !== 'pending')
      assert.equal(first!.status, 'failed')
      await eventually(async () => (await node.client.getTransactionCount({ address: wallet.address })) === 2)
    })

    test('cancels too late: what was mined instead is confirmed', async () => {
      const { wallet, hash } = await pending()
      const heals = [first, chain.proxy].map((proxy) => proxy.fault({ method: SEND, drop: 'before' }))
      assert.equal((await act(hash, 'cancel')).status, 200)
      const settledTransaction = await settled(hash)
      heals.forEach((heal) => heal())
      assert.deepEqual([settledTransaction.status, settledTransaction.reason], ['confirmed', undefined])
      const [row] = await recorded(wallet._id, ({ status }) => status === 'confirmed')
      assert.deepEqual([row!.hash, row!.reason], [hash, undefined])
    })

    test('speeds up, and a cancellation stays one', async () => {
      const { hash } = await pending()
      const old = await inPool(hash)
      const version = await inPool((await act(hash, 'speed-up')).body.hash)
      assert.ok(version.maxFeePerGas! * 8n >= old.maxFeePerGas! * 9n)
      assert.deepEqual([version.value, version.to], [parseEther('0.3'), TO.toLowerCase()])
      const cancelled = (await act(hash, 'cancel')).body.hash
      const fastest = (await act(cancelled, 'speed-up')).body.hash
      assert.equal((await inPool(fastest)).value, 0n)
      assert.equal((await settled(fastest)).status, 'failed')
    })

    test('must be one, and the transaction one of this server', async () => {
      const { hash } = await pending()
      const { key } = await chain.app.app.service('auth').keys.create('other', ['onchain:read'])
      // The first account is an administrator.
      const { token: user } = await chain.app.register()
      for (const token of [user, key]) {
        const { status, body } = await act(hash, 'cancel', token)
        assert.deepEqual([status, body.error.code], [403, 'FORBIDDEN'])
      }
      assert.equal((await chain.get(hash)).status, 'pending')
      assert.equal((await act(`0x${'12'.repeat(32)}`, 'cancel')).status, 404)
      await settled(hash)
    })

    test('has commands for both, which say what may happen', async (t) => {
      const { hash } = await pending()
      const run = async (...words: string[]) =>
        runHere(['transaction', ...words], {
          folder: await temporaryFolder(t),
          environment: {
            DATABASE_URL: chain.options.databaseUrl!,
            SIXWIRE_SECRET: 'a secret of the tests that is long enough',
            ETHEREUM_RPC_URL: chain.node.url,
          },
        })
      const faster = await run('speed-up', hash)
      assert.match(faster.output, /^0x[\da-f]{64} is stored and will be broadcast with the nonce 0 of 0x/)
      const { code, output, errors } = await run('cancel', hash)
      assert.equal(code, 0, errors)
      assert.match(output, /may still be mined instead: the first one in a block counts\./)
      const newest = /^0x[\da-f]{64}/.exec(output)![0] as Hex
      await later(() => chain.node.client.getTransaction({ hash: newest }).catch(() => undefined), 2_000)
      assert.equal((await settled(newest)).status, 'failed')
      const again = await run('cancel', hash)
      assert.deepEqual([again.code, again.output], [1, ''])
      assert.match(again.errors, /in block \d+ already|is used already/)
    })
  })

  test('at the cap of the fees a stuck transaction stays, with one warning, and is mined later', async () => {
    const { node, app } = chain
    const wallet = await chain.wallet()
    await node.client.setAutomine(false)
    const hash = await sent(wallet)
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('99.9') })
    await node.mine()
    const warnings = (): number => app.log().split('is not replaced').length - 1
    const warningsBefore = warnings()
    await later(async () => {
      await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('150') })
      await node.mine()
      return warnings() > warningsBefore
    }, STUCK_MS)
    for (let n = 0; n < 5; n++) {
      app.clock.advance(STUCK_MS)
      await delay(30)
    }
    assert.equal(warnings(), warningsBefore + 1)
    await node.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('1') })
    await node.client.setAutomine(true)
    await node.mine()
    await later(async () => {
      const found = await chain.get(hash)
      const newest = found.replacedBy ? await chain.get(found.replacedBy) : found
      return newest.blockNumber !== undefined
    })
    // The server may not have seen that block yet.
    const { body } = await eventually(async () => {
      const answer = await chain.send(wallet, TO, '0.1')
      return answer.status === 200 && answer
    })
    await minedAt(body.hash)
  })

  test('a reorganisation takes a confirmation back, and what it lost is sent again', async () => {
    const { node } = chain
    const wallet = await chain.wallet()
    const before = await balanceOf(TO)
    const hashes = [await sent(wallet), await sent(wallet), await sent(wallet)]
    for (const hash of hashes) await minedAt(hash)
    await node.mine(DEPTH)
    await recorded(wallet._id, ({ status }) => status === 'confirmed')
    const { number: head } = await node.client.getBlock()
    const { blockNumber } = await minedAt(hashes[0]!)
    // The queue is worked on once more, and ends: the reorganisation has to wake it.
    chain.app.clock.advance(2_000)
    await delay(100)
    for (const proxy of [first, chain.proxy]) proxy.forget()
    // The blocks of all three are replaced by empty ones.
    await node.reorg(Number(head) - blockNumber + 1)
    assert.equal(await node.client.getTransactionCount({ address: wallet.address }), 0)
    for (const hash of hashes) assert.equal((await chain.get(hash)).status, 'pending')
    await later(async () => (await balanceOf(TO)) - before === 3n * 10n ** 17n, 50)
    // By either address: the clock that runs ahead makes a call to the first one late.
    const sends = first.calls(SEND) + chain.proxy.calls(SEND)
    assert.ok(sends >= hashes.length, `sent again ${sends} times`)
    await node.mine(DEPTH)
    await recorded(wallet._id, ({ status }) => status === 'confirmed')
    for (const hash of hashes) assert.equal((await chain.get(hash)).status, 'confirmed')
    assert.equal(await node.client.getTransactionCount({ address: wallet.address }), 3)
  })

  test('a transaction that was mined while no server ran is found, however many blocks there are since', async () => {
    const { node } = chain
    const wallet = await chain.wallet()
    await node.client.setAutomine(false)
    const hash = await sent(wallet)
    await inPool(hash)
    await chain.app.stop()
    await node.client.setAutomine(true)
    await node.mine(250)
    await chain.restart()
    await recorded(wallet._id, ({ status }) => status === 'confirmed')
    assert.equal((await chain.get(hash)).status, 'confirmed')
  })

  test('two replicas send from one wallet at once, without a gap', async (t) => {
    const { node, app } = chain
    const other = await startApp(t, engine, { ...chain.options, clock: app.clock })
    const wallet = await chain.wallet()
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_one, at) =>
        chain.send(wallet, TO, '0.01', { app: at % 2 === 0 ? app : other }),
      ),
    )
    assert.deepEqual(
      answers.map(({ body }) => body.nonce).toSorted((one, two) => one - two),
      Array.from({ length: 40 }, (_one, at) => at),
    )
    await later(
      async () => (await node.client.getTransactionCount({ address: wallet.address })) === 40,
      1_000,
    )
    await recorded(wallet._id, ({ blockNumber }) => blockNumber !== undefined)
  })

  test('a nonce that was used outside of this server fails, and later ones go on', async () => {
    const { node } = chain
    const [, , account] = node.accounts
    const imported = await chain.app.request('POST', '/onchain/wallets/import', {
      token: chain.token,
      body: { privateKey: account!.privateKey },
    })
    const wallet = imported.body
    const heals = [first, chain.proxy].map((proxy) => proxy.fault({ method: SEND, status: 500 }))
    const lost = await sent(wallet)
    // The same key, in another program.
    await node.client.sendTransaction({ account: account!.account, to: TO, value: 1n, nonce: 0 })
    await node.mine(DEPTH)
    heals.forEach((heal) => heal())
    const failed = await later(async () => {
      const found = await chain.get(lost)
      return found.status === 'failed' && found
    })
    assert.equal(failed.reason, 'nonce used elsewhere')
    const next = await chain.sent(wallet, TO, '0.1')
    assert.equal(next.nonce, 1)
    await minedAt(next.hash)
  })

  test('a transaction is not failed while nodes hide that it was mined, and is found later', async () => {
    const { node, app } = chain
    const wallet = await chain.wallet()
    const heals: (() => void)[] = []
    const onBoth = (fault: ProxyFault) => heals.push(...[first, chain.proxy].map((one) => one.fault(fault)))
    const heal = () => heals.splice(0).forEach((one) => one())
    const passes = async () => {
      for (let n = 0; n < 8; n++) {
        app.clock.advance(STUCK_MS)
        await delay(40)
      }
    }
    onBoth({ method: 'eth_getTransactionReceipt', lie: () => null })
    // The blocks are not read.
    onBoth({
      when: ({ method, params }) => method === 'eth_getBlockByNumber' && params![1] === true,
      status: 500,
    })
    const hash = await sent(wallet)
    await eventually(async () => (await node.client.getTransactionCount({ address: wallet.address })) === 1)
    await node.mine(DEPTH)
    await passes()
    heal()
    await recorded(wallet._id, ({ status }) => status === 'confirmed')
    assert.equal((await chain.get(hash)).status, 'confirmed')

    // The blocks are read, as if they were without transactions.
    const withoutTransactions = (block: unknown) => ({ ...(block as object), transactions: [] })
    onBoth({ method: 'eth_getBlockByNumber', lie: withoutTransactions })
    const other = await sent(wallet)
    await eventually(async () => (await node.client.getTransactionCount({ address: wallet.address })) === 2)
    await node.mine(DEPTH)
    await delay(100)
    heal()
    await later(async () => {
      const { transactions } = await chain.list(`walletId=${wallet._id}`)
      return transactions.every(({ status }) => status === 'confirmed')
    })
    assert.equal((await chain.get(other)).status, 'confirmed')
  })

  test('a transaction that the contract reverts in its block is failed', async () => {
    const { node } = chain
    const wallet = await chain.wallet()
    // It takes coin when it is simulated, and is another contract when it is mined.
    const taker: Address = '0x00000000000000000000000000000000000c0de5'
    await node.client.setCode({ address: taker, bytecode: '0x00' })
    await node.client.setAutomine(false)
    const { hash } = await chain.sent(wallet, taker, '0.1')
    await inPool(hash)
    await node.client.setCode({ address: taker, bytecode: '0x5f5ffd' })
    await node.client.setAutomine(true)
    await node.mine(DEPTH)
    const [row] = await recorded(wallet._id, ({ status }) => status === 'failed')
    assert.equal(row!.reason, 'the contract reverted')
    const failed = await chain.get(hash)
    assert.equal(failed.status, 'failed')
    assert.ok(Number(failed.fee) > 0)
  })
})
