import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { errors } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { createAudit } from '../../../kernel/audit/audit.ts'
import { createRateLimiter } from '../../../kernel/requests/rate-limits.ts'
import { createLock } from './lock.ts'
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
  type AuthReply,
} from '../../../testing/auth.ts'

const LOCK_SECONDS = 900

const wrong = (app: TestApp, email: string) => login(app, email, 'wrong horse battery')

/** Wrong passwords, one after the other. */
async function fail(app: TestApp, email: string, count: number): Promise<AuthReply[]> {
  const answered = []
  for (let i = 0; i < count; i++) answered.push(await wrong(app, email))
  return answered
}

describe('the lock of an address', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)

    test('begins after five wrong passwords, and then refuses the right one as well', async () => {
      const { email } = await app().register()
      assert.deepEqual(statuses(await fail(app(), email, 5)), { 401: 5 })
      for (const answered of [await wrong(app(), email), await login(app(), email)]) {
        assert.deepEqual([answered.status, answered.code], [423, 'ACCOUNT_LOCKED'])
        const seconds = Number(answered.headers.get('retry-after'))
        assert.ok(seconds > LOCK_SECONDS - 60 && seconds <= LOCK_SECONDS, String(seconds))
      }
    })

    test('counts each of forty attempts at the same moment before any of them is checked', async () => {
      const { email } = await app().register()
      assert.deepEqual(statuses(await Promise.all(times(40, () => wrong(app(), email)))), { 401: 5, 423: 35 })
    })

    test('ends after its time, and then counts from zero', async () => {
      const { email } = await app().register()
      await fail(app(), email, 5)
      app().clock.advance(LOCK_SECONDS * 1000 - 30_000)
      assert.equal((await login(app(), email)).status, 423)
      app().clock.advance(30_000)
      assert.deepEqual(statuses(await fail(app(), email, 4)), { 401: 4 })
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('is not made longer by attempts during it', async () => {
      const { email } = await app().register()
      await fail(app(), email, 5)
      app().clock.advance(LOCK_SECONDS * 500)
      assert.deepEqual(statuses(await fail(app(), email, 20)), { 423: 20 })
      app().clock.advance(LOCK_SECONDS * 500)
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('is the same for an address that nobody has', async () => {
      const { email } = await app().register()
      const repliesOfAccount = [...(await fail(app(), email, 5)), await wrong(app(), email)]
      const unknown = [
        ...(await fail(app(), 'nobody@example.com', 5)),
        await wrong(app(), 'nobody@example.com'),
      ]
      assert.deepEqual(
        unknown.map(({ status, text }) => [status, text]),
        repliesOfAccount.map(({ status, text }) => [status, text]),
      )
    })

    testOnce('counts an address as one, however it is written', async () => {
      const { email } = await app().register()
      await wrong(app(), email)
      await wrong(app(), email.toUpperCase())
      await wrong(app(), ` ${email}`)
      await wrong(app(), `${email}\t`)
      await wrong(app(), email)
      assert.equal((await login(app(), email)).status, 423)
    })

    testOnce('does not touch another address', async () => {
      const { email } = await app().register()
      const other = await app().register()
      await fail(app(), email, 6)
      assert.equal((await login(app(), other.email)).status, 200)
    })

    test('forgets failures once the right password comes', async () => {
      const { email } = await app().register()
      for (let i = 0; i < 3; i++) {
        assert.deepEqual(statuses(await fail(app(), email, 4)), { 401: 4 })
        assert.equal((await login(app(), email)).status, 200)
      }
    })

    test('forgets failures after the time of a lock without any', async () => {
      const { email } = await app().register()
      await fail(app(), email, 4)
      app().clock.advance(LOCK_SECONDS * 1000)
      assert.deepEqual(statuses(await fail(app(), email, 4)), { 401: 4 })
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('blocks passwords only: living sessions go on and are refreshed', async () => {
      const { email, token, refreshToken } = await app().register()
      await fail(app(), email, 6)
      assert.equal((await me(app(), token)).status, 200)
      const refreshed = await refresh(app(), refreshToken)
      assert.equal(refreshed.status, 200)
      assert.equal((await me(app(), refreshed.body.token)).status, 200)
    })

    testOnce('counts wrong current passwords too', async () => {
      const { email, token } = await app().register()
      const change = (currentPassword: string, newPassword = 'another horse battery') =>
        send(app(), 'POST /auth/change-password', { token, body: { currentPassword, newPassword } })
      assert.equal((await change(PASSWORD, 'short')).status, 400) // not an attempt
      await fail(app(), email, 2)
      assert.deepEqual(statuses(await Promise.all(times(10, () => change('wrong')))), { 401: 3, 423: 7 })
      assert.equal((await change(PASSWORD)).code, 'ACCOUNT_LOCKED')
      assert.equal((await login(app(), email)).status, 423)
    })

    testOnce('does not count an attempt that nobody could check', async () => {
      const { clock } = app()
      const { db } = app().app
      const context = { db, clock, audit: createAudit(clock), rateLimiter: createRateLimiter({ db, clock }) }
      const lock = createLock(context, { secret: 'x'.repeat(32), maxAttempts: 2, lockMs: 1000 })
      const overloaded = () => lock.attempt('a@example.com', () => Promise.reject(errors.unavailable()))
      for (let i = 0; i < 5; i++) await assert.rejects(overloaded(), { code: 'UNAVAILABLE' })
      assert.equal(await lock.attempt('a@example.com', async () => 'right'), 'right')
    })

    testOnce('keeps no address of a stranger in the clear', async () => {
      await wrong(app(), 'a.secret.address@example.com')
      const rows = await app().app.db.all(sql`select * from auth_login_attempts`)
      assert.ok(rows.length > 0)
      assert.doesNotMatch(JSON.stringify(rows), /secret|example/)
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    test('counts over all replicas together', async (t) => {
      const apps = await startReplicas(t, engine)
      const { email } = await apps[0].register()
      const answered = await Promise.all(times(40, (i) => wrong(apps[i % 2]!, email)))
      assert.deepEqual(statuses(answered), { 401: 5, 423: 35 })
      assert.equal((await login(apps[0], email)).status, 423)
      assert.equal((await login(apps[1], email)).status, 423)
    })

    testOnce('applies the configured attempts and duration', async (t) => {
      const app = await startApp(t, engine, {
        config: { auth: { local: { maxLoginAttempts: 1, lockDuration: 60_000 } } },
      })
      const { email } = await app.register()
      assert.equal((await wrong(app, email)).status, 401)
      const locked = await login(app, email)
      assert.equal(locked.status, 423)
      assert.ok(Number(locked.headers.get('retry-after')) <= 60)
      app.clock.advance(60_000)
      assert.equal((await login(app, email)).status, 200)
    })
  })
})
