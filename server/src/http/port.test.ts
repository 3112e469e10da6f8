// What becomes of requests while one server takes the place of another.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'

import { createPort, type PortServer } from './port.ts'

const answering = (name: string, more: Partial<PortServer> = {}): PortServer => ({
  handle: (_request, response) => void response.end(name),
  isLast: () => false,
  isMounted: () => false,
  answerUnreadable: () => undefined,
  refuseTunnel: () => undefined,
  ...more,
})

test('a request that is held goes to the next server, unless its client is gone by then', async (t) => {
  const port = createPort({ warn() {} } as never)
  t.after(() => port.close())
  const held: IncomingMessage[] = []
  const handled: (string | undefined)[] = []
  port.serve(answering('one', { isMounted: (request) => held.push(request) < 0 }))
  const { port: number } = new URL(await port.listen({ host: '127.0.0.1', port: 0 }))
  port.hold()
  const ask = async (path: string): Promise<Socket> => {
    const socket = connect(Number(number), '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    while (!held.some(({ url }) => url === path)) await new Promise((resolve) => setImmediate(resolve))
    return socket
  }
  const patient = await ask('/patient')
  const impatient = await ask('/impatient')
  const gone = once(held[1]!.socket, 'close')
  impatient.destroy()
  await gone

  const answer = patient.toArray()
  const two = answering('two')
  port.serve({ ...two, handle: (...exchange) => (handled.push(exchange[0].url), two.handle(...exchange)) })
  assert.match(Buffer.concat(await answer).toString(), /^HTTP\/1.1 200 OK[^]*two$/)
  assert.deepEqual(handled, ['/patient'])
})
