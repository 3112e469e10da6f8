import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appForAll, login, me, PASSWORD, refresh, send, times } from '../../../testing/auth.ts'

const DAY_MS = 86_400_000

describe('sessions', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)
    const list = (token: string, query = '') => send(app(), `GET /auth/sessions${query}`, { token })
    const end = (token: string, id: string) => send(app(), `DELETE /auth/sessions/${id}`, { token })

    testOnce('are listed with their origin, newest first, and nothing beyond that', async () => {
      const { email, token } = await app().register()
      const phone = await send(app(), 'POST /auth/login', {
        body: { email, password: PASSWORD },
        headers: { 'user-agent': 'Phone/1.0 '.padEnd(400, 'x') },
      })
      assert.equal(phone.status, 200)
      const answered = await list(token)
      assert.equal(answered.status, 200)
      const { sessions, ...page } = answered.body
      assert.deepEqual(page, { total: 2, limit: 20, offset: 0 })
      const [second, first] = sessions
      assert.deepEqual([second!.current, first!.current], [false, true])
      assert.equal(second!.userAgent, 'Phone/1.0 '.padEnd(300, 'x'))
      for (const session of sessions) {
        const fields = ['_id', 'createdAt', 'current', 'expiresAt', 'ip', 'lastUsedAt', 'userAgent']
        assert.deepEqual(Object.keys(session).toSorted(), fields)
        assert.match(session.ip, /^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/)
        assert.equal(Date.parse(session.expiresAt) - Date.parse(session.lastUsedAt), 30 * DAY_MS)
      }
    })

    testOnce('show when they were last refreshed', async () => {
      const { token, refreshToken } = await app().register()
      app().clock.advance(60_000)
      await refresh(app(), refreshToken)
      const [session] = (await list(token)).body.sessions
      assert.ok(Date.parse(session!.lastUsedAt) - Date.parse(session!.createdAt) >= 60_000)
    })

    test('can be walked by cursors, which end with the last page', async () => {
      const { email, token } = await app().register()
      await Promise.all(times(6, () => login(app(), email)))
      const all = (await list(token)).body.sessions.map(({ _id }) => _id)
      const ids: string[] = []
      let query = '?limit=3'
      for (let pages = 1; pages <= 3; pages++) {
        const { body } = await list(token, query)
        ids.push(...body.sessions.map(({ _id }) => _id))
        assert.equal(body.total, 7)
        assert.equal('nextCursor' in body, pages < 3)
        query = `?limit=3&cursor=${body.nextCursor}`
      }
      assert.deepEqual(ids, all)
      for (const wrong of ['?cursor=', '?cursor=x', `?cursor=${'A'.repeat(35)}`, `${query}&offset=1`])
        assert.equal((await list(token, wrong)).code, 'VALIDATION_ERROR', wrong)
    })

    test('come in pages that neither repeat nor skip one', async () => {
      const { email, token } = await app().register()
      await Promise.all(times(6, () => login(app(), email)))
      const ids: string[] = []
      for (let offset = 0; offset < 9; offset += 3) {
        const { body } = await list(token, `?limit=3&offset=${offset}`)
        assert.deepEqual([body.total, body.limit, body.offset], [7, 3, offset])
        ids.push(...body.sessions.map(({ _id }) => _id))
      }
      assert.equal(ids.length, 7)
      assert.equal(new Set(ids).size, 7)
      assert.equal((await list(token, '?limit=5000')).body.limit, 1000)
      for (const query of [
        '?limit=0',
        '?limit=-1',
        '?limit=x',
        '?offset=-1',
        '?offset=1.5',
        '?limit=1&limit=2',
      ])
        assert.deepEqual([(await list(token, query)).status, query], [400, query])
    })

    test('are ended one by one, with their tokens', async () => {
      const { email, token } = await app().register()
      const other = (await login(app(), email)).body
      const otherSession = (await list(token)).body.sessions.find(({ current }) => !current)
      assert.equal((await end(token, otherSession!._id)).status, 200)
      assert.equal((await me(app(), other.token)).status, 401)
      assert.equal((await refresh(app(), other.refreshToken)).status, 401)
      assert.equal((await list(token)).body.total, 1)
      assert.equal((await end(token, otherSession!._id)).status, 404)
    })

    testOnce('of another user are not found', async () => {
      const mine = await app().register()
      const theirs = await app().register()
      const [session] = (await list(theirs.token)).body.sessions
      for (const id of [session!._id, newId(), 'x', '%00']) {
        const answered = await end(mine.token, id)
        assert.ok(
          answered.status === 404 || (id === '%00' && answered.status === 400),
          `${id}: ${answered.status}`,
        )
      }
      assert.equal((await me(app(), theirs.token)).status, 200)
      assert.equal(
        (await list(mine.token)).body.sessions.some(({ _id }) => _id === session!._id),
        false,
      )
    })

    test('end when their user signs out, with both tokens', async () => {
      const { email, token, refreshToken } = await app().register()
      const other = (await login(app(), email)).body
      const answered = await send(app(), 'POST /auth/logout', { token })
      assert.equal(answered.status, 200)
      assert.deepEqual(Object.keys(answered.body), ['message'])
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await refresh(app(), refreshToken)).status, 401)
      assert.equal((await send(app(), 'POST /auth/logout', { token })).status, 401)
      assert.equal((await me(app(), other.token)).status, 200)
    })

    testOnce('are ended by another session only within 10 minutes of its sign-in', async () => {
      const { email, token, refreshToken } = await app().register()
      const phone = (await login(app(), email)).body
      const idOf = async (as: string) => (await list(as)).body.sessions.find(({ current }) => current)!._id
      const phoneId = await idOf(phone.token)
      app().clock.advance(10 * 60_000)
      const refreshed = (await refresh(app(), refreshToken)).body
      for (const as of [token, refreshed.token]) {
        const refused = await end(as, phoneId)
        assert.deepEqual([refused.status, refused.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
        assert.match(refused.body.error.message, /sign in again/)
      }
      assert.equal((await me(app(), phone.token)).status, 200)
      const again = (await login(app(), email)).body
      assert.equal((await end(again.token, phoneId)).status, 200)
      assert.equal((await me(app(), phone.token)).status, 401)
      // Its own session needs nothing.
      assert.equal((await end(refreshed.token, await idOf(refreshed.token))).status, 200)
      app().clock.advance(10 * 60_000)
      assert.equal((await send(app(), 'POST /auth/logout', { token: again.token })).status, 200)
    })

    testOnce('need a token on every route of theirs', async () => {
      for (const route of [
        'GET /auth/me',
        'POST /auth/logout',
        'GET /auth/sessions',
        'DELETE /auth/sessions/x',
      ]) {
        const answered = await send(app(), route)
        assert.deepEqual([answered.status, answered.code], [401, 'UNAUTHORIZED'], route)
      }
    })
  })

  eachEngine((engine) => {
    test('are removed once they have expired, and old attempts and used tokens with them', async (t) => {
      const app = await startApp(t, engine)
      const { refreshToken } = await app.register()
      await refresh(app, refreshToken)
      await login(app, 'nobody@example.com')
      app.clock.advance(29 * DAY_MS)
      const { token } = await app.register()
      app.clock.advance(DAY_MS + 3_600_000)
      const count = async () => {
        const tables = ['auth_sessions', 'auth_refresh_tokens', 'auth_login_attempts'].map((name) =>
          sql.literal(name),
        )
        const rows = await Promise.all(
          tables.map((name) => app.app.db.all(sql`select 1 as found from ${name}`)),
        )
        return rows.map(({ length }) => length).join()
      }
      // The work of an hour may be under way, and then the next one is due an hour later.
      while ((await count()) !== '1,1,0') {
        app.clock.advance(3_600_000)
        await delay(20)
      }
      const { sessionId } = (await app.app.db.get<{ sessionId: string }>(
        sql`select id as "sessionId" from auth_sessions`,
      ))!
      const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { sid: string }
      assert.equal(sessionId, claims.sid)
    })
  })
})
