import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, test, type TestContext } from 'node:test'

import type { Database } from '../../../db/database.ts'
import { readMigrations } from '../../../db/migrations.ts'
import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, testClock } from '../../../testing/app.ts'
import { eachEngine, someEngine, testOnOne, type Engine } from '../../../testing/engines.ts'
import { createAccessTokens } from './access-tokens.ts'
import type { Issuers } from './issuers.ts'
import { createSigningKeys } from './signing-keys.ts'
import { me, refresh, send, times } from '../../../testing/auth.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ROTATION_MS = 90 * DAY_MS
const SECRET = 'a secret of the tests that is long enough'

const issuers: Issuers = {
  start: async () => undefined,
  own: () => 'i',
  includes: async (issuer) => issuer === 'i',
}

/** A database with this wire's tables, and what makes replicas on it that share a clock. */
async function prepare(t: TestContext, engine: Engine) {
  const db = await openDatabase(await engine.freshUrl())
  t.after(() => db.close())
  await db.migrate(await readMigrations('auth', new URL('../migrations/', import.meta.url), db.dialect))
  const clock = testClock()
  const replica = (through: Database = db, secret = SECRET) => {
    const keys = createSigningKeys(
      { db: through, clock },
      { secret, rotationMs: ROTATION_MS, tokenMs: HOUR_MS },
    )
    const tokens = createAccessTokens({ clock }, { keys, issuers }, { audience: 'a', lifetimeSeconds: 3600 })
    return {
      ...keys,
      ...tokens,
      issueOne: () => tokens.issue({ userId: 'u', sessionId: 's', role: 'user', sessionEndsAt: Infinity }),
    }
  }
  return { db, clock, replica }
}

const kids = (keys: readonly { kid: string }[]): string[] => keys.map(({ kid }) => kid)

describe('signing keys', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    test('are one set, however many replicas start at once', async (t) => {
      const { replica } = await prepare(t, engine)
      const replicas = times(6, () => replica())
      await Promise.all(replicas.map((one) => one.start()))
      const signers = await Promise.all(replicas.map((one) => one.signer()))
      assert.equal(new Set(signers.map(({ kid }) => kid)).size, 1)
      for (const one of replicas) assert.deepEqual(kids(await one.published()), [signers[0]!.kid])
    })

    testOnce('sign where the clock was set back to before the first of them', async (t) => {
      const { clock, replica } = await prepare(t, engine)
      const one = replica()
      await one.start()
      clock.advance(-HOUR_MS)
      await one.check()
      assert.equal((await one.signer()).kid, kids(await one.published())[0])
    })

    test('are published before they sign, and stay until their last token has ended', async (t) => {
      const { clock, replica } = await prepare(t, engine)
      const [one, two] = [replica(), replica()]
      await one.start()
      await two.start()
      const first = (await one.signer()).kid
      clock.advance(ROTATION_MS - 2 * HOUR_MS)
      await one.rotate()
      assert.deepEqual(kids(await one.published()), [first])

      clock.advance(HOUR_MS)
      await Promise.all([one.rotate(), two.rotate()])
      await one.rotate()
      const [, second, ...more] = kids(await two.published())
      assert.ok(second)
      assert.deepEqual(more, [])
      assert.equal((await one.signer()).kid, first)
      clock.advance(HOUR_MS - 60_000)
      const old = await one.issueOne()
      assert.equal((await one.signer()).kid, first)

      clock.advance(60_000)
      assert.equal((await one.signer()).kid, second)
      assert.equal((await two.signer()).kid, second)
      const young = await two.issueOne()
      for (const token of [old, young])
        for (const replica of [one, two]) assert.ok(await replica.verify(token))
      clock.advance(HOUR_MS - 120_000)
      await one.rotate()
      const fresh = replica()
      await fresh.start()
      assert.ok(await fresh.verify(old))

      clock.advance(2 * HOUR_MS)
      await one.rotate()
      clock.advance(60_000)
      assert.deepEqual(kids(await one.published()), [second])
      assert.equal(await fresh.verify(old), undefined)
    })

    test('come an hour ahead also where nobody rotated them for long', async (t) => {
      const { clock, replica } = await prepare(t, engine)
      const one = replica()
      await one.start()
      const first = (await one.signer()).kid
      clock.advance(3 * ROTATION_MS)
      const two = replica()
      await two.start()
      assert.equal((await two.signer()).kid, first)
      assert.equal((await two.published()).length, 2)
      clock.advance(HOUR_MS)
      assert.notEqual((await two.signer()).kid, first)
      assert.notEqual((await one.signer()).kid, first)
    })

    testOnce('of another replica are found when a token names them', async (t) => {
      const { clock, replica } = await prepare(t, engine)
      const [one, two] = [replica(), replica()]
      await one.start()
      await two.start()
      clock.advance(ROTATION_MS)
      await one.rotate()
      clock.advance(HOUR_MS)
      const token = await one.issueOne()
      assert.notEqual((await one.signer()).kid, (await one.published())[0]!.kid)
      assert.deepEqual((await two.verify(token))?.userId, 'u')
    })

    testOnce('with unknown ids make a replica read the table rarely, not each time', async (t) => {
      const { db, clock, replica } = await prepare(t, engine)
      let reads = 0
      const counted = new Proxy(db, {
        get(target, name) {
          if (name === 'all') reads++
          const found: unknown = Reflect.get(target, name, target)
          return typeof found === 'function' ? found.bind(target) : found
        },
      })
      const one = replica(counted)
      await one.start()
      clock.advance(10_000)
      reads = 0
      const invent = (n: number) => one.verifier(`invented${n}`).catch((error: unknown) => error)
      for (const error of await Promise.all(times(50, invent))) assert.ok(error instanceof Error)
      for (let n = 0; n < 50; n++) await invent(n)
      // Another one where this took longer than ten seconds.
      assert.ok(reads >= 1 && reads <= 3, String(reads))
    })

    testOnce('stop the start with another secret, and start again with the right one', async (t) => {
      const { db, clock, replica } = await prepare(t, engine)
      const one = replica()
      await one.start()
      const { kid } = await one.signer()
      clock.advance(ROTATION_MS)
      const wrong = replica(db, `${SECRET}!`)
      await assert.rejects(wrong.start(), {
        name: 'StartError',
        message: /^SIXWIRE_SECRET: .*sealed with another secret/,
      })
      assert.equal((await db.all(sql`select kid from auth_signing_keys`)).length, 1)
      const again = replica()
      await again.start()
      assert.equal((await again.signer()).kid, kid)
    })

    testOnce('are sealed in the database', async (t) => {
      const { db, replica } = await prepare(t, engine)
      await replica().start()
      const rows = await db.all<{ private_jwk: string; public_jwk: string }>(
        sql`select * from auth_signing_keys`,
      )
      assert.equal(rows.length, 1)
      assert.match(rows[0]!.private_jwk, /^[\w-]+$/)
      assert.doesNotMatch(rows[0]!.public_jwk, /"d"/)
    })
  })

  someEngine((engine) => {
    test('are rotated by the running server, which signs nobody out', async (t) => {
      const days = (count: number): number => (count * DAY_MS) / 1000
      const auth = {
        signingKeySeconds: days(30),
        accessTokenSeconds: days(60),
        refreshTokenSeconds: days(90),
      }
      const app = await startApp(t, engine, { config: { auth } })
      const { token, refreshToken } = await app.register()
      app.clock.advance(30 * DAY_MS)
      while ((await send(app, 'GET /.well-known/jwks.json')).body.keys.length < 2) {
        await delay(50)
        app.clock.advance(60_000) // what replicas know may be as old as that
      }
      app.clock.advance(HOUR_MS)
      assert.equal((await me(app, token)).status, 200)
      const refreshed = await send(app, 'POST /auth/refresh', { body: { refreshToken } })
      assert.equal((await me(app, refreshed.body.token)).status, 200)
      const kid = (jwt: string): unknown =>
        (JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid
      assert.notEqual(kid(refreshed.body.token), kid(token))
    })

    test('stop a server with another secret; emptying their table lets it start', async (t) => {
      const databaseUrl = await engine.freshUrl()
      const before = await startApp(t, engine, { databaseUrl })
      const { token, refreshToken } = await before.register()
      const options = { databaseUrl, environment: { SIXWIRE_SECRET: 'x'.repeat(40) } }
      await assert.rejects(startApp(t, engine, options), { name: 'StartError', message: /^SIXWIRE_SECRET: / })
      await before.app.db.write(sql`delete from auth_signing_keys`)
      await before.stop()
      const after = await startApp(t, engine, options)
      assert.equal((await me(after, token)).status, 401)
      assert.equal((await refresh(after, refreshToken)).status, 200)
    })

    test('make the wire unhealthy if they are missing', async (t) => {
      const app = await startApp(t, engine)
      await app.app.db.write(sql`delete from auth_signing_keys`)
      const answered = await send(app, 'GET /auth/health')
      assert.deepEqual(
        [answered.status, answered.body],
        [503, { status: 'unhealthy', providers: ['local', 'passkey'] }],
      )
      assert.equal((await send(app, 'GET /health')).status, 503)
    })
  })
})
