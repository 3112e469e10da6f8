import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, describe, test } from 'node:test'

import { Type } from '../base/schema.ts'
import { eachEngine, endOfSuite } from '../testing/engines.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { exchange } from '../testing/exchange.ts'
import { defineWire } from '../kernel/wire.ts'
import { route } from './route.ts'

const refuse = (): never => {
  throw new Error('this cannot be read')
}
const unreadable = (name: string) => Object.defineProperty(new Error('original'), name, { get: refuse })

/** What a handler may throw although it is from no error table, by the part of the path that asks for it. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  error: () => new TypeError('the key is s3cret'),
  null: () => null,
  undefined: () => undefined,
  text: () => 'only a text',
  bare: () => Object.create(null),
  object: () => ({ toString: refuse }),
  symbol: () => Symbol('of a bug'),
  proxy: () => new Proxy({}, { get: refuse, getPrototypeOf: refuse }),
  message: () => unreadable('message'),
  stack: () => unreadable('stack'),
  status: () => unreadable('status'),
  code: () => Object.assign(new Error('of a provider'), { statusCode: 500, code: 14 }),
  slow: () => new Error(`\n    at ${'/'.repeat(1_000_000)}!`),
  many: () => new Error(`\n    at ${'/:1:1'.repeat(90)}!`.repeat(2000)),
}

/** Its handlers have a bug. */
const broken = defineWire({
  name: 'broken',
  setup: () => ({
    service: undefined,
    routes: [
      route(
        'GET /broken/:what',
        {
          summary: 'Throws',
          access: 'public',
          params: Type.Object({ what: Type.String() }),
          reply: { 200: Type.Object({}) },
        },
        ({ params }) => {
          throw THROWN[params.what]!()
        },
      ),
    ],
  }),
})

/** Bytes as they are, over a bare socket; answers what comes back. */
function rawExchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => (answer += chunk))
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })
}

/** Sends bytes and resets the connection at once, with an RST instead of a FIN. */
async function sendAndReset(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(bytes)
  socket.resetAndDestroy()
  await once(socket, 'close')
}

eachEngine((engine) => {
  let app: TestApp
  let production: TestApp
  let token: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config: { wires: [broken()] } })
    production = await startApp(ending, engine, {
      config: { wires: [broken()] },
      environment: { NODE_ENV: 'production', HOST: '127.0.0.1' },
    })
    token = (await app.register()).token
  })
  const post = (raw: string | Uint8Array<ArrayBuffer>, headers = {}) =>
    app.request('POST', '/store/things', { raw, token, headers })

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

  describe('every failure has the envelope', () => {
    test('an unknown route', async () => {
      const { status, body } = await app.request('GET', '/nothing/here')
      assert.equal(status, 404)
      assert.equal(body.error.code, 'NOT_FOUND')
      assert.match(body.error.message, /\/nothing\/here/)
    })

    test('a wrong method, with the right ones', async () => {
      const { status, body, headers } = await app.request('DELETE', '/auth/login')
      assert.equal(status, 405)
      assert.equal(body.error.code, 'METHOD_NOT_ALLOWED')
      assert.equal(headers.get('allow'), 'OPTIONS, POST')
    })

    test('a method that no route has, with the right ones', async () => {
      for (const method of ['TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH'])
        for (const [path, allow] of [
          ['/auth/login', 'OPTIONS, POST'],
          ['/store/things', 'GET, HEAD, OPTIONS, POST'],
          ['/openapi.json', 'GET, HEAD, OPTIONS'],
        ] as const) {
          const { status, headers, text } = await exchange(app.url, {
            method,
            path,
            headers: {},
            body: undefined,
          })
          assert.equal(status, 405, `${method} ${path}`)
          assert.equal(headers['allow'], allow)
          assert.equal(JSON.parse(text).error.code, 'METHOD_NOT_ALLOWED')
        }
      assert.match(app.log(), /"method":"PROPFIND","path":"\/openapi\.json","status":405/)
      const unknown = await exchange(app.url, {
        method: 'TRACE',
        path: '/nothing',
        headers: {},
        body: undefined,
      })
      assert.equal(unknown.status, 404)
    })

    test('a tunnel', async () => {
      const answer = await rawExchange(app.url, 'CONNECT a.example:443 HTTP/1.1\r\nhost: a.example\r\n\r\n')
      assert.match(answer, /^HTTP\/1\.1 405 Method Not Allowed\r\nallow: DELETE, GET, /)
      assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]!).error.code, 'METHOD_NOT_ALLOWED')
    })

    test('a client that resets its connection ends nothing, and is no bug', async (t) => {
      const uncaught: Error[] = []
      const note = (error: Error) => void uncaught.push(error)
      process.on('uncaughtExceptionMonitor', note)
      t.after(() => process.off('uncaughtExceptionMonitor', note))
      const bugs = () => production.log().split('an unexpected error answered 500').length
      const bugsBefore = bugs()
      const login = JSON.stringify({ email: 'gone@example.com', password: 'correct horse battery' })
      for (const bytes of [
        'CONNECT a.example:443 HTTP/1.1\r\nhost: a.example\r\n\r\n',
        'GET /health HTTP/1.1\r\nhost: x\r\n\r\n',
        `POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${login.length}\r\n\r\n${login}`,
        'nonsense\r\n\r\n',
      ])
        for (let time = 0; time < 30; time++) await sendAndReset(production.url, bytes)
      assert.equal((await production.request('GET', '/ready')).status, 200)
      assert.deepEqual(uncaught, [])
      assert.equal(bugs(), bugsBefore)
    })

    test('what nobody reads the body of: an unknown route, a wrong method', async () => {
      for (const [method, path, status] of [
        ['POST', '/nothing', 404],
        ['PUT', '/auth/login', 405],
      ] as const)
        for (const raw of ['{"a":', `"${'x'.repeat(1_100_000)}"`])
          assert.equal((await app.request(method, path, { raw })).status, status, `${method} ${path}`)
    })

    test('an id of another form, as an unknown one', async () => {
      const { body } = await app.request('POST', '/store/things', { token, body: { n: 1 } })
      for (const id of [
        'nonsense',
        `${body._id}0`,
        body._id.toUpperCase(),
        'a%00b',
        'x'.repeat(5000),
        '%F0%9F%98%80',
      ])
        for (const [method, path] of [
          ['GET', '/store/things'],
          ['PUT', '/store/things'],
          ['DELETE', '/store/things'],
          ['DELETE', '/auth/sessions'],
        ] as const) {
          const put = method === 'PUT' && { body: { n: 2 } }
          const answered = await app.request(method, `${path}/${id}`, { token, ...put })
          assert.equal(answered.status, 404, `${method} ${path}/${id.slice(0, 30)}: ${answered.text}`)
          assert.equal(answered.body.error.code, 'NOT_FOUND')
        }
      assert.equal((await app.request('GET', '/store/1things/nonsense', { token })).status, 400)
    })

    test('a bug, for a call of this machine outside production with what was thrown and where', async () => {
      const { status, body, headers } = await app.request('GET', '/broken/error')
      assert.equal(status, 500)
      assert.equal(body.error.code, 'INTERNAL_ERROR')
      assert.match(body.error.message, /^TypeError: the key is s3cret \(at .*server\.test\.ts:\d+:\d+\)\./)
      assert.equal(body.error.details.requestId, headers.get('x-request-id'))
    })

    test('a bug, for every other call with nothing but the request id', async () => {
      const foreign: Record<string, string>[] = [
        { host: 'shop' },
        { host: 'localhost', 'x-forwarded-for': '127.0.0.1' },
        { host: 'localhost', via: '1.1 proxy' },
      ]
      for (const headers of foreign) {
        const asked = { method: 'GET', path: '/broken/error', headers, body: undefined }
        const { status, text } = await exchange(app.url, asked)
        assert.equal(status, 500)
        assert.equal(JSON.parse(text).error.code, 'INTERNAL_ERROR')
        assert.doesNotMatch(text, /s3cret|TypeError|\.ts/)
      }
    })

    describe('a bug, whatever was thrown, with one line in the log', () => {
      for (const what of Object.keys(THROWN))
        test(what, async () => {
          for (const one of [app, production]) {
            const { status, text, body, headers } = await one.request('GET', `/broken/${what}`)
            assert.equal(status, 500)
            assert.equal(body.error.code, 'INTERNAL_ERROR')
            const requestId = headers.get('x-request-id')!
            assert.deepEqual(body.error.details, { requestId })
            assert.ok(text.length < 2000)
            if (one === production) assert.doesNotMatch(text, /s3cret|TypeError|thrown|\.ts/)
            const lines = one.log().split('\n')
            const bugs = lines.filter(
              (line) => line.includes(requestId) && line.includes('an unexpected error answered 500'),
            )
            assert.equal(bugs.length, 1, bugs.join('\n'))
            assert.ok(JSON.parse(bugs[0]!).err)
            if (what === 'error') assert.match(bugs[0]!, /s3cret/)
          }
        })
    })

    test('a reserved collection is not a collection for any method', async () => {
      for (const [name, expected] of [
        ['upload', 405],
        ['backup', 405],
        ['changes', 400],
      ] as const)
        assert.equal((await app.request('GET', `/store/${name}`, { token })).status, expected, name)
      const { status, headers } = await app.request('PUT', '/store/health', { token, body: {} })
      assert.equal(status, 405)
      assert.equal(headers.get('allow'), 'GET, HEAD, OPTIONS')
    })

    for (const [what, raw, path] of [
      ['no JSON', '{"a":', '/body'],
      ['an array', '[1]', '/body'],
      ['a string', '"text"', '/body'],
      ['null', 'null', '/body'],
      ['nothing', '', '/body'],
      ['a key twice', '{"a":{"b":1,"b":2}}', '/body/a/b'],
      ['__proto__', '{"a":[{"__proto__":{"admin":true}}]}', '/body/a/0/__proto__'],
      ['constructor', '{"constructor":{"prototype":{}}}', '/body/constructor'],
      ['half a surrogate pair', '{"a":"\\ud800"}', '/body/a'],
      ['U+0000', '{"a":{"b":"x\\u0000"}}', '/body/a/b'],
      ['a number beyond a double', '{"a":1e999}', '/body/a'],
      ['an integer that a double would change', '{"a":12345678901234567890}', '/body/a'],
      ['deep nesting', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, '/body/a'],
      ['a field that begins with $', '{"a":{"$b":1}}', '/body/a/$b'],
    ] as const)
      test(`a body of ${what} is refused with the path of the fault`, async () => {
        const { status, body } = await post(raw)
        assert.equal(status, 400, JSON.stringify(body))
        assert.equal(body.error.code, 'VALIDATION_ERROR')
        assert.ok(body.error.details.issues[0].path.startsWith(path), body.error.details.issues[0].path)
        assert.equal(typeof body.error.details.issues[0].message, 'string')
      })

    test('a body that is not UTF-8', async () => {
      const { status, body } = await post(
        new Uint8Array([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
      )
      assert.equal(status, 400)
      assert.equal(body.error.code, 'VALIDATION_ERROR')
    })

    test('another media type', async () => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'nonsense',
      ]) {
        const { status, body } = await post('{"a":1}', { 'content-type': type })
        assert.equal(status, 415, type)
        assert.equal(body.error.code, 'UNSUPPORTED_MEDIA_TYPE')
      }
    })

    test('a body over 1 MiB', async () => {
      const { status, body } = await post(JSON.stringify({ a: 'x'.repeat(1_048_577) }))
      assert.equal(status, 413)
      assert.equal(body.error.code, 'PAYLOAD_TOO_LARGE')
    })

    test('a body over the limit of its route', async () => {
      const ofAuth = app.app.routes.find(({ wire }) => wire === 'auth')!.routes
      const open = ofAuth.filter(({ method, spec }) => method === 'POST' && spec.access === 'public')
      assert.ok(open.length >= 8)
      for (const { path } of open) {
        const { status, body } = await app.request('POST', path, { body: { a: 'x'.repeat(17_000) } })
        assert.equal(status, 413, path)
        assert.equal(body.error.message, 'The body is larger than 16384 bytes.')
      }
      const metadata = { a: 'x'.repeat(16_300) }
      const [taken, refused] = [
        await app.request('PATCH', '/auth/me', { token, body: { metadata, name: 'x'.repeat(200) } }),
        await app.request('PATCH', '/auth/me', { token, body: { a: 'x'.repeat(100_000) } }),
      ]
      assert.deepEqual([taken.status, refused.status], [200, 413])
    })

    test('a body over 64 KiB, or of unknown length, without a token', async () => {
      const body = { text: 'x'.repeat(70_000) }
      const { _id } = (await app.request('POST', '/store/things', { token, body })).body
      const path = `/store/things/${_id}`
      const refused = await app.request('PUT', path, { body })
      assert.deepEqual([refused.status, refused.body.error.code], [413, 'PAYLOAD_TOO_LARGE'])
      const chunked = await rawExchange(
        app.url,
        `PUT ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      )
      assert.match(chunked, /^HTTP\/1\.1 413 /)
      assert.equal((await app.request('PUT', path, { body: {} })).status, 401)
      assert.equal((await app.request('PUT', path, { token, body })).status, 200)
    })

    test('an address that can not be decoded', async () => {
      const { status, body } = await app.request('GET', '/store/things/%E0%A4%A', { token })
      assert.equal(status, 400)
      assert.equal(body.error.code, 'VALIDATION_ERROR')
      assert.equal(body.error.details.issues[0].path, '/params')
    })

    test('an address with a part that is too long, in a short answer', async () => {
      const { status, body, text } = await app.request('GET', `/store/${'a'.repeat(5000)}`, { token })
      assert.equal(status, 400)
      assert.equal(body.error.details.issues[0].path, '/params/collection')
      assert.ok(text.length < 500, text)
    })

    test('bytes that are not HTTP', async () => {
      const answer = await rawExchange(app.url, 'nonsense\r\n\r\n')
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, /\r\nx-request-id: [0-9a-z]{26}\r\n/)
      assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]!).error.code, 'VALIDATION_ERROR')
    })

    test('a header block without end', async () => {
      const answer = await rawExchange(
        app.url,
        `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      )
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, /\r\nx-request-id: [0-9a-z]{26}\r\n/)
      assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]!).error.details.issues[0].path, '/headers')
    })

    test('a query that is not what the schema says', async () => {
      for (const [query, path] of [
        ['limit=0', '/query/limit'],
        ['limit=-1', '/query/limit'],
        ['limit=1.5', '/query/limit'],
        ['limit=abc', '/query/limit'],
        ['limit=0x10', '/query/limit'],
        ['limit=%2010', '/query/limit'],
        ['limit=', '/query/limit'],
        ['limit=1e3', '/query/limit'],
        ['limit=1&limit=2', '/query/limit'],
        ['offset=-1', '/query/offset'],
        ['sort=%00', '/query/sort'],
      ] as const) {
        const { status, body } = await app.request('GET', `/store/things?${query}`, { token })
        assert.equal(status, 400, query)
        assert.equal(body.error.details.issues[0].path, path, query)
      }
    })

    test('a query that is not what the schema says, with a token that is used for the first time', async () => {
      const { token: fresh } = await app.register()
      const { status, body } = await app.request('GET', '/store/things?limit=0', { token: fresh })
      assert.deepEqual([status, body.error.details?.issues[0].path], [400, '/query/limit'])
    })

    test('a path that is not what the schema says', async () => {
      for (const path of ['/store/1things', `/store/${'a'.repeat(65)}`, '/store/a%00b'])
        assert.equal((await app.request('GET', path, { token })).status, 400, path)
    })
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
    const made = await app.request('POST', '/store/things', { token, body: {} })
    const path = `/store/things/${made.body._id}?nonsense=1&nonsense=2`
    assert.equal((await app.request('GET', path, { token })).status, 200)
  })

  test('an unknown parameter of a list is refused, on every list, with the one that was meant', async () => {
    const lists = app.app.routes.flatMap(({ routes }) =>
      routes.filter(({ spec, method }) => {
        const { limit, offset } = (spec.query as { properties?: Record<string, object> })?.properties ?? {}
        return method === 'GET' && limit !== undefined && offset !== undefined
      }),
    )
    assert.deepEqual(lists.map(({ path }) => path).toSorted(), [
      '/auth/sessions',
      '/messaging/logs',
      '/onchain/nft/:contractAddress/owner/:ownerAddress',
      '/onchain/transactions',
      '/onchain/wallets',
      '/pay/transactions',
      '/store/:collection',
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
      /^is not a parameter of this list: this list takes limit, offset, sort, filter, fields, cursor, explain$/,
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
