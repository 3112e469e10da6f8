import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { before, describe, test } from 'node:test'

import { someEngine, endOfSuite } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import {
  bytes,
  FILE,
  FILE_MAX,
  head,
  MULTIPART,
  open,
  readAnswer,
  startBodies,
  type Bodies,
} from './bodies.fixture.ts'

const sha256Of = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

someEngine((engine) => {
  let it: Bodies
  const ending = endOfSuite()
  before(async () => {
    it = await startBodies(ending, engine)
  })

  describe('a raw body', () => {
    test('is the bytes that came, with their headers and address', async () => {
      const all = Buffer.from(Array.from({ length: 256 }, (_, at) => at))
      const { status, body } = await it.send('raw?a=%20b', bytes(all), {
        'content-type': 'application/json; charset=latin1',
        'content-encoding': 'gzip',
        'x-signature': 's',
      })
      assert.equal(status, 200)
      assert.equal(body.hex, all.toString('hex'))
      assert.equal(body.contentType, 'application/json; charset=latin1')
      assert.equal(body.url, '/bodies/raw?a=%20b')
      assert.equal(body.signature, 's')
    })

    test('may be of any type, of none, and empty', async () => {
      for (const type of ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded', 'a/b'])
        assert.equal(
          (await it.send('raw', bytes('{"a":1,"a":1}'), { 'content-type': type })).status,
          200,
          type,
        )
      const socket = await open(it.app.url)
      socket.write(`${head('/bodies/raw', 'content-length: 2\r\nconnection: close')}{}`)
      const { body } = await readAnswer(socket)
      assert.deepEqual([JSON.parse(body).hex, JSON.parse(body).contentType], ['7b7d', undefined])
      const empty = await it.app.request('POST', '/bodies/raw')
      assert.deepEqual([empty.status, empty.body.hex], [200, ''])
    })

    test('is refused over its limit, announced or not', async () => {
      for (const content of [bytes('x'.repeat(1001)), bytes('x'.repeat(100_000))])
        assert.equal((await it.send('raw', content, { 'content-type': 'text/plain' })).status, 413)
      assert.equal(
        (await it.send('raw', bytes('x'.repeat(1000)), { 'content-type': 'text/plain' })).status,
        200,
      )
      const socket = await open(it.app.url)
      const chunk = `3e9\r\n${'x'.repeat(1001)}\r\n`
      socket.write(
        `${head('/bodies/raw', 'content-type: a/b\r\ntransfer-encoding: chunked')}${chunk}0\r\n\r\n`,
      )
      assert.equal((await readAnswer(socket)).status, 413)
    })

    test('is of the types that the route names', async () => {
      for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'text/plain'])
        assert.equal((await it.send('events', bytes('x'), { 'content-type': type })).status, 200, type)
      for (const type of ['text/html', 'application/jsonx', 'multipart/form-data; boundary=b']) {
        const { status, body } = await it.send('events', bytes('x'), { 'content-type': type })
        assert.equal(status, 415, type)
        assert.equal(body.error.message, 'Send the body as application/json or text/plain.')
      }
    })

    test('is compared by its bytes under an Idempotency-Key', async () => {
      const sendOnce = (content: string, key: string, type = 'text/plain') =>
        it.send('raw', bytes(content), { 'content-type': type, 'idempotency-key': key })
      const { token } = await it.app.register()
      const as = (content: string, type = 'text/plain') =>
        it.app.request('POST', '/bodies/raw', {
          raw: bytes(content),
          token,
          headers: { 'content-type': type, 'idempotency-key': `raw-${engine.name}` },
        })
      const first = await sendOnce('one', 'k')
      const again = await sendOnce('one', 'k')
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      // Without a token, callers are told apart by what they send.
      assert.equal((await sendOnce('two', 'k')).headers.get('idempotency-replayed'), null)
      assert.equal((await as('one')).status, 200)
      assert.equal((await as('one')).headers.get('idempotency-replayed'), 'true')
      for (const other of [await as('One'), await as('one', 'text/html')])
        assert.deepEqual([other.status, other.body.error.code], [409, 'IDEMPOTENCY_CONFLICT'])
    })
  })

  describe('a streamed body', () => {
    const type = { 'content-type': 'a/b' }

    test('is read as it arrives, up to its limit and of its types only', async () => {
      const all = randomBytes(FILE_MAX)
      const { status, body, headers } = await it.send('stream', bytes(all), type)
      assert.deepEqual([status, body], [200, { size: FILE_MAX, sha256: sha256Of(all) }])
      assert.equal(headers.get('x-bodies'), 'streamed')
      assert.equal((await it.app.request('POST', '/bodies/stream')).body.size, 0)
      const other = await it.send('stream', bytes('x'), { 'content-type': 'text/plain' })
      assert.deepEqual([other.status, other.headers.get('x-bodies')], [415, 'streamed'])
      const long = bytes(Buffer.alloc(FILE_MAX + 1))
      assert.equal((await it.send('stream', long, type)).status, 413)
      const socket = await open(it.app.url)
      socket.write(head('/bodies/stream', 'content-type: a/b\r\ntransfer-encoding: chunked'))
      socket.write(`${long.length.toString(16)}\r\n`)
      socket.write(long)
      assert.equal((await readAnswer(socket)).status, 413)
      socket.destroy()
      await it.isWell()
    })

    test('has its headers for pages of other origins, before they send it as well', async () => {
      const { status, headers } = await it.app.request('OPTIONS', '/bodies/stream', {
        headers: {
          origin: 'http://localhost:5173',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'upload-offset',
        },
      })
      assert.deepEqual(
        [status, headers.get('x-bodies'), headers.get('access-control-allow-headers')],
        [204, 'streamed', 'upload-offset'],
      )
      assert.match(headers.get('access-control-expose-headers')!, /\betag\b/)
      assert.equal(headers.get('vary'), 'Origin, Access-Control-Request-Headers')
      const sent = await it.send('stream', bytes('x'), { ...type, origin: 'http://localhost:5173' })
      assert.equal(sent.headers.get('access-control-expose-headers'), 'x-bodies')
      assert.equal((await it.app.request('OPTIONS', '/bodies/raw')).headers.get('x-bodies'), null)
    })
  })

  describe('a form', () => {
    test('has each field once, as text', async () => {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      assert.deepEqual((await it.send('form', bytes('a=%C3%A9+b&c=1'), type)).body, { a: 'é b' })
      for (const content of ['a=1&a=2', 'a=%00', 'b=1', '', '%ff=\xff'])
        assert.equal((await it.send('form', bytes(content), type)).status, 400, content)
      assert.equal((await it.send('form', bytes(`a=${'x'.repeat(1000)}`), type)).status, 413)
      for (const other of ['application/json', 'text/plain']) {
        const { status, body } = await it.send('form', bytes('a=1'), { 'content-type': other })
        assert.equal(status, 415)
        assert.equal(body.error.message, 'Send the body as application/x-www-form-urlencoded.')
      }
    })
  })

  describe('a body that does not arrive in its time', () => {
    const late = /did not arrive within 0\.02 s/

    test('is refused, and its connection closed', async () => {
      for (const body of ['', '{']) {
        const socket = await open(it.app.url)
        socket.write(
          `${head('/bodies/slow-json', 'content-type: application/json\r\ncontent-length: 9')}${body}`,
        )
        const answered = await readAnswer(socket)
        assert.deepEqual([answered.status, late.test(answered.body)], [400, true])
        assert.match(answered.head, /connection: close/i)
        if (!socket.closed) await once(socket, 'close')
      }
      await it.isWell()
    })

    test('is refused while it is streamed', async () => {
      const socket = await open(it.app.url)
      socket.write(`${head('/bodies/slow-stream', 'content-type: a/b\r\ncontent-length: 9')}1`)
      const answered = await readAnswer(socket)
      assert.deepEqual([answered.status, late.test(answered.body)], [400, true])
      if (!socket.closed) await once(socket, 'close')
      await it.isWell()
    })

    test('is refused before and within its file', async () => {
      const earlier = it.receipts.length
      async function sendSlowly(content: Buffer | string): Promise<void> {
        const socket = await open(it.app.url)
        socket.write(
          head('/bodies/slow-file', `content-type: ${MULTIPART['content-type']}\r\ncontent-length: 999`),
        )
        socket.write(content)
        const answered = await readAnswer(socket)
        assert.deepEqual([answered.status, late.test(answered.body)], [400, true])
        if (!socket.closed) await once(socket, 'close')
      }
      await sendSlowly('')
      await sendSlowly(FILE.subarray(0, 20))
      assert.equal(it.receipts.length, earlier)
      // Until the file has come so early that the handler was called.
      while (it.receipts.length === earlier) await sendSlowly(FILE.subarray(0, -3))
      assert.match(await it.receipts.at(-1)!.ended, late)
      await it.isWell()
    })
  })

  describe('the signal of a call', () => {
    test('aborts when the client goes', async () => {
      const gone = new AbortController()
      const call = fetch(`${it.app.url}/bodies/waits`, { method: 'POST', signal: gone.signal })
      while (it.signals.length === 0) await it.app.request('GET', '/ready')
      gone.abort()
      await assert.rejects(call)
      const [signal] = it.signals.splice(0)
      if (!signal!.aborted) await once(signal!, 'abort')
      assert.match(String(signal!.reason), /The client closed the connection/)
      await it.isWell()
    })

    test("aborts at the end of the route's time, with what is answered", async () => {
      const { status, body } = await it.app.request('POST', '/bodies/hurries')
      assert.deepEqual([status, body.error.code], [503, 'UNAVAILABLE'])
      assert.equal(body.error.message, 'This took longer than 0.02 s: try again shortly.')
    })

    test('does not abort after the answer', async () => {
      const { status } = await it.app.request('POST', '/bodies/answers')
      assert.equal(status, 200)
      const [signal] = it.signals.splice(0)
      await it.app.request('GET', '/ready')
      assert.equal(signal!.aborted, false)
    })
  })

  test('a caller who sends more large bodies at once than may wait is answered 429, and metrics say so', async () => {
    const { token } = await it.app.register()
    // Four of them are under way, because JSON counts four times, and 256 wait.
    const length = `content-length: 1000000\r\ncontent-type: application/json`
    const sockets = await Promise.all(Array.from({ length: 4 + 256 + 1 }, () => open(it.app.url)))
    for (const socket of sockets)
      socket.write(head('/store/things', `authorization: Bearer ${token}\r\n${length}`))
    const answer = await Promise.race(sockets.map(readAnswer))
    assert.equal(answer.status, 429)
    assert.match(answer.head, /^retry-after: 5$/im)
    assert.equal(JSON.parse(answer.body).error.code, 'TOO_MANY_CONCURRENT')
    const metrics = async () => (await it.app.request('GET', '/metrics')).text
    assert.match(await metrics(), /^sixwire_requests_waiting\{limit="bodies"\} 256$/m)
    await until(async () =>
      /^sixwire_requests_refused_total\{code="TOO_MANY_CONCURRENT"\} 1$/m.test(await metrics()),
    )
    // Others are not held up.
    const other = await it.app.register()
    const body = { text: 'x'.repeat(100_000) }
    assert.equal((await it.app.request('POST', '/store/things', { token: other.token, body })).status, 201)
    for (const socket of sockets) socket.destroy()
  })

  test('a request with two Host headers is refused', async () => {
    for (const hosts of ['host: a.example\r\nhost: b.example', 'Host: a.example\r\nHOST: a.example']) {
      const socket = await open(it.app.url)
      socket.write(`GET /ready HTTP/1.1\r\n${hosts}\r\n\r\n`)
      const { status, body } = await readAnswer(socket)
      assert.equal(status, 400)
      assert.equal(JSON.parse(body).error.details.issues[0].path, '/headers/host')
      socket.destroy()
    }
  })
})
