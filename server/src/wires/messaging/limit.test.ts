// A caller has an answer within 15 seconds, even if a provider hangs.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { Config } from '../../app.ts'
import { startApp } from '../../testing/app.ts'
import { stillClock, type TestClock } from '../../testing/clock.ts'
import { someEngine } from '../../testing/engines.ts'
import { startMailServer } from '../../testing/mail-server.ts'
import { startSilence } from '../../testing/silence.ts'
import { ACCOUNT, TOKEN } from './providers.fixture.ts'
import { smtp } from './providers/smtp.ts'
import { twilio } from './providers/twilio.ts'

const BOUND_MS = 15_000
const MAIL = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
const TEXT = { to: '+4915112345678', body: 'Hello' }

someEngine((engine) => {
  /** Answers a function that sends a message in vain, by a clock that goes on as soon as a provider hangs. */
  const start = async (t: TestContext, clock: TestClock, messaging: NonNullable<Config['messaging']>) => {
    const app = await startApp(t, engine, { clock, config: { messaging } })
    const { key } = await app.app.service('auth').keys.create('test', ['messaging'])
    return async (path: string, body: unknown, hanging: () => number) => {
      const begun = clock.elapsed()
      const sending = app.request('POST', `/messaging/${path}`, { token: key, body })
      const failed = await clock.through(sending, hanging)
      const spent = clock.elapsed() - begun
      assert.deepEqual([failed.status, failed.body.error?.code], [500, 'SEND_FAILED'], failed.text)
      assert.ok(spent <= BOUND_MS, `${spent} ms`)
      return failed.body.error as { message: string; details: unknown }
    }
  }

  test('a Twilio that takes the connection and says nothing', async (t) => {
    const silence = await startSilence(t)
    const clock = stillClock(Date.now())
    const apiBase = `http://${silence.host}`
    const account = { accountSid: ACCOUNT, authToken: TOKEN, from: '+15005550006', apiBase }
    const post = await start(t, clock, { sms: [twilio({ channel: 'sms', ...account }, clock)] })
    const { message, details } = await post('sms', TEXT, () => silence.requests())
    assert.partialDeepStrictEqual(details, { channel: 'sms', provider: 'twilio' })
    assert.match(message, /may have arrived/)
    assert.ok(silence.requests() > 1, 'it was asked for the message as well')
  })

  test('two mail servers that take the connection and say nothing', async (t) => {
    const [first, second] = [await startSilence(t), await startSilence(t)]
    const clock = stillClock(Date.now())
    const at = (host: string, name: string) => ({
      ...smtp({ url: `smtp://${host}`, from: 'shop@example.com' }, clock),
      name,
    })
    const post = await start(t, clock, { email: [at(first.host, 'first'), at(second.host, 'second')] })
    const { message, details } = await post('email', MAIL, () => first.connections() + second.connections())
    assert.partialDeepStrictEqual(details, { channel: 'email', provider: 'second' })
    assert.match(message, /out of reach/)
    assert.ok(first.connections() > 0 && second.connections() > 0, 'each had a share of the time')
  })

  for (const count of [1, 2])
    test(`${count === 1 ? 'a mail server that takes' : 'two mail servers of which each takes'} the mail and says nothing`, async (t) => {
      const servers = [await startMailServer(t), await startMailServer(t)].slice(0, count)
      const clock = stillClock(Date.now())
      const received = () => servers.flatMap((server) => server.received)
      for (const server of servers) server.next('hang', 'hang', 'hang')
      const ours = (url: string) => ({ ...smtp({ url, from: 'shop@example.com' }, clock), name: 'ours' })
      const post = await start(t, clock, { email: servers.map(({ url }) => ours(url)) })
      const { message, details } = await post('email', MAIL, () => received().length)
      assert.partialDeepStrictEqual(details, { channel: 'email', provider: 'ours' })
      assert.match(message, /may have arrived/)
      assert.equal(received().length, 2, 'once more than the one of which nobody knows')
      assert.equal(new Set(received().map(({ messageId }) => messageId)).size, 1)
    })
})
