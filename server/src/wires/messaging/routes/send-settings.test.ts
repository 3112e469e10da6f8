// Sending by servers with other providers, limits and policies than those of send.test.ts.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp, type StartOptions } from '../../../testing/app.ts'
import { stillClock } from '../../../testing/clock.ts'
import { someEngine, type Engine } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { environmentOf, startTextServer } from '../providers.fixture.ts'
import { smtp } from '../providers/smtp.ts'

const PHONE = '+4915112345678'
const MAIL = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }

someEngine((engine) => {
  const start = async (t: TestContext, on: Engine, options: StartOptions) => {
    const app = await startApp(t, on, options)
    const token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
    return {
      app,
      token,
      post: (path: string, body: unknown, as = token) =>
        app.request('POST', `/messaging/${path}`, { body, token: as }),
    }
  }

  test('the second provider takes over where the first fails transiently, and only then', async (t) => {
    const [first, second] = [await startMailServer(t), await startMailServer(t)]
    const from = 'shop@example.com'
    const { post } = await start(t, engine, {
      config: { messaging: { email: [smtp({ url: first.url, from }), smtp({ url: second.url, from })] } },
    })
    first.next({ recipient: 451 })
    assert.equal((await post('email', MAIL)).status, 200)
    assert.deepEqual([first.received.length, second.received.length], [0, 1])
    assert.equal((await post('email', MAIL)).status, 200)
    assert.deepEqual([first.received.length, second.received.length], [1, 1])
    first.next({ recipient: 550 })
    assert.equal((await post('email', MAIL)).status, 500)
    assert.equal(second.begun(), 1)
  })

  test('without a provider each channel says so', async (t) => {
    const { app, post } = await start(t, engine, {})
    for (const [path, channel, body] of [
      ['email', 'email', MAIL],
      [
        'email/template',
        'email',
        { to: 'a@example.com', template: 'verify-email', data: { link: 'https://a.example' } },
      ],
      ['sms', 'sms', { to: PHONE, body: 'x' }],
      ['whatsapp', 'whatsapp', { to: PHONE, body: 'x' }],
    ] as const) {
      const { status, body: answered } = await post(path, body)
      const { code, details } = answered.error
      assert.deepEqual([status, code], [400, 'PROVIDER_NOT_CONFIGURED'])
      assert.deepEqual(details, { channel, provider: null })
    }
    const { body } = await app.request('GET', '/messaging/health')
    assert.equal(body.status, 'healthy')
    assert.deepEqual(body.providers.email, { provider: 'none', status: 'not_configured' })
    assert.equal(app.app.service('messaging').sendsMail, false)
  })

  test('a provider that cannot be reached shows in health, and in what is answered', async (t) => {
    const { app, post } = await start(t, engine, { environment: { SMTP_URL: 'smtp://127.0.0.1:1' } })
    const { status, body } = await app.request('GET', '/messaging/health')
    assert.deepEqual([status, body.status], [503, 'unhealthy'])
    assert.deepEqual(body.providers.email, { provider: 'smtp', status: 'error' })
    const failed = await post('email', MAIL)
    assert.equal(failed.body.error.code, 'SEND_FAILED')
    assert.doesNotMatch(failed.text, /127\.0\.0\.1/)
  })

  test('sixty messages a minute in each channel, for each user, whatever the other limits', async (t) => {
    const mail = await startMailServer(t)
    const texts = await startTextServer(t)
    const { app, post } = await start(t, engine, {
      environment: environmentOf(mail, texts),
      clock: stillClock(Date.now()),
    })
    const statuses = await Promise.all(
      Array.from({ length: 62 }, async (_, i) => {
        const path = i % 2 === 0 ? 'email' : 'email/template'
        return (await post(path, {})).status
      }),
    )
    assert.deepEqual(
      [statuses.filter((one) => one === 400).length, statuses.filter((one) => one === 429).length],
      [60, 2],
    )
    const limited = await post('email', MAIL)
    assert.deepEqual([limited.status, limited.body.error.code], [429, 'RATE_LIMITED'])
    assert.ok(Number(limited.headers.get('retry-after')) > 0)
    assert.equal((await post('sms', { to: PHONE, body: 'x' })).status, 200, 'another channel')
    const other = await app.register()
    assert.equal((await post('email', MAIL, other.token)).status, 200, 'another user')
  })

  test('under the policy guarded a user writes to and sees themselves only', async (t) => {
    const mail = await startMailServer(t)
    const texts = await startTextServer(t)
    const {
      app,
      post,
      token: key,
    } = await start(t, engine, {
      environment: {
        ...environmentOf(mail, texts),
        SIXWIRE_POLICY: 'guarded',
        SIXWIRE_ADMINS: 'admin@example.com',
      },
    })
    const { token, email } = await app.register()
    const unverified = await post('email', { ...MAIL, to: email }, token)
    assert.deepEqual([unverified.status, unverified.body.error.code], [403, 'EMAIL_NOT_VERIFIED'])
    assert.match(unverified.body.error.message, /POST \/auth\/resend-verification/)
    await app.app.db.write(sql`update auth_users set email_verified_at = 1`)
    assert.equal((await post('email', { ...MAIL, to: email.toUpperCase() }, token)).status, 200)
    for (const [path, body] of [
      ['email', MAIL],
      ['email', { ...MAIL, to: [email, 'a@example.com'] }],
      ['email', { ...MAIL, to: email, bcc: 'a@example.com' }],
      [
        'email/template',
        { to: 'a@example.com', template: 'verify-email', data: { link: 'https://a.example' } },
      ],
      ['sms', { to: PHONE, body: 'x' }],
      ['whatsapp', { to: PHONE, body: 'x' }],
    ] as const) {
      const refused = await post(path, body, token)
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'FORBIDDEN'], JSON.stringify(body))
    }
    assert.equal(mail.received.filter(({ subject }) => subject === MAIL.subject).length, 1)

    assert.equal((await post('email', MAIL, key)).status, 200)
    assert.equal((await post('sms', { to: PHONE, body: 'x' }, key)).status, 200)
    const count = async (as: string) =>
      (await app.request('GET', '/messaging/logs', { token: as })).body.total
    assert.equal(await count(token), 1)
    assert.ok((await count(key)) >= 3)
  })

  for (const [what, environment, line] of [
    ['half of SMTP', { MAIL_FROM: 'shop@example.com' }, /^SMTP_URL: /],
    ['an SMTP_URL that is none', { SMTP_URL: 'http://example.com' }, /^SMTP_URL, or /],
    ['half of Twilio', { TWILIO_ACCOUNT_SID: 'AC1' }, /^TWILIO_AUTH_TOKEN: /],
    ['the other half', { TWILIO_AUTH_TOKEN: 'x' }, /^TWILIO_ACCOUNT_SID: /],
  ] as const)
    test(`${what} stops the start with one line`, async (t) => {
      await assert.rejects(startApp(t, engine, { environment }), { name: 'StartError', message: line })
    })
})
