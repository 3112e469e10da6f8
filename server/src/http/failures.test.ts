import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { Type } from '../base/schema.ts'
import { someEngine, endOfSuite } from '../testing/engines.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { exchange } from '../testing/exchange.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import { rawExchange } from './raw-exchange.fixture.ts'
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

/** Sends bytes and resets the connection at once, with an RST instead of a FIN. */
async function sendAndReset(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(bytes)
  socket.resetAndDestroy()
  await once(socket, 'close')
}

someEngine((engine) => {
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

  describe('every failure has the envelope', () => {
    test('an unknown route', async () => {
      const { status, body } = await app.request('GET', '/nothing/here')
      assert.equal(status, 404)
      assert.equal(body.error.code, 'NOT_FOUND')
      assert.match(body.error.message, /\/nothing\/here/)
      for (const [path, meant] of [
        ['/auth/me/', '/auth/me'],
        ['/api/store/things', '/store/things'],
      ] as const) {
        const { message } = (await app.request('GET', path)).body.error
        assert.equal(message, `No route has the address ${path}: did you mean ${meant}?`)
      }
    })

    test('an unknown route with many slashes, which are not searched for its end', async () => {
      for (const path of ['/auth/me//', `/auth/me${'/'.repeat(50_000)}x`]) {
        const { status, body } = await app.request('GET', path)
        assert.equal(status, 404)
        assert.match(body.error.message, /: \/docs lists all routes\.$/)
      }
    })

    test('a compressed body, with what is taken instead', async () => {
      const { status, body, headers } = await post(gzipSync('{"a":1}'), { 'content-encoding': 'gzip' })
      assert.deepEqual([status, body.error.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
      assert.equal(headers.get('accept-encoding'), 'identity')
      assert.equal((await post('{"a":1}', { 'content-encoding': 'identity' })).status, 201)
    })

    test('an empty body has no media type that could be wrong', async () => {
      const { token: other } = await app.register()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      assert.equal(
        (await app.request('POST', '/auth/logout', { token: other, raw: '', headers })).status,
        200,
      )
      assert.equal((await post('', headers)).status, 400)
    })

    test('JSON under the media type that curl sends by itself, with how to send it', async () => {
      const { status, body } = await post('{"a":1}', { 'content-type': 'application/x-www-form-urlencoded' })
      assert.equal(status, 415)
      assert.match(body.error.message, /with curl, add -H 'content-type: application\/json'\.$/)
    })

    test('a filter that is not JSON, with the place and an example', async () => {
      const { body } = await app.request('GET', '/store/things?filter=lamp', { token })
      assert.equal(
        body.error.message,
        '/query/filter: This is not JSON: see line 1 column 1, where "l" is not expected. A filter is an object, for example {"age": {"$gte": 18}}.',
      )
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
          ['/store/things', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'],
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
      assert.match(body.error.message, /^TypeError: the key is s3cret \(at .*failures\.test\.ts:\d+:\d+\)\./)
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
        'multipart/mixed; boundary=x',
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
      for (const { path, spec } of open) {
        const { status, body } = await app.request('POST', path, {
          raw: JSON.stringify({ a: 'x'.repeat(17_000) }),
          headers: {
            'sec-fetch-site': 'same-origin',
            'content-type':
              spec.body?.kind === 'form' ? 'application/x-www-form-urlencoded' : 'application/json',
          },
        })
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
      assert.ok(text.length < 600, text)
    })

    const origin = 'http://localhost:5173'
    const head = (line: string, ...headers: string[]) =>
      [line, `origin: ${origin}`, ...headers, '', ''].join('\r\n')
    const of1 = 'GET /health HTTP/1.1'
    const address = (bytes: number) => `GET /health?${'a'.repeat(bytes)} HTTP/1.1`
    for (const [what, bytes, status, code] of [
      ['an address that is too long', head(address(52_000), 'host: x'), 414, 'URI_TOO_LONG'],
      [
        'an address with headers that Node refuses',
        head(address(90_000), 'host: x'),
        431,
        'HEADERS_TOO_LARGE',
      ],
      [
        'headers that are too large',
        head(of1, 'host: x', `x: ${'y'.repeat(17_000)}`),
        431,
        'HEADERS_TOO_LARGE',
      ],
      [
        'an address that is not UTF-8',
        head('GET /store/things/%E0%A4%A HTTP/1.1', 'host: x'),
        400,
        'VALIDATION_ERROR',
      ],
      ['no Host', head(of1), 400, 'VALIDATION_ERROR'],
      ['two Hosts', head(of1, 'host: x', 'Host: y'), 400, 'VALIDATION_ERROR'],
      ['an unknown method', head('BREW /health HTTP/1.1', 'host: x'), 501, 'NOT_IMPLEMENTED'],
      [
        'an unknown method that begins as a known one',
        head('GETTER /a HTTP/1.1', 'host: x'),
        501,
        'NOT_IMPLEMENTED',
      ],
      [
        'an unknown transfer coding',
        `${head('POST /auth/login HTTP/1.1', 'host: x', 'transfer-encoding: gzip, chunked')}0\r\n\r\n`,
        501,
        'NOT_IMPLEMENTED',
      ],
      ['an unknown expectation', head(of1, 'host: x', 'expect: tea'), 417, 'EXPECTATION_FAILED'],
    ] as const)
      test(`${what}, which a page of another origin can read`, async () => {
        const raw = await rawExchange(app.url, bytes.replace('\r\n', '\r\nconnection: close\r\n'))
        assert.match(raw, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(raw, /\r\nx-request-id: \S+\r\n/)
        assert.match(raw, new RegExp(`\\r\\naccess-control-allow-origin: ${origin}\\r\\n`))
        assert.equal(JSON.parse(raw.split('\r\n\r\n')[1]!).error.code, code)
      })

    test('a filter of the largest size is read, percent-encoded as it may be', async () => {
      const filter = encodeURIComponent(JSON.stringify({ a: { $in: ['"'.repeat(5_450)] } })).replaceAll(
        'a',
        '%61',
      )
      assert.ok(filter.length > 32_000)
      const { status } = await app.request('GET', `/store/things?filter=${filter}`, { token })
      assert.equal(status, 200)
    })

    test('bytes that are not HTTP', async () => {
      const answer = await rawExchange(app.url, 'nonsense\r\n\r\n')
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, /\r\nx-request-id: [0-9a-z]{26}\r\n/)
      assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]!).error.code, 'VALIDATION_ERROR')
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
})
