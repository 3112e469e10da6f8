// Mail that is taken and comes back: what the application is told of it, and what its log then says.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { createTransport } from 'nodemailer'

import { sql } from '../../../server/src/db/sql.ts'
import {
  startApp,
  type TestAnswer,
  type StartOptions,
  type TestApp,
} from '../../../server/src/testing/app.ts'
import { someEngine, type Engine } from '../../../server/src/testing/engines.ts'
import { freePort } from '../../../server/src/testing/free-port.ts'
import { sandboxForAll } from '../sandbox.fixture.ts'

type Json = TestAnswer['body']

const REASON = '550 5.1.1 There is no such mailbox'

const begin = async (t: TestContext, engine: Engine, options: StartOptions = {}) =>
  withKey(await startApp(t, engine, { ...options, sandbox: true }))

async function withKey(app: TestApp) {
  const { key: token } = await app.app.service('auth').keys.create('test', ['messaging'])
  return { app, token }
}

/** Sends a mail through the application. */
async function send(app: TestApp, token: string, to: string | string[]): Promise<void> {
  const body = { to, subject: 'Hello', body: '<p>Hello</p>' }
  const answered = await app.request('POST', '/messaging/email', { token, body })
  assert.deepEqual([answered.status, answered.body.status], [200, 'sent'], answered.text)
}

/** The newest log entry of mail, which is of somebody's where `to` is given. */
async function logged(app: TestApp, token: string, to?: string): Promise<Json> {
  const query = to === undefined ? '' : `&to=${encodeURIComponent(to)}`
  return (await app.request('GET', `/messaging/logs?channel=email${query}`, { token })).body.logs[0]
}

/** Waits until that is bounced, and answers it. */
async function bounced(app: TestApp, token: string, to?: string): Promise<Json> {
  for (;;) {
    const entry = await logged(app, token, to)
    if (entry.status === 'bounced') return entry
    await delay(20)
  }
}

const stateOf = async (app: TestApp): Promise<Json> => (await app.request('GET', '/sandbox/api')).body.mail

const waiting = async (app: TestApp): Promise<number> => (await stateOf(app)).callbacksWaiting

async function untilReported(app: TestApp): Promise<void> {
  while ((await waiting(app)) > 0) await delay(20)
}

const setFault = (app: TestApp, fault: unknown) =>
  app.request('PUT', '/sandbox/api/faults/mail', { body: fault })

/** How often the application was asked to take a report. */
const reports = (app: TestApp): number =>
  app
    .log()
    .split('\n')
    .filter((line) => line.includes('"/messaging/email/bounce"') && line.includes('"status":200')).length

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('mail to returned@ is taken and shown, and a moment later the log says that it bounced', async () => {
    const { app, token } = await withKey(await empty())
    await send(app, token, 'Returned+17@example.com')
    const { messages } = (await app.request('GET', '/sandbox/api/mail?to=returned%2B17@example.com')).body
    assert.deepEqual(
      messages.map(({ subject }: Json) => subject),
      ['Hello'],
    )
    assert.equal((await bounced(app, token)).error, REASON)
    await untilReported(app)
    assert.equal((await stateOf(app)).magic['returned@…'], 'accepted, and reported as bounced a moment later')
  })

  test('a mail with one returned@ receiver of several bounces; other mail is not reported', async () => {
    const { app, token } = await withKey(await empty())
    await send(app, token, 'ada@example.com')
    assert.equal(await waiting(app), 0)
    await send(app, token, ['bob@example.com', 'returned@example.com'])
    assert.equal((await bounced(app, token, 'bob@example.com')).error, REASON)
    assert.equal((await logged(app, token, 'ada@example.com')).status, 'sent')
  })

  test('an operator’s own secret is used, alone it ends no stand-in, and none is kept readable or logged', async (t) => {
    const own = 'a secret that this test made up'
    for (const options of [
      { environment: { MAIL_BOUNCE_SECRET: own } },
      { config: { messaging: { bounceSecret: own } } },
      {},
    ] satisfies StartOptions[]) {
      const isConfigured = 'config' in options || 'environment' in options
      const { app, token } = isConfigured ? await begin(t, engine, options) : await withKey(await empty())
      const { MAIL_BOUNCE_SECRET: derived } = (await stateOf(app)).variables
      assert.ok(derived.length >= 16)
      const [right, wrong] = isConfigured ? [own, derived] : [derived, own]
      const report = async (secret: string) =>
        app.request('POST', '/messaging/email/bounce', {
          headers: { authorization: `Bearer ${secret}` },
          body: { messageId: '<nobody@example.com>' },
        })
      assert.equal((await report(right)).status, 200)
      assert.equal((await report(wrong)).body.error.code, 'INVALID_SIGNATURE')
      await setFault(app, { callback: 'late', times: 1 })
      await send(app, token, 'returned@example.com')
      const [row] = await app.app.db.all(sql`select * from sixwire_jobs where kind = 'sandbox.mail-callback'`)
      assert.ok(row)
      assert.ok(!JSON.stringify(row).includes(right))
      app.clock.advance(30_000)
      await bounced(app, token)
      assert.ok(!app.log().includes(right))
    }
  })

  test('a report that waits is sent after a restart, with the secret of that time', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const environment = { PORT: String(await freePort()) }
    const first = await begin(t, engine, { databaseUrl, environment })
    await setFault(first.app, { callback: 'late', times: 1 })
    await send(first.app, first.token, 'returned@example.com')
    await first.app.stop()
    const { app } = await begin(t, engine, {
      databaseUrl,
      environment: { ...environment, MAIL_BOUNCE_SECRET: 'a secret that was set since' },
      clock: first.app.clock,
    })
    assert.equal((await logged(app, first.token)).status, 'sent')
    assert.equal(await waiting(app), 1)
    app.clock.advance(31_000)
    assert.equal((await bounced(app, first.token)).error, REASON)
  })

  test('faults: reports that are lost, doubled or late', async (t) => {
    const { app, token } = await begin(t, engine)
    await setFault(app, { callback: 'lost', times: 1 })
    await send(app, token, 'returned+lost@example.com')
    assert.equal(await waiting(app), 0)
    await setFault(app, { callback: 'doubled', times: 1 })
    await send(app, token, 'returned+doubled@example.com')
    await bounced(app, token, 'returned+doubled@example.com')
    await untilReported(app)
    while (reports(app) < 2) await delay(20)
    assert.equal(reports(app), 2)
    await setFault(app, { callback: 'late', times: 1 })
    await send(app, token, 'returned+late@example.com')
    await send(app, token, 'returned+prompt@example.com')
    await bounced(app, token, 'returned+prompt@example.com')
    assert.equal((await logged(app, token, 'returned+late@example.com')).status, 'sent')
    app.clock.advance(30_000)
    await bounced(app, token, 'returned+late@example.com')
    assert.equal((await logged(app, token, 'returned+lost@example.com')).status, 'sent')
  })

  test('a mail whose answer was lost bounces all the same', async () => {
    const { app, token } = await withKey(await empty())
    await setFault(app, { loseAnswer: true, times: 1 })
    const body = { to: 'returned@example.com', subject: 'Hello', body: '<p>Hello</p>' }
    await app.request('POST', '/messaging/email', { token, body })
    assert.equal((await bounced(app, token)).error, REASON)
    await untilReported(app)
    assert.equal((await logged(app, token)).status, 'bounced')
  })

  test('emptying the inbox forgets its reports that wait, and no other stand-in’s', async () => {
    const { app, token } = await withKey(await empty())
    for (const provider of ['mail', 'phone'])
      await app.request('PUT', `/sandbox/api/faults/${provider}`, { body: { callback: 'late' } })
    const all = async () => {
      const { mail, phone } = (await app.request('GET', '/sandbox/api')).body
      return [mail.callbacksWaiting, phone.callbacksWaiting]
    }
    await send(app, token, 'returned@example.com')
    await app.request('POST', '/messaging/sms', { token, body: { to: '+4915112345678', body: 'Hello' } })
    assert.deepEqual(await all(), [1, 3])
    await app.request('DELETE', '/sandbox/api/mail')
    assert.deepEqual(await all(), [0, 3])
    await send(app, token, 'returned@example.com')
    await app.request('DELETE', '/sandbox/api')
    assert.deepEqual(await all(), [0, 0])
  })

  test('if messaging is not loaded, a returned@ mail is accepted and not reported', async (t) => {
    const app = await startApp(t, engine, { sandbox: true, environment: { SIXWIRE_WIRES: 'auth' } })
    const mail = await stateOf(app)
    const mailer = createTransport(mail.variables.SMTP_URL)
    t.after(async () => mailer.close())
    const info = await mailer.sendMail({ from: mail.from, to: 'returned@example.com', text: 'x' })
    assert.match(info.response, /^250 /)
    const { messages, callbacksWaiting } = await stateOf(app)
    assert.deepEqual([messages, callbacksWaiting], [1, 0])
  })
})
