import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { json } from '../../../server/src/testing/scripted-http.ts'
import { until } from '../../../server/src/testing/until.ts'
import { createClient, type ClientOptions, type ChangeHandlers } from '../index.ts'
import { FeedServer, type Answer, type Book } from './feed-server.fixture.ts'

/** Lists what handlers are called with. */
function recorder() {
  const events: string[] = []
  const handlers: ChangeHandlers<Partial<Book> & { _id: string }> = {
    ready: () => void events.push('ready'),
    put: ({ _id, title }, { etag }) => void events.push(`put ${_id} ${title} ${etag}`),
    gone: (id) => void events.push(`gone ${id}`),
    reset: (reason) => void events.push(`reset ${reason}`),
    error: (error) => void events.push(`error ${(error as { code?: string }).code}`),
  }
  return { events, handlers }
}

async function started(t: TestContext, options: ClientOptions = {}) {
  const server = await FeedServer.start(t)
  const six = createClient(server.url, { token: 'key', retries: 0, ...options })
  return { server, six, books: six.collection<Book>('books'), ...recorder() }
}

const refuse =
  (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    json(response, status, { error: { code, message: code } }, headers)

describe('a watch', () => {
  test('tells what comes, changes and goes, with its ETag for the next change', async (t) => {
    const { server, books, events, handlers } = await started(t)
    server.put('a', { title: 'Momo' })
    const watch = books.watch({ filter: { title: 'Momo' } }, handlers)
    await watch.ready
    server.put('b', { title: 'Momo' })
    server.put('a', { price: 5 })
    server.put('a', { title: 'Jim' })
    server.put('c', { title: 'Jim' })
    server.remove('b')
    await until(() => events.length === 5)
    watch.close()
    assert.deepEqual(events, ['ready', 'put b Momo "1"', 'put a Momo "2"', 'gone a', 'gone b'])
    assert.deepEqual(server.asked, [
      {
        watches: [{ collection: 'books', filter: { title: 'Momo' } }],
        cursor: undefined,
        token: 'Bearer key',
      },
    ])
    await until(() => server.streams.size === 0)
  })

  test('reads a stream that comes byte by byte, with comments and other line ends', async (t) => {
    const { server, books, events, handlers } = await started(t)
    server.isSplit = true
    const watch = books.watch({}, handlers)
    await watch.ready
    server.put('a', { title: 'Die unendliche Geschichte – 𝄞' })
    server.send(': still here\r\n\r\nevent: gone\rid: 1\rdata: {"watch":0,"_id":"x"}\r\r')
    await until(() => events.length === 3)
    watch.close()
    assert.deepEqual(events, ['ready', 'put a Die unendliche Geschichte – 𝄞 "1"', 'gone x'])
  })

  test('goes on where it was after each loss, and is ready once', async (t) => {
    const { server, books, events, handlers } = await started(t)
    const watch = books.watch({}, handlers)
    await watch.ready
    for (const id of ['a', 'b', 'c']) {
      server.put(id)
      await until(() => events.some((one) => one.includes(`put ${id}`)))
      server.cut()
      server.put(`${id}2`)
    }
    await until(() => events.length === 7)
    watch.close()
    assert.deepEqual(
      events.map((event) => event.split(' ')[1]),
      [undefined, 'a', 'a2', 'b', 'b2', 'c', 'c2'],
    )
    assert.deepEqual(
      server.asked.map(({ cursor }) => cursor),
      [undefined, '1', '3', '5'],
    )
  })

  for (const [what, answer] of [
    ['503 and another page', refuse(503, 'UNAVAILABLE')],
    ['429', refuse(429, 'TOO_MANY_STREAMS', { 'retry-after': '1' })],
    ['nothing', (response) => void response.destroy()],
    ['a page that is no stream', (response) => void response.writeHead(200).end('<html>')],
  ] satisfies [string, Answer][])
    test(`connects again after ${what}`, async (t) => {
      const { server, books, events, handlers } = await started(t)
      server.answers.push(answer)
      const startedAt = performance.now()
      const watch = books.watch({}, handlers)
      await watch.ready
      const tookMs = performance.now() - startedAt
      watch.close()
      assert.ok(tookMs > (what === '429' ? 990 : 490), `${tookMs}`)
      assert.deepEqual([events, server.asked.length], [['ready'], 2])
    })

  for (const [status, code] of [
    [400, 'VALIDATION_ERROR'],
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
  ] as const)
    test(`ends with an error after ${status}, before it is ready and later`, async (t) => {
      const { server, books, events, handlers } = await started(t)
      server.answers.push(refuse(status, code))
      await assert.rejects(books.watch({}, handlers).ready, { name: 'CallError', status, code })
      const later = books.watch({}, handlers)
      await later.ready
      server.answers.push(refuse(status, code))
      server.cut()
      await until(() => events.length === 3)
      assert.deepEqual(events, [`error ${code}`, 'ready', `error ${code}`])
      assert.equal(server.asked.length, 3)
    })

  test('tells a reset, in place of ready after a loss too', async (t) => {
    const { server, books, events, handlers } = await started(t)
    server.answers.push((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('retry: 5\nevent: reset\nid: 0\ndata: {"reason":"expired"}\n\n')
    })
    const watch = books.watch({}, handlers)
    await watch.ready
    await until(() => server.streams.size === 1)
    server.event('reset', { reason: 'restored' })
    await until(() => events.length === 2)
    server.answers.push((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: reset\nid: 0\ndata: {"reason":"changed"}\n\n')
    })
    server.cut()
    await until(() => events.length === 3)
    watch.close()
    // It held nothing at the first one.
    assert.deepEqual(events, ['ready', 'reset restored', 'reset changed'])
  })

  test('connects again at once with a new token when the server ends it', async (t) => {
    let tokens = 0
    const { server, books, events, handlers } = await started(t, {
      fetch: (url, init) => {
        const headers = new Headers(init!.headers)
        headers.set('authorization', `Bearer ${++tokens}`)
        return fetch(url, { ...init, headers })
      },
    })
    const watch = books.watch({}, handlers)
    await watch.ready
    server.event('ping', {})
    server.event('end', { reason: 'expired' })
    await until(() => server.streams.size === 1 && server.asked.length === 2)
    server.put('a')
    await until(() => events.length === 2)
    watch.close()
    assert.deepEqual(
      server.asked.map(({ cursor, token }) => [cursor, token]),
      [
        [undefined, 'Bearer 1'],
        ['0', 'Bearer 2'],
      ],
    )
  })

  test('comes back as late as a server asks that restarts', async (t) => {
    const { server, books, handlers } = await started(t)
    const watch = books.watch({}, handlers)
    await watch.ready
    server.send('retry: 400\n')
    server.event('end', { reason: 'restart' })
    const endedAt = performance.now()
    await until(() => server.asked.length === 2)
    const tookMs = performance.now() - endedAt
    watch.close()
    assert.ok(tookMs > 390, `${tookMs}`)
  })

  test('of one client share a connection; one that is refused leaves the others alone', async (t) => {
    const { server, six, events, handlers } = await started(t)
    const others = recorder()
    const names = Array.from({ length: 25 }, (_, n) => `books${n}`)
    const watches = names.map((name) => six.collection<Book>(name).watch({}, others.handlers))
    watches.push(six.collection<Book>('books').watch({}, handlers))
    await Promise.all(watches.map(({ ready }) => ready))
    assert.deepEqual(
      server.asked.map(({ watches }) => watches.length),
      [20, 6],
    )
    for (const watch of watches) watch.close()
    await until(() => server.streams.size === 0)
    const isHidden = (asked: { query: URLSearchParams }) => asked.query.get('watch')!.includes('hidden')
    for (let i = 0; i < 9; i++)
      server.answers.push((response, asked) => {
        if (isHidden(asked)) refuse(403, 'FORBIDDEN')(response, asked)
        else {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write('event: ready\nid: 0\ndata: {}\n\n')
        }
      })
    const mixed = ['a', 'b', 'hidden', 'c'].map((name) => six.collection<Book>(name).watch({}, handlers))
    const outcomes = await Promise.allSettled(mixed.map(({ ready }) => ready))
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    )
    for (const watch of mixed) watch.close()
    assert.ok(events.includes('error FORBIDDEN'))
  })

  test('that is added later disturbs no other, and ends with its connection', async (t) => {
    const { server, books, events, handlers } = await started(t)
    const [second, third] = [recorder(), recorder()]
    const first = books.watch({}, handlers)
    await first.ready
    const two = books.watch({ filter: { title: 'Momo' } }, second.handlers)
    await two.ready
    assert.equal(server.streams.size, 2)
    // The second connection is replaced by one for both.
    const three = books.watch({ filter: { title: 'Jim' } }, third.handlers)
    await three.ready
    await until(() => server.streams.size === 2)
    server.put('a', { title: 'Momo' })
    server.put('b', { title: 'Jim' })
    await until(() => second.events.length === 3 && third.events.length === 2 && events.length === 3)
    assert.deepEqual(events, ['ready', 'put a Momo "1"', 'put b Jim "1"'])
    assert.deepEqual(second.events, ['ready', 'reset changed', 'put a Momo "1"'])
    assert.deepEqual(third.events, ['ready', 'put b Jim "1"'])
    // The same once more costs nothing.
    const same = recorder()
    const four = books.watch({}, same.handlers)
    await four.ready
    assert.equal(server.asked.length, 3)
    for (const watch of [two, three]) watch.close()
    await until(() => server.streams.size === 1)
    first.close()
    server.put('c')
    await until(() => same.events.length === 2)
    assert.equal(events.length, 3)
    four.close()
    await until(() => server.streams.size === 0)
  })

  test('calls nothing once it is closed, and may be closed before it begins', async (t) => {
    const { server, books, events, handlers } = await started(t)
    const watch = books.watch({}, handlers)
    watch.close()
    await assert.rejects(watch.ready, { name: 'AbortError' })
    const next = books.watch({}, { ...handlers, put: () => next.close() })
    await next.ready
    server.put('a')
    await until(() => server.streams.size === 0)
    assert.deepEqual([events, server.asked.length], [['ready'], 1])
  })

  test('is polled where the answer of a call cannot be streamed', async (t) => {
    const { ReadableStream } = globalThis
    const { server, books, events, handlers } = await started(t, {
      fetch: (url, init) => {
        // Node's own fetch needs it.
        Object.assign(globalThis, { ReadableStream })
        return fetch(url, init)
      },
    })
    // As in React Native, once Node has what it needs itself.
    await Promise.all([import('./index.ts'), new Response('').text()])
    delete (globalThis as { ReadableStream?: unknown }).ReadableStream
    const watch = books.watch({}, handlers)
    await watch.ready
    for (const id of ['a', 'b', 'c']) {
      server.put(id)
      await until(() => events.some((one) => one.includes(`put ${id}`)))
    }
    watch.close()
    assert.equal(events.length, 4)
    assert.ok(server.asked.length >= 4)
  })
})
