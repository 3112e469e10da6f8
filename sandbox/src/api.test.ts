import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createTransport } from 'nodemailer'
import twilio from 'twilio'

import { startApp, type TestApp, type TestAnswer } from '../../server/src/testing/app.ts'
import { someEngine } from '../../server/src/testing/engines.ts'
import { sandboxForAll } from './sandbox.fixture.ts'

type Json = TestAnswer['body']

async function fill(app: TestApp): Promise<void> {
  const { mail, phone } = (await app.request('GET', '/sandbox/api')).body
  const mailer = createTransport(mail.variables.SMTP_URL)
  await mailer.sendMail({ from: mail.from, to: 'ada@example.com', text: 'x' })
  mailer.close()
  const client = twilio(phone.accountSid, phone.authToken)
  client.api.baseUrl = phone.address
  await client.messages.create({ to: '+4915112345678', from: phone.from, body: 'x' })
}

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('every stand-in is shown with its address, its credentials and what it holds', async () => {
    const app = await empty()
    await fill(app)
    const { mail, phone, faults } = (await app.request('GET', '/sandbox/api')).body
    assert.match(mail.address, /^smtp:\/\/127\.0\.0\.1:\d+$/)
    const { username, password, host } = new URL(mail.variables.SMTP_URL)
    assert.deepEqual([username, password, `smtp://${host}`], [mail.user, mail.password, mail.address])
    assert.equal(mail.variables.MAIL_FROM, mail.from)
    assert.equal(mail.messages, 1)
    assert.match(phone.accountSid, /^AC[0-9a-f]{32}$/)
    assert.match(phone.authToken, /^[0-9a-f]{32}$/)
    assert.deepEqual(phone.variables, {
      TWILIO_API_BASE: `${app.app.settings.publicUrl}/sandbox/phone`,
      TWILIO_ACCOUNT_SID: phone.accountSid,
      TWILIO_AUTH_TOKEN: phone.authToken,
      TWILIO_FROM: phone.from,
      TWILIO_WHATSAPP_FROM: phone.whatsappFrom,
    })
    assert.deepEqual([phone.messages, phone.callbacksWaiting], [1, 0])
    assert.ok(mail.magic['bounce@…'] && phone.magic['+15005550010'])
    assert.deepEqual(faults, {})
  })

  test('the credentials are another operator secret’s own, and stand in no log line', async (t) => {
    const one = await empty()
    const two = await startApp(t, engine, {
      sandbox: true,
      environment: { SIXWIRE_SECRET: 'another secret of the tests, long enough too' },
    })
    const [here, there] = [
      (await one.request('GET', '/sandbox/api')).body,
      (await two.request('GET', '/sandbox/api')).body,
    ]
    assert.notEqual(here.mail.password, there.mail.password)
    const bounceSecret: string = here.mail.variables.MAIL_BOUNCE_SECRET
    assert.notEqual(bounceSecret, there.mail.variables.MAIL_BOUNCE_SECRET)
    assert.notEqual(here.phone.accountSid, there.phone.accountSid)
    await fill(one)
    for (const secret of [here.mail.password, here.phone.authToken, bounceSecret])
      assert.ok(!one.log().includes(secret))
  })

  test('a body is read as strictly as that of a route of the server: a key twice is refused', async () => {
    const app = await empty()
    const raw = '{"fault":"error","fault":"error"}'
    const { status, body } = await app.request('PUT', '/sandbox/api/faults/mail', { raw })
    assert.equal(status, 400)
    assert.match(body.error.message, /more than once/)
  })

  test('DELETE /sandbox/api deletes mails, messages and faults', async () => {
    const app = await empty()
    await fill(app)
    await app.request('PUT', '/sandbox/api/faults/mail', { body: { error: 450 } })
    const { status, body } = await app.request('DELETE', '/sandbox/api')
    assert.equal(status, 200)
    assert.equal(typeof body.message, 'string')
    const { mail, phone, faults } = (await app.request('GET', '/sandbox/api')).body
    assert.deepEqual([mail.messages, phone.messages, faults], [0, 0, {}])
    await fill(app)
  })

  test('faults are answered as they are in force, replaced whole, and taken back', async () => {
    const app = await empty()
    const set = (provider: string, body: unknown) =>
      app.request('PUT', `/sandbox/api/faults/${provider}`, { body })
    const inForce = async () => (await app.request('GET', '/sandbox/api')).body.faults
    const first = await set('mail', { delayMs: 1, error: 421, times: 3 })
    assert.deepEqual([first.status, first.body], [200, { delayMs: 1, error: 421, times: 3 }])
    await set('mail', { loseAnswer: true })
    await set('phone', { callback: 'late', times: 1 })
    assert.deepEqual(await inForce(), {
      mail: { loseAnswer: true },
      phone: { callback: 'late', times: 1 },
    })
    await set('mail', {})
    await set('phone', {})
    assert.deepEqual(await inForce(), {})
  })

  test('a fault that means nothing is refused, and changes nothing', async () => {
    const app = await empty()
    await app.request('PUT', '/sandbox/api/faults/mail', { body: { error: 450 } })
    for (const [body, ...paths] of [
      [{ delayMs: 'soon' }, '/body/delayMs'],
      [{ delayMs: 60_001 }, '/body/delayMs'],
      [{ error: 200 }, '/body/error'],
      [{ error: 450.5 }, '/body/error'],
      [{ loseAnswer: 1 }, '/body/loseAnswer'],
      [{ callback: 'gone' }, '/body/callback'],
      [{ callback: 'held' }, '/body/callback'],
      [{ times: 0 }, '/body/times'],
      [{ delay: 5 }, '/body/delay'],
      [{ 'a/b~': 5, error: 450 }, '/body/a~1b~0'],
      [{ times: 0, loseAnswer: 'no' }, '/body/loseAnswer', '/body/times'],
      [[], '/body'],
      ['lost', '/body'],
      [undefined, '/body'],
    ] as [unknown, ...string[]][]) {
      const { status, body: answer } = await app.request('PUT', '/sandbox/api/faults/mail', { body })
      assert.deepEqual([status, answer.error.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body))
      assert.deepEqual(answer.error.details.issues.map(({ path }: Json) => path).toSorted(), paths)
    }
    // People and webhooks are shown beside the providers, but nothing can go wrong at them.
    for (const provider of ['pigeon', 'people', 'authenticator', 'webhooks']) {
      const unknown = await app.request('PUT', `/sandbox/api/faults/${provider}`, { body: { error: 500 } })
      assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'NOT_FOUND'], provider)
      assert.match(
        unknown.body.error.message,
        /: there are mail, phone, idpa, idpb, cardpay, walletpay, chains, receiver\.$/,
      )
    }
    assert.deepEqual((await app.request('GET', '/sandbox/api')).body.faults, { mail: { error: 450 } })
  })

  test('faults count calls across servers', async (t) => {
    const first = await empty()
    const { databaseUrl } = first.app.settings
    const servers = [first, await startApp(t, engine, { sandbox: true, databaseUrl })]
    await servers[0]!.request('PUT', '/sandbox/api/faults/phone', { body: { error: 500, times: 5 } })
    const { phone } = (await servers[0]!.request('GET', '/sandbox/api')).body
    const authorization = `Basic ${Buffer.from(`${phone.accountSid}:${phone.authToken}`).toString('base64')}`
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        servers[at % 2]!.request('GET', `/sandbox/phone/2010-04-01/Accounts/${phone.accountSid}.json`, {
          headers: { authorization },
        }),
      ),
    )
    assert.equal(answers.filter(({ status }) => status === 500).length, 5)
  })

  test('errors of the sandbox API have the envelope of every other route', async () => {
    const app = await empty()
    for (const [method, path, options, status, code, where] of [
      ['GET', '/sandbox/api/mail?limit=0', {}, 400, 'VALIDATION_ERROR', '/query/limit'],
      ['GET', '/sandbox/api/mail?to=a&to=b', {}, 400, 'VALIDATION_ERROR', '/query/to'],
      ['GET', '/sandbox/api/phone?limit=x', {}, 400, 'VALIDATION_ERROR', '/query/limit'],
      ['PUT', '/sandbox/api/faults/mail', { raw: '{' }, 400, 'VALIDATION_ERROR', '/body'],
      [
        'PUT',
        '/sandbox/api/faults/mail',
        { raw: 'x', headers: { 'content-type': 'text/plain' } },
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      ['GET', '/sandbox/api/mail/%00', {}, 400, 'VALIDATION_ERROR'],
      ['GET', '/sandbox/api/nothing', {}, 404, 'NOT_FOUND'],
    ] as [string, string, object, number, string, string?][]) {
      const answered = await app.request(method, path, options)
      assert.deepEqual([answered.status, answered.body.error.code], [status, code], path)
      assert.equal(answered.body.error.details?.issues?.[0].path, where)
      assert.ok(answered.headers.get('x-request-id'))
    }
  })
})
