// The routes of service keys.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { as, auditOf, codeOf, registerAs } from '../../../../testing/administration.ts'
import { appForAll, PASSWORD } from '../../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../../testing/engines.ts'

type Key = { _id: string; name: string; scopes: string[]; key?: string; revokedAt?: string }

describe('service keys over HTTP', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine, { environment: { SIXWIRE_ADMINS: 'boss@example.com, chief@example.com' } })

    test('are shown once, listed without the key, and revoked at once', async () => {
      const admin = await registerAs(app(), 'admin')
      const created = await as(app(), admin, 'POST /auth/keys', { name: ' backend ', scopes: ['store:read'] })
      assert.equal(created.status, 201, created.text)
      assert.equal(created.headers.get('cache-control'), 'no-store')
      const { _id, name, scopes, key } = created.body as Key
      assert.deepEqual([name, scopes], ['backend', ['store:read']])
      assert.equal((await as(app(), { token: key! }, 'GET /store/notes')).status, 200)
      const listed = await as(app(), admin, 'GET /auth/keys')
      assert.ok(!listed.text.includes(key!.slice(3)))
      const { keys, total } = listed.body as { keys: Key[]; total: number }
      assert.deepEqual([keys[0]!._id, keys[0]!.revokedAt, total], [_id, undefined, keys.length])
      const revoke = () => as(app(), admin, `DELETE /auth/keys/${_id}`)
      assert.deepEqual([(await revoke()).status, (await revoke()).status], [200, 200])
      assert.equal((await as(app(), { token: key! }, 'GET /store/notes')).status, 401)
      assert.equal((await as(app(), admin, 'DELETE /auth/keys/nothing')).status, 404)
      assert.deepEqual(
        (await auditOf(app(), admin, `key:${_id}`, 'key.*')).map(({ action, actor, before, after }) => [
          action,
          actor.id,
          before ?? after,
        ]),
        [
          ['key.created', admin._id, { name: 'backend', scopes: ['store:read'] }],
          ['key.revoked', admin._id, { name: 'backend', scopes: ['store:read'] }],
        ],
      )
    })

    test('have pages by a cursor', async () => {
      const admin = await registerAs(app(), 'admin')
      for (let i = 0; i < 3; i++) await app().app.service('auth').keys.create(`key ${i}`, ['store'])
      const page = async (query: string) =>
        (await as(app(), admin, `GET /auth/keys?limit=2&total=none${query}`)).body as {
          keys: Key[]
          total?: number
          nextCursor: string
        }
      const first = await page('')
      assert.deepEqual([first.keys.map(({ name }) => name), first.total], [['key 2', 'key 1'], undefined])
      assert.equal((await page(`&cursor=${first.nextCursor}`)).keys[0]!.name, 'key 0')
    })

    testOnce('are not made by viewers, nor with a scope that cannot be one', async () => {
      const viewer = await registerAs(app(), 'viewer')
      const body = { name: 'mine', scopes: ['store'] }
      assert.equal(codeOf(await as(app(), viewer, 'POST /auth/keys', body)), 'FORBIDDEN')
      const admin = await registerAs(app(), 'admin')
      const refused = await as(app(), admin, 'POST /auth/keys', {
        name: 'mine',
        scopes: ['store', 'all of it'],
      })
      const [issue] = (refused.body as unknown as { error: { details: { issues: object[] } } }).error.details
        .issues
      assert.deepEqual(issue, {
        path: '/body/scopes/1',
        message:
          '"all of it" must be * or begin with a wire that is loaded: core, messaging, onchain, auth, pay, store',
      })
    })

    testOnce('make nobody an administrator by an address of SIXWIRE_ADMINS', async () => {
      const admin = await registerAs(app(), 'admin')
      const { keys } = app().app.service('auth')
      const { key: token } = await keys.create('accounts', ['auth'])
      const boss = { email: ' Boss@example.com', password: PASSWORD }
      assert.equal(codeOf(await as(app(), { token }, 'POST /auth/users', boss)), 'FORBIDDEN')
      const { _id } = await app().register('chief@example.com')
      assert.equal(codeOf(await as(app(), { token }, `POST /auth/users/${_id}/verify`)), 'FORBIDDEN')
      app().clock.advance(11 * 60_000)
      const late = await as(app(), admin, `POST /auth/users/${_id}/verify`)
      assert.equal(codeOf(late), 'RECENT_SIGN_IN_REQUIRED')
    })
  })
})
