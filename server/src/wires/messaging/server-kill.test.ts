// What becomes of a message whose whole server is killed with -9 while a provider has it, and starts again.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp, testClock, type TestApp } from '../../testing/app.ts'
import { someEngine, temporaryFolder, type Engine } from '../../testing/engines.ts'
import { sample } from '../../testing/long-run.ts'
import { startMailServer } from '../../testing/mail-server.ts'
import { startProgram } from '../../testing/program.ts'
import { environmentOf, settled, startTextServer } from './providers.fixture.ts'

const MINUTE = 60_000
const SECRET = 'a secret of the tests that is long enough'
const PHONE = '+4915112345678'
const MAIL = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
const TEXT = { to: PHONE, body: 'Hello' }
// What sends a mail: a request that waits for it, and a job.
const SENDERS = [
  ['mail of a request', '/messaging/email', MAIL],
  ['queued mail', '/auth/register', { email: 'a@example.com', password: 'correct horse battery' }],
] as const
const KEY = { 'idempotency-key': 'the-same-call' }

/** The real server in a process of its own, a key for it, and the server that comes after. */
async function startServer(t: TestContext, engine: Engine, environment: Record<string, string>) {
  const databaseUrl = await engine.migratedUrl()
  const first = await startApp(t, engine, { databaseUrl })
  const { key } = await first.app.service('auth').keys.create('test', ['messaging'])
  await first.stop()
  const folder = await temporaryFolder(t)
  const program = startProgram(t, ['start'], {
    folder,
    environment: {
      ...environment,
      DATABASE_URL: databaseUrl,
      DATA_DIR: folder,
      SIXWIRE_SECRET: SECRET,
      SIXWIRE_SANDBOX: 'off',
    },
  })
  const url = await program.url()
  return {
    key,
    /** Resolves where an answer came, and rejects where the server was gone before. */
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    ended: program.ended,
    kill: program.kill,
    restart: (aheadMs = 0) => {
      const clock = testClock()
      clock.advance(aheadMs)
      return startApp(t, engine, { databaseUrl, clock, environment })
    },
  }
}

type Row = { status: string; payload: string | null; claim: string | null; call_state: string | null }

async function onlyRow({ app }: TestApp): Promise<Row> {
  const rows = await app.db.all<Row>(sql`select status, payload, claim, call_state from messaging_messages`)
  assert.equal(rows.length, 1)
  return { ...rows[0]! }
}

someEngine((engine) => {
  for (const [moment, at, isAfter, status] of [
    ['as the mail server drops the connection after DATA', 1, false, 'sent'],
    ['once it has dropped it', 1, true, 'sent'],
    ['as it drops the connection of the second try, too', 2, false, 'failed'],
  ] as const)
    for (const [how, path, body] of sample(SENDERS, 1))
      test(`a ${how}, the server killed ${moment}`, async (t) => {
        const mail = await startMailServer(t)
        const server = await startServer(t, engine, environmentOf(mail))
        mail.next(...Array.from({ length: at }, () => 'take and drop' as const))
        mail.onMail = async () => {
          if (mail.received.length !== at) return
          if (isAfter) setImmediate(() => void server.kill())
          else await server.kill()
        }
        // What a request is answered, the killed server does not say any more.
        await Promise.allSettled([server.post(path, body)])
        assert.equal(await server.ended, 'SIGKILL')
        assert.equal(mail.received.length, at)

        const app = await server.restart(10 * MINUTE)
        await settled(app)
        const { payload, ...row } = await onlyRow(app)
        assert.deepEqual(row, { status, claim: null, call_state: null })
        // What failed can be sent again for some days.
        assert.equal(payload === null, status === 'sent')
        assert.equal(mail.received.length, 2, 'once more than the one of which nobody knows')
        assert.equal(new Set(mail.received.map(({ messageId }) => messageId)).size, 1)
      })

  for (const [channel, body] of [
    ['email', MAIL],
    ['sms', TEXT],
  ] as const)
    test(`a caller repeats a call for ${channel} with its Idempotency-Key after a kill`, async (t) => {
      const [mail, texts] = [await startMailServer(t), await startTextServer(t)]
      const server = await startServer(t, engine, environmentOf(mail, texts))
      let calls = 0
      const atProvider = async (): Promise<void> => {
        if (++calls === 1) await server.kill()
      }
      mail.onMail = atProvider
      texts.onText = atProvider
      const path = `/messaging/${channel}`
      await assert.rejects(server.post(path, body, KEY), 'the first call is never answered')
      // What the provider has, by what it calls it.
      const atItsProvider = () =>
        channel === 'email'
          ? mail.received.map(({ messageId }) => messageId)
          : texts.received.map(({ sid }) => sid)
      assert.equal(atItsProvider().length, 1)

      const app = await server.restart()
      const again = () => app.request('POST', path, { token: server.key, body, headers: KEY })
      // On SQLite the key is free at once; on PostgreSQL when the killed server has missed its heartbeat, or its lease is over.
      if (engine.name === 'postgres') {
        const early = await again()
        assert.deepEqual([early.status, early.body.error.code], [409, 'IDEMPOTENCY_CONFLICT'], early.text)
        app.clock.advance(MINUTE)
      }
      const repeated = await again()
      assert.equal(repeated.status, 200, repeated.text)
      const [id] = atItsProvider()
      assert.deepEqual(repeated.body, { messageId: id, status: 'sent', channel, to: body.to })
      // A mail of which nobody knows is sent once more; a text is found at its provider.
      const sent = channel === 'email' ? [id, id] : [id]
      assert.deepEqual(atItsProvider(), sent)

      const replayed = await again()
      assert.deepEqual([replayed.status, replayed.body], [200, repeated.body])
      assert.equal(replayed.headers.get('idempotency-replayed'), 'true')
      // As a process leaves it that is killed when the message is sent and its answer is not kept yet.
      await app.app.db.write(sql`update sixwire_idempotency set answer = null, lease_until = 0`)
      const late = await again()
      assert.deepEqual([late.status, late.body], [200, repeated.body], late.text)
      assert.equal(late.headers.get('idempotency-replayed'), null)
      assert.deepEqual(atItsProvider(), sent, 'what is known to be sent is not sent again')
      assert.equal(texts.begun(), channel === 'sms' ? 1 : 0)
      assert.deepEqual(await onlyRow(app), { status: 'sent', payload: null, claim: null, call_state: null })
    })

  test('a caller repeats a call for sms with its Idempotency-Key, and the provider never had the text', async (t) => {
    const texts = await startTextServer(t)
    const server = await startServer(t, engine, environmentOf(undefined, texts))
    texts.next('lose and drop')
    texts.onBegun = () => server.kill()
    await assert.rejects(server.post('/messaging/sms', TEXT, KEY))

    const app = await server.restart(2 * MINUTE)
    for (let time = 1; time <= 2; time++) {
      const { status, body } = await app.request('POST', '/messaging/sms', {
        token: server.key,
        body: TEXT,
        headers: KEY,
      })
      const { logId, ...details } = body.error.details
      assert.deepEqual(
        [status, body.error.code, details, typeof logId],
        [500, 'SEND_FAILED', { channel: 'sms', provider: 'twilio' }, 'string'],
      )
      assert.match(body.error.message, /not sent again/)
    }
    assert.deepEqual([texts.begun(), texts.received.length], [1, 0])
    assert.equal((await onlyRow(app)).status, 'failed')
  })
})
