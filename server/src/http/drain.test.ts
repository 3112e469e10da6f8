import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket, type SocketConstructorOpts } from 'node:net'
import { before, describe, test } from 'node:test'

import { Type } from '../base/schema.ts'

import { startApp, type TestApp } from '../testing/app.ts'
import { someEngine, endOfSuite, type Ending, type Engine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import type { UserCaller } from './access.ts'
import { route } from './route.ts'

/** A wire whose one call begins when it says so, and ends when the test says so. */
function slowWire() {
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  let state: 'waiting' | 'running' | 'done' = 'waiting'
  const slow = defineWire({
    name: 'slow',
    setup: ({ db }) => ({
      service: undefined,
      routes: [
        route(
          'POST /slow',
          {
            summary: 'Takes its time',
            access: 'public',
            reply: { 200: Type.Object({ done: Type.Boolean() }) },
          },
          async () => {
            state = 'running'
            begun.resolve()
            await mayEnd.promise
            await db.ping()
            state = 'done'
            return { done: true }
          },
        ),
      ] as const,
    }),
  })
  return { slow, begun: begun.promise, end: () => mayEnd.resolve(), state: () => state }
}

/** A wire that knows one caller, once the test says so. */
function slowDoor() {
  const caller = Promise.withResolvers<UserCaller>()
  let asked = 0
  const door = defineWire({
    name: 'door',
    setup: () => ({
      service: undefined,
      async authenticate() {
        asked++
        return caller.promise
      },
      routes: [
        route(
          'GET /inside',
          { summary: 'Answers', access: 'user', reply: { 200: Type.Object({}) } },
          async () => ({}),
        ),
      ],
    }),
  })
  const open = () =>
    caller.resolve({
      kind: 'user',
      id: 'ada',
      email: 'ada@example.com',
      emailVerified: true,
      role: 'user',
      sessionId: 'one',
    })
  return { door, open, asked: () => asked }
}

/** Several times what the system keeps of an answer that its client does not read. */
const LARGE = 'x'.repeat(25_165_824)

/** A wire with a call that lasts until its client has gone, and one whose answer does. */
const waiting = defineWire({
  name: 'waiting',
  setup: () => ({
    service: undefined,
    routes: [
      route(
        'GET /waits',
        {
          summary: 'Waits for the end of the client',
          access: 'public',
          query: Type.Object({ ending: Type.Optional(Type.String()) }),
          reply: { 200: Type.Object({}) },
        },
        async ({ signal, query }) => {
          await once(signal, 'abort')
          if (query.ending === 'throw') throw new TypeError('this is a bug')
          throw signal.reason
        },
      ),
      route(
        'GET /large',
        {
          summary: 'Answers with much text',
          access: 'public',
          reply: { 200: Type.Object({ text: Type.String() }) },
        },
        async () => ({ text: LARGE }),
      ),
    ],
  }),
})

async function startSlow(ending: Ending, engine: Engine) {
  const wire = slowWire()
  return { ...wire, app: await startApp(ending, engine, { config: { wires: [wire.slow()] } }) }
}

async function connectTo(app: TestApp, options: SocketConstructorOpts = {}): Promise<Socket> {
  const { hostname, port } = new URL(app.url)
  const socket = connect({ ...options, port: Number(port), host: hostname })
  socket.on('error', () => undefined) // that the server cuts it is what the test is about
  await once(socket, 'connect')
  return socket
}

// On the way into the server there is nothing to wait for but the next answer on another connection.
const seen = (app: TestApp) => app.request('GET', '/ready')

someEngine((engine) => {
  describe('the end of a server', () => {
    test('waits for the call that is under way, and refuses new ones', async (t) => {
      const { app, begun, end } = await startSlow(t, engine)
      const slow = app.request('POST', '/slow')
      await begun
      const stopped = app.stop()
      const origin = 'http://localhost:5173'
      const refused = await app.request('GET', '/auth/me', { headers: { origin } })
      assert.equal(refused.status, 503)
      assert.equal(refused.body.error.code, 'UNAVAILABLE')
      assert.ok(Number(refused.headers.get('retry-after')) >= 1)
      assert.equal(refused.headers.get('connection'), 'close')
      assert.equal(
        refused.headers.get('access-control-allow-origin'),
        origin,
        'a browser may read the refusal',
      )
      const ready = await app.request('GET', '/ready')
      assert.equal(ready.status, 503)
      assert.deepEqual(ready.body, { ready: false, reason: 'The server is shutting down.' })
      end()
      assert.deepEqual((await slow).body, { done: true })
      await stopped
      // By a connection that was open until now, or a new one.
      await assert.rejects(app.request('GET', '/ready'), { code: /^ECONN(RESET|REFUSED)$/ })
    })

    test('waits for the work of a call whose client has gone, and for no more than that', async (t) => {
      const { app, begun, end, state } = await startSlow(t, engine)
      const gone = new AbortController()
      const call = fetch(`${app.url}/slow`, { method: 'POST', signal: gone.signal })
      await begun
      gone.abort()
      await assert.rejects(call)
      const stopped = app.stop()
      await seen(app)
      assert.equal(state(), 'running')
      end()
      await stopped
      assert.equal(state(), 'done')
    })

    test('does not wait for a client that never sends the body it announced', async (t) => {
      const { app } = await startSlow(t, engine)
      const socket = await connectTo(app)
      socket.write(
        'POST /slow HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
      )
      await seen(app)
      socket.destroy()
      await app.stop()
    })

    test('does not wait for a connection on which nothing was asked yet', async (t) => {
      const { app } = await startSlow(t, engine)
      const socket = await connectTo(app)
      await seen(app)
      await Promise.all([app.stop(), once(socket, 'close')])
    })

    test('does not wait for a client that holds the connection on which it was refused', async (t) => {
      const { app } = await startSlow(t, engine)
      for (const bytes of ['CONNECT a.example:443 HTTP/1.1\r\nhost: a.example\r\n\r\n', 'nonsense\r\n\r\n']) {
        const socket = await connectTo(app, { allowHalfOpen: true })
        socket.resume().write(bytes)
        await once(socket, 'end')
        // Only a connection that the server has closed refuses what is sent.
        while (!socket.destroyed) {
          socket.write('x')
          await seen(app)
        }
      }
      await app.stop()
    })

    test('a call whose client has gone is logged and counted, as 499', async (t) => {
      const { app, begun, end } = await startSlow(t, engine)
      const gone = new AbortController()
      const call = fetch(`${app.url}/slow`, { method: 'POST', signal: gone.signal })
      await begun
      gone.abort()
      await assert.rejects(call)
      const line = /"method":"POST","path":"\/slow","status":499/
      while (!line.test(app.log())) await seen(app)
      end()
    })
  })

  describe('a client that goes away', () => {
    const ending = endOfSuite()
    let app: TestApp
    let token: string
    before(async () => {
      app = await startApp(ending, engine, { config: { wires: [waiting()] } })
      token = (await app.register()).token
    })
    const head = (request: string, id: string, ...headers: string[]) =>
      [
        `${request} HTTP/1.1`,
        'host: localhost',
        `x-request-id: ${id}`,
        `authorization: Bearer ${token}`,
        ...headers,
      ]
        .map((line) => `${line}\r\n`)
        .join('') + '\r\n'
    const multipart = 'content-type: multipart/form-data; boundary=b'
    const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nsome'

    for (const [what, bytes] of [
      ['while its handler waits', (id) => head('GET /waits', id)],
      [
        'within its body',
        (id) => `${head('POST /store/things', id, 'content-type: application/json', 'content-length: 9')}{`,
      ],
      ['within a file', (id) => head('POST /store/upload', id, multipart, 'content-length: 9000') + file],
      [
        'within chunks',
        (id) => `${head('POST /store/upload', id, multipart, 'transfer-encoding: chunked')}1\r\n-\r\n`,
      ],
      ['within its answer', (id) => head('GET /large', id)],
    ] as const satisfies readonly (readonly [string, (id: string) => string])[])
      for (const leave of ['destroy', 'resetAndDestroy'] as const)
        test(`${what} is one line at the level info (${leave})`, async () => {
          const id = `${what}-${leave}`.replaceAll(' ', '-')
          const socket = await connectTo(app)
          socket.write(bytes(id))
          if (what === 'within its answer') await once(socket, 'data')
          socket.pause()
          // The server has what was sent once it has answered another request.
          for (let count = 0; count < 5; count++) await seen(app)
          socket[leave]()
          const lines = () =>
            app
              .log()
              .split('\n')
              .filter((line) => line.includes(id))
          await until(() => lines().some((line) => line.includes('"method"')))
          for (let count = 0; count < 5; count++) await seen(app)
          const [line, ...more] = lines().map((one) => JSON.parse(one))
          assert.deepEqual(more, [])
          assert.deepEqual([line.level, line.status, line.stack, line.err], [30, 499, undefined, undefined])
          assert.doesNotMatch(app.log(), /"level":(40|50)/)
        })

    test('before its caller is known takes nothing from later requests', async (t) => {
      const { door, open, asked } = slowDoor()
      const app = await startApp(t, engine, { config: { load: ['core', 'door'], wires: [door()] } })
      const request = 'GET /inside HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ada\r\n\r\n'
      // As many as one caller may have under way.
      const sockets = await Promise.all(Array.from({ length: 256 }, () => connectTo(app)))
      for (const socket of sockets) socket.write(request)
      await until(() => asked() === sockets.length)
      for (const socket of sockets) socket.destroy()
      await until(() => app.log().split('"status":499').length > sockets.length)
      open()
      assert.equal((await app.request('GET', '/inside', { token: 'ada' })).status, 200)
    })

    test('does not hide a bug', async () => {
      const socket = await connectTo(app)
      socket.write(head('GET /waits?ending=throw', 'a-bug'))
      await seen(app)
      socket.destroy()
      await until(() => app.log().includes('this is a bug'))
      assert.match(app.log(), /"level":50.*"requestId":"a-bug".*TypeError.*this is a bug/)
    })
  })
})
