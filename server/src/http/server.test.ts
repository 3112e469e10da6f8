import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { someEngine, endOfSuite } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { exchange } from '../testing/exchange.ts'
import { rawExchange } from './raw-exchange.fixture.ts'

someEngine((engine) => {
  let app: TestApp
  let production: TestApp
  let token: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine)
    production = await startApp(ending, engine, {
      environment: { NODE_ENV: 'production', HOST: '127.0.0.1' },
    })
    token = (await app.register()).token
  })

  test('answers that belong to a caller, or hold tokens, are not to be cached', async () => {
    const stored = async (method: string, path: string, options = {}) =>
      (await app.request(method, path, options)).headers.get('cache-control')
    assert.equal(await stored('GET', '/auth/me', { token }), 'no-store')
    assert.equal(await stored('GET', '/store/things', { token }), 'no-store')
    assert.equal(await stored('GET', '/store/things/nothing', { token }), 'no-store', 'an error, too')
    assert.equal(await stored('POST', '/auth/login', { body: {} }), 'no-store')
    assert.equal(await stored('GET', '/health'), null)
    assert.match((await stored('GET', '/.well-known/jwks.json', { token }))!, /^public/, 'a route’s own')
  })

  test('outside production a name that a stranger’s domain can be is refused (DNS rebinding)', async (t) => {
    const own = await startApp(t, engine, {
      environment: {
        PUBLIC_URL: 'https://api.example',
        APP_URL: 'https://shop.example/app',
        SIXWIRE_HOSTS: 'Demo.example, 2.example',
      },
    })
    const ask = (url: string, host: string, path = '/store/things') =>
      exchange(url, { method: 'GET', path, headers: { host }, body: undefined })
    for (const host of ['evil.example', 'localhost.evil.example', 'a.api.example:443', 'x@localhost', ':'])
      for (const path of ['/store/things', '/health', '/openapi.json', '/nothing']) {
        const { status, text } = await ask(own.url, host, path)
        assert.equal(status, 403, `${host} ${path}`)
        assert.match(JSON.parse(text).error.message, /add it to SIXWIRE_HOSTS/)
      }
    const local = [
      'localhost:3000',
      'app.localhost',
      '127.0.0.1',
      '[::1]:80',
      '10.0.0.1',
      'api',
      'printer.local',
    ]
    const known = ['api.example', 'shop.example:8443', 'demo.example', '2.example']
    for (const host of [...local, ...known]) assert.equal((await ask(own.url, host)).status, 401, host)
    assert.equal((await ask(production.url, 'evil.example')).status, 401, 'in production any')
  })

  test('unknown fields are ignored, and unknown parameters of what is no list', async () => {
    const { status } = await app.request('POST', '/auth/register', {
      body: {
        email: `unknown-${engine.name}@example.com`,
        password: 'a passphrase of some length',
        role: 'admin',
        more: {},
      },
    })
    assert.equal(status, 201)
    assert.equal((await app.request('GET', '/auth/me?nonsense=1&nonsense=2', { token })).status, 200)
  })

  test('an unknown parameter of a list is refused, on every list, with the one that was meant', async () => {
    const lists = app.app.routes.flatMap(({ routes }) =>
      routes.filter(({ spec, method }) => {
        const { limit, offset } = (spec.query as { properties?: Record<string, object> })?.properties ?? {}
        return method === 'GET' && limit !== undefined && offset !== undefined
      }),
    )
    assert.deepEqual(lists.map(({ path }) => path).toSorted(), [
      '/auth/audit',
      '/auth/keys',
      '/auth/sessions',
      '/auth/users',
      '/auth/users/:id/sessions',
      '/core/jobs',
      '/core/webhooks/deliveries',
      '/messaging/logs',
      '/onchain/nft/:contractAddress/owner/:ownerAddress',
      '/onchain/transactions',
      '/onchain/wallets',
      '/pay/events',
      '/pay/onchain/payment',
      '/pay/transactions',
      '/store/:collection',
      '/store/:collection/explain',
      '/store/backups',
      '/store/files',
    ])
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    for (const { path } of lists) {
      const url = path.replace(':collection', 'things').replaceAll(/:\w+/g, address)
      const { status, body } = await app.request('GET', `${url}?limt=1&offset=0`, { token })
      const expected = [
        { path: '/query/limt', message: 'is not a parameter of this list: did you mean limit?' },
      ]
      assert.deepEqual([status, body.error.details.issues], [400, expected], path)
    }
    const issueOf = async (query: string) => {
      const { status, body } = await app.request('GET', `/store/things?${query}`, { token })
      assert.equal(status, 400, query)
      return body.error.details.issues[0]
    }
    assert.deepEqual(await issueOf('filer={}'), {
      path: '/query/filer',
      message: 'is not a parameter of this list: did you mean filter?',
    })
    assert.match(
      (await issueOf('title=Momo')).message,
      /^is not a parameter of this list: this list takes limit, offset, sort, filter, search, cursor, total, owner, preview, fields, expand$/,
    )
    assert.equal((await issueOf('__proto__=1')).path, '/query/__proto__')
    assert.equal((await issueOf(`${'x'.repeat(500)}=1`)).path.length, 71)
    assert.equal((await app.request('GET', '/onchain/wallets?limt=1')).status, 401)
  })

  test('every answer has a request id: the one sent where it is well-formed, else a new one', async () => {
    const sent = await app.request('GET', '/health', { headers: { 'x-request-id': 'abc-123' } })
    assert.equal(sent.headers.get('x-request-id'), 'abc-123')
    for (const bad of ['has space', 'x'.repeat(200), '<script>']) {
      const { headers } = await app.request('GET', '/nothing', { headers: { 'x-request-id': bad } })
      assert.match(headers.get('x-request-id')!, /^[0-9a-z]{26}$/)
    }
    const undecodable = await app.request('GET', '/%zz')
    assert.match(undecodable.headers.get('x-request-id')!, /^[0-9a-z]{26}$/)
  })

  test('the log line of an answer has the trace id of a valid traceparent', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const lineOf = async (id: string, traceparent: string) => {
      await app.request('GET', '/health', { headers: { 'x-request-id': id, traceparent } })
      const isOf = (line: string) => line.includes(`"requestId":"${id}"`) && line.includes('"status"')
      await until(() => app.log().split('\n').some(isOf))
      return app.log().split('\n').find(isOf)!
    }
    for (const [at, valid] of [
      `00-${trace}-00f067aa0ba902b7-01`,
      `01-${trace}-00f067aa0ba902b7-01-more`,
    ].entries())
      assert.equal(JSON.parse(await lineOf(`valid-${at}`, valid)).traceId, trace)
    for (const [at, invalid] of [
      `00-${trace}-00f067aa0ba902b7-01-more`,
      `ff-${trace}-00f067aa0ba902b7-01`,
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
      trace,
    ].entries())
      assert.doesNotMatch(await lineOf(`invalid-${at}`, invalid), /traceId/)
  })

  test('answers say that they are not to be sniffed, framed or run', async () => {
    for (const path of ['/health', '/nothing']) {
      const { headers } = await app.request('GET', path)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.match(headers.get('content-security-policy')!, /default-src 'none'/)
    }
  })

  test('pages of this machine may read answers outside production, and no others', async () => {
    const preflight = (origin: string) =>
      app.request('OPTIONS', '/auth/login', {
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      })
    for (const origin of [
      'http://localhost:5173',
      'https://localhost',
      'http://shop.localhost:8080',
      'http://127.0.0.1:3000',
      'http://127.1.2.3',
      'http://[::1]:4000',
    ]) {
      const { status, headers } = await preflight(origin)
      assert.equal(status, 204)
      assert.equal(headers.get('access-control-allow-origin'), origin)
      assert.match(headers.get('access-control-allow-methods')!, /POST/)
    }
    for (const origin of [
      'https://else.example',
      'http://localhost.example',
      'http://127.0.0.1.example',
      'http://evil.example:80#http://localhost',
      'http://notlocalhost',
      'null',
      'file://localhost',
    ])
      assert.equal((await preflight(origin)).headers.get('access-control-allow-origin'), null, origin)
  })

  test('an Authorization header of another form is a 401 that says how', async () => {
    for (const authorization of ['Basic abc', 'Bearer', 'Bearer a b', `Bearer ${'x'.repeat(5000)}`]) {
      const { status, body, headers } = await app.request('GET', '/auth/me', { headers: { authorization } })
      assert.equal(status, 401, authorization)
      assert.equal(body.error.code, 'UNAUTHORIZED')
      assert.equal(headers.get('www-authenticate'), 'Bearer')
    }
  })

  test('HEAD answers as GET without the body', async () => {
    const { status, text, headers } = await app.request('HEAD', '/health')
    assert.equal(status, 200)
    assert.equal(text, '')
    assert.ok(Number(headers.get('content-length')) > 0)
  })

  test('the log and the metrics say how long an answer took', async () => {
    const email = `slow-${engine.name}@example.com`
    await app.request('POST', '/auth/register', { body: { email, password: 'a passphrase of some length' } })
    const [line] = app
      .log()
      .split('\n')
      .filter((text) => text.includes('"path":"/auth/register"'))
      .slice(-1)
    assert.ok(JSON.parse(line ?? '{}').ms > 0, String(line))
    const { text } = await app.request('GET', '/metrics')
    const sum =
      /http_request_duration_seconds_sum\{method="POST",path="\/auth\/register",status="201"\} (\S+)/.exec(
        text,
      )
    assert.ok(Number(sum?.[1]) > 0, String(sum?.[0]))
  })

  test('metrics are refused to a request by a public host name', async () => {
    const answer = await rawExchange(
      app.url,
      'GET /metrics HTTP/1.1\r\nhost: shop.example\r\nconnection: close\r\n\r\n',
    )
    assert.match(answer, /^HTTP\/1\.1 403 /)
  })

  describe('Idempotency-Key', () => {
    const create = (key: string, body: unknown, as = token) =>
      app.request('POST', '/store/once', { body, token: as, headers: { 'idempotency-key': key } })

    test('the same key and body answer the first answer again', async () => {
      const first = await create('k1', { n: 1 })
      const again = await create('k1', { n: 1 })
      assert.equal(first.status, 201)
      assert.equal(first.headers.get('idempotency-replayed'), null)
      assert.equal(again.status, 201)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('etag'), first.headers.get('etag'))
    })

    test('another body under the same key is a conflict', async () => {
      await create('k2', { n: 1 })
      const other = await create('k2', { n: 2 })
      assert.equal(other.status, 409)
      assert.equal(other.body.error.code, 'IDEMPOTENCY_CONFLICT')
    })

    test('keys of different users have nothing to do with each other', async () => {
      const other = await app.register()
      const [mine, theirs] = [await create('k3', { n: 1 }), await create('k3', { n: 2 }, other.token)]
      assert.equal(theirs.status, 201)
      assert.notEqual(theirs.body._id, mine.body._id)
    })

    test('strangers who choose the same key do not meet', async () => {
      const register = (name: string) =>
        app.request('POST', '/auth/register', {
          body: { email: `${name}-${engine.name}@example.com`, password: 'a passphrase of some length' },
          headers: { 'idempotency-key': '1' },
        })
      assert.equal((await register('ada')).status, 201)
      assert.equal((await register('bob')).status, 201)
      const again = await register('ada')
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
    })

    test('of ten at the same moment one creates', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => create('k4', { n: 4 })))
      const created = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body._id))
      assert.equal(created.size, 1)
      for (const { status, headers } of answers.filter((one) => one.status !== 201)) {
        assert.equal(status, 409)
        assert.equal(headers.get('retry-after'), '1')
      }
      const filter = encodeURIComponent(JSON.stringify({ n: 4 }))
      assert.equal((await app.request('GET', `/store/once?filter=${filter}`, { token })).body.total, 1)
    })

    test('a refusal is answered again as well', async () => {
      const [first, again] = [await create('k5', { a: { $b: 1 } }), await create('k5', { a: { $b: 1 } })]
      assert.equal(first.status, 400)
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
    })

    test('after 24 hours the key is free again', async () => {
      const first = await create('k6', { n: 6 })
      app.clock.advance(24 * 3_600_000 + 1)
      const { token: fresh } = await app.client.call('POST /auth/login', { body: await loginOf() })
      const later = await create('k6', { n: 7 }, fresh)
      assert.equal(later.status, 201)
      assert.notEqual(later.body._id, first.body._id)
      token = fresh
    })
    const loginOf = async () => ({
      email: (await app.request('GET', '/auth/me', { token: (await app.register()).token })).body.user.email,
      password: 'correct horse battery',
    })

    test('a key that is not visible ASCII of at most 255 characters is refused', async () => {
      for (const key of ['a b', 'x'.repeat(256)]) {
        const { status, body } = await create(key, { n: 1 })
        assert.equal(status, 400)
        assert.equal(body.error.details.issues[0].path, '/headers/idempotency-key')
      }
    })
  })
})
