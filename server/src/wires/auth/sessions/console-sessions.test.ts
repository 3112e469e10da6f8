import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { decodeJwt } from 'jose'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { appForAll, login, me, PASSWORD, refresh, send, times } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

async function open(app: TestApp, body: object, headers: Record<string, string> = {}) {
  const answered = await send(app, 'POST /console/session', { body, headers: { ...SAME_ORIGIN, ...headers } })
  const line = answered.headers.get('set-cookie') ?? ''
  return { ...answered, line, cookie: line.split(';')[0]! }
}

describe('the session of the console', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    // The first account is the administrator.
    const app = appForAll(engine, { environment: { PUBLIC_URL: 'http://shop.example' } })
    let people = 0
    async function signedIn(role?: 'admin' | 'viewer') {
      const email = `console${++people}@example.com`
      await app()
        .app.service('auth')
        .users.create({ email, password: PASSWORD, ...(role && { role }) })
      return { email, ...(await login(app(), email)).body }
    }

    testOnce('is opened right after a sign-in, with its refresh token in an HttpOnly cookie', async () => {
      const { refreshToken, user } = await signedIn('admin')
      const opened = await open(app(), { refreshToken })
      assert.equal(opened.status, 200)
      assert.deepEqual(opened.body.user, { _id: user._id, email: user.email, role: 'admin' })
      assert.ok(!opened.text.includes('refreshToken'))
      assert.match(
        opened.line,
        /^sixwire_console=[\w-]+; Max-Age=43200; Path=\/console\/session; HttpOnly; SameSite=Strict$/,
      )
      assert.equal((await me(app(), opened.body.token)).status, 200)
    })

    testOnce('has a token of 10 minutes at most, also after a renewal', async () => {
      const { refreshToken } = await signedIn('admin')
      const opened = await open(app(), { refreshToken })
      const renewed = await open(app(), {}, { cookie: opened.cookie })
      for (const { body } of [opened, renewed]) {
        const { iat = 0, exp = Infinity } = decodeJwt(body.token)
        assert.ok(exp - iat <= 600, `${exp - iat} s`)
        assert.ok(exp * 1000 <= app().clock.now() + 600_000)
      }
    })

    test('goes on with its cookie, each of which is good for one use', async () => {
      const { refreshToken } = await signedIn('viewer')
      const first = await open(app(), { refreshToken })
      const second = await open(app(), {}, { cookie: first.cookie })
      assert.equal(second.status, 200)
      assert.equal(second.body.user.role, 'viewer')
      assert.notEqual(second.cookie, first.cookie)
      // Two tabs at the same moment: for some seconds the used one brings the current one.
      const tabs = await Promise.all(times(3, () => open(app(), {}, { cookie: second.cookie })))
      assert.deepEqual(
        tabs.map(({ status }) => status),
        [200, 200, 200],
      )
      assert.equal(new Set(tabs.map(({ cookie }) => cookie)).size, 1)
    })

    testOnce('is not of use to an application, nor its own session to the console', async () => {
      const { refreshToken } = await signedIn('admin')
      const { cookie } = await open(app(), { refreshToken })
      const inCookie = cookie.split('=')[1]!
      assert.equal((await refresh(app(), inCookie)).status, 401)
      const other = await signedIn('admin')
      const asCookie = await open(app(), {}, { cookie: `sixwire_console=${other.refreshToken}` })
      assert.equal(asCookie.status, 401)
      // Neither try has ended a session.
      assert.equal((await refresh(app(), other.refreshToken)).status, 200)
      assert.equal((await open(app(), {}, { cookie })).status, 200)
    })

    testOnce('is for administrators and viewers', async () => {
      const { refreshToken } = await signedIn()
      const refused = await open(app(), { refreshToken })
      assert.deepEqual([refused.status, refused.code], [403, 'FORBIDDEN'])
      const viewer = await signedIn('viewer')
      const opened = await open(app(), { refreshToken: viewer.refreshToken })
      await app().app.service('auth').users.demote(viewer.email)
      assert.equal((await open(app(), {}, { cookie: opened.cookie })).status, 403)
    })

    testOnce('needs a sign-in of the last 10 minutes', async () => {
      const { refreshToken } = await signedIn('admin')
      app().clock.advance(600_000)
      const late = await open(app(), { refreshToken })
      assert.deepEqual([late.status, late.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
      assert.equal((await refresh(app(), refreshToken)).status, 200)
    })

    testOnce('ends after 30 minutes without a call, and 12 hours at most', async () => {
      const idle = await open(app(), { refreshToken: (await signedIn('admin')).refreshToken })
      let busy = await open(app(), { refreshToken: (await signedIn('admin')).refreshToken })
      for (let minutes = 0; minutes < 12 * 60 - 25; minutes += 25) {
        app().clock.advance(25 * 60_000)
        busy = await open(app(), {}, { cookie: busy.cookie })
        assert.equal(busy.status, 200, `after ${minutes + 25} minutes`)
      }
      assert.equal((await open(app(), {}, { cookie: idle.cookie })).status, 401)
      app().clock.advance(25 * 60_000)
      assert.equal((await open(app(), {}, { cookie: busy.cookie })).status, 401)
    })

    testOnce('takes calls of its own pages only', async () => {
      const { refreshToken } = await signedIn('admin')
      const opened = await open(app(), { refreshToken })
      const { host } = new URL(app().url)
      for (const headers of [
        {},
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: 'https://shop.example' },
      ] as Record<string, string>[]) {
        const answered = await send(app(), 'POST /console/session', { body: { refreshToken }, headers })
        assert.equal(answered.status, 403, JSON.stringify(headers))
      }
      // Also behind a proxy that sends another name on.
      for (const origin of [`http://${host}`, 'http://shop.example']) {
        const headers = { origin, cookie: opened.cookie }
        assert.equal((await send(app(), 'POST /console/session', { body: {}, headers })).status, 200, origin)
      }
    })

    test('ends with its tokens', async () => {
      const { refreshToken } = await signedIn('admin')
      const { cookie, body } = await open(app(), { refreshToken })
      const ended = await send(app(), 'DELETE /console/session', { headers: { ...SAME_ORIGIN, cookie } })
      assert.equal(ended.status, 200)
      assert.match(ended.headers.get('set-cookie')!, /^sixwire_console=; Max-Age=0;/)
      assert.equal((await open(app(), {}, { cookie })).status, 401)
      assert.equal((await me(app(), body.token)).status, 401)
    })

    testOnce('has a secure cookie where the server is called by https', async (t) => {
      const secure = await startApp(t, engine, { environment: { PUBLIC_URL: 'https://shop.example/api' } })
      await secure.app
        .service('auth')
        .users.create({ email: 'a@example.com', password: PASSWORD, role: 'admin' })
      const { refreshToken } = (await login(secure, 'a@example.com')).body
      const opened = await open(secure, { refreshToken })
      assert.match(
        opened.line,
        /^__Secure-sixwire_console=[\w-]+; Max-Age=43200; Path=\/api\/console\/session; HttpOnly; Secure; SameSite=Strict$/,
      )
      assert.equal((await open(secure, {}, { cookie: opened.cookie })).status, 200)
      const other = opened.cookie.replace('__Secure-', '')
      assert.equal((await open(secure, {}, { cookie: other })).status, 401)
    })
  })
})
