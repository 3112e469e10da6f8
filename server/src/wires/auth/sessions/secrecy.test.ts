import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { someEngine } from '../../../testing/engines.ts'
import { login, me, refresh, send } from '../../../testing/auth.ts'

describe('secrets of accounts', () => {
  someEngine((engine) => {
    test('are in no log line at any level, and in the database only sealed or hashed', async (t) => {
      const app = await startApp(t, engine)
      const secrets: string[] = []
      const secret = (text: string): string => (secrets.push(text), text)

      const email = 'careful@example.com'
      const password = secret('a password of the flow')
      const body = { email, password }
      const headers = { 'idempotency-key': 'a-key-of-the-flow' }
      const registered = (await send(app, 'POST /auth/register', { body, headers })).body
      await send(app, 'POST /auth/register', { body, headers })
      await send(app, 'POST /auth/register', { body })
      const signedIn = (await login(app, email, password)).body
      const refreshed = (await refresh(app, signedIn.refreshToken)).body
      for (const pair of [registered, signedIn, refreshed]) secrets.push(pair.token, pair.refreshToken)
      const { key } = await app.app.service('auth').keys.create('backend', ['*'])
      secret(key)

      // What goes wrong must not show them either.
      await login(app, email, secret('a wrong password of the flow'))
      await login(app, secret('a-password-in-the-wrong-field'), password)
      await send(app, 'POST /auth/register', {
        body: { email: 'x@example.com', password: secret('short!!') },
      })
      await send(app, 'POST /auth/login', {
        body: { email, password: { text: secret('an object as password') } },
      })
      await app.request('POST', '/auth/login', { raw: `{"email":"x","password":"${secret('not even JSON')}` })
      await send(app, 'POST /auth/login', {
        body: { email, password: secret(`${'long '.repeat(300)}password`) },
      })
      for (const token of [
        registered.token,
        `${registered.token}x`,
        refreshed.refreshToken,
        key,
        secret('sk_nobody'),
      ])
        await me(app, token)
      await app.request('GET', '/auth/me', {
        headers: { authorization: `Basic ${secret('c2VjcmV0OnNlY3JldA==')}` },
      })
      const change = { currentPassword: password, newPassword: secret('the next password of the flow') }
      await send(app, 'POST /auth/change-password', { token: registered.token, body: change })
      app.clock.advance(60_000)
      await refresh(app, signedIn.refreshToken) // theft
      await refresh(app, secret('a refresh token that never was'))
      for (let i = 0; i < 6; i++) await login(app, email, password) // locked in the end
      await send(app, 'POST /auth/logout', { token: registered.token })

      const log = app.log()
      assert.match(log, /"path":"\/auth\/login"/)
      const tables = [
        'auth_users',
        'auth_sessions',
        'auth_refresh_tokens',
        'auth_login_attempts',
        'auth_signing_keys',
      ]
      const contents: unknown[] = []
      for (const name of [
        ...tables,
        'auth_service_keys',
        'sixwire_idempotency',
        'sixwire_rate_limits',
        'sixwire_jobs',
      ])
        contents.push(await app.app.db.all(sql`select * from ${sql.literal(name)}`))
      const stored = JSON.stringify(contents)
      assert.match(stored, /careful@example\.com/)
      for (const one of secrets) {
        assert.equal(log.includes(one), false, `the log has ${one}`)
        assert.equal(stored.includes(one), false, `the database has ${one}`)
      }
    })
  })
})
