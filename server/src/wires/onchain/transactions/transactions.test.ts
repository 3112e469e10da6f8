// What is sent, listed and looked up, and what is refused before anything is signed.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Address, Hex } from '../../../base/hex.ts'
import { startApp, type TestAnswer } from '../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../testing/engines.ts'
import { DEPTH, eventually, startSending, type Sending } from './sending.fixture.ts'

const TO: Address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const GAS = 21_000n

someEngine((engine) => {
  const ending = endOfSuite()
  let chain: Sending
  before(async () => {
    chain = await startSending(ending, engine)
  })

  test('a transfer is sent, mined and confirmed, as the chain shows it', async () => {
    const { node } = chain
    const wallet = await chain.wallet()
    const before = await node.client.getBalance({ address: TO })
    const { status, body: sent } = await chain.send(wallet, TO, '0.250')
    assert.equal(status, 200)
    const { hash, ...fields } = sent
    assert.match(hash, /^0x[0-9a-f]{64}$/)
    assert.deepEqual(fields, {
      status: 'pending',
      chain: 'ethereum',
      from: wallet.address,
      to: TO,
      value: '0.25',
      nonce: 0,
    })
    const first = await eventually(async () => {
      const found = await chain.get(hash)
      return found.blockNumber !== undefined && found
    })
    const receipt = await node.client.getTransactionReceipt({ hash })
    const fee = receipt.gasUsed * receipt.effectiveGasPrice
    assert.equal(first.status, 'pending')
    assert.equal(first.confirmations, 1)
    assert.equal(first.blockNumber, Number(receipt.blockNumber))
    assert.equal(first.gasUsed, String(GAS))
    assert.equal(BigInt(Math.round(Number(first.fee) * 1e18)) / 1_000n, fee / 1_000n)
    assert.equal(first.walletId, wallet._id)
    assert.equal((await node.client.getBalance({ address: TO })) - before, 25n * 10n ** 16n)

    await node.mine(DEPTH - 1)
    const confirmed = await chain.get(hash)
    assert.equal(confirmed.status, 'confirmed')
    assert.equal(confirmed.confirmations, DEPTH)
    // The record of the list follows.
    const listed = await eventually(async () => {
      const { transactions } = await chain.list(`walletId=${wallet._id}`)
      return transactions[0]!.status === 'confirmed' && transactions
    })
    assert.equal(listed.length, 1)
    const { confirmations: _confirmations, ...rest } = confirmed
    assert.deepEqual(listed[0], rest)

    // Nodes delete old receipts. An old payment must stay `confirmed`, or it would be sent again.
    await node.mine(70)
    const heal = chain.proxy.fault({ method: 'eth_getTransactionReceipt', lie: () => null })
    await eventually(async () => (await chain.get(hash)).status === 'confirmed')
    assert.deepEqual(await chain.get(hash), rest)
    heal()
  })

  test('a transaction that anybody sent is shown as the chain shows it', async () => {
    const { node } = chain
    const [, account] = node.accounts
    const hash = await node.client.sendTransaction({
      account: account!.account,
      to: TO,
      value: 5n,
    })
    const transaction = await chain.get(hash.toUpperCase().replace('0X', '0x') as Hex)
    assert.equal(transaction.hash, hash)
    assert.equal(transaction.from, account!.address)
    assert.equal(transaction.value, '0.000000000000000005')
    assert.equal(transaction.status, 'pending')
    assert.equal('walletId' in transaction, false)
    await node.mine(DEPTH)
    assert.equal((await chain.get(hash)).status, 'confirmed')

    const token = await node.deploy('Token', ['Euro', 'EUR', 2])
    const created = await node.client.getBlock({ includeTransactions: true })
    const creation = await chain.get(created.transactions[0]!.hash)
    assert.equal(creation.to, null, token)

    const unknown = await chain.app.request('GET', `/onchain/transactions/0x${'ab'.repeat(32)}`, chain)
    assert.equal(unknown.status, 404)
    for (const bad of ['0x12', 'ab'.repeat(32), `0x${'zz'.repeat(32)}`])
      assert.equal((await chain.app.request('GET', `/onchain/transactions/${bad}`, chain)).status, 400)
    const nowhere = await chain.app.request('GET', `/onchain/transactions/${hash}?chain=mars`, chain)
    assert.equal(nowhere.status, 400)
    assert.match(nowhere.text, /ethereum, arbitrum, base/)
    const other = await chain.app.request('GET', `/onchain/transactions/${hash}?chain=base`, chain)
    assert.equal(other.body.error.code, 'PROVIDER_NOT_CONFIGURED')
  })

  test('what cannot be sent is refused before anything is signed', async () => {
    const wallet = await chain.wallet()
    const total = (await chain.list()).total
    const ask = (change: object) =>
      chain.app.request('POST', '/onchain/transactions', {
        token: chain.token,
        body: { to: TO, value: '0.1', walletId: wallet._id, ...change },
      })
    const cases: [change: object, status: number, path?: string][] = [
      [{ value: '1e18' }, 400, '/body/value'],
      [{ value: '-1' }, 400, '/body/value'],
      [{ value: '0.0000000000000000001' }, 400, '/body/value'],
      [{ value: ' 1' }, 400, '/body/value'],
      [{ value: '' }, 400, '/body/value'],
      [{ value: '0x1' }, 400, '/body/value'],
      [{ value: 1 }, 400, '/body/value'],
      [{ value: (2n ** 256n).toString() }, 400, '/body/value'],
      [{ to: TO.replace('5aA', '5Aa') }, 400, '/body/to'],
      [{ to: TO.slice(0, -1) }, 400, '/body/to'],
      [{ to: TO.slice(2) }, 400, '/body/to'],
      [{ to: undefined }, 400, '/body'],
      [{ chain: 'mars' }, 400, '/body/chain'],
      [{ value: '10' }, 422],
      [{ value: '115792089237316195423570985008687907853269984665640564039457.5' }, 422],
      [{ walletId: '01arz3ndektsv4rrffq69g5fav' }, 404],
    ]
    for (const [change, status, path] of cases) {
      const answered = await ask(change)
      assert.equal(answered.status, status, `${JSON.stringify(change)}: ${answered.text}`)
      if (path !== undefined) assert.ok(answered.text.includes(`"path":"${path}`), answered.text)
    }
    assert.equal((await ask({ value: '10' })).body.error.code, 'INSUFFICIENT_FUNDS')
    assert.equal((await chain.list()).total, total)
    assert.equal((await chain.sent(wallet, TO, '0.1')).nonce, 0)
  })

  test('the same Idempotency-Key sends once', async () => {
    const wallet = await chain.wallet()
    const answers: TestAnswer[] = []
    for (let n = 0; n < 3; n++)
      answers.push(await chain.send(wallet, TO, '0.1', { key: `once-${wallet._id}` }))
    assert.deepEqual(
      answers.map(({ status, text }) => [status, text]),
      answers.map(() => [200, answers[0]!.text]),
    )
    assert.equal((await chain.list(`walletId=${wallet._id}`)).total, 1)
  })

  test('a list has pages, newest first', async () => {
    const wallet = await chain.wallet()
    for (let n = 0; n < 3; n++) await chain.sent(wallet, TO, '0.1')
    const first = await chain.list(`walletId=${wallet._id}&limit=2&chain=ethereum`)
    assert.deepEqual(
      first.transactions.map(({ nonce }) => nonce),
      [2, 1],
    )
    assert.equal(first.total, 3)
    const second = await chain.list(`walletId=${wallet._id}&limit=2&cursor=${first.nextCursor}`)
    assert.deepEqual(
      second.transactions.map(({ nonce }) => nonce),
      [0],
    )
    assert.equal((await chain.list(`walletId=${wallet._id}&chain=base`)).total, 0)
  })

  test('while no node answers, what this server sent is shown as it was', async () => {
    const wallet = await chain.wallet()
    const { hash } = await chain.sent(wallet, TO, '0.1')
    const mined = await eventually(async () => {
      const [row] = (await chain.list(`walletId=${wallet._id}`)).transactions
      return row!.blockNumber !== undefined && row
    })
    const heal = chain.proxy.fault({ status: 503 })
    try {
      assert.deepEqual(await chain.get(hash), mined)
      const foreign = await chain.app.request('GET', `/onchain/transactions/0x${'ab'.repeat(32)}`, chain)
      assert.equal(foreign.body.error.code, 'PROVIDER_ERROR')
      assert.equal(foreign.status, 502)
    } finally {
      heal()
    }
  })

  test('with the policy guarded a record is its owner’s, and the chain’s facts are everybody’s', async (t) => {
    const guarded = await startApp(t, engine, {
      ...chain.options,
      clock: chain.app.clock,
      environment: { ...chain.options.environment, SIXWIRE_POLICY: 'guarded' },
    })
    const { token } = await guarded.register()
    const stranger = await guarded.register()
    const wallet = (await guarded.request('POST', '/onchain/wallets', { token, body: {} })).body
    await chain.node.client.setBalance({ address: wallet.address, value: 10n ** 18n })
    const body = { to: TO, value: '0.1', walletId: wallet._id }
    const theirs = await guarded.request('POST', '/onchain/transactions', { token: stranger.token, body })
    assert.equal(theirs.status, 404)
    const { hash } = (await guarded.request('POST', '/onchain/transactions', { token, body })).body
    await eventually(async () => (await chain.get(hash)).blockNumber !== undefined)
    const ask = (path: string, by: string) => guarded.request('GET', path, { token: by })
    const own = (await ask(`/onchain/transactions/${hash}`, token)).body
    const foreign = (await ask(`/onchain/transactions/${hash}`, stranger.token)).body
    assert.equal(own.walletId, wallet._id)
    const { walletId: _walletId, createdAt: _createdAt, ...facts } = own
    assert.deepEqual(foreign, facts)
    assert.equal((await ask('/onchain/transactions', token)).body.total, 1)
    assert.equal((await ask('/onchain/transactions', stranger.token)).body.total, 0)
    assert.equal((await ask(`/onchain/transactions?walletId=${wallet._id}`, stranger.token)).body.total, 0)
  })
})
