// What becomes of a message whose process is killed: between every two steps, and while the provider has it.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test, type TestContext } from 'node:test'

import { pino } from 'pino'

import { newId } from '../../../base/ids.ts'
import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { createJobs } from '../../../kernel/jobs/jobs.ts'
import { testClock } from '../../../testing/app.ts'
import { someEngine, type Engine } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startMailServer, type MailServer } from '../../../testing/mail-server.ts'
import { startScript, urlLiteral } from '../../../testing/program.ts'
import type { Providers } from '../providers/provider.ts'
import { NO_EVENTS } from '../../../kernel/events/events.ts'
import { createMetrics } from '../../../kernel/telemetry/metrics.ts'
import { createMessageEvents } from '../messages/message-events.ts'
import { contentKeyOf, createOutbox } from './outbox.ts'
import { ACCOUNT, startTextServer, TOKEN, type TextServer } from '../providers.fixture.ts'
import { smtp } from '../providers/smtp.ts'
import { twilio } from '../providers/twilio.ts'

const SECRET = 'a secret of the tests that is long enough'
const MINUTE = 60_000
const AT_ONCE = 5
// Every fourth step, others at each run.
const STRIDE = isLongRun ? 1 : 4
const FIRST = isLongRun ? 1 : randomInt(STRIDE) + 1
const reportTo = (_provider: string, id: string): string => `https://shop.example/${id}`
const PHONE = '+4915112345678'

type How = 'queued mail' | 'mail of a request' | 'text of a request'

/** A program that sends one message and stands still at its `step`th step, of which every call is two. */
const program = (given: {
  how: How
  step: number
  id: string
  url: string
  smtp: string
  twilio: string
}): string => `
    import { openDatabase } from ${urlLiteral('db/open.ts')}
    import { readMigrations } from ${urlLiteral('db/migrations.ts')}
    import { systemClock } from ${urlLiteral('base/clock.ts')}
    import { sql } from ${urlLiteral('db/sql.ts')}
    import { createJobs } from ${urlLiteral('kernel/jobs/jobs.ts')}
    import { NO_EVENTS } from ${urlLiteral('kernel/events/events.ts')}
    import { createMetrics } from ${urlLiteral('kernel/telemetry/metrics.ts')}
    import { createMessageEvents } from ${urlLiteral('wires/messaging/messages/message-events.ts')}
    import { contentKeyOf, createOutbox } from ${urlLiteral('wires/messaging/outbox/outbox.ts')}
    import { smtp } from ${urlLiteral('wires/messaging/providers/smtp.ts')}
    import { twilio } from ${urlLiteral('wires/messaging/providers/twilio.ts')}
    const { how, step, id, url, ...addresses } = ${JSON.stringify(given)}
    let steps = 0
    const pause = async () => {
      if (++steps !== step) return
      process.stdout.write('here\\n')
      setInterval(() => undefined, 1000)
      await new Promise(() => undefined)
    }
    const paused = (work) => async (...given) => {
      await pause()
      const done = await work(...given)
      await pause()
      return done
    }
    const real = await openDatabase(url)
    await real.migrate([
      ...(await readMigrations('sixwire', new URL(${urlLiteral('kernel/migrations/')}), real.dialect)),
      ...(await readMigrations('messaging', new URL(${urlLiteral('wires/messaging/migrations/')}), real.dialect)),
    ])
    const db = { ...real }
    for (const name of ['get', 'all', 'write', 'batch']) db[name] = paused((...given) => real[name](...given))
    const log = { warn() {}, error() {}, info() {} }
    const clock = systemClock
    const jobs = createJobs({ db, clock, log })
    const provider = how.startsWith('text')
      ? twilio({ channel: 'sms', accountSid: ${JSON.stringify(ACCOUNT)}, authToken: ${JSON.stringify(TOKEN)},
          from: '+15005550006', apiBase: addresses.twilio })
      : smtp({ url: addresses.smtp, from: 'shop@example.com' })
    const outbox = createOutbox({ db, clock, log, jobs, metrics: createMetrics() },
      { events: createMessageEvents(NO_EVENTS),
        providers: { email: [], sms: [], whatsapp: [], [provider.channel]: [{ ...provider, send: paused(provider.send) }] } }, {
      contentKey: contentKeyOf(${JSON.stringify(SECRET)}),
      keepsFailed: false,
      reportTo: (_provider, id) => 'https://shop.example/' + id,
    })
    const content = how.startsWith('text')
      ? { channel: 'sms', text: { id, to: ${JSON.stringify(PHONE)}, body: id } }
      : { channel: 'email', mail: { messageId: id + '@example.com', to: ['a@example.com'], cc: [], bcc: [],
          subject: id, html: '<p>Hello</p>', attachments: [] } }
    const message = { id, owner: null, recipient: 'somebody', keys: ['somebody'], subject: null, template: null, content }
    if (how === 'queued mail') {
      await db.batch(outbox.insertSql(message))
      await jobs.start()
      const left = sql\`select id from sixwire_jobs where id = \${'messaging-' + id}\`
      while (await real.get(left)) await new Promise((resolve) => setTimeout(resolve, 20))
    } else await outbox.send(message, 14000)
    process.stdout.write('done\\n')
    process.exit(0)`

type Case = { engine: Engine; how: How; step: number; mail: MailServer; texts: TextServer }

const tables = async (url: string, id: string): Promise<string | undefined> => {
  const db = await openDatabase(url)
  try {
    const row = await db.get<{ status: string }>(sql`select status from messaging_messages where id = ${id}`)
    return row?.status
  } finally {
    await db.close()
  }
}

/** What comes after: another process, later, on the same tables and with the same providers. */
async function recover(url: string, id: string, providers: Providers): Promise<string | undefined> {
  const db = await openDatabase(url)
  const clock = testClock()
  clock.advance(10 * MINUTE)
  const log = pino({ level: 'silent' })
  const jobs = createJobs({ db, clock, log })
  createOutbox(
    { db, clock, log, jobs, metrics: createMetrics() },
    { events: createMessageEvents(NO_EVENTS), providers },
    {
      contentKey: contentKeyOf(SECRET),
      keepsFailed: false,
      reportTo,
    },
  )
  await jobs.start()
  clock.advance(MINUTE)
  try {
    for (;;) {
      const row = await db.get<{ status: string; payload: string | null }>(
        sql`select status, payload from messaging_messages where id = ${id}`,
      )
      if (row?.status !== 'queued' && row?.status !== 'sending') {
        assert.equal(row?.payload ?? null, null)
        return row?.status
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await jobs.stop()
    await db.close()
  }
}

const providersOf = ({ mail, texts }: Case): Providers => ({
  email: [smtp({ url: mail.url, from: 'shop@example.com' })],
  sms: [
    twilio({
      channel: 'sms',
      accountSid: ACCOUNT,
      authToken: TOKEN,
      from: '+15005550006',
      apiBase: texts.base,
    }),
  ],
  whatsapp: [],
})

/** Runs the program to its step, kills it there, and lets another one go on. False where it never came so far. */
async function killAt(t: TestContext, given: Case, killed?: (kill: () => void) => void): Promise<boolean> {
  const { engine, how, step, mail, texts } = given
  const id = newId()
  const url = await engine.migratedUrl()
  const running = await startScript(t, program({ how, step, id, url, smtp: mail.url, twilio: texts.base }))
  killed?.(() => running.signal('SIGKILL'))
  const isReached = killed
    ? (await running.ended) === 'SIGKILL'
    : (await running.until(/here|done/))[0] === 'here'
  await running.kill()
  if (!isReached) return false

  const received = (): number =>
    how === 'text of a request'
      ? texts.received.filter(({ body }) => body === id).length
      : mail.received.filter(({ messageId }) => messageId === `${id}@example.com`).length
  const [status, before] = [await tables(url, id), received()]
  const providers = providersOf(given)
  const after = await recover(url, id, providers)
  await providers.email[0]!.close()
  const count = received()
  const story = `${how}, step ${step}: ${status} with ${before} received, then ${after} with ${count}`

  if (status === undefined) assert.deepEqual([after, count], [undefined, 0], story)
  else if (how === 'text of a request') {
    // Once at most, always; and where its call had not been made it is known not to have been sent.
    assert.equal(count, before, story)
    assert.equal(after, before === 1 ? 'sent' : 'failed', story)
  } else {
    const cut = status === 'sending' && before === 1
    assert.equal(after, 'sent', story)
    assert.equal(count, cut ? 2 : 1, story)
  }
  return true
}

someEngine((engine) => {
  for (const how of ['queued mail', 'mail of a request', 'text of a request'] as const) {
    test(`a ${how} whose process is killed between any two steps`, async (t) => {
      const [mail, texts] = [await startMailServer(t), await startTextServer(t)]
      let step = FIRST - STRIDE
      const given = { engine, how, mail, texts }
      for (let goesOn = true; goesOn;) {
        const reached = await Promise.all(
          Array.from({ length: AT_ONCE }, () => killAt(t, { ...given, step: (step += STRIDE) })),
        )
        goesOn = reached.every(Boolean)
      }
      assert.ok(step > AT_ONCE, `there are only ${step} steps`)
    })

    test(`a ${how} whose process is killed while the provider has it`, async (t) => {
      const [mail, texts] = [await startMailServer(t), await startTextServer(t)]
      let calls = 0
      const reached = await killAt(t, { engine, how, mail, texts, step: -1 }, (kill) => {
        // The first one is killed before it is answered; later calls are answered.
        const atProvider = async (): Promise<void> => {
          if (++calls > 1) return
          kill()
          await new Promise((resolve) => setTimeout(resolve, 200))
        }
        mail.onMail = atProvider
        texts.onText = atProvider
      })
      assert.ok(reached)
    })
  }
})
