import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql, type Sql } from '../../../db/sql.ts'
import { login, me, PASSWORD, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { startApp, testClock } from '../../../testing/app.ts'
import { appWithMailbox, nextToken, quietQueue, tokenOf } from '../../../testing/mailbox.ts'

const HOUR_MS = 3_600_000
const NEW_PASSWORD = 'a password of a thief'

describe('undoing a change of address', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const next = (to: string) => started().mailbox.next(to)
    let people = 0
    const newAddress = () => `taken${++people}@example.com`
    const undo = (token: string) => send(app(), 'POST /auth/undo-email-change', { body: { token } })
    const register = (email: string) =>
      send(app(), 'POST /auth/register', { body: { email, password: PASSWORD } })

    async function someone() {
      const person = await app().register()
      const token = tokenOf(await next(person.email), 'verify')
      assert.equal((await send(app(), 'POST /auth/verify-email', { body: { token } })).status, 200)
      return person
    }
    /** Changes the address, and answers the token to undo it that the old address gets. */
    async function change(token: string, from: string, to: string): Promise<string> {
      app().clock.advance(1000)
      assert.equal((await send(app(), 'POST /auth/change-email', { token, body: { email: to } })).status, 200)
      await next(from)
      const body = { token: tokenOf(await next(to), 'change-email') }
      assert.equal((await send(app(), 'POST /auth/verify-email-change', { body })).status, 200)
      return tokenOf(await next(from), 'undo-email-change')
    }

    const addressOf = async (id: string, { app: { db } } = app()) =>
      (await db.get<{ email: string }>(sql`select email from auth_users where id = ${id}`))!.email

    async function signInByMail(email: string) {
      await send(app(), 'POST /auth/magic-link', { body: { email } })
      const body = { token: tokenOf(await next(email), 'magic-link') }
      return send(app(), 'POST /auth/verify-magic-link', { body })
    }

    test('gives the account its address again, ends its sessions, and removes the password', async () => {
      const { _id, email: old, token } = await someone()
      const email = newAddress()
      const link = await change(token, old, email)
      assert.deepEqual(statuses(await Promise.all(times(5, () => undo(link)))), { 200: 1, 400: 4 })
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
      assert.equal((await login(app(), old)).code, 'INVALID_CREDENTIALS')
      for (const address of [old, email])
        assert.match((await next(address)).parsed.subject!, /^A change of email address .* was undone$/)
      const again = await signInByMail(old)
      assert.equal(again.body.user._id, _id)
      assert.equal((await me(app(), again.body.token)).body.user.emailVerified, true)
      assert.equal((await register(email)).status, 201)
    })

    test('removes what was set up to sign in since, and nothing from before', async () => {
      const { _id, email: old, token } = await someone()
      const { db, clock } = { db: app().app.db, clock: app().clock }
      const add = async (name: string): Promise<void> => {
        const now = clock.now()
        const rows: Sql[] = [
          sql`insert into auth_passkeys (id, credential_id, user_id, public_key, counter, transports, name, aaguid,
                is_synced, is_user_verified, created_at)
              values (${name + _id}, ${name + _id}, ${_id}, 'x', 0, '[]', ${name}, 'x', 0, 1, ${now})`,
          sql`insert into auth_identities (id, issuer, subject, user_id, created_at)
              values (${name + _id}, 'https://id.example', ${name + _id}, ${_id}, ${now})`,
          sql`insert into auth_trusted_devices (id, hash, user_id, credentials_version, ip, user_agent, created_at,
                last_used_at, expires_at)
              values (${name + _id}, ${name + _id}, ${_id}, 1, '', '', ${now}, ${now}, ${now + HOUR_MS})`,
        ]
        await db.batch(rows)
      }
      await add('before')
      const email = newAddress()
      const link = await change(token, old, email)
      clock.advance(1000)
      await add('since')
      await db.batch([
        sql`insert into auth_totp (user_id, secret, last_step, created_at) values (${_id}, 'x', 0, ${clock.now()})`,
        sql`insert into auth_recovery_codes (user_id, salt, hash) values (${_id}, 'x', 'x')`,
        sql`insert into auth_phones (phone, user_id, verified_at) values (${_id}, ${_id}, ${clock.now()})`,
        sql`update auth_users set second_factor_at = ${clock.now()} where id = ${_id}`,
        sql`update auth_sessions set factor_proven_at = ${clock.now()} where user_id = ${_id}`,
      ])
      const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
      assert.equal((await send(app(), 'POST /auth/change-password', { token, body })).status, 200)
      const later = newAddress()
      await send(app(), 'POST /auth/change-email', { token, body: { email: later } })

      assert.equal((await undo(link)).status, 200)
      for (const password of [PASSWORD, NEW_PASSWORD])
        assert.equal((await login(app(), old, password)).code, 'INVALID_CREDENTIALS')
      const count = async (table: string) =>
        (await db.all(sql`select 1 as found from ${sql.literal(table)} where user_id = ${_id}`)).length
      for (const table of ['auth_passkeys', 'auth_identities', 'auth_trusted_devices'])
        assert.deepEqual(
          await db.all(sql`select id from ${sql.literal(table)} where user_id = ${_id}`),
          [{ id: `before${_id}` }],
          table,
        )
      for (const table of ['auth_totp', 'auth_recovery_codes', 'auth_phones', 'auth_sessions'])
        assert.equal(await count(table), 0, table)
      await quietQueue(app())
      const pending = started().mailbox.mails.find(({ to }) => to.includes(later))
      if (pending) {
        const given = { token: tokenOf(pending, 'change-email') }
        const refused = await send(app(), 'POST /auth/verify-email-change', { body: given })
        assert.equal(refused.code, 'INVALID_TOKEN')
      }
    })

    testOnce('leaves an account without a factor where only a thief had added one', async () => {
      const { _id, email: old, token } = await someone()
      const { db } = app().app
      const link = await change(token, old, newAddress())
      app().clock.advance(1000)
      const now = app().clock.now()
      await db.batch([
        sql`insert into auth_totp (user_id, secret, last_step, created_at) values (${_id}, 'x', 0, ${now})`,
        sql`update auth_users set second_factor_at = ${now} where id = ${_id}`,
      ])
      assert.equal((await undo(link)).status, 200)
      await next(old)
      assert.equal((await signInByMail(old)).status, 200)
    })

    testOnce('is possible for 72 hours', async () => {
      const { email: old, token } = await someone()
      const link = await change(token, old, newAddress())
      app().clock.advance(72 * HOUR_MS)
      assert.equal((await undo(link)).code, 'INVALID_TOKEN')
      assert.equal((await register(old)).status, 201)
    })

    test('of the first of two voids the link of the second', async () => {
      const { _id, email: first, token } = await someone()
      const [second, third] = [newAddress(), newAddress()]
      const undoFirst = await change(token, first, second)
      const undoSecond = await change(token, second, third)
      assert.equal((await register(first)).code, 'EMAIL_TAKEN')
      assert.equal((await undo(undoFirst)).status, 200)
      assert.equal(await addressOf(_id), first)
      assert.equal((await undo(undoSecond)).code, 'INVALID_TOKEN')
      assert.equal((await register(second)).status, 201)
      assert.equal((await register(third)).status, 201)
    })

    testOnce(
      'works for the first address, also if a server with a late clock changed it again',
      async (t) => {
        const environment = {
          SMTP_URL: started().mailbox.url,
          MAIL_FROM: 'Tests <tests@app.example>',
          APP_URL: 'https://app.example',
        }
        const databaseUrl = await engine.migratedUrl()
        const one = await startApp(t, engine, { environment, databaseUrl })
        const late = await startApp(t, engine, { environment, databaseUrl, clock: testClock() })
        one.clock.advance(60_000)
        const { _id, email: first, token } = await one.register()
        await one.app.service('auth').users.verify(first)
        const [second, third] = [newAddress(), newAddress()]
        const undos: string[] = []
        for (const [server, from, to] of [
          [one, first, second],
          [late, second, third],
        ] as const) {
          await send(server, 'POST /auth/change-email', { token, body: { email: to } })
          const body = { token: await nextToken(started().mailbox, to, 'change-email') }
          assert.equal((await send(server, 'POST /auth/verify-email-change', { body })).status, 200)
          undos.push(await nextToken(started().mailbox, from, 'undo-email-change'))
        }
        for (const undoToken of undos.toReversed()) {
          const undone = await send(one, 'POST /auth/undo-email-change', { body: { token: undoToken } })
          assert.equal(undone.status, 200, undone.text)
        }
        assert.equal(await addressOf(_id, one), first)
      },
    )

    test('of the second of two leaves the link of the first', async () => {
      const { _id, email: first, token } = await someone()
      const [second, third] = [newAddress(), newAddress()]
      const undoFirst = await change(token, first, second)
      const undoSecond = await change(token, second, third)
      assert.equal((await undo(undoSecond)).status, 200)
      assert.equal(await addressOf(_id), second)
      assert.equal((await undo(undoFirst)).status, 200)
      assert.equal(await addressOf(_id), first)
    })

    test('wins over a registration of the old address at the same moment', async () => {
      for (let round = 0; round < 3; round++) {
        const { _id, email: old, token } = await someone()
        const link = await change(token, old, newAddress())
        const [undone, ...registered] = await Promise.all([undo(link), ...times(3, () => register(old))])
        assert.deepEqual([undone.status, statuses(registered)], [200, { 409: 3 }])
        assert.equal(await addressOf(_id), old)
      }
    })
  })
})
