import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Type } from '../../../base/schema.ts'

import { sql } from '../../../db/sql.ts'
import { route } from '../../../http/route.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { defineWire } from '../../../kernel/wire/wire.ts'
import { appForAll, send } from '../../../testing/auth.ts'
import { until } from '../../../testing/until.ts'

const Who = Type.Object({ kind: Type.String() })

/** A wire of an application, with a route for each kind of access. */
const shop = defineWire({
  name: 'shop',
  setup() {
    const routes = (['user', 'admin', 'session'] as const).flatMap((access) => [
      route(`GET /shop/${access}`, { summary: 'Who calls', access, reply: { 200: Who } }, ({ caller }) => ({
        kind: caller.kind,
      })),
      route(`POST /shop/${access}`, { summary: 'Who calls', access, reply: { 200: Who } }, ({ caller }) => ({
        kind: caller.kind,
      })),
    ])
    const cancel = route(
      'POST /shop/cancel',
      { summary: 'Cancel', access: 'admin', scope: 'shop:cancel', reply: { 200: Who } },
      ({ caller }) => ({ kind: caller.kind }),
    )
    return { routes: [...routes, cancel], service: undefined }
  },
})

describe('service keys', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine, { config: { policy: 'guarded', wires: [shop()] } })
    const keys = () => app().app.service('auth').keys
    const call = async (route: string, token: string) => (await send(app(), route, { token })).status

    testOnce("act as the operator's backend within their scopes", async () => {
      const { key } = await keys().create('everything', ['*'])
      assert.match(key, /^sk_[\w-]{43}$/)
      const own = (await keys().create('shop', ['shop'])).key
      const reading = (await keys().create('reader', ['shop:read', 'store'])).key
      const other = (await keys().create('other', ['store'])).key
      const statuses = []
      for (const token of [key, own, reading, other])
        statuses.push([
          await call('GET /shop/user', token),
          await call('POST /shop/user', token),
          await call('POST /shop/admin', token),
        ])
      assert.deepEqual(statuses, [
        [200, 200, 200],
        [200, 200, 200],
        [200, 403, 403],
        [403, 403, 403],
      ])
    })

    testOnce('may call the routes of a scope, and no others', async () => {
      const { key } = await keys().create('cancels', ['shop:cancel'])
      const statuses = []
      for (const token of [key, (await keys().create('reader', ['shop:read', 'store'])).key])
        statuses.push([
          await call('POST /shop/cancel', token),
          await call('POST /shop/admin', token),
          await call('GET /shop/user', token),
        ])
      assert.deepEqual(statuses, [
        [200, 403, 403],
        [403, 403, 200],
      ])
    })

    testOnce('have no session', async () => {
      const { key } = await keys().create('everything', ['*'])
      for (const route of ['GET /auth/me', 'GET /auth/sessions', 'POST /auth/logout', 'GET /shop/session'])
        assert.equal(await call(route, key), 403, route)
    })

    test('end at once when they are revoked', async () => {
      const { id, key } = await keys().create('leaked', ['*'])
      const other = (await keys().create('other', ['*'])).key
      assert.equal(await call('GET /shop/user', key), 200)
      await keys().revoke(id)
      await keys().revoke(id)
      assert.equal(await call('GET /shop/user', key), 401)
      assert.equal(await call('GET /shop/user', other), 200)
      await assert.rejects(keys().revoke('nothing'), {
        code: 'NOT_FOUND',
        message: 'There is no service key nothing.',
      })
    })

    test('are listed, newest first, without the key', async () => {
      const { id, key } = await keys().create('  listed ', ['shop:read', 'store'])
      const [before] = await keys().list()
      const { createdAt, ...rest } = before!
      assert.deepEqual(rest, {
        id,
        name: 'listed',
        scopes: ['shop:read', 'store'],
        lastUsedAt: null,
        revokedAt: null,
      })
      assert.equal(new Date(createdAt).toISOString(), createdAt)
      await call('GET /shop/user', key)
      const used = async () => (await keys().list()).find((one) => one.id === id)!.lastUsedAt
      await until(async () => (await used()) !== null) // no call waits for it
      const first = (await used())!
      assert.ok(first >= createdAt)
      app().clock.advance(30_000)
      await call('GET /shop/user', key)
      app().clock.advance(30_000)
      await call('GET /shop/user', key)
      await until(async () => (await used()) !== first)
      assert.ok(Date.parse((await used())!) >= Date.parse(first) + 60_000)
      await keys().revoke(id)
      assert.ok((await keys().list())[0]!.revokedAt)
    })

    testOnce('are kept as a hash', async () => {
      const { id, key } = await keys().create('hashed', ['*'])
      const row = await app().app.db.get(sql`select * from auth_service_keys where id = ${id}`)
      assert.doesNotMatch(JSON.stringify(row), new RegExp(key.slice(3)))
    })

    testOnce('need a name, and scopes that can be one', async () => {
      for (const [name, scopes] of [
        ['', ['*']],
        [' ', ['*']],
        ['x'.repeat(101), ['*']],
        ['a', []],
        ['a', ['']],
        ['a', ['shop:']],
        ['a', ['shop:Read']],
        ['a', ['shop:read:all']],
        ['a', ['shop store']],
        ['a', ['*:read']],
        ['a', ['shop:ship']],
        ['a', ['bakery']],
      ] as const)
        await assert.rejects(
          keys().create(name, scopes),
          { code: 'VALIDATION_ERROR' },
          `${name} ${scopes.join()}`,
        )
    })
  })
})
