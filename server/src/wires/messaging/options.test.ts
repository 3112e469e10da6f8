// Providers are named by variables or listed in the file; what would be ignored in silence stops the start.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createApp, type Config } from '../../app.ts'
import { startApp } from '../../testing/app.ts'
import { someEngine, temporaryFolder } from '../../testing/engines.ts'
import { startMailServer } from '../../testing/mail-server.ts'
import { ACCOUNT, environmentOf, startTextServer, TOKEN } from './providers.fixture.ts'
import { smtp } from './providers/smtp.ts'
import { twilio } from './providers/twilio.ts'

const list = [smtp({ url: 'smtp://127.0.0.1:1' })]
const texts = (channel: 'sms' | 'whatsapp', apiBase = 'http://127.0.0.1:1') => [
  twilio({ channel, accountSid: ACCOUNT, authToken: TOKEN, from: '+15005550006', apiBase }),
]

const TWICE: [string, Record<string, string>, Config['messaging'], string][] = [
  [
    'an address of a server',
    { SMTP_URL: 'smtp://me:hidden@127.0.0.1:1' },
    { email: list },
    'messaging.email: SMTP_URL',
  ],
  ['a sender', { MAIL_FROM: 'shop@example.com' }, { email: list }, 'messaging.email: MAIL_FROM'],
  [
    'both, with the sandbox',
    { SMTP_URL: 'smtp://me:hidden@127.0.0.1:1', MAIL_FROM: 'shop@example.com', SIXWIRE_SANDBOX: 'on' },
    { email: list },
    'messaging.email: SMTP_URL and MAIL_FROM',
  ],
  [
    'both in the file',
    {},
    { email: list, smtp: { url: 'smtp://me:hidden@127.0.0.1:1' } },
    'messaging.email: messaging.smtp.url',
  ],
  ['a number', { TWILIO_FROM: '+15005550006' }, { sms: texts('sms') }, 'messaging.sms: TWILIO_FROM'],
  [
    'a number for WhatsApp',
    { TWILIO_WHATSAPP_FROM: '+15005550006' },
    { whatsapp: texts('whatsapp') },
    'messaging.whatsapp: TWILIO_WHATSAPP_FROM',
  ],
  [
    'a number in the file',
    {},
    { sms: texts('sms'), twilio: { from: '+15005550006' } },
    'messaging.sms: messaging.twilio.from',
  ],
]

describe('a provider that is said twice', () => {
  for (const [what, environment, messaging, names] of TWICE)
    test(`${what}: one line says which of them to remove`, async (t) => {
      const folder = await temporaryFolder(t)
      const options = {
        config: { messaging: messaging! },
        folder,
        environment: { LOG_LEVEL: 'silent', SIXWIRE_SANDBOX: 'off', ...environment },
      }
      await assert.rejects(
        async () => (await createApp(options)).close(),
        ({ name, message }: Error) => {
          const isPlural = names.includes(' and ')
          const rest = isPlural
            ? 'are set as well, and would not be used'
            : 'is set as well, and would not be used'
          const [option, others] = names.split(': ')
          assert.deepEqual(
            [name, message],
            ['StartError', `${names} ${rest}: remove either ${option} or ${others}`],
          )
          return true
        },
      )
    })
})

describe('a secret for reports of bounces', () => {
  for (const [what, secret] of [
    ['that is too short', 'fifteen letters'],
    ['that no header can hold', 'sixteen letters\nand more'],
    ['that clients write in different bytes', 'sixteen letters, ünd more'],
    ['that ends with a space', 'sixteen letters and more '],
  ] as const)
    test(`${what} stops the start, which does not say it`, async (t) => {
      const folder = await temporaryFolder(t)
      const environment = { LOG_LEVEL: 'silent', SIXWIRE_SANDBOX: 'off', MAIL_BOUNCE_SECRET: secret }
      await assert.rejects(
        async () => (await createApp({ folder, environment })).close(),
        ({ name, message }: Error) => {
          assert.equal(name, 'StartError')
          assert.match(message, /^MAIL_BOUNCE_SECRET: /)
          assert.ok(!message.includes(secret.trim()))
          return true
        },
      )
    })
})

someEngine((engine) => {
  test('MAIL_FROM alone is whom the sandbox’s mail is from', async (t) => {
    const MAIL_FROM = 'The Shop <hello@shop.example>'
    const app = await startApp(t, engine, { sandbox: true, environment: { MAIL_FROM } })
    const token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
    const body = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
    assert.equal((await app.request('POST', '/messaging/email', { token, body })).status, 200)
    const [mail] = (await app.request('GET', '/sandbox/api/mail')).body.messages
    assert.match(JSON.stringify(mail.from), /hello@shop\.example/)
  })

  test('a list wins over the sandbox, which still stands in for the other channels', async (t) => {
    const mail = await startMailServer(t)
    const app = await startApp(t, engine, {
      sandbox: true,
      config: { messaging: { email: [smtp({ url: mail.url })] } },
    })
    const token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
    const body = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
    const sent = await app.request('POST', '/messaging/email', { token, body })
    assert.equal(sent.status, 200, sent.text)
    assert.deepEqual(
      mail.received.map(({ to }) => to),
      [['a@example.com']],
    )
    assert.deepEqual((await app.request('GET', '/sandbox/api/mail')).body.messages, [])
    const text = await app.request('POST', '/messaging/sms', {
      token,
      body: { to: '+4915112345678', body: 'Hello' },
    })
    assert.equal(text.status, 200, text.text)
    assert.equal((await app.request('GET', '/sandbox/api/phone')).body.messages.length, 1)
  })

  test('a list for one channel of Twilio leaves the other one to the variables, or to the sandbox', async (t) => {
    const own = await startTextServer(t)
    const named = await startTextServer(t)
    const { TWILIO_FROM: _, ...environment } = environmentOf(undefined, named)
    for (const options of [{ environment }, { sandbox: true }]) {
      const app = await startApp(t, engine, {
        ...options,
        config: { messaging: { sms: texts('sms', own.base) } },
      })
      const token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
      for (const channel of ['sms', 'whatsapp']) {
        const body = { to: '+4915112345678', body: 'Hello' }
        const sent = await app.request('POST', `/messaging/${channel}`, { token, body })
        assert.equal(sent.status, 200, sent.text)
      }
      if ('sandbox' in options) {
        const { messages } = (await app.request('GET', '/sandbox/api/phone')).body
        assert.deepEqual(
          messages.map(({ channel }: { channel: string }) => channel),
          ['whatsapp'],
        )
      }
      await app.stop()
    }
    assert.deepEqual([own.received.length, named.received.length], [2, 1])
  })
})
