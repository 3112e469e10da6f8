import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { startApp, type StartOptions } from '../testing/app.ts'
import { anyEngine, endOfSuite, type Ending } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import type { EventSink } from './event-stream.ts'
import {
  lastText,
  openStream,
  tickerWire,
  type StreamRequest,
  type TestStream,
} from './event-streams.fixture.ts'

const CLOSED = 'sixwire_streams_ended_total{reason="closed"}'
const SLOW = 'sixwire_streams_ended_total{reason="slow"}'

describe('an event stream', () => {
  anyEngine((engine) => {
    async function startTicker(ending: Ending, options: StartOptions = {}) {
      const wire = tickerWire()
      const app = await startApp(ending, engine, { ...options, config: { wires: [wire.ticker()] } })
      const metric = async (sample: string): Promise<number> => {
        const { text } = await app.request('GET', '/metrics')
        const line = text.split('\n').find((one) => one.startsWith(`${sample} `))
        return Number(line?.slice(sample.length) ?? 0)
      }
      return { app, ...wire, metric }
    }
    type Ticker = Awaited<ReturnType<typeof startTicker>>

    const withStreams = (t: Ending, ticker: Ticker) => ({
      ...ticker,
      open: (path: string, request?: StreamRequest) => openStream(t, ticker.app.url + path, request),
    })
    /** A server of the test's own. */
    const start = async (t: Ending, options?: StartOptions) => withStreams(t, await startTicker(t, options))

    const suite = endOfSuite()
    let shared: Ticker
    before(async () => {
      shared = await startTicker(suite)
    })
    /** The server of the suite, once the streams of the test before are closed. */
    async function ofSuite(t: Ending) {
      await until(() => shared.count() === 0)
      return withStreams(t, shared)
    }

    test('begins at once, with a head that no proxy may store, change or hold back', async (t) => {
      const { open, write, sinks } = await ofSuite(t)
      const stream = await open('/ticker/open', {
        headers: { origin: 'http://localhost:5173', 'x-request-id': 'mine' },
      })
      assert.equal(stream.status, 200)
      const { headers } = stream
      assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
      assert.equal(headers['cache-control'], 'no-store, no-transform')
      assert.equal(headers['transfer-encoding'], 'chunked')
      assert.equal(headers['x-accel-buffering'], 'no')
      assert.equal(headers['x-request-id'], 'mine')
      assert.equal(headers['access-control-allow-origin'], 'http://localhost:5173')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      await until(() => stream.text() === 'data: open\n\n')
      write('data: 1\n\n')
      write(Buffer.from('data: zwei – 2\n\n'))
      await until(() => stream.text() === 'data: open\n\ndata: 1\n\ndata: zwei – 2\n\n')
      const [sink] = sinks
      sink!.end('data: last\n\n')
      assert.equal(sink!.write('data: too late\n\n'), false)
      await until(() => stream.isOver())
      assert.ok(stream.text().endsWith('data: zwei – 2\n\ndata: last\n\n'))
    })

    test('tells what sends it once when its client has gone', async (t) => {
      const { open, count, sinks, app, metric } = await ofSuite(t)
      const before = await metric(CLOSED)
      const streams = await Promise.all([open('/ticker/open'), open('/ticker/open')])
      const [sink] = sinks
      assert.equal(await metric('sixwire_streams_open'), 2)
      streams[0].close()
      await until(() => count() === 1)
      assert.equal(sink!.write('data: nobody reads\n\n'), false)
      sink!.end()
      assert.equal(await metric('sixwire_streams_open'), 1)
      assert.equal((await metric(CLOSED)) - before, 1)
      assert.ok(!app.log().includes('"level":50'))
    })

    test('is no call under way: it is logged and counted when it begins', async (t) => {
      const { open, metric, app } = await ofSuite(t)
      const counted = 'http_request_duration_seconds_count{method="GET",path="/ticker/open",status="200"}'
      const before = await metric(counted)
      await open('/ticker/open', { headers: { 'x-request-id': 'once' } })
      assert.equal((await metric(counted)) - before, 1)
      assert.equal(app.log().match(/"requestId":"once"/g)?.length, 1)
    })

    test('answers HEAD with its head, and opens nothing', async (t) => {
      const { open, count } = await ofSuite(t)
      const { status, headers, isOver } = await open('/ticker/open', { method: 'HEAD' })
      assert.equal(status, 200)
      assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
      assert.equal(headers['content-length'], undefined)
      await until(isOver)
      assert.equal(count(), 0)
    })

    test('is chunked: each text is whole at once, and a stream that has ended is none that was cut', async (t) => {
      const { app, sinks, write } = await ofSuite(t)
      const read = (path: string) => {
        const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => undefined)
        t.after(() => socket.destroy())
        let text = ''
        socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
        return { text: () => text, isOver: () => socket.destroyed }
      }
      const ended = read('/ticker/open')
      await until(() => ended.text().endsWith('Transfer-Encoding: chunked\r\n\r\nc\r\ndata: open\n\n\r\n'))
      write('data: zwei – 2\n\n')
      await until(() => ended.text().endsWith('\r\n12\r\ndata: zwei – 2\n\n\r\n'))
      for (const sink of sinks) sink.end()
      await until(() => ended.text().endsWith('\n\r\n0\r\n\r\n'))
      const cut = read('/ticker/broken')
      await until(cut.isOver)
      assert.ok(!cut.text().endsWith('0\r\n\r\n'))
    })

    test('goes to a client of HTTP/1.0 without chunks', async (t) => {
      const { app, sinks } = await ofSuite(t)
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
      socket.write('GET /ticker/open HTTP/1.0\r\n\r\n')
      await until(() => sinks.size === 1)
      for (const sink of sinks) sink.end('data: last\n\n')
      const text = (await socket.setEncoding('utf8').toArray()).join('')
      assert.ok(text.startsWith('HTTP/1.1 200 OK\r\n'))
      assert.ok(!text.includes('chunked'))
      assert.ok(text.endsWith('\r\n\r\ndata: open\n\ndata: last\n\n'))
    })

    test('answers an error like every route if nothing was sent, and is cut if something was', async (t) => {
      const { app, metric } = await ofSuite(t)
      const refused = await app.request('GET', '/ticker/refused')
      assert.equal(refused.status, 409)
      assert.equal(refused.body.error.code, 'CONFLICT')
      assert.equal(refused.headers.get('x-accel-buffering'), null)
      const broken = await openStream(t, `${app.url}/ticker/broken`)
      await until(broken.isOver)
      assert.match(app.log(), /an event stream failed/)
      assert.equal(await metric('sixwire_streams_open'), 0)
    })

    test('is described beside the JSON that its route may answer', async (t) => {
      const { app, open } = await ofSuite(t)
      const accept = { accept: 'application/json' }
      const { body } = await app.request('GET', '/ticker/either', { headers: accept })
      assert.deepEqual(body, { price: 1 })
      const stream = await open('/ticker/either')
      assert.equal(stream.headers['content-type'], 'text/event-stream; charset=utf-8')
      const { paths } = (await app.request('GET', '/openapi.json')).body
      const { responses } = paths['/ticker/either'].get
      assert.deepEqual(Object.keys(responses[200].content), ['application/json', 'text/event-stream'])
      assert.deepEqual(Object.keys(paths['/ticker'].get.responses[200].content), ['text/event-stream'])
      assert.match(JSON.stringify(responses[429]), /TooManyStreams/)
    })

    test('is the last answer on its connection', async (t) => {
      const { app, count } = await ofSuite(t)
      const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
      const port = Number(new URL(app.url).port)
      const behind = connect(port, '127.0.0.1')
      behind.on('error', () => undefined)
      behind.write(get('/ticker/open'))
      await once(behind, 'data')
      assert.equal(count(), 1)
      behind.write(get('/ready'))
      await once(behind.resume(), 'close')
      await until(() => count() === 0)
      const ahead = connect(port, '127.0.0.1')
      ahead.write(get('/ticker/open') + get('/ready'))
      const [answered] = (await once(ahead, 'data')) as [Buffer]
      assert.match(answered.toString(), /^HTTP\/1\.1 400 [^]*must be the last request on its connection/)
      ahead.destroy()
    })

    test('is one of 20 of its user, key or address', async (t) => {
      const { app, open, count } = await ofSuite(t)
      const { token } = await app.register()
      const { key } = await app.app.service('auth').keys.create('relay', ['ticker'])
      const callers: [string, StreamRequest][] = [
        ['/ticker', { token }],
        ['/ticker', { token: key }],
        ['/ticker/open', { from: '127.0.0.2' }],
      ]
      for (const [path, request] of callers) {
        const streams = await Promise.all(Array.from({ length: 20 }, () => open(path, request)))
        const more = await open(path, request)
        assert.equal(more.status, 429)
        assert.ok(Number(more.headers['retry-after']) > 0)
        await until(() => more.isOver())
        assert.match(more.text(), /TOO_MANY_STREAMS/)
        const before = count()
        streams[0]!.close()
        await until(() => count() === before - 1)
        assert.equal((await open(path, request)).status, 200)
      }
      assert.equal((await open('/ticker/open')).status, 200)
      assert.equal(count(), 61)
    })

    test('is refused with 503 if the process has as many as it may', async (t) => {
      const { open, count } = await start(t, { environment: { SIXWIRE_STREAMS: '2' } })
      const [first] = await Promise.all([open('/ticker/open'), open('/ticker/open')])
      const third = await open('/ticker/open')
      assert.equal(third.status, 503)
      assert.ok(Number(third.headers['retry-after']) > 0)
      first.close()
      await until(() => count() === 1)
      assert.equal((await open('/ticker/open')).status, 200)
    })

    describe('whose client does not read', () => {
      const LARGE = Buffer.alloc(1_048_576, 'x')

      /** Stops to read, and is sent more than the system takes. */
      async function fallBehind(stream: TestStream, sink: EventSink): Promise<void> {
        stream.response.pause()
        await until(async () => {
          sink.write(LARGE)
          await delay(20)
          return sink.unsentBytes > 0
        })
      }

      test('goes on if it reads within 30 seconds, and is cut if not', async (t) => {
        const { app, open, count, sinks, metric } = await ofSuite(t)
        const slow = await open('/ticker/open')
        const [sink] = sinks
        await open('/ticker/open')
        const before = await metric(SLOW)
        await fallBehind(slow, sink!)
        app.clock.advance(20_000)
        slow.response.resume()
        await until(() => slow.text().endsWith('data: drained\n\n'))
        app.clock.advance(20_000)
        await fallBehind(slow, sink!)
        assert.equal(count(), 2)
        app.clock.advance(30_000)
        await until(() => count() === 1)
        assert.equal((await metric(SLOW)) - before, 1)
      })

      test('is cut when more is written than may wait; others go on', async (t) => {
        const { open, count, sinks, write, metric } = await ofSuite(t)
        const slow = await open('/ticker/open')
        const [sink] = sinks
        const other = await open('/ticker/open')
        const before = await metric(SLOW)
        await fallBehind(slow, sink!)
        if (sink!.unsentBytes <= 262_144) sink!.write(LARGE)
        assert.equal(sink!.write(LARGE), false)
        await until(() => count() === 1)
        write('data: still here\n\n')
        await until(() => other.text().endsWith('data: still here\n\n'))
        assert.equal((await metric(SLOW)) - before, 1)
      })
    })

    test('is refused once the server stops, also if its call was under way', async (t) => {
      const { app, open, waiting, answerLate } = await start(t)
      const late = open('/ticker/late')
      await until(() => waiting() === 1)
      const stopped = app.stop()
      answerLate()
      const { status, headers } = await late
      assert.equal(status, 503)
      assert.ok(Number(headers['retry-after']) > 0)
      await stopped
    })

    test('ends at once when the server stops, which does not wait for it', async (t) => {
      const { app, open, count } = await start(t)
      const streams = await Promise.all([open('/ticker/open'), open('/ticker/open')])
      await app.stop()
      await until(() => streams.every((one) => one.isOver()))
      for (const one of streams) assert.equal(one.text(), `data: open\n\n${lastText('restart')}`)
      assert.equal(count(), 0)
    })
  })
})
