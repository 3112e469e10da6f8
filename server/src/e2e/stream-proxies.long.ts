// Event streams behind the proxies of deploy/, where they are installed, and behind one that buffers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type ClientHttp2Session } from 'node:http2'
import { request } from 'node:https'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { temporaryFolder } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { startProgram } from '../testing/program.ts'
import { PROXY_HOST, PROXY_NAMES, startProxy, withoutProxy, type ProxyName } from '../testing/proxy.ts'
import { TICKER_CONFIG } from '../testing/ticker.ts'
import { until } from '../testing/until.ts'

/** A server with streams behind a proxy. */
async function start(t: TestContext, name: ProxyName, change?: (text: string) => string) {
  const ports = { proxy: await freePort(), server: await freePort() }
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'sixwire.config.mjs'), TICKER_CONFIG)
  const environment = { PORT: String(ports.server), SIXWIRE_HOSTS: PROXY_HOST, SIXWIRE_SANDBOX: 'off' }
  const server = startProgram(t, ['start'], { folder, environment })
  await server.url()
  await startProxy(t, name, ports, change)

  function open(path: string, method = 'GET') {
    const call = request({
      host: '127.0.0.1',
      port: ports.proxy,
      method,
      path,
      agent: false,
      headers: { host: PROXY_HOST },
      servername: PROXY_HOST,
      rejectUnauthorized: false,
    })
    let text = ''
    const answered = once(call, 'response').then(([response]: IncomingMessage[]) => {
      response!.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response!.on('error', () => undefined)
      return response!
    })
    answered.catch(() => undefined) // the client closes it
    call.on('error', () => undefined)
    call.end()
    t.after(() => void call.destroy())
    return { answered, text: () => text, close: () => void call.destroy() }
  }
  async function answerOf(path: string, method?: string): Promise<string> {
    const { answered, text } = open(path, method)
    const response = await answered
    if (!response.readableEnded) await once(response, 'end')
    return text()
  }
  await until(async () => (await answerOf('/ready').catch(() => '')).includes('true'), 20_000)
  return { open, answerOf, server, port: ports.proxy }
}

/** A connection of HTTP/2, over which a browser sends all that it asks of a host. */
function openSession(t: TestContext, port: number): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, { servername: PROXY_HOST, rejectUnauthorized: false })
  session.on('error', () => undefined)
  t.after(() => session.destroy())
  return session
}

/** What a stream over such a connection begins with; it stays open. */
async function firstTextOf(session: ClientHttp2Session): Promise<string> {
  const stream = session.request({ ':path': '/ticker', ':authority': PROXY_HOST })
  stream.on('error', () => undefined)
  const [text] = (await once(stream.setEncoding('utf8'), 'data')) as [string]
  return text
}

for (const name of PROXY_NAMES)
  test(
    `through ${name} as in deploy/ events arrive at once, and the server learns of the client's end`,
    { skip: withoutProxy(name) },
    async (t) => {
      const { open, answerOf, server, port } = await start(t, name)
      const streams = [open('/ticker'), open('/ticker')]
      await until(() => streams.every(({ text }) => text() === 'data: open\n\n'))
      for (const text of ['one', 'two']) {
        await answerOf(`/ticker/${text}`, 'POST')
        await until(() => streams.every((one) => one.text().endsWith(`data: ${text}\n\n`)))
      }
      const { headers } = await streams[0]!.answered
      assert.match(headers['content-type']!, /^text\/event-stream/)
      const session = openSession(t, port)
      const texts = await Promise.all(Array.from({ length: 10 }, () => firstTextOf(session)))
      assert.deepEqual(new Set(texts), new Set(['data: open\n\n']))
      session.destroy()
      await until(async () => (await answerOf('/ticker/count')) === '2')
      streams[0]!.close()
      await until(async () => (await answerOf('/ticker/count')) === '1')
      assert.equal(await answerOf('/ticker/poll'), '{"answer":1}')
      server.signal('SIGTERM')
      await until(() => streams[1]!.text().endsWith('data: restart\n\n'))
      assert.equal(await server.ended, 0)
    },
  )

test(
  'through a proxy that buffers events come late, and a long poll at once',
  { skip: withoutProxy('nginx') },
  async (t) => {
    const { open, answerOf } = await start(t, 'nginx', (text) =>
      text.replace(
        'proxy_request_buffering off;',
        'proxy_request_buffering off;\n    proxy_buffering on;\n    proxy_ignore_headers X-Accel-Buffering;',
      ),
    )
    const stream = open('/ticker')
    await until(async () => (await answerOf('/ticker/count')) === '1')
    await answerOf('/ticker/one', 'POST')
    await delay(2_000)
    assert.equal(stream.text(), '')
    assert.equal(await answerOf('/ticker/poll'), '{"answer":1}')
    // A buffer that is full is passed on.
    for (let count = 0; count < 40; count++) await answerOf(`/ticker/${'x'.repeat(1_000)}`, 'POST')
    await until(() => stream.text().startsWith('data: open\n\ndata: one\n\n'))
  },
)
