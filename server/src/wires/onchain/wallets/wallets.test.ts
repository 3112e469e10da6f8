import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, test } from 'node:test'

import { recoverAddress } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

import type { Hex } from '../../../base/hex.ts'
import { allRows, ownRows } from '../../../base/row-filter.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { appForAll, startReplicas, times } from '../../../testing/auth.ts'
import { eachEngine } from '../../../testing/engines.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const HASH: Hex = `0x${'5a'.repeat(32)}`

const hexOf = (n: bigint): Hex => `0x${n.toString(16).padStart(64, '0')}`
const newKey = (): Hex => `0x${randomBytes(32).toString('hex')}`

eachEngine((engine) => {
  const app = appForAll(engine, { environment: { SIXWIRE_POLICY: 'guarded', SIXWIRE_RATE_LIMITS: 'off' } })
  let token: string
  let other: string
  before(async () => {
    // The first account is the administrator.
    await app().register()
    ;({ token } = await app().register())
    ;({ token: other } = await app().register())
  })
  const send = (route: string, body?: unknown, headers?: Record<string, string>, by = token) => {
    const [method = '', path = ''] = route.split(' ')
    return app().request(method, path, {
      token: by,
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    })
  }
  const create = (body: unknown = {}, headers?: Record<string, string>) =>
    send('POST /onchain/wallets', body, headers)
  const importKey = (privateKey: unknown, headers?: Record<string, string>) =>
    send('POST /onchain/wallets/import', { privateKey, name: 'old' }, headers)

  const signs = async (server: TestApp, id: string, address: string): Promise<void> => {
    const signer = await server.app.service('onchain').wallets.signerOf(id, allRows)
    const outcome = await signer.sign(HASH, 1_000)
    assert.equal(outcome.kind, 'accepted')
    if (outcome.kind !== 'accepted') return
    assert.equal(signer.address, address)
    assert.equal(await recoverAddress({ hash: HASH, signature: outcome.signature }), address)
    assert.ok(BigInt(outcome.signature.s) <= ORDER / 2n, 'EIP-2')
  }

  test('a wallet is created, answered and listed, and signs', async () => {
    const { status, body } = await create({ name: 'Treasury' })
    assert.equal(status, 201)
    assert.deepEqual(Object.keys(body).toSorted(), ['_id', 'address', 'createdAt', 'name'])
    assert.match(body.address, /^0x[\da-fA-F]{40}$/)
    assert.equal(body.name, 'Treasury')
    const nameless = (await create()).body
    assert.equal('name' in nameless, false)
    assert.deepEqual((await send(`GET /onchain/wallets/${body._id}`)).body, body)
    const list = (await send('GET /onchain/wallets?limit=2')).body
    assert.deepEqual(list.wallets, [nameless, body])
    assert.equal(list.total, 2)
    await signs(app(), body._id, body.address)
    for (const length of [32, 1, 200])
      assert.equal((await create({ name: 'n'.repeat(length) })).status, 201, `${length}`)
    assert.equal((await create({ name: 'n'.repeat(201) })).status, 400)
    assert.equal((await create({ name: 7 })).status, 400)
  })

  test('a key is imported once, by any account, in upper or lower case', async () => {
    const key = newKey()
    const { status, body } = await importKey(key)
    assert.equal(status, 201)
    assert.equal(body.address, privateKeyToAddress(key))
    assert.equal(body.name, 'old')
    await signs(app(), body._id, body.address)
    for (const by of [token, other]) {
      const again = await send(
        'POST /onchain/wallets/import',
        { privateKey: `0x${key.slice(2).toUpperCase()}` },
        undefined,
        by,
      )
      assert.equal(again.status, 409)
      assert.equal(again.body.error.code, 'CONFLICT')
    }
    const both = newKey()
    const statuses = await Promise.all(times(4, async () => (await importKey(both)).status))
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [201, 409, 409, 409],
    )
    for (const edge of [2n, ORDER - 2n]) assert.equal((await importKey(hexOf(edge))).status, 201)
  })

  describe('what is no private key is refused, and not quoted', () => {
    const key = newKey()
    const cases: Record<string, unknown> = {
      missing: undefined,
      null: null,
      'a number': 7,
      'a list': [key],
      empty: '',
      'only the prefix': '0x',
      'without the prefix': key.slice(2),
      'a large prefix': `0X${key.slice(2)}`,
      'a digit less': key.slice(0, -1),
      'a byte more': `${key}00`,
      'no hex': `${key.slice(0, -1)}g`,
      'a space': ` ${key}`,
      'a line break': `${key}\n`,
      'an address': privateKeyToAddress(key),
      zero: hexOf(0n),
      'the order': hexOf(ORDER),
      'above the order': hexOf(ORDER + 1n),
      'all ones': hexOf(2n ** 256n - 1n),
      words: 'test test test test test test test test test test test junk',
      'a megabyte': `0x${'0'.repeat(500_000)}`,
      'full-width digits': `0x${'０'.repeat(64)}`,
      'half a surrogate pair': `0x\ud800${key.slice(3)}`,
    }
    for (const [what, privateKey] of Object.entries(cases))
      test(what, async () => {
        const { status, body, text } = await importKey(privateKey)
        assert.equal(status, 400)
        assert.equal(body.error.code, 'VALIDATION_ERROR')
        assert.equal(body.error.details.issues[0].path, '/body/privateKey')
        assert.ok(!text.includes(key.slice(3, 60)), text)
      })
  })

  test('a repeated call answers the same wallet; another body under its key is refused', async () => {
    const headers = { 'idempotency-key': 'wallet-1' }
    const [first, second] = [await create({ name: 'one' }, headers), await create({ name: 'one' }, headers)]
    assert.deepEqual(second.body, first.body)
    assert.equal(second.headers.get('idempotency-replayed'), 'true')
    assert.equal((await create({ name: 'two' }, headers)).status, 409)
    const key = newKey()
    const imported = { 'idempotency-key': 'wallet-2' }
    const [once, twice] = [await importKey(key, imported), await importKey(key, imported)]
    assert.equal(once.status, 201)
    assert.deepEqual(twice.body, once.body)
    assert.equal((await importKey(newKey(), imported)).body.error.code, 'IDEMPOTENCY_CONFLICT')
  })

  test('a call that was cut off after its wallet was stored finds it again', async () => {
    const { wallets } = app().app.service('onchain')
    const wallet = { id: '01arz3ndektsv4rrffq69g5fav', owner: 'ada' }
    const first = await wallets.create(wallet)
    assert.deepEqual(await wallets.create(wallet), first)
    const [key, imported] = [newKey(), { ...wallet, id: '01arz3ndektsv4rrffq69g5faw' }]
    const once = await wallets.import(imported, key)
    assert.deepEqual(await wallets.import(imported, key), once)
    await assert.rejects(wallets.import(imported, newKey()), { code: 'CONFLICT' })
  })

  test("another user's wallets do not exist; a stranger is refused", async () => {
    const { _id } = (await create()).body
    assert.equal((await send(`GET /onchain/wallets/${_id}`, undefined, undefined, other)).status, 404)
    assert.equal((await send('GET /onchain/wallets', undefined, undefined, other)).body.total, 0)
    assert.equal((await send('GET /onchain/wallets/nonsense')).status, 404)
    const { wallets } = app().app.service('onchain')
    await assert.rejects(wallets.signerOf(_id, ownRows('another user')), { code: 'NOT_FOUND' })
    for (const route of ['POST /onchain/wallets', 'GET /onchain/wallets', `GET /onchain/wallets/${_id}`])
      assert.equal((await send(route, undefined, { authorization: '' })).status, 401, route)
  })

  test("another user's wallet sends nothing, by any route", async () => {
    const { _id: walletId, address } = (await create()).body
    const contract = { contractAddress: address, to: address, walletId }
    const erc20 = { abi: 'erc20', method: 'transfer', args: [address, '1'] }
    for (const [route, body] of [
      ['POST /onchain/transactions', { to: address, value: '1', walletId }],
      ['POST /onchain/contracts/write', { address, ...erc20, walletId }],
      ['POST /onchain/nft/mint', { ...contract, tokenURI: 'ipfs://x' }],
      ['POST /onchain/nft/transfer', { ...contract, tokenId: '1' }],
    ] as const) {
      const stranger = await send(route, body, undefined, other)
      assert.deepEqual([stranger.status, stranger.body.error.code], [404, 'NOT_FOUND'], route)
      // The owner comes further: the server has no chain.
      const { body: owned } = await send(route, body)
      assert.equal(owned.error.code, 'PROVIDER_NOT_CONFIGURED', route)
    }
    const listed = await send(`GET /onchain/transactions?walletId=${walletId}`, undefined, undefined, other)
    assert.deepEqual([listed.status, listed.body.total], [200, 0])
  })

  test('a row that was changed signs nothing', async () => {
    const [one, two] = [(await create()).body, (await create()).body]
    const { app: server } = app()
    const rows = await server.db.all<{ id: string; key_reference: string }>(
      sql`select id, key_reference from onchain_wallets where id in (${one._id}, ${two._id})`,
    )
    const { wallets } = server.service('onchain')
    for (const { id, key_reference } of rows) {
      const swapped = id === one._id ? two._id : one._id
      await server.db.write(
        sql`update onchain_wallets set key_reference = ${key_reference} where id = ${swapped}`,
      )
    }
    for (const { _id } of [one, two]) {
      const signer = await wallets.signerOf(_id, allRows)
      const { kind } = await signer.sign(HASH, 1_000)
      assert.equal(kind, 'refused')
    }
  })

  test('two servers that create their first wallets at once have one data key, and both sign for all', async (t) => {
    const servers = await startReplicas(t, engine)
    const { token } = await servers[0].register()
    const created = await Promise.all(
      times(8, async (at) => servers[at % 2]!.request('POST', '/onchain/wallets', { token, body: {} })),
    )
    const rows = await servers[0].app.db.all(sql`select number from onchain_data_keys`)
    assert.equal(rows.length, 1)
    for (const server of servers) for (const { body } of created) await signs(server, body._id, body.address)
  })

  test('with another SIXWIRE_SECRET the start stops with one line', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await startApp(t, engine, { databaseUrl })
    const { token } = await first.register()
    await first.request('POST', '/onchain/wallets', { token, body: {} })
    // The check of auth, which would be the first one.
    await first.app.db.write(sql`delete from auth_signing_keys`)
    await first.stop()
    await assert.rejects(
      startApp(t, engine, { databaseUrl, environment: { SIXWIRE_SECRET: 'x'.repeat(40) } }),
      (error: Error) => {
        assert.equal(error.name, 'StartError')
        assert.match(
          error.message,
          /^SIXWIRE_SECRET: the keys of the wallets .* restore that secret\. If [^\n]+$/,
        )
        return true
      },
    )
  })
})
