// What the service sends itself: put into the outbox by the batch that decides it, sent with nobody waiting.
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import { startProxy } from '../../../db/postgres-proxy.fixture.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { testClock } from '../../../testing/clock.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../../testing/mail-server.ts'
import type { MailProvider, SendOutcome } from '../providers/provider.ts'
import { environmentOf, settled, startTextServer, type TextServer } from '../providers.fixture.ts'

const MINUTE = 60_000
const LINK = 'https://app.example/reset#token=do-not-tell-anybody'
const RESET = { to: 'a@example.com', template: 'reset-password', data: { link: LINK } }

async function queue({ app }: TestApp, mail: Parameters<ReturnType<typeof service>['mail']>[0]) {
  const messaging = service({ app })
  await app.db.batch(await messaging.mail(mail))
}
const service = ({ app }: Pick<TestApp, 'app'>) => app.service('messaging')

const rows = ({ app }: TestApp) =>
  app.db.all<{ id: string; status: string; payload: string | null; attempts: number }>(
    sql`select * from messaging_messages order by id`,
  )

/** Resolves once a message was worked on so often and waits for the next time, reckoned by the clock as it is. */
async function tried({ app }: TestApp, attempts: number): Promise<void> {
  const atRest = sql`
    select id from sixwire_jobs
    where kind = 'messaging.send' and attempts = ${attempts} and claimed_by is null`
  while (!(await app.db.get(atRest))) await new Promise((resolve) => setTimeout(resolve, 5))
}

const sendText = (app: TestApp, key: string) =>
  app.request('POST', '/messaging/sms', { token: key, body: { to: '+4915112345678', body: 'Hello' } })

describe('the outbox', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    let app: TestApp
    let mail: MailServer
    let texts: TextServer
    let key: string
    const ending = endOfSuite()
    before(async () => {
      mail = await startMailServer(ending)
      const clock = testClock()
      texts = await startTextServer(ending, () => clock.now())
      app = await startApp(ending, engine, { clock, environment: environmentOf(mail, texts) })
      key = (await app.app.service('auth').keys.create('test', ['*'])).key
    })
    beforeEach(async () => {
      await app.app.db.batch([
        sql`delete from messaging_messages`,
        sql`delete from sixwire_jobs where kind = 'messaging.send'`,
      ])
      mail.reset()
      texts.reset()
    })

    /** A mail that its server could not take yet. */
    async function queueInVain(): Promise<void> {
      mail.next({ recipient: 451 })
      await queue(app, RESET)
      await tried(app, 1)
    }

    test('sends what was put into it, and keeps nothing of what may be secret', async () => {
      assert.equal(service(app).sendsMail, true)
      mail.next({ recipient: 451 })
      await queue(app, RESET)
      await tried(app, 1)
      const [waiting] = await rows(app)
      assert.equal(waiting!.status, 'queued')
      assert.ok(waiting!.payload, 'what is to be sent is kept until it is')
      assert.doesNotMatch(JSON.stringify(await rows(app)), /do-not-tell|subject":"/)
      app.clock.advance(MINUTE)
      await settled(app)

      const [got] = mail.received
      assert.equal(mail.received.length, 1)
      assert.match(got!.raw.replaceAll('=\r\n', ''), /do-not-tell-anybody/)
      assert.notEqual(got!.subject, '')
      const [sent] = await rows(app)
      assert.deepEqual([sent!.status, sent!.payload], ['sent', null])
      for (const { name } of await tableNames(app, engine.name)) {
        const all = await app.app.db.all(sql`select * from ${sql.literal(name)}`)
        assert.doesNotMatch(JSON.stringify(all), /do-not-tell/, name)
      }
      assert.doesNotMatch(app.log(), /do-not-tell/)
      assert.doesNotMatch(app.log(), new RegExp(got!.subject))

      const { body } = await app.request('GET', '/messaging/logs', { token: key })
      const { _id, createdAt, ...logged } = body.logs[0]
      assert.deepEqual(logged, {
        channel: 'email',
        to: 'a@example.com',
        template: 'reset-password',
        status: 'sent',
        messageId: got!.messageId,
        provider: 'smtp',
      })
    })

    test('is left as it was by a batch that fails', async () => {
      const statements = await service(app).mail(RESET)
      await assert.rejects(app.app.db.batch([...statements, sql`insert into nowhere values (1)`]))
      await queue(app, { ...RESET, to: 'b@example.com' })
      await settled(app)
      assert.deepEqual(
        mail.received.map(({ to }) => to),
        [['b@example.com']],
      )
    })

    test('takes the same id once, also after it was sent', async () => {
      const id = newId()
      await Promise.all([1, 2, 3].map(() => queue(app, { ...RESET, id })))
      await settled(app)
      await queue(app, { ...RESET, id })
      await queue(app, { ...RESET, to: 'b@example.com' })
      while (await app.app.db.get(sql`select id from sixwire_jobs where kind = 'messaging.send'`))
        await new Promise((resolve) => setTimeout(resolve, 10))
      assert.deepEqual(mail.received.map(({ to }) => to[0]!).toSorted(), ['a@example.com', 'b@example.com'])
    })

    testOnce('refuses at once what can’t be sent', async (t) => {
      const make = (given: typeof RESET) => service(app).mail(given)
      await assert.rejects(make({ ...RESET, data: {} as typeof RESET.data }), { code: 'VALIDATION_ERROR' })
      await assert.rejects(make({ ...RESET, template: 'none' }), { code: 'VALIDATION_ERROR' })
      await assert.rejects(make({ ...RESET, to: 'a@example.com\r\nBcc: b@example.com' }), {
        code: 'VALIDATION_ERROR',
      })
      const without = await startApp(t, engine)
      await assert.rejects(service(without).mail(RESET), { code: 'PROVIDER_NOT_CONFIGURED' })
    })

    testOnce('tries for hours while the provider is away, and then says that it failed', async () => {
      mail.next(...Array.from({ length: 20 }, () => ({ recipient: 451 })))
      await queue(app, RESET)
      for (let attempt = 1; attempt < 20; attempt++) {
        await tried(app, attempt)
        app.clock.advance(120 * MINUTE)
      }
      await settled(app)
      assert.deepEqual([(await rows(app))[0]!.status, mail.begun()], ['failed', 20])
      assert.ok((await rows(app))[0]!.payload, 'it can be sent again for some days')
      assert.deepEqual(
        await app.app.db.all(
          sql`select id from sixwire_jobs where kind = 'messaging.send' and state = 'failed'`,
        ),
        [],
      )
    })

    test('tries an earlier mail to the same address again when there is another one, and keeps their order', async () => {
      mail.next({ recipient: 451 })
      await queue(app, { ...RESET, data: { link: `${LINK}-1` } })
      await tried(app, 1)
      await app.app.db.write(
        sql`update sixwire_jobs set run_at = run_at + 3600000 where kind = 'messaging.send'`,
      )
      await queue(app, { ...RESET, data: { link: `${LINK}-2` } })
      await settled(app)
      assert.deepEqual(
        mail.received.map(({ raw }) => /do-not-tell-anybody-(\d)/.exec(raw.replaceAll('=\r\n', ''))![1]),
        ['1', '2'],
      )
    })

    testOnce('ends at once where the provider refuses for good', async () => {
      mail.next({ recipient: 550 })
      await queue(app, RESET)
      await settled(app)
      assert.deepEqual([(await rows(app))[0]!.status, mail.begun()], ['failed', 1])
    })

    testOnce('leaves what was sealed with another secret to a replica that can read it', async (t) => {
      const mail = await startMailServer(t)
      const databaseUrl = await engine.migratedUrl()
      const first = await startApp(t, engine, { databaseUrl, environment: environmentOf(mail) })
      mail.next({ recipient: 451 })
      await queue(first, RESET)
      await tried(first, 1)
      // Its other secrets are given up, as an operator does who has lost the secret.
      await first.app.db.write(sql`delete from auth_signing_keys`)
      await first.stop()
      const second = await startApp(t, engine, {
        databaseUrl,
        clock: first.clock,
        environment: { ...environmentOf(mail), SIXWIRE_SECRET: 'another secret of the tests, long enough' },
      })
      second.clock.advance(MINUTE)
      await queue(second, { ...RESET, to: 'b@example.com' })
      await tried(second, 2)
      while (mail.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const unread = (await rows(second)).find(({ status }) => status === 'queued')
      assert.ok(unread?.payload, 'it is kept')
      assert.match(second.log(), /sealed with another SIXWIRE_SECRET/)
      await second.app.db.write(sql`delete from auth_signing_keys`)
      await second.stop()

      const third = await startApp(t, engine, {
        databaseUrl,
        clock: first.clock,
        environment: environmentOf(mail),
      })
      third.clock.advance(120 * MINUTE)
      await settled(third)
      assert.deepEqual(
        mail.received.map(({ to }) => to[0]),
        ['b@example.com', 'a@example.com'],
      )
    })

    test('gives up at last on what brings the server down each time', async () => {
      await queueInVain()
      await app.app.db.write(sql`update sixwire_jobs set attempts = 20 where kind = 'messaging.send'`)
      app.clock.advance(MINUTE)
      await settled(app)
      const [row] = await rows(app)
      assert.deepEqual([row!.status, mail.begun()], ['failed', 1])
    })

    test('sends a mail of which nobody knows once more, however often the server ends in the midst', async () => {
      await queueInVain()
      // As a process leaves it that is killed while the provider has the mail: for the first time, and then again.
      const killed = (callState: string) => sql`
        update messaging_messages set status = 'sending', attempted_at = 1, call_state = ${callState}`
      await app.app.db.write(killed('running'))
      mail.next({ recipient: 451 })
      app.clock.advance(MINUTE)
      await tried(app, 2)
      await app.app.db.write(killed('repeated'))
      app.clock.advance(120 * MINUTE)
      await settled(app)
      const [row] = await rows(app)
      assert.deepEqual([row!.status, mail.begun()], ['failed', 2])
    })

    testOnce('outlasts a custom provider that breaks its contract', async (t) => {
      const wild = ['throws', 'says too little', 'says a number', 'is away', 'accepts'] as const
      let calls = 0
      const provider: MailProvider = {
        name: 'ours',
        channel: 'email',
        send: (mail) => {
          const what = wild[calls++]
          if (what === 'throws') throw new TypeError('no such thing')
          if (what === 'says too little') return Promise.resolve({ kind: 'retry' } as never)
          if (what === 'says a number') return Promise.resolve({ kind: 'retry', reason: 421 } as never)
          if (what === 'is away') return Promise.reject(new Error('away'))
          return Promise.resolve({ kind: 'accepted', id: mail.messageId })
        },
        check: () => Promise.resolve(),
        close: () => Promise.resolve(),
      }
      const app = await startApp(t, engine, { config: { messaging: { email: [provider] } } })
      await queue(app, RESET)
      for (const attempts of [1, 2, 3]) {
        await tried(app, attempts)
        app.clock.advance(10 * MINUTE)
      }
      await settled(app)
      // The first and the last may have arrived, and a mail is repeated once after that.
      const [row] = await rows(app)
      assert.deepEqual([row!.status, calls], ['failed', 4])
      assert.match(app.log(), /no such thing/)
      assert.match(app.log(), /"reason":"421"/)
    })

    testOnce('gives up at last on what no replica can read', async () => {
      await queueInVain()
      await app.app.db.batch([
        sql`update messaging_messages set payload = ${Buffer.alloc(60).toString('base64url')}`,
        sql`update sixwire_jobs set attempts = 19 where kind = 'messaging.send'`,
      ])
      app.clock.advance(120 * MINUTE)
      await settled(app)
      const [row] = await rows(app)
      assert.equal(row!.status, 'failed')
    })

    test('is worked on by two replicas, each message by one', async (t) => {
      const mail = await startMailServer(t)
      const databaseUrl = await engine.migratedUrl()
      const environment = environmentOf(mail)
      const one = await startApp(t, engine, { databaseUrl, environment })
      const two = await startApp(t, engine, { databaseUrl, environment, clock: one.clock })
      await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          queue(i % 2 === 0 ? one : two, { ...RESET, to: `person${i}@example.com` }),
        ),
      )
      await settled(one)
      const recipients = mail.received.map(({ to }) => to[0])
      assert.deepEqual([recipients.length, new Set(recipients).size], [60, 60])
    })

    testOnce('looks again later for a text of which its provider could not be asked', async () => {
      texts.lists = false
      texts.next('take and drop')
      const failed = await app.clock.through(sendText(app, key))
      assert.deepEqual([failed.status, failed.body.error.code], [500, 'SEND_FAILED'])
      assert.equal((await rows(app))[0]!.status, 'sending')
      texts.lists = true
      app.clock.advance(2 * MINUTE)
      await settled(app)
      const { body: page } = await app.request('GET', '/messaging/logs', { token: key })
      assert.deepEqual(
        page.logs.map(({ status, messageId }: { status: string; messageId: string }) => [status, messageId]),
        [['sent', texts.received[0]!.sid]],
      )
      assert.equal(texts.begun(), 1)
    })

    test('takes no message for its own while the call of an equal one still runs', async () => {
      const send = () => app.clock.through(sendText(app, key))
      const release = Promise.withResolvers<void>()
      texts.onText = () => release.promise
      const slow = send()
      while (texts.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      texts.next({ status: 500, code: 20500 })
      const lost = send()
      // Each look asks for two lists.
      while (texts.looked() < 3) await new Promise((resolve) => setTimeout(resolve, 5))
      release.resolve()
      assert.deepEqual(
        (await Promise.all([slow, lost])).map(({ status, body }) => [status, body.messageId]),
        [
          [200, texts.received[0]!.sid],
          [500, undefined],
        ],
      )
      assert.equal(texts.received.length, 1)
    })

    testOnce('is not given up on the word of one look, however many others got no answer', async () => {
      texts.next('take and drop')
      // Each look asks for two lists.
      texts.nextLists('fail', 'empty', 'empty')
      const sent = await app.clock.through(sendText(app, key))
      assert.deepEqual([sent.status, sent.body.messageId], [200, texts.received[0]!.sid])
    })

    testOnce('takes no other message for one that its provider never got', async () => {
      const send = () => app.clock.through(sendText(app, key))
      texts.next('take', 'lose and drop')
      assert.equal((await send()).status, 200)
      const lost = await send()
      assert.deepEqual([lost.status, lost.body.error.code], [500, 'SEND_FAILED'])
    })
  })
})

// Only PostgreSQL is reached over a network, which can break on the way to it.
eachEngine((engine) => {
  if (engine.name === 'sqlite') return
  test('what a provider said while the database was away is recorded once it is back', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const proxy = await startProxy(databaseUrl)
    t.after(() => proxy.down())
    const outcomes: SendOutcome[] = [
      { kind: 'retry', reason: 'busy' },
      { kind: 'unknown', reason: 'lost' },
      { kind: 'accepted', id: 'taken' },
      { kind: 'refused', reason: 'no such mailbox' },
    ]
    const provider: MailProvider = {
      name: 'ours',
      channel: 'email',
      async send() {
        await proxy.down()
        setTimeout(() => void proxy.up(), 300)
        return outcomes.shift()!
      },
      check: async () => undefined,
      close: async () => undefined,
    }
    const app = await startApp(t, engine, {
      databaseUrl: proxy.url,
      config: { messaging: { email: [provider] } },
    })
    const { key: token } = await app.app.service('auth').keys.create('test', ['*'])
    const body = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
    const sent = await app.request('POST', '/messaging/email', { token, body })
    assert.deepEqual([sent.status, sent.body.messageId], [200, 'taken'], sent.text)
    const refused = await app.request('POST', '/messaging/email', { token, body })
    assert.deepEqual([refused.status, refused.body.error.code], [500, 'SEND_FAILED'], refused.text)
    assert.deepEqual(
      (await rows(app)).map(({ status, attempts }) => [status, attempts]),
      [
        ['sent', 3],
        ['failed', 1],
      ],
    )
  })
})

const tableNames = ({ app }: TestApp, engine: 'sqlite' | 'postgres') =>
  app.db.all<{ name: string }>(
    engine === 'sqlite'
      ? sql`select name from sqlite_master where type = 'table'`
      : sql`select tablename as name from pg_tables where schemaname = 'public'`,
  )
