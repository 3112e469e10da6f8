import assert from 'node:assert/strict'
import { stripVTControlCharacters } from 'node:util'
import { describe, test, type TestContext } from 'node:test'

import { loadSettings } from '../config/config.ts'
import { createLog } from './log.ts'
import { startApp, type StartOptions } from '../../testing/app.ts'
import { someEngine, temporaryFolder } from '../../testing/engines.ts'

/** What a log writes at a terminal, without its colours. */
async function terminal(t: TestContext, level: string) {
  let written = ''
  const folder = await temporaryFolder(t)
  const settings = await loadSettings({}, { LOG_LEVEL: level }, folder)
  const log = await createLog(settings, { write: (text) => void (written += text) }, { terminal: true })
  return { ...log, lines: () => stripVTControlCharacters(written).trimEnd().split('\n') }
}

const answer = (path: string, status = 200) => ({
  requestId: '01m81eg6aw000s798apepn1fz2',
  method: 'GET',
  route: path,
  path,
  status,
  ms: 12.345,
  ip: '127.0.0.1',
  caller: undefined,
})

describe('the log at a terminal', () => {
  test('is one line a request', async (t) => {
    const { answered, lines } = await terminal(t, 'info')
    answered(answer('/health'))
    answered(answer('/"quoted"', 404))
    const [first, second, ...more] = lines()
    assert.match(first!, /^\[\d\d:\d\d:\d\d\] INFO: GET \/health 200 12\.3 ms$/)
    assert.match(second!, /^\[\d\d:\d\d:\d\d\] INFO: GET \/"quoted" 404 12\.3 ms$/)
    assert.deepEqual(more, [])
  })

  test('shows requests to the sandbox at the level debug', async (t) => {
    const quiet = await terminal(t, 'info')
    quiet.answered(answer('/sandbox/api/events'))
    quiet.answered(answer('/sandbox'))
    quiet.answered(answer('/sandboxes'))
    assert.match(quiet.lines().join('\n'), /^\S+ INFO: GET \/sandboxes 200 12\.3 ms$/)
    const { answered, lines } = await terminal(t, 'debug')
    answered(answer('/sandbox/api/events'))
    assert.match(lines().join('\n'), /^\S+ DEBUG: GET \/sandbox\/api\/events 200 12\.3 ms$/)
  })

  test('keeps what belongs to other lines', async (t) => {
    const { log, lines } = await terminal(t, 'info')
    log.warn({ err: new Error('out of order'), provider: 'smtp' }, 'a mail could not be sent')
    assert.match(lines()[0]!, /^\[\d\d:\d\d:\d\d\] WARN: a mail could not be sent$/)
    assert.match(lines().join('\n'), /provider: "smtp"[^]*Error: out of order\n\s+at /)
  })
})

someEngine((engine) => {
  test('the line of an answer has the address of the client, and who called', async (t) => {
    const app = await startApp(t, engine, { environment: { TRUST_PROXY: '1' } })
    const { token, _id } = await app.register()
    const key = await app.app.service('auth').keys.create('backend', ['store'])
    const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' }
    await app.request('GET', '/store/notes', { token, headers })
    await app.request('GET', '/store/notes', { token: key.key })
    await app.request('GET', '/store/notes', { headers: { 'x-forwarded-for': '"quoted"' } })
    await app.stop()
    const lines = app
      .log()
      .split('\n')
      .filter((line) => line.includes('"path":"/store/notes"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepEqual(
      lines.map(({ status, ip, user, key: keyId }) => ({ status, ip, user, key: keyId })),
      [
        { status: 200, ip: '203.0.113.7', user: _id, key: undefined },
        { status: 200, ip: '127.0.0.1', user: undefined, key: key.id },
        { status: 401, ip: '"quoted"', user: undefined, key: undefined },
      ],
    )
  })

  describe('requests to the sandbox', () => {
    const paths = async (t: TestContext, level: string, options: StartOptions = { sandbox: true }) => {
      const app = await startApp(t, engine, { ...options, environment: { LOG_LEVEL: level } })
      for (const path of ['/sandbox', '/sandbox/api/mail', '/health']) await app.request('GET', path)
      await app.stop()
      return (
        app
          .log()
          .split('\n')
          .filter((line) => line.includes('"method"'))
          .map((line) => JSON.parse(line) as { level: number; path: string })
          // Without those of the server's own adapters, which ask its providers for events at the start.
          .filter(({ path }) => !/^\/sandbox\/(cardpay|walletpay)\//.test(path))
          .map(({ level, path }) => `${level} ${path}`)
      )
    }

    test('are not logged at the level info, and at the level debug they are', async (t) => {
      assert.deepEqual(await paths(t, 'info'), ['30 /health'])
      assert.deepEqual(await paths(t, 'debug'), ['20 /sandbox', '20 /sandbox/api/mail', '30 /health'])
    })

    test('are logged at the level info if they are refused', async (t) => {
      const app = await startApp(t, engine, { sandbox: true, environment: { LOG_LEVEL: 'info' } })
      const headers = { 'x-forwarded-for': '203.0.113.7' }
      assert.equal((await app.request('GET', '/sandbox/api/mail', { headers })).status, 403)
      await app.stop()
      assert.match(app.log(), /"level":30,.*"path":"\/sandbox\/api\/mail","status":403/)
    })

    test('are logged like any other if there is no sandbox', async (t) => {
      const asked = ['30 /sandbox', '30 /sandbox/api/mail', '30 /health']
      assert.deepEqual(await paths(t, 'info', {}), asked)
    })
  })
})
