import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { randomToken, sha256 } from '../../../base/crypto.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import {
  appForAll,
  login,
  me,
  refresh,
  replicasForAll,
  send,
  statuses,
  times,
} from '../../../testing/auth.ts'

const DAY_MS = 86_400_000
const GRACE_MS = 10_000

/** When an access token expires. */
function expiryOf(token: string): number {
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { exp: number }
  return claims.exp * 1000
}

/** How many tokens of the session of this one could be traded in. */
async function unused(app: TestApp, refreshToken: string): Promise<number> {
  const rows = await app.app.db.all(sql`
    select hash from auth_refresh_tokens where used_at is null and session_id =
      (select session_id from auth_refresh_tokens where hash = ${sha256(refreshToken)})`)
  return rows.length
}

describe('refreshing', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)

    testOnce('answers a new pair of the same session', async () => {
      const { token, refreshToken, _id } = await app().register()
      const answered = await refresh(app(), refreshToken)
      assert.equal(answered.status, 200)
      assert.equal(answered.headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(answered.body).toSorted(), ['refreshToken', 'token'])
      assert.notEqual(answered.body.token, token)
      assert.notEqual(answered.body.refreshToken, refreshToken)
      assert.equal((await me(app(), answered.body.token)).body.user._id, _id)
      const listed = await send(app(), 'GET /auth/sessions', { token: answered.body.token })
      assert.equal(listed.body.total, 1)
    })

    testOnce('refuses what is no refresh token of a living session', async () => {
      const { token } = await app().register()
      const keys = app().app.service('auth').keys
      const { key } = await keys.create('backend', ['*'])
      for (const wrong of ['', 'x', randomToken(), token, key, sha256('x'), '\u{1F511}']) {
        const answered = await refresh(app(), wrong)
        assert.deepEqual([answered.status, answered.code], [401, 'UNAUTHORIZED'], wrong)
      }
    })

    testOnce('accepts no refresh token as a bearer token', async () => {
      const { refreshToken } = await app().register()
      assert.equal((await me(app(), refreshToken)).status, 401)
      assert.equal((await refresh(app(), refreshToken)).status, 200)
    })

    test('gives ten requests at the same moment one successor', async () => {
      const { refreshToken } = await app().register()
      const answered = await Promise.all(times(10, () => refresh(app(), refreshToken)))
      assert.deepEqual(statuses(answered), { 200: 10 })
      const successors = new Set(answered.map(({ body }) => body.refreshToken))
      assert.equal(successors.size, 1)
      assert.equal(await unused(app(), refreshToken), 1)
      for (const { body } of answered) assert.equal((await me(app(), body.token)).status, 200)
      const [successor] = successors
      assert.equal((await refresh(app(), successor!)).status, 200)
    })

    test('answers a retry with the same successor, for a client whose answer was lost', async () => {
      const { refreshToken } = await app().register()
      const first = (await refresh(app(), refreshToken)).body
      app().clock.advance(GRACE_MS - 5_000)
      const again = await refresh(app(), refreshToken)
      assert.equal(again.status, 200)
      assert.equal(again.body.refreshToken, first.refreshToken)
      assert.equal((await me(app(), again.body.token)).status, 200)
      assert.equal(await unused(app(), refreshToken), 1)
    })

    test('answers a retry with the current token where the successor was used as well', async () => {
      const { refreshToken } = await app().register()
      const second = (await refresh(app(), refreshToken)).body
      const third = (await refresh(app(), second.refreshToken)).body
      assert.equal((await refresh(app(), refreshToken)).body.refreshToken, third.refreshToken)
      assert.equal((await refresh(app(), second.refreshToken)).body.refreshToken, third.refreshToken)
      assert.equal(await unused(app(), refreshToken), 1)
    })

    test('answers a client whose answer was lost days ago, until the successor is used', async () => {
      const { refreshToken } = await app().register()
      const lost = (await refresh(app(), refreshToken)).body
      app().clock.advance(3 * DAY_MS)
      const answered = await Promise.all(times(10, () => refresh(app(), refreshToken)))
      assert.deepEqual(statuses(answered), { 200: 10 })
      assert.deepEqual(new Set(answered.map(({ body }) => body.refreshToken)), new Set([lost.refreshToken]))
      assert.equal(await unused(app(), refreshToken), 1)
      const next = (await refresh(app(), lost.refreshToken)).body
      assert.equal((await refresh(app(), refreshToken)).status, 401)
      assert.equal((await me(app(), next.token)).status, 401)
    })

    test('ends the session where a used token comes back later', async () => {
      const mine = await app().register()
      const other = (await login(app(), mine.email)).body
      const lost = (await refresh(app(), mine.refreshToken)).body
      const successor = (await refresh(app(), lost.refreshToken)).body
      app().clock.advance(GRACE_MS)
      const stolen = await refresh(app(), mine.refreshToken)
      assert.deepEqual([stolen.status, stolen.code], [401, 'UNAUTHORIZED'])
      assert.equal((await me(app(), mine.token)).status, 401)
      assert.equal((await me(app(), successor.token)).status, 401)
      assert.equal((await refresh(app(), successor.refreshToken)).status, 401)
      assert.equal((await me(app(), other.token)).status, 200)
    })

    testOnce('ends the session also where the token that comes back is an old one', async () => {
      const { refreshToken } = await app().register()
      let current = refreshToken
      for (let i = 0; i < 4; i++) {
        app().clock.advance(3_600_000)
        current = (await refresh(app(), current)).body.refreshToken
      }
      assert.equal((await refresh(app(), refreshToken)).status, 401)
      assert.equal((await refresh(app(), current)).status, 401)
    })

    testOnce('lets a session live on for 30 days from each refresh', async () => {
      const { refreshToken } = await app().register()
      app().clock.advance(29 * DAY_MS)
      const second = await refresh(app(), refreshToken)
      assert.equal(second.status, 200)
      app().clock.advance(29 * DAY_MS)
      const third = await refresh(app(), second.body.refreshToken)
      assert.equal(third.status, 200)
      app().clock.advance(30 * DAY_MS)
      assert.equal((await refresh(app(), third.body.refreshToken)).status, 401)
    })

    testOnce('does not make a session or its tokens live longer than 90 days in all', async () => {
      const { token, refreshToken } = await app().register()
      const session = async (accessToken: string) => {
        const [one] = (await send(app(), 'GET /auth/sessions', { token: accessToken })).body.sessions
        return { createdAt: Date.parse(one!.createdAt), expiresAt: Date.parse(one!.expiresAt) }
      }
      const { createdAt } = await session(token)
      const end = createdAt + 90 * DAY_MS
      let current = refreshToken
      for (const days of [29, 29, 29]) {
        app().clock.advance(days * DAY_MS)
        current = (await refresh(app(), current)).body.refreshToken
      }
      app().clock.advance(3 * DAY_MS - 1_800_000)
      const last = await refresh(app(), current)
      assert.equal(last.status, 200)
      assert.equal((await session(last.body.token)).expiresAt, end)
      assert.equal(expiryOf(last.body.token), Math.floor(end / 1000) * 1000)
      app().clock.advance(1_800_000)
      assert.equal((await me(app(), last.body.token)).status, 401)
      assert.equal((await refresh(app(), last.body.refreshToken)).status, 401)
    })

    test('is refused after signing out, and if the account is disabled', async () => {
      const one = await app().register()
      await send(app(), 'POST /auth/logout', { token: one.token })
      assert.equal((await refresh(app(), one.refreshToken)).status, 401)
      const two = await app().register()
      // As where a session is opened in the very moment: the account says no, whatever the session says.
      await app().app.db.write(sql`update auth_users set disabled_at = 1 where id = ${two._id}`)
      assert.equal((await refresh(app(), two.refreshToken)).status, 401)
      assert.equal((await me(app(), two.token)).status, 401)
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const replicas = replicasForAll(engine)

    testOnce('ends a session after sessionSeconds, also one older than that setting', async (t) => {
      const databaseUrl = await engine.freshUrl()
      const before = await startApp(t, engine, { databaseUrl })
      const old = await before.register()
      await before.stop()
      const { clock } = before
      const config = { auth: { sessionSeconds: 1800 } }
      const app = await startApp(t, engine, { databaseUrl, clock, config })
      const young = await app.register()
      const { sessions } = (await send(app, 'GET /auth/sessions', { token: young.token })).body
      assert.equal(Date.parse(sessions[0]!.expiresAt) - Date.parse(sessions[0]!.createdAt), 1_800_000)
      assert.ok(expiryOf(young.token) <= Date.parse(sessions[0]!.expiresAt))
      clock.advance(1_800_000)
      for (const { token, refreshToken } of [old, young]) {
        assert.equal((await me(app, token)).status, 401)
        assert.equal((await refresh(app, refreshToken)).status, 401)
      }
    })

    test('gives one successor on all replicas together', async () => {
      const apps = replicas()
      for (let i = 0; i < 5; i++) {
        const { refreshToken } = await apps[0].register()
        const answered = await Promise.all(times(10, (n) => refresh(apps[n % 2]!, refreshToken)))
        assert.deepEqual(statuses(answered), { 200: 10 })
        assert.equal(new Set(answered.map(({ body }) => body.refreshToken)).size, 1)
        assert.equal(await unused(apps[1], refreshToken), 1)
      }
    })

    test('leaves no session open after a sign-out at the same moment', async () => {
      const [one, two] = replicas()
      for (let i = 0; i < 10; i++) {
        const { token, refreshToken } = await one.register()
        const [out, ...answered] = await Promise.all([
          send(one, 'POST /auth/logout', { token }),
          ...times(3, () => refresh(two, refreshToken)),
        ])
        assert.equal(out.status, 200)
        for (const { status, body } of answered) {
          assert.ok(status === 200 || status === 401, String(status))
          if (status !== 200) continue
          assert.equal((await me(one, body.token)).status, 401)
          assert.equal((await refresh(one, body.refreshToken)).status, 401)
        }
      }
    })

    testOnce('applies the configured lifetimes', async (t) => {
      const auth = { accessTokenSeconds: 60, refreshTokenSeconds: 600, refreshGraceSeconds: 0 }
      const app = await startApp(t, engine, { config: { auth } })
      const { token, refreshToken } = await app.register()
      app.clock.advance(60_000)
      assert.equal((await me(app, token)).status, 401)
      const second = await refresh(app, refreshToken)
      assert.equal(second.status, 200)
      app.clock.advance(600_000)
      assert.equal((await refresh(app, second.body.refreshToken)).status, 401)
      const other = await app.register()
      const { refreshToken: successor } = (await refresh(app, other.refreshToken)).body
      assert.equal((await refresh(app, successor)).status, 200)
      assert.equal((await refresh(app, other.refreshToken)).status, 401)
    })

    test('issues one chain of tokens, whatever is presented in whatever order', async () => {
      const [app] = replicas()
      // Each step: which of the tokens seen so far is presented, and how long after the step before.
      const step = fc.record({ token: fc.nat(5), afterMs: fc.constantFrom(0, 0, 100, 12_000) })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
          const { refreshToken } = await app.register()
          const line = [refreshToken]
          const usedAt: number[] = []
          let alive = true
          let now = 0
          for (const { token, afterMs } of steps) {
            app.clock.advance(afterMs)
            now += afterMs
            const at = Math.max(0, line.length - 1 - token)
            const answered = await refresh(app, line[at]!)
            const used = usedAt[at]
            const isParentOfNewest = at === line.length - 2
            if (used !== undefined && now - used > GRACE_MS && !isParentOfNewest) alive = false
            assert.equal(answered.status, alive ? 200 : 401)
            if (!alive) continue
            if (used === undefined) {
              usedAt[at] = now
              line.push(answered.body.refreshToken)
            }
            assert.equal(answered.body.refreshToken, line.at(-1))
            assert.equal(new Set(line).size, line.length)
          }
        }),
        { numRuns: 25 },
      )
    })
  })
})
