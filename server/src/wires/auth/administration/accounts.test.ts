import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import {
  appForAll,
  login,
  me,
  PASSWORD,
  refresh,
  send,
  startReplicas,
  statuses,
  times,
} from '../../../testing/auth.ts'

describe('the operator', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)
    const users = () => app().app.service('auth').users

    testOnce('makes an administrator and takes the role back, at once for who is signed in', async () => {
      await app().register() // the first one is an administrator
      const { email, token } = await app().register()
      assert.equal((await users().promote(email.toUpperCase())).role, 'admin')
      assert.equal((await me(app(), token)).body.user.role, 'admin')
      assert.equal((await users().demote(email)).role, 'user')
      assert.equal((await me(app(), token)).body.user.role, 'user')
    })

    testOnce('gets an error for an unknown address', async () => {
      const nobody = { code: 'NOT_FOUND', message: 'No account has the address nobody@example.com.' }
      for (const verb of ['promote', 'demote', 'disable', 'enable'] as const)
        await assert.rejects(users()[verb]('nobody@example.com'), nobody)
      assert.equal(await users().find('nobody@example.com'), undefined)
    })

    test('disables an account: its sessions end, and none opens until it is enabled', async () => {
      const { email, token, refreshToken } = await app().register()
      assert.equal((await users().disable(email)).disabled, true)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await refresh(app(), refreshToken)).status, 401)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
      assert.equal((await users().enable(email)).disabled, false)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await login(app(), email)).status, 200)
    })

    test('lists accounts without their credentials, newest first', async () => {
      const { _id, email } = await app().register()
      const account = await users().find(email)
      assert.deepEqual(Object.keys(account!).toSorted(), [
        'createdAt',
        'disabled',
        'email',
        'emailVerified',
        'id',
        'name',
        'role',
      ])
      const { accounts, total } = await users().list({ limit: 2 })
      assert.equal(accounts.length, 2)
      assert.partialDeepStrictEqual(accounts[0], account)
      assert.equal(account!.id, _id)
      const rest = await users().list({ limit: 1000, offset: 2 })
      assert.equal(rest.accounts.length, total! - 2)
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    testOnce('can not take a role back that SIXWIRE_ADMINS gives', async (t) => {
      const app = await startApp(t, engine, { environment: { SIXWIRE_ADMINS: 'root@example.com' } })
      const { users } = app.app.service('auth')
      await app.register('root@example.com')
      assert.equal((await users.demote('root@example.com')).role, 'user') // not verified yet
      await app.app.db.write(sql`update auth_users set email_verified_at = 1`)
      await assert.rejects(users.demote('root@example.com'), { code: 'CONFLICT', message: /SIXWIRE_ADMINS/ })
    })

    test('leaves no session that opens while an account is disabled', async (t) => {
      const [one, two] = await startReplicas(t, engine)
      const { users } = one.app.service('auth')
      for (let i = 0; i < 20; i++) {
        const { email } = await one.register()
        // Sometimes before a sign-in, sometimes after it, and sometimes in between.
        const disabled = delay(i).then(() => users.disable(email))
        const [, ...opened] = await Promise.all([disabled, ...times(4, () => login(two, email))])
        assert.ok(Object.keys(statuses(opened)).every((status) => ['200', '401'].includes(status)))
        await users.enable(email)
        for (const { status, body } of opened)
          if (status === 200) assert.equal((await me(one, body.token)).status, 401)
      }
    })
  })
})

describe('the log of accounts', () => {
  someEngine((engine) => {
    test('has a line for each sign-in, failure, lock, and change of role, password and key', async (t) => {
      const app = await startApp(t, engine)
      const email = 'watched@example.com'
      const { _id: account } = await app.register(email)
      const events = () =>
        app
          .log()
          .split('\n')
          .filter((line) => line.includes('"event":'))
          .map((line) => JSON.parse(line) as Record<string, string>)
      const fieldsOfEvents = (fields: string[], from = 0) =>
        events()
          .slice(from)
          .map((line) => fields.map((name) => line[name]))
      const headers = { 'x-request-id': 'the-id-of-the-request' }
      const body = { email, password: PASSWORD }
      const { token } = (await send(app, 'POST /auth/login', { body, headers })).body
      assert.deepEqual(fieldsOfEvents(['event', 'account', 'method', 'role']), [
        ['account-created', account, undefined, 'admin'],
        ['sign-in', account, 'registration', undefined],
        ['sign-in', account, 'password', undefined],
      ])
      const { ip, requestId, session } = events().at(-1)!
      const { sessions } = (await send(app, 'GET /auth/sessions', { token })).body
      assert.deepEqual([ip, requestId, session], ['127.0.0.1', 'the-id-of-the-request', sessions[0]!._id])

      let count = events().length
      await login(app, 'nobody@example.com', PASSWORD)
      await send(app, 'POST /auth/change-password', {
        token,
        body: { currentPassword: 'a wrong password', newPassword: 'another passphrase' },
      })
      for (let i = 0; i < 5; i++) await login(app, email, 'a wrong password')
      assert.deepEqual(fieldsOfEvents(['event', 'account', 'reason'], count), [
        ['sign-in-failed', 'unknown', 'password'],
        ['sign-in-failed', account, 'password'],
        ['sign-in-failed', account, 'password'],
        ['sign-in-failed', account, 'password'],
        ['sign-in-failed', account, 'password'],
        ['sign-in-failed', account, 'password'],
        ['account-locked', account, undefined],
        ['sign-in-failed', account, 'locked'],
      ])

      const { users, keys } = app.app.service('auth')
      await users.promote((await app.register()).email) // the last administrator keeps the role
      count = events().length
      app.clock.advance(900_000)
      await send(app, 'POST /auth/change-password', {
        token,
        body: { currentPassword: PASSWORD, newPassword: 'another passphrase' },
      })
      await send(app, 'POST /auth/logout', { token })
      await users.demote(email)
      await users.disable(email)
      await login(app, email, 'another passphrase')
      await users.enable(email)
      await users.signOut()
      const { id } = await keys.create('backend', ['store', 'pay:read'])
      await keys.revoke(id)
      await app.request('POST', '/auth/verify-magic-link', { body: { token: 'nobody has this' } })
      assert.deepEqual(fieldsOfEvents(['event', 'account', 'role', 'key', 'scopes', 'reason'], count), [
        ['password-changed', account, undefined, undefined, undefined, undefined],
        ['sign-out', account, undefined, undefined, undefined, undefined],
        ['role-changed', account, 'user', undefined, undefined, undefined],
        ['account-disabled', account, 'user', undefined, undefined, undefined],
        ['sign-in-failed', account, undefined, undefined, undefined, 'disabled'],
        ['account-enabled', account, 'user', undefined, undefined, undefined],
        ['sessions-revoked', 'all', undefined, undefined, undefined, undefined],
        ['key-created', undefined, undefined, id, 'store pay:read', undefined],
        ['key-revoked', undefined, undefined, id, undefined, undefined],
        ['sign-in-failed', 'unknown', undefined, undefined, undefined, 'INVALID_TOKEN'],
      ])
      assert.ok(!events().some((line) => JSON.stringify(line).includes('@')), 'an address')
    })
  })
})
