import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { limitSending } from './sending.ts'

const LIMIT_MS = 60
// More than the system's own buffers take.
const LARGE = 'x'.repeat(30_000_000)

/** A server with this one answer. */
async function startServer(
  t: TestContext,
  answer: (response: ServerResponse) => unknown,
  limitMs: number,
  heldMax?: number,
) {
  const sending = limitSending(limitMs, heldMax)
  const server = createServer((_request, response) => {
    sending.begin(response)
    response.once('close', () => sending.end(response))
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    sending.close()
  })
  return {
    /** A client that reads nothing until it is resumed, and what it is answered. */
    async connectClient() {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.on('error', () => undefined) // the server cuts it
      t.after(() => socket.destroy())
      const request = once(server, 'request')
      socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
      const [, response] = (await request) as [unknown, ServerResponse]
      return { socket, response }
    },
  }
}

const startClient = async (
  t: TestContext,
  answer: (response: ServerResponse) => unknown,
  limitMs = LIMIT_MS,
) => (await startServer(t, answer, limitMs)).connectClient()

test('an answer that nobody reads ends, whatever its client sends meanwhile', async (t) => {
  const { socket, response } = await startClient(t, (answering) => answering.end(LARGE))
  const sending = setInterval(() => socket.write('\r\n'), LIMIT_MS / 5)
  await once(response, 'close')
  clearInterval(sending)
  assert.equal(response.writableFinished, false)
})

test('an answer that is read slowly does not', async (t) => {
  const limitMs = 300
  const { socket } = await startClient(t, (response) => response.end(LARGE), limitMs)
  let bytes = 0
  let pauses = 0
  socket.on('data', (piece) => {
    bytes += piece.length
    if (bytes < pauses * 3_000_000) return
    pauses++
    socket.pause()
    setTimeout(() => socket.resume(), limitMs / 5)
  })
  await once(socket, 'close')
  assert.ok(bytes > LARGE.length)
  assert.ok(pauses > 5)
})

test('an answer whose handler or source takes its time does not', async (t) => {
  const { socket } = await startClient(t, async (response) => {
    await delay(LIMIT_MS * 1.5)
    response.write('a')
    await delay(LIMIT_MS * 1.5)
    response.end('b')
  })
  socket.setEncoding('utf8')
  const pieces = await Array.fromAsync(socket)
  assert.match(pieces.join(''), /^HTTP\/1\.1 200 [^]*a\r\n1\r\nb\r\n0\r\n\r\n$/)
})

test('where answers hold too much memory, the client that has not read for the longest time is disconnected', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const check = () => t.mock.timers.tick(100)
  // The answer of the slow client is the largest, and no two of them are too much.
  const sizes = [1, 1.5, 1]
  const server = await startServer(
    t,
    (response) => response.end('x'.repeat(LARGE.length * sizes.shift()!)),
    60_000,
    LARGE.length * 3,
  )
  const stuck = await server.connectClient()
  const slow = await server.connectClient()
  check()
  // More than the system's own buffers take.
  for (let bytes = 0; bytes < LARGE.length / 2;) {
    const [piece] = (await once(slow.socket, 'data')) as [Buffer]
    bytes += piece.length
  }
  slow.socket.pause()
  check()
  const third = await server.connectClient()
  check()
  await once(stuck.response, 'close')
  assert.equal(stuck.response.writableFinished, false)
  assert.equal(slow.response.destroyed || third.response.destroyed, false)
})
