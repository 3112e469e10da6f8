import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { createPasswords } from '../accounts/passwords.ts'
import {
  appForAll,
  login,
  me,
  PASSWORD,
  refresh,
  replicasForAll,
  send,
  statuses,
  times,
} from '../../../testing/auth.ts'

describe('signing in with a password', () => {
  someEngine((engine) => {
    const app = appForAll(engine)

    test('opens a session, and answers nothing beyond that', async () => {
      const { _id, email } = await app().register()
      const answered = await login(app(), email)
      assert.equal(answered.status, 200)
      assert.equal(answered.headers.get('cache-control'), 'no-store')
      const { user, token, refreshToken, ...rest } = answered.body
      assert.deepEqual([user, rest], [{ _id, email }, {}])
      assert.equal((await me(app(), token)).body.user._id, _id)
      assert.equal((await refresh(app(), refreshToken)).status, 200)
    })

    test('answers the name where there is one', async () => {
      const body = { email: 'named@example.com', password: PASSWORD, name: 'Ada' }
      await send(app(), 'POST /auth/register', { body })
      assert.equal((await login(app(), body.email)).body.user.name, 'Ada')
    })

    test('takes the address in any case and with spaces around it', async () => {
      const { email } = await app().register('Mixed.Case@Example.com')
      for (const typed of [email.toUpperCase(), email.toLowerCase(), `  ${email}\t`, `${email}\n`])
        assert.equal((await login(app(), typed)).status, 200, JSON.stringify(typed))
    })

    test('answers the same bytes whatever is wrong', async () => {
      const { email } = await app().register()
      const disabled = await app().register()
      await app().app.service('auth').users.disable(disabled.email)
      const passwordless = await app().register()
      await app().app.db.write(sql`update auth_users set password_hash = null where id = ${passwordless._id}`)
      const answered = [
        await login(app(), email, 'wrong horse battery'),
        await login(app(), email, ''),
        await login(app(), email, 'x'.repeat(73)),
        await login(app(), email, PASSWORD.toUpperCase()),
        await login(app(), 'nobody@example.com'),
        await login(app(), 'no address'),
        await login(app(), disabled.email),
        await login(app(), passwordless.email),
        await login(app(), passwordless.email, ''),
      ]
      const seen = answered.map(({ status, headers, text }) => {
        const own = new Set(['x-request-id', 'date'])
        return JSON.stringify([status, text, [...headers].filter(([name]) => !own.has(name))])
      })
      assert.equal(answered[0]!.status, 401)
      assert.equal(answered[0]!.code, 'INVALID_CREDENTIALS')
      assert.deepEqual(new Set(seen).size, 1, seen.join('\n'))
    })

    test('lists the ways to sign in', async () => {
      const answered = await send(app(), 'GET /auth/health')
      assert.deepEqual(
        [answered.status, answered.body],
        [200, { status: 'healthy', providers: ['local', 'passkey'] }],
      )
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    testOnce('renews a hash that was made at another cost', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const before = await startApp(t, engine, { databaseUrl, config: { auth: { bcryptCost: 5 } } })
      const { _id, email } = await before.register()
      await before.stop()
      const after = await startApp(t, engine, { databaseUrl, config: { auth: { bcryptCost: 4 } } })
      const hash = async () => {
        const query = sql<{ password_hash: string }>`select password_hash from auth_users where id = ${_id}`
        return (await after.app.db.get(query))!.password_hash
      }
      assert.match(await hash(), /^\$2b\$05\$/)
      assert.equal((await login(after, email, 'wrong horse battery')).status, 401)
      assert.match(await hash(), /^\$2b\$05\$/)
      assert.deepEqual(statuses(await Promise.all(times(4, () => login(after, email)))), { 200: 4 })
      assert.match(await hash(), /^\$2b\$04\$/)
      assert.equal((await login(after, email)).status, 200)
    })

    test('accepts many right passwords of one account at the same moment', async (t) => {
      const app = await startApp(t, engine, { config: { auth: { bcryptCost: 8 } } })
      const { email } = await app.register()
      assert.deepEqual(statuses(await Promise.all(times(12, () => login(app, email)))), { 200: 12 })
    })

    testOnce('computes a hash also where there is no account or no password', async (t) => {
      const cost = 9
      const app = await startApp(t, engine, { config: { auth: { bcryptCost: cost } } })
      const { _id } = await app.register('passwordless@example.com')
      await app.app.db.write(sql`update auth_users set password_hash = null where id = ${_id}`)
      const elapsed = async (work: () => Promise<unknown>): Promise<number> => {
        const begun = performance.now()
        await work()
        return performance.now() - begun
      }
      // The shortest of several hashes against the longest of several answers: a busy machine only adds to the latter.
      const passwords = createPasswords({ cost, minLength: 8 })
      const hashes = []
      for (let i = 0; i < 5; i++) hashes.push(await elapsed(() => passwords.hash(PASSWORD)))
      for (const email of ['nobody@example.com', 'passwordless@example.com', 'no address']) {
        const answers = []
        for (let i = 0; i < 3; i++) answers.push(await elapsed(() => login(app, email)))
        assert.ok(
          Math.max(...answers) >= Math.min(...hashes) / 2,
          `${email}: ${answers.join()} against ${hashes.join()}`,
        )
      }
    })

    testOnce('is limited for each client address, whatever it writes into headers or paths', async (t) => {
      const app = await startApp(t, engine, { environment: { SIXWIRE_RATE_LIMITS: 'on' } })
      const paths = [
        '/auth/login',
        '//auth/login',
        '/auth/login/',
        '/AUTH/login',
        '/auth/./login',
        '/auth%2Flogin',
      ]
      const answered = []
      for (let i = 0; i < 60; i++)
        answered.push(
          await send(app, `POST ${paths[i % paths.length]}`, {
            body: { email: `a${i}@example.com`, password: PASSWORD },
            headers: { 'x-forwarded-for': `10.0.0.${i}`, forwarded: `for=10.0.0.${i}` },
          }),
        )
      for (let i = 0; i < 30; i++) answered.push(await login(app, `b${i}@example.com`))
      const counted = statuses(answered)
      // A minute's worth, and the one or two that a slow machine's time refills.
      assert.ok(counted[401]! >= 30 && counted[401]! < 45, JSON.stringify(counted))
      const limited = answered.find(({ status }) => status === 429)!
      assert.equal(limited.code, 'RATE_LIMITED')
      assert.match(limited.headers.get('retry-after')!, /^\d+$/)
    })
  })
})

describe('changing the password', () => {
  const CHANGED = 'another horse battery'
  const change = (
    app: Parameters<typeof send>[0],
    token: string,
    currentPassword: string,
    newPassword = CHANGED,
  ) => send(app, 'POST /auth/change-password', { token, body: { currentPassword, newPassword } })

  someEngine((engine) => {
    const app = appForAll(engine)

    test("ends the user's other sessions and keeps the one that asks", async () => {
      const mine = await app().register()
      const other = (await login(app(), mine.email)).body
      const stranger = await app().register()
      const answered = await change(app(), mine.token, PASSWORD)
      assert.equal(answered.status, 200)
      assert.deepEqual(Object.keys(answered.body), ['message'])
      assert.equal((await me(app(), mine.token)).status, 200)
      assert.equal((await me(app(), other.token)).status, 401)
      assert.equal((await refresh(app(), other.refreshToken)).status, 401)
      assert.equal((await refresh(app(), mine.refreshToken)).status, 200)
      assert.equal((await me(app(), stranger.token)).status, 200)
      assert.equal((await login(app(), mine.email)).status, 401)
      assert.equal((await login(app(), mine.email, CHANGED)).status, 200)
    })

    test('requires the current password', async () => {
      const { email, token } = await app().register()
      const answered = await change(app(), token, 'wrong horse battery')
      assert.deepEqual([answered.status, answered.code], [401, 'INVALID_CREDENTIALS'])
      assert.equal((await login(app(), email)).status, 200)
    })

    test('refuses a new password that registration would refuse', async () => {
      const { email, token } = await app().register()
      for (const password of ['short', 'password1', 'x'.repeat(73)]) {
        const answered = await change(app(), token, PASSWORD, password)
        assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'])
        assert.match(answered.body.error.details!.issues[0]!.path, /\/newPassword$/)
      }
      assert.equal((await login(app(), email)).status, 200)
    })

    test('needs a session', async () => {
      const body = { currentPassword: PASSWORD, newPassword: CHANGED }
      assert.equal((await send(app(), 'POST /auth/change-password', { body })).status, 401)
    })
  })

  eachEngine((engine) => {
    const replicas = replicasForAll(engine)

    test('succeeds once if requested twice at the same moment', async () => {
      const [one, two] = replicas()
      for (let i = 0; i < 5; i++) {
        const { email, token } = await one.register()
        const answered = await Promise.all([
          change(one, token, PASSWORD, 'first horse battery'),
          change(two, token, PASSWORD, 'second horse battery'),
        ])
        assert.deepEqual(statuses(answered), { 200: 1, 401: 1 })
        const winner = answered[0].status === 200 ? 'first horse battery' : 'second horse battery'
        assert.equal((await login(one, email, winner)).status, 200)
      }
    })

    test('leaves no session that the old password opens at the same moment', async () => {
      const [one, two] = replicas()
      for (let i = 0; i < 8; i++) {
        const { email, token } = await one.register()
        const [changed, ...opened] = await Promise.all([
          change(one, token, PASSWORD),
          ...times(4, () => login(two, email)),
        ])
        assert.equal(changed.status, 200)
        for (const { status, body } of opened)
          if (status === 200) assert.equal((await me(one, body.token)).status, 401)
      }
    })
  })
})
