// A caller has an answer within 15 seconds, whoever hangs.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { Config } from '../../app.ts'
import { startApp } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'
import type { MailProvider, OutgoingMail, OutgoingText, TextProvider } from './provider.ts'
import { ACCOUNT, startMailServer, startSilence, TOKEN } from './providers.fixture.ts'
import { smtp } from './providers/smtp.ts'
import { twilio } from './providers/twilio.ts'

const BOUND_MS = 15_000
/** What an adapter is given of it here: time enough to say all that it has to say. */
const SHORT_MS = 2_500
const MAIL = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
const TEXT = { to: '+4915112345678', body: 'Hello' }

/**
 * The clock by which limits are reckoned, `performance.now()`. It stands still, but when a provider hangs it goes on at
 * once by all the time that the provider was given, of which the real adapter has only a little. So what is spent is all
 * that was waited for providers; the pauses between calls are not in it.
 */
function hurry(t: TestContext) {
  const begun = performance.now()
  let spent = 0
  t.mock.method(performance, 'now', () => begun + spent)
  const hurried =
    <Rest extends unknown[], T>(call: (...given: [...Rest, number]) => Promise<T>) =>
    async (...given: [...Rest, number]): Promise<T> => {
      const limitMs = given.pop() as number
      try {
        return await call(...(given as unknown as Rest), SHORT_MS)
      } finally {
        spent += limitMs
      }
    }
  return {
    spent: () => spent,
    mail: (one: MailProvider, name: string): MailProvider => ({
      ...one,
      name,
      send: hurried((mail: OutgoingMail, limitMs) => one.send(mail, limitMs)),
    }),
    text: (one: TextProvider): TextProvider => ({
      ...one,
      send: hurried((text: OutgoingText, limitMs) => one.send(text, limitMs)),
      find: hurried((text: OutgoingText, since: number, limitMs) => one.find!(text, since, limitMs)),
    }),
  }
}

eachEngine((engine) => {
  const start = async (t: TestContext, messaging: NonNullable<Config['messaging']>) => {
    const app = await startApp(t, engine, { config: { messaging } })
    const { key } = await app.app.service('auth').keys.create('test', ['messaging'])
    return async (path: string, body: unknown) => {
      const failed = await app.request('POST', `/messaging/${path}`, { token: key, body })
      assert.deepEqual([failed.status, failed.body.error?.code], [500, 'SEND_FAILED'], failed.text)
      return failed.body.error as { message: string; details: unknown }
    }
  }

  test('a Twilio that takes the connection and says nothing', async (t) => {
    const silence = await startSilence(t)
    const time = hurry(t)
    const sms = twilio({
      channel: 'sms',
      accountSid: ACCOUNT,
      authToken: TOKEN,
      from: '+15005550006',
      apiBase: `http://${silence.host}`,
    })
    const post = await start(t, { sms: [time.text(sms)] })
    const { message, details } = await post('sms', TEXT)
    assert.ok(time.spent() <= BOUND_MS, `${time.spent()} ms`)
    assert.deepEqual(details, { channel: 'sms', provider: 'twilio' })
    assert.match(message, /may have arrived/)
    assert.ok(silence.connections() > 1, 'it was asked for the message as well')
  })

  test('two mail servers that take the connection and say nothing', async (t) => {
    const [first, second] = [await startSilence(t), await startSilence(t)]
    const time = hurry(t)
    const at = (host: string, name: string) =>
      time.mail(smtp({ url: `smtp://${host}`, from: 'shop@example.com' }), name)
    const post = await start(t, { email: [at(first.host, 'first'), at(second.host, 'second')] })
    const { message, details } = await post('email', MAIL)
    assert.ok(time.spent() <= BOUND_MS, `${time.spent()} ms`)
    assert.deepEqual(details, { channel: 'email', provider: 'second' })
    assert.match(message, /out of reach/)
    assert.ok(first.connections() > 0 && second.connections() > 0, 'each had a share of the time')
  })

  for (const count of [1, 2])
    test(`${count === 1 ? 'a mail server that takes' : 'two mail servers of which each takes'} the mail and says nothing`, async (t) => {
      const servers = [await startMailServer(t), await startMailServer(t)].slice(0, count)
      const time = hurry(t)
      for (const server of servers) server.next('hang', 'hang', 'hang')
      const post = await start(t, {
        email: servers.map(({ url }) => time.mail(smtp({ url, from: 'shop@example.com' }), 'ours')),
      })
      const { message, details } = await post('email', MAIL)
      assert.ok(time.spent() <= BOUND_MS, `${time.spent()} ms`)
      assert.deepEqual(details, { channel: 'email', provider: 'ours' })
      assert.match(message, /may have arrived/)
      const received = servers.flatMap((server) => server.received)
      assert.equal(received.length, 2, 'once more than the one of which nobody knows')
      assert.equal(new Set(received.map(({ messageId }) => messageId)).size, 1)
    })
})
