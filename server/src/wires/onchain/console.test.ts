// What an operator sees of wallets and transactions, and does to those that are stuck, over a real node.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { login, PASSWORD } from '../../testing/auth.ts'
import { someEngine, endOfSuite } from '../../testing/engines.ts'
import { SEND } from './transactions/nonce-queue.fixture.ts'
import { eventuallyLater, startSending, type Sending } from './transactions/sending.fixture.ts'

const TO = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const NOBODY = 'http://127.0.0.1:1'

someEngine((engine) => {
  const ending = endOfSuite()
  let chain: Sending
  let user: { _id: string; token: string }
  before(async () => {
    chain = await startSending(ending, engine, {
      environment: { SIXWIRE_POLICY: 'guarded', BASE_RPC_URL: NOBODY },
    })
    user = await chain.app.register()
  })
  const call = (method: string, path: string, body?: unknown, token = chain.token) =>
    chain.app.request(method, `/onchain/${path}`, { token, ...(body !== undefined && { body }) })
  const audited = (action: string) =>
    chain.app.app.db.all<{ action: string; target: string; actor_role: string; new_value: string }>(
      sql`select target, actor_role, new_value from sixwire_audit where action = ${action} order by id`,
    )

  test('wallets are found by owner and text, and have balances on each chain that answers', async () => {
    const own = (await call('POST', 'wallets', { name: 'Ada 100%' }, user.token)).body
    assert.deepEqual(Object.keys(own).toSorted(), ['_id', 'address', 'createdAt', 'name'])
    const treasury = await chain.wallet()
    const walletsOf = async (query: string, token?: string) =>
      (await call('GET', `wallets?${query}`, undefined, token)).body
    assert.deepEqual(
      (await walletsOf(`owner=${user._id}&total=none`)).wallets.map(
        ({ _id, owner }: Record<string, string>) => [_id, owner],
      ),
      [[own._id, user._id]],
    )
    assert.equal((await walletsOf('q=ada%20100%25')).wallets.length, 1)
    assert.equal(
      (await walletsOf(`q=${treasury.address.slice(2, 12).toLowerCase()}`)).wallets[0]._id,
      treasury._id,
    )
    assert.equal((await walletsOf(`owner=${user._id}`, user.token)).error.code, 'FORBIDDEN')

    const { balances } = (await call('GET', `wallets/${treasury._id}/balances`)).body
    assert.deepEqual(balances[0], { chain: 'ethereum', symbol: 'ETH', balance: '10' })
    const base = balances.find((one: { chain: string }) => one.chain === 'base')
    assert.deepEqual([base.balance, typeof base.error], [undefined, 'string'])
    assert.equal((await call('GET', `wallets/${treasury._id}/balances`, undefined, user.token)).status, 404)
  })

  test('the audit log has imports by anybody, and wallets that operators create', async () => {
    const before = (await audited('wallet.created')).length
    const key = `0x${'2b'.repeat(31)}${engine.name === 'sqlite' ? '01' : '02'}`
    const imported = await call('POST', 'wallets/import', { privateKey: key }, user.token)
    assert.equal(imported.status, 201, imported.text)
    assert.equal((await call('POST', 'wallets/import', { privateKey: key }, user.token)).status, 409)
    const [entry, ...more] = await audited('wallet.imported')
    assert.deepEqual(
      [entry!.target, entry!.actor_role, more.length],
      [`wallet:${imported.body._id}`, 'user', 0],
    )
    assert.doesNotMatch(entry!.new_value, /2b2b/)
    await call('POST', 'wallets', {}, user.token)
    const { body } = await call('POST', 'wallets', {})
    const created = await audited('wallet.created')
    assert.deepEqual([created.length - before, created.at(-1)!.target], [1, `wallet:${body._id}`])
  })

  test('in the console an import needs the password of the last 10 minutes', async () => {
    const { app } = chain
    const email = 'late@example.com'
    await app.app.service('auth').users.create({ email, password: PASSWORD, role: 'admin' })
    const { refreshToken } = (await login(app, email)).body
    const headers = { 'sec-fetch-site': 'same-origin' }
    const opened = await app.request('POST', '/console/session', { body: { refreshToken }, headers })
    const imported = () =>
      call('POST', 'wallets/import', { privateKey: `0x${'4d'.repeat(32)}` }, renewed.body.token)
    app.clock.advance(601_000)
    const renewed = await app.request('POST', '/console/session', {
      body: {},
      headers: { ...headers, cookie: opened.headers.get('set-cookie')!.split(';')[0]! },
    })
    const late = await imported()
    assert.deepEqual([late.status, late.body.error.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
    await app.request('POST', '/auth/confirm', { token: renewed.body.token, body: { password: PASSWORD } })
    assert.equal((await imported()).status, 201)
  })

  describe('a transaction that no node takes', () => {
    test('is stuck, is sped up and cancelled, and the audit log has both', async () => {
      const wallet = await chain.wallet()
      const listed = async (status: string) =>
        (await chain.list(`status=${status}&walletId=${wallet._id}`)).transactions
      const heal = chain.proxy.fault({ method: SEND, drop: 'before' })
      const { hash } = await chain.sent(wallet, TO, '0.1')
      assert.deepEqual([(await listed('pending')).length, (await listed('stuck')).length], [1, 0])
      chain.app.clock.advance(61_000)
      assert.equal((await listed('stuck')).length, 1)
      assert.equal((await listed('confirmed')).length, 0)

      const newest = async () => (await listed('stuck'))[0]!.hash
      const faster = await call('POST', `transactions/${await newest()}/speed-up`)
      assert.equal(faster.status, 200, faster.text)
      const [sped] = await audited('transaction.sped-up')
      assert.deepEqual([sped!.actor_role, JSON.parse(sped!.new_value)], ['admin', { hash: faster.body.hash }])
      const cancelled = await call('POST', `transactions/${hash}/cancel`)
      assert.equal(cancelled.status, 200, cancelled.text)
      assert.equal((await audited('transaction.cancelled')).length, 1)
      for (const verb of ['speed-up', 'cancel'])
        assert.equal((await call('POST', `transactions/${hash}/${verb}`, undefined, user.token)).status, 403)

      heal()
      await eventuallyLater(chain.app.clock, async () => {
        await chain.node.client.mine({ blocks: 1 })
        return (await listed('failed')).length === 1
      })
      assert.deepEqual(await listed('stuck'), [])
    })
  })
})
