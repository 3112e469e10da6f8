import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'

import { createApp } from '../../app.ts'
import { startProxy } from '../../db/postgres-proxy.fixture.ts'
import { startApp, type TestApp } from '../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine, temporaryFolder } from '../../testing/engines.ts'
import { freePort } from '../../testing/free-port.ts'
import { defineWire } from '../../kernel/wire/wire.ts'

/** A wire that does nothing but tell how it is. */
const wireWith = (name: string, health: () => Promise<void>) =>
  defineWire({ name, setup: () => ({ routes: [], service: undefined, health }) })()

const SECRET = 'a secret of the tests that is long enough'

someEngine((engine) => {
  describe('a server on its own', () => {
    let app: TestApp
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { config: { name: 'shop', version: '7.8.9' } })
    })

    test('/health tells that all is well, and how fast the database answered', async () => {
      const { status, body } = await app.request('GET', '/health')
      assert.equal(status, 200)
      const { uptime, latencyMs, ...rest } = body
      assert.deepEqual(rest, {
        status: 'healthy',
        database: 'connected',
        storage: 'writable',
        wires: {
          core: 'ready',
          messaging: 'ready',
          onchain: 'ready',
          auth: 'ready',
          pay: 'ready',
          store: 'ready',
        },
      })
      assert.ok(uptime > 0 && latencyMs >= 0)
      const later = await app.request('GET', '/health')
      assert.ok(later.body.uptime >= uptime, 'uptime goes on')
    })

    test('/ready', async () => {
      const { status, body } = await app.request('GET', '/ready')
      assert.equal(status, 200)
      assert.deepEqual(body, { ready: true })
    })

    test('/info tells the application’s version and the platform’s', async () => {
      const { status, body } = await app.request('GET', '/info')
      assert.equal(status, 200)
      const manifest = await readFile(new URL('../../../package.json', import.meta.url), 'utf8')
      const { uptime, ...rest } = body
      assert.deepEqual(rest, {
        name: 'shop',
        version: '7.8.9',
        platform: JSON.parse(manifest).version,
        runtime: `node ${process.version}`,
        wires: ['core', 'messaging', 'onchain', 'auth', 'pay', 'store'],
      })
      assert.equal(typeof uptime, 'number')
    })

    describe('/metrics', () => {
      const metrics = (headers: Record<string, string> = {}, token?: string) =>
        app.request('GET', '/metrics', { headers, token })

      test('are answered on this machine, with a histogram of requests by route', async () => {
        await app.request('GET', '/store/things/nothing')
        const { status, headers, text } = await metrics()
        assert.equal(status, 200)
        assert.match(headers.get('content-type')!, /^text\/plain; version=/)
        assert.match(
          text,
          /^http_request_duration_seconds_count\{method="GET",path="\/store\/:collection\/:id",status="40\d"\} 1$/m,
        )
        assert.match(text, /^http_request_duration_seconds_bucket\{le="\+Inf",/m)
        assert.match(text, /^process_resident_memory_bytes \d+$/m)
      })

      test('addresses that nobody answers are one row, however many there are', async () => {
        for (const path of ['/a', '/b', '/%zz']) await app.request('GET', path)
        const { text } = await metrics()
        assert.match(text, /_count\{method="GET",path="\(none\)",status="404"\} 2$/m)
        assert.doesNotMatch(text, /path="\/a"/)
      })

      test('are refused through a proxy, signed in or not', async () => {
        const { token } = await app.register()
        for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
          for (const as of [undefined, token]) {
            const { status, body } = await metrics({ [header]: '127.0.0.1' }, as)
            assert.equal(status, 403, header)
            assert.equal(body.error.code, 'FORBIDDEN')
          }
      })

      test('are for a service key from anywhere, if its scope has them', async () => {
        const { keys } = app.app.service('auth')
        const forwarded = { 'x-forwarded-for': '203.0.113.9' }
        for (const [scope, expected] of [
          ['core:read', 200],
          ['core', 200],
          ['*', 200],
          ['store', 403],
          ['store:read', 403],
        ] as const)
          assert.equal(
            (await metrics(forwarded, (await keys.create('m', [scope])).key)).status,
            expected,
            scope,
          )
        assert.equal((await metrics({}, 'sk_nonsense')).status, 401)
      })
    })
  })

  test('/info is not there in production', async (t) => {
    const app = await startApp(t, engine, { environment: { NODE_ENV: 'production', HOST: '127.0.0.1' } })
    const { status, body } = await app.request('GET', '/info')
    assert.equal(status, 404)
    assert.equal(body.error.code, 'NOT_FOUND')
    assert.equal((await app.request('GET', '/health')).status, 200)
  })

  test('/health is 503 where a wire fails, in whatever way, and names it', async (t) => {
    const app = await startApp(t, engine, {
      config: {
        wires: [
          wireWith('fine', async () => undefined),
          wireWith('rejects', () => Promise.reject(new Error('a secret reason'))),
          wireWith('throws', () => {
            throw new Error('a secret reason')
          }),
          wireWith('hangs', () => new Promise(() => undefined)),
        ],
      },
    })
    const { status, body, text } = await app.request('GET', '/health')
    assert.equal(status, 503)
    assert.equal(body.status, 'unhealthy')
    assert.equal(body.database, 'connected')
    assert.deepEqual(body.wires, {
      core: 'ready',
      messaging: 'ready',
      onchain: 'ready',
      auth: 'ready',
      pay: 'ready',
      store: 'ready',
      fine: 'ready',
      rejects: 'error',
      throws: 'error',
      hangs: 'error',
    })
    assert.doesNotMatch(text, /secret reason/)
    assert.equal((await app.request('GET', '/auth/health')).status, 200, 'the others go on')
  })

  test('until every wire has started, /ready is false and other routes are 503', async (t) => {
    const begun = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    const slow = defineWire({
      name: 'slow',
      setup: () => ({
        routes: [],
        service: undefined,
        async start() {
          begun.resolve()
          await mayGoOn.promise
        },
      }),
    })
    const folder = await temporaryFolder(t)
    const port = await freePort()
    const app = await createApp({
      config: { wires: [slow()] },
      environment: {
        PORT: String(port),
        LOG_LEVEL: 'silent',
        SIXWIRE_SECRET: SECRET,
        DATABASE_URL: await engine.freshUrl(),
      },
      folder,
    })
    t.after(() => app.close())
    const listening = app.listen()
    await begun.promise
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)

    const notYet = await get('/ready')
    assert.equal(notYet.status, 503)
    assert.deepEqual(await notYet.json(), { ready: false, reason: 'The server is starting.' })
    for (const path of ['/auth/me', '/store/things', '/openapi.json', '/docs', '/nothing']) {
      const refused = await get(path)
      assert.equal(refused.status, 503, path)
      assert.equal(refused.headers.get('retry-after'), '1')
      const { error } = (await refused.json()) as { error: { code: string } }
      assert.equal(error.code, 'UNAVAILABLE')
    }
    assert.equal((await get('/info')).status, 200)
    mayGoOn.resolve()
    assert.equal(await listening, `http://127.0.0.1:${port}`)
    assert.equal((await get('/ready')).status, 200)
    assert.equal((await get('/auth/me')).status, 401)
  })
})

// Only PostgreSQL is reached over a network, which can hang.
eachEngine((engine) => {
  if (engine.name === 'sqlite') return
  test('/metrics has those of the process while the database hangs, and says that it does', async (t) => {
    const proxy = await startProxy(await engine.migratedUrl())
    t.after(proxy.down)
    const app = await startApp(t, engine, { databaseUrl: proxy.url })
    await app.request('GET', '/metrics')
    proxy.silence()
    app.clock.advance(10_000) // a write that succeeded counts for so long
    const { status, text } = await app.request('GET', '/metrics')
    assert.equal(status, 200)
    assert.match(text, /^process_resident_memory_bytes \d+$/m)
    assert.match(text, /^http_request_duration_seconds_count/m)
    assert.match(text, /^sixwire_database_writable 0$/m)
    assert.doesNotMatch(text, /^sixwire_database_size_bytes\{/m)
  })
})

describe('without its database', () => {
  const assertDisconnected = async (app: TestApp) => {
    const { status, body } = await app.request('GET', '/health')
    assert.equal(status, 503)
    const { uptime, ...rest } = body
    assert.equal(typeof uptime, 'number')
    assert.deepEqual(rest, {
      status: 'unhealthy',
      database: 'disconnected',
      latencyMs: null,
      storage: 'unknown',
      wires: {
        core: 'ready',
        messaging: 'error',
        onchain: 'error',
        auth: 'error',
        pay: 'error',
        store: 'error',
      },
    })
    assert.equal((await app.request('GET', '/auth/health')).status, 503)
    const refused = await app.request('POST', '/auth/login', {
      body: { email: 'ada@example.com', password: 'correct horse battery' },
    })
    assert.equal(refused.status, 503)
    assert.equal(refused.body.error.code, 'UNAVAILABLE')
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  }

  eachEngine((engine) => {
    test(`a server on ${engine.name === 'sqlite' ? 'SQLite' : 'PostgreSQL'} says so`, async (t) => {
      const proxy = engine.name === 'postgres' ? await startProxy(await engine.migratedUrl()) : undefined
      const app = await startApp(t, engine, proxy && { databaseUrl: proxy.url })
      assert.equal((await app.request('GET', '/health')).status, 200)
      await (proxy ? proxy.down() : app.app.db.close())
      await assertDisconnected(app)
    })
  })
})
