import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { login, PASSWORD, send, startReplicas } from '../testing/auth.ts'
import { someEngine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { lastText, openStream, tickerWire } from './event-streams.fixture.ts'

const ended = (reason: string): string => `data: open\n\n${lastText(reason)}`

/** Far more than it takes, and less than until all callers are looked at anyway. */
const SOON_MS = 10_000

describe('an open stream', () => {
  someEngine((engine) => {
    test('ends when its caller changes on another replica', async (t) => {
      const [here, there] = await startReplicas(t, engine, { config: { wires: [tickerWire().ticker()] } })
      const { keys, users } = there.app.service('auth')
      const open = (token: string) => openStream(t, `${here.url}/ticker`, { token })
      const secondSession = async (email: string): Promise<string> => (await login(there, email)).body.token

      type Person = Awaited<ReturnType<TestApp['register']>>
      const changes: Record<string, [reason: string, change: (person: Person, other: string) => unknown]> = {
        'signed out': ['revoked', ({ token }) => send(there, 'POST /auth/logout', { token })],
        'password changed in another session': [
          'revoked',
          (_person, other) =>
            send(there, 'POST /auth/change-password', {
              token: other,
              body: { currentPassword: PASSWORD, newPassword: 'another correct horse' },
            }),
        ],
        'account deleted': [
          'revoked',
          (_person, other) => send(there, 'DELETE /auth/me', { token: other, body: { password: PASSWORD } }),
        ],
        'account disabled': ['revoked', ({ email }) => users.disable(email)],
        'role changed': ['changed', ({ email }) => users.promote(email)],
        'session deleted by hand': [
          'revoked',
          ({ _id }) => there.app.db.write(sql`delete from auth_sessions where user_id = ${_id}`),
        ],
      }
      const bystander = await open((await here.register()).token) // the first account is an administrator
      const cases = await Promise.all(
        Object.entries(changes).map(async ([name, [reason, change]]) => {
          const person = await here.register()
          const other = await secondSession(person.email)
          return { name, reason, stream: await open(person.token), change: () => change(person, other) }
        }),
      )
      const { id, key } = await keys.create('relay', ['ticker'])
      cases.push({
        name: 'key revoked',
        reason: 'revoked',
        stream: await open(key),
        change: () => keys.revoke(id),
      })
      await Promise.all(
        cases.map(async ({ name, reason, stream, change }) => {
          await change()
          await until(stream.isOver, SOON_MS)
          assert.equal(stream.text(), ended(reason), name)
        }),
      )
      // What changes about a person without changing who calls ends nothing.
      const person = await here.register()
      const own = await open(person.token)
      await send(there, 'PATCH /auth/me', { token: person.token, body: { name: 'Ada' } })
      await login(there, person.email)
      await send(there, 'POST /auth/refresh', { body: { refreshToken: person.refreshToken } })
      here.clock.advance(610_000) // all callers are looked at, and no proof is recent any more
      const { token } = await here.register()
      const marker = await open(token)
      await send(there, 'POST /auth/logout', { token })
      await until(marker.isOver, SOON_MS)
      for (const one of [bystander, own]) assert.equal(one.isOver(), false)
    })

    test('ends as well if it began just as the last one had ended', async (t) => {
      const app = await startApp(t, engine, { config: { wires: [tickerWire().ticker()] } })
      for (const { token } of [await app.register(), await app.register(), await app.register()]) {
        const stream = await openStream(t, `${app.url}/ticker`, { token })
        await send(app, 'POST /auth/logout', { token })
        await until(stream.isOver, SOON_MS)
        assert.equal(stream.text(), ended('revoked'))
      }
    })

    test('ends with its token, and one of a service key does not', async (t) => {
      const app = await startApp(t, engine, { config: { wires: [tickerWire().ticker()] } })
      const { token } = await app.register()
      const { key } = await app.app.service('auth').keys.create('relay', ['ticker'])
      const open = (bearer: string) => openStream(t, `${app.url}/ticker`, { token: bearer })
      const [user, relay] = await Promise.all([open(token), open(key)])
      app.clock.advance(3_500_000)
      assert.equal((await send(app, 'GET /auth/me', { token })).status, 200)
      assert.equal(user.isOver(), false)
      app.clock.advance(100_000)
      await until(user.isOver, SOON_MS)
      assert.equal(user.text(), ended('expired'))
      assert.equal(relay.isOver(), false)
    })

    test('ends after 30 seconds in which nothing is known of its caller', async (t) => {
      const app = await startApp(t, engine, { config: { wires: [tickerWire().ticker()] } })
      const { token } = await app.register()
      const stream = await openStream(t, `${app.url}/ticker`, { token })
      const stranger = await openStream(t, `${app.url}/ticker/open`)
      // Neither what has changed can be read, nor everybody.
      await app.app.db.write(sql`alter table auth_caller_changes rename to changes_elsewhere`)
      await app.app.db.write(sql`alter table auth_sessions rename to sessions_elsewhere`)
      await until(() => app.log().includes('the callers of event streams cannot be checked'), SOON_MS)
      assert.equal(stream.isOver(), false)
      app.clock.advance(30_000)
      await until(stream.isOver, SOON_MS)
      assert.equal(stream.text(), ended('restart'))
      assert.equal(stranger.isOver(), false)
    })
  })
})
