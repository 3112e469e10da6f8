import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from './db/sql.ts'
import { limitOf } from './http/limits.ts'
import { startApp } from './testing/app.ts'
import { routed } from './testing/assemble.ts'
import { stillClock } from './testing/clock.ts'
import { someEngine } from './testing/engines.ts'

someEngine((engine) => {
  describe('rate limits', () => {
    // Time stands still, so that nothing is given back while a slow machine counts.
    const clock = stillClock(Date.now())
    const login = async (
      app: Awaited<ReturnType<typeof startApp>>,
      headers: Record<string, string> = {},
      path = '/auth/login',
    ) => {
      const body = { email: 'nobody@example.com', password: 'correct horse battery' }
      return (await app.request('POST', path, { body, headers })).status
    }
    const exhaust = async (app: Awaited<ReturnType<typeof startApp>>, headers?: Record<string, string>) => {
      const statuses = await Promise.all(Array.from({ length: 31 }, () => login(app, headers)))
      assert.equal(statuses.filter((status) => status === 429).length, 1)
    }

    test('do not hold outside production, and do in it', async (t) => {
      const relaxed = await startApp(t, engine, { clock })
      const statuses = await Promise.all(Array.from({ length: 35 }, () => login(relaxed)))
      assert.ok(!statuses.includes(429))
      const strict = await startApp(t, engine, {
        clock,
        environment: { NODE_ENV: 'production', HOST: '127.0.0.1' },
      })
      await exhaust(strict)
      const { status, headers, body } = await strict.request('POST', '/auth/login', { body: {} })
      assert.equal(status, 429)
      assert.equal(body.error.code, 'RATE_LIMITED')
      assert.ok(Number(headers.get('retry-after')) >= 1)
      assert.equal((await strict.request('GET', '/health')).status, 200)
    })

    test('hold on every route that can be called without a token', async (t) => {
      const app = await startApp(t, engine, {
        clock,
        environment: { SIXWIRE_RATE_LIMITS: 'on' },
        config: {
          wires: [routed('shop', 'GET /shop')],
          store: { collections: { news: 'public-read' } },
        },
      })
      /** How many of so many calls pass. */
      const passing = async (count: number, method: string, path: string, options = {}) => {
        const answers = await Promise.all(
          Array.from({ length: count }, () => app.request(method, path, options)),
        )
        return answers.filter(({ status }) => status !== 429).length
      }
      const { token } = await app.register()
      assert.equal(await passing(65, 'POST', '/auth/refresh', { body: {} }), 60)
      assert.equal(await passing(305, 'GET', '/shop'), 300)
      assert.equal(await passing(305, 'GET', '/store/news'), 300)
      assert.equal(await passing(5, 'GET', '/store/news', { token }), 5)
      assert.equal(
        await passing(5, 'GET', '/store/news', { token: 'nonsense' }),
        0,
        'a token that nobody has',
      )
      // Providers send the events of all messages and payments from a few addresses.
      const limits: [RegExp, number][] = [
        [/^POST \/messaging\/.*(status|bounce|reports\/:provider)$/, 6_000],
        [/^POST \/pay\/\w+\/webhook$/, 60_000],
        // A page shows hundreds of files, and the caches before it ask from a few addresses.
        [/^GET \/store\/files\/public\/:name$/, 60_000],
      ]
      for (const { routes } of app.app.routes)
        for (const { key, spec } of routes.filter(({ spec: { access } }) => access === 'public')) {
          const { rate } = limitOf(spec)!
          assert.ok(
            Number(rate.split('/')[0]) <= (limits.find(([route]) => route.test(key))?.[1] ?? 600),
            key,
          )
        }
    })

    test('hold for each user on what is costly, and not for service keys', async (t) => {
      const app = await startApp(t, engine, { clock, environment: { SIXWIRE_RATE_LIMITS: 'on' } })
      const [{ token }, other] = [await app.register(), await app.register()]
      const { key } = await app.app.service('auth').keys.create('shop', ['*'])
      const unknown = '01arz3ndektsv4rrffq69g5fav'
      for (const [path, count, together] of [
        ['/onchain/wallets/import', 60, '/onchain/wallets'],
        ['/onchain/transactions', 60, '/onchain/nft/mint'],
        ['/onchain/contracts/write', 60, '/onchain/nft/transfer'],
        ['/pay/cardpay/checkout', 60, '/pay/onchain/payment'],
        ['/pay/cardpay/refund', 60, '/pay/walletpay/refund'],
        ['/store/upload', 300, '/store/upload'],
        [`/store/backup/${unknown}/restore`, 12, '/store/backup'],
      ] as const) {
        const by = path === '/onchain/contracts/write' ? (await app.register()).token : token
        const call = (as: string, to: string = path) =>
          app.request('POST', to, { token: as, ...(path.startsWith('/store') ? {} : { body: { name: 1 } }) })
        const answers = await Promise.all(Array.from({ length: count + 2 }, () => call(by)))
        assert.equal(answers.filter(({ status }) => status === 429).length, 2, path)
        const { status, body, headers } = await call(by, together)
        assert.deepEqual([status, body.error.code], [429, 'RATE_LIMITED'], together)
        assert.ok(Number(headers.get('retry-after')) > 0)
        for (const as of [other.token, key]) assert.ok((await call(as)).status !== 429, path)
      }
    })

    test('of /health and its like are counted without the database', async (t) => {
      const app = await startApp(t, engine, { clock, environment: { SIXWIRE_RATE_LIMITS: 'on' } })
      for (const path of ['/ready', '/openapi.json']) {
        // Of the description no more than that it has not changed.
        const headers = { 'if-none-match': '*' }
        const answers = await Promise.all(
          Array.from({ length: 605 }, () => app.request('GET', path, { headers })),
        )
        assert.equal(answers.filter(({ status }) => status === 429).length, 5, path)
      }
      for (const path of ['/info', '/metrics', '/health'])
        assert.equal((await app.request('GET', path)).status, 200, path)
      assert.deepEqual(await app.app.db.all(sql`select bucket from sixwire_rate_limits`), [])
    })

    test('are not escaped by another spelling of the address', async (t) => {
      const app = await startApp(t, engine, { clock, environment: { SIXWIRE_RATE_LIMITS: 'on' } })
      await exhaust(app)
      for (const path of ['//auth/login', '/AUTH/login', '/auth/login/', '/auth//login', '/auth/Login'])
        assert.equal(await login(app, {}, path), 404, path)
      for (const path of ['/auth/login?a=1', '/auth/%6cogin', '/auth/./login'])
        assert.equal(await login(app, {}, path), 429, path)
    })

    test('are not escaped by a forged X-Forwarded-For, unless a proxy is trusted', async (t) => {
      const direct = await startApp(t, engine, { clock, environment: { SIXWIRE_RATE_LIMITS: 'on' } })
      await exhaust(direct)
      for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-client-ip'])
        assert.equal(await login(direct, { [header]: '203.0.113.5' }), 429, header)

      for (const trusted of ['1', 'loopback', '127.0.0.0/8, ::1']) {
        const behind = await startApp(t, engine, {
          clock,
          environment: { SIXWIRE_RATE_LIMITS: 'on', TRUST_PROXY: trusted },
        })
        await exhaust(behind, { 'x-forwarded-for': '203.0.113.5' })
        assert.notEqual(await login(behind, { 'x-forwarded-for': '203.0.113.6' }), 429, trusted)
        // What the client itself wrote stands to the left of what the proxy adds.
        assert.equal(await login(behind, { 'x-forwarded-for': '198.51.100.1, 203.0.113.5' }), 429, trusted)
      }
      const elsewhere = await startApp(t, engine, {
        clock,
        environment: { SIXWIRE_RATE_LIMITS: 'on', TRUST_PROXY: '10.0.0.1' },
      })
      await exhaust(elsewhere)
      assert.equal(await login(elsewhere, { 'x-forwarded-for': '203.0.113.5' }), 429)
    })
  })
})
