import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { until } from '../testing/until.ts'
import { inTurn } from './in-turn.ts'

// More than the system's own buffers take.
const LARGE = 'x'.repeat(30_000_000)
const get = (n: number): string => `GET /${n} HTTP/1.1\r\nhost: x\r\n\r\n`
const post = (n: number, body: string): string =>
  `POST /${n} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** A server, and a client with one connection that is paused: the test resumes it. */
async function start(
  t: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  max?: { ofConnection: number; total: number },
) {
  const handled: string[] = []
  const server = createServer(
    inTurn(
      (request, response) => {
        handled.push(request.url!)
        handle(request, response)
      },
      {
        sending: { begin: () => undefined, end: () => undefined },
        isLast: (response) => response.getHeader('connection') === 'close',
        ...(max && { max }),
      },
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connected: Socket[] = []
  server.on('connection', (socket) => connected.push(socket))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const open = (): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => undefined) // the server cuts it
    t.after(() => socket.destroy())
    return socket.pause()
  }
  return { handled, connected, open, client: open() }
}

/** The bodies of the answers on a connection, up to its end. */
async function answersOf(socket: Socket): Promise<string[]> {
  const text = (await socket.setEncoding('latin1').toArray()).join('')
  return Array.from(
    text.matchAll(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n(?:[0-9a-f]+\r\n)?([^]*?)(?=\r\n0\r\n|HTTP\/|$)/g),
    ([, body]) => body!,
  )
}

test('requests sent ahead are answered in order, and one is handled at a time', async (t) => {
  let running = 0
  let most = 0
  const { client, handled } = await start(t, async (request, response) => {
    most = Math.max(most, ++running)
    response.prependOnceListener('close', () => running--)
    await delay(1)
    if (request.url === '/99') response.setHeader('connection', 'close')
    response.end(request.url)
  })
  client.write(numbers(100).map(get).join(''))
  assert.deepEqual(
    await answersOf(client),
    numbers(100).map((n) => `/${n}`),
  )
  assert.equal(handled.length, 100)
  assert.equal(most, 1)
})

test('the next request is not handled until the answer before it is taken', async (t) => {
  const { client, handled, connected } = await start(t, (_request, response) => response.end(LARGE))
  client.write(numbers(100).map(get).join(''))
  await until(() => handled.length === 1)
  await delay(50)
  assert.deepEqual(handled, ['/0'])
  assert.ok(connected[0]!.isPaused())
  client.resume()
  await until(() => handled.length >= 2)
})

test('what comes after a request that waits is not read', async (t) => {
  const { client, connected, handled } = await start(t, (_request, response) => response.end(LARGE))
  client.write(get(0))
  await until(() => handled.length === 1)
  client.write(get(1))
  await until(() => connected[0]!.isPaused())
  const before = connected[0]!.bytesRead
  for (let n = 2; n < 100; n++) {
    client.write(get(n))
    await delay(1)
  }
  assert.equal(connected[0]!.bytesRead, before)
})

test('a large body is not read until the handler reads it', async (t) => {
  const gate = Promise.withResolvers<void>()
  const { client, connected, handled } = await start(t, async (request, response) => {
    await gate.promise
    let bytes = 0
    for await (const chunk of request) bytes += (chunk as Buffer).length
    response.setHeader('connection', 'close')
    response.end(`${bytes}`)
  })
  const request = post(0, 'y'.repeat(300_000))
  client.write(request.slice(0, 100))
  await until(() => handled.length === 1)
  client.write(request.slice(100))
  for (let turn = 0; turn < 20; turn++) await delay(1)
  assert.equal(connected[0]!.bytesRead, 100)
  gate.resolve()
  assert.deepEqual(await answersOf(client), ['300000'])
})

test('bodies of requests sent ahead arrive whole, also in pieces', async (t) => {
  const { client } = await start(t, (request, response) => {
    let bytes = 0
    request.on('data', (chunk: Buffer) => void (bytes += chunk.length))
    request.on('end', () => {
      if (request.url === '/3') response.setHeader('connection', 'close')
      response.end(`${request.url} ${bytes}`)
    })
  })
  const sizes = [100_000, 10, 300_000, 70_000]
  const bytes = sizes.map((size, n) => post(n, 'y'.repeat(size))).join('')
  const sending = (async () => {
    for (let at = 0; at < bytes.length; at += 7_000) {
      client.write(bytes.slice(at, at + 7_000))
      await delay(1)
    }
  })()
  assert.deepEqual(
    await answersOf(client),
    sizes.map((size, n) => `/${n} ${size}`),
  )
  await sending
})

test('a connection with too many requests ahead is closed, and others go on', async (t) => {
  const { client, open, handled } = await start(t, (_request, response) => response.end(LARGE), {
    ofConnection: 50,
    total: 60,
  })
  client.write(numbers(52).map(get).join(''))
  await once(client.resume(), 'close')
  const [second, third] = [open(), open()]
  second.write(numbers(51).map(get).join(''))
  await until(() => handled.length === 2)
  third.write(numbers(12).map(get).join(''))
  await once(third.resume(), 'close')
  // What waited on closed connections waits no longer.
  second.destroy()
  const fourth = open()
  fourth.write(numbers(51).map(get).join(''))
  await until(() => handled.length === 4)
  await delay(20)
  assert.equal(fourth.destroyed, false)
})

test('after an answer that closes the connection nothing is handled', async (t) => {
  const { client, handled } = await start(t, (request, response) => {
    response.setHeader('connection', 'close')
    response.end(request.url)
  })
  client.write(numbers(3).map(get).join(''))
  assert.deepEqual(await answersOf(client), ['/0'])
  assert.deepEqual(handled, ['/0'])
})
