// Public files behind the proxies of deploy/, where they are installed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'

import { startApp } from '../testing/app.ts'
import { anyEngine, type Engine } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { PROXY_HOST, startProxy, withoutProxy, type ProxyName } from '../testing/proxy.ts'
import { until } from '../testing/until.ts'
import { upload } from '../wires/store/files/files.fixture.ts'

type Answered = { status: number; text: string; headers: IncomingMessage['headers'] }

/** A server behind a proxy, and the way to ask it there. */
async function start(t: TestContext, engine: Engine, name: ProxyName) {
  const app = await startApp(t, engine, { environment: { PUBLIC_URL: `https://${PROXY_HOST}` } })
  const port = await freePort()
  await startProxy(t, name, { proxy: port, server: Number(new URL(app.url).port) })
  async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answered> {
    const call = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      agent: false,
      headers: { host: PROXY_HOST, ...headers },
      servername: PROXY_HOST,
      rejectUnauthorized: false,
    }).end()
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    return { status: response.statusCode!, text: await text(response), headers: response.headers }
  }
  await until(async () => (await ask('/ready').catch(() => undefined))?.status === 200, 20_000)
  const { token } = await app.register()
  const { body } = await upload(app, token, { bytes: 'abcdefghij', access: 'public' })
  const hide = () => app.request('PATCH', `/store/files/${body._id}`, { token, body: { access: 'private' } })
  return { ask, hide, path: new URL(body.url as string).pathname }
}

anyEngine((engine) => {
  test(
    'nginx keeps a public file, and answers without the server',
    { skip: withoutProxy('nginx') },
    async (t) => {
      const { ask, hide, path } = await start(t, engine, 'nginx')
      // The first answer is read whole, and kept, also if a part is asked for.
      assert.deepEqual((await ask(path, { range: 'bytes=2-4' })).text, 'cde')
      const first = await ask(path)
      assert.deepEqual([first.status, first.text], [200, 'abcdefghij'])
      assert.equal((await hide()).status, 200)
      const kept = await ask(path, { origin: 'https://shop.example' })
      assert.deepEqual([kept.status, kept.text], [200, 'abcdefghij'])
      const { date: _, ...headers } = kept.headers
      assert.deepEqual({ ...headers, date: first.headers.date }, first.headers)
      const part = await ask(path, { range: 'bytes=-3' })
      assert.deepEqual([part.status, part.text], [206, 'hij'])
      assert.equal((await ask(path, { 'if-none-match': first.headers.etag! })).status, 304)
      assert.deepEqual((await ask(path, {}, 'HEAD')).headers['content-length'], '10')
      // Another address of it is another entry, which is not answered any more, and not kept.
      const { status, headers: refused } = await ask(`${path}?download`)
      assert.deepEqual([status, refused['cache-control']], [404, 'no-store'])
    },
  )

  test('through Caddy a public file ends at once', { skip: withoutProxy('caddy') }, async (t) => {
    const { ask, hide, path } = await start(t, engine, 'caddy')
    assert.deepEqual((await ask(path, { range: 'bytes=2-4' })).text, 'cde')
    const { status, headers } = await ask(path)
    assert.deepEqual(
      [status, headers['cache-control'], headers['access-control-allow-origin']],
      [200, 'public, max-age=31536000, immutable', '*'],
    )
    await hide()
    assert.equal((await ask(path)).status, 404)
  })
})
