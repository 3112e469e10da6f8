// Every error of a route that sends says of which channel and provider it is, wherever in the frame it arises.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { resolved } from '../../testing/description.ts'
import { startApp, type TestAnswer, type RequestOptions, type TestApp } from '../../testing/app.ts'
import { someEngine, endOfSuite } from '../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../testing/mail-server.ts'
import { environmentOf, startTextServer } from './providers.fixture.ts'
import { smtp } from './providers/smtp.ts'

const PHONE = '+4915112345678'
const ROUTES = [
  ['email', 'email'],
  ['email/template', 'email'],
  ['sms', 'sms'],
  ['whatsapp', 'whatsapp'],
] as const
const BODIES: Record<string, unknown> = {
  email: { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' },
  'email/template': { to: 'a@example.com', template: 'magic-link', data: { link: 'https://a.example' } },
  sms: { to: PHONE, body: 'Hello' },
  whatsapp: { to: PHONE, body: 'Hello' },
}

type Described = { content: { 'application/json': { schema: TestAnswer['body'] } } }

const says = ({ status, body, text }: TestAnswer) => {
  assert.ok(body?.error, text)
  const { code, details } = body.error
  return [status, code, details?.channel, details?.provider]
}

someEngine((engine) => {
  describe('with a provider for each channel', () => {
    let app: TestApp
    let mail: MailServer
    let token: string
    let user: string
    const ending = endOfSuite()
    before(async () => {
      mail = await startMailServer(ending)
      const environment = environmentOf(mail, await startTextServer(ending))
      app = await startApp(ending, engine, { environment: { ...environment, SIXWIRE_POLICY: 'guarded' } })
      token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
      await app.register()
      user = (await app.register()).token
    })
    const post = (path: string, options: RequestOptions) =>
      app.request('POST', `/messaging/${path}`, { token, ...options })

    for (const [path, channel] of ROUTES) {
      const provider = channel === 'email' ? 'smtp' : 'twilio'
      const body = BODIES[path]

      test(`${path}: what the frame refuses before the handler runs`, async () => {
        const refused = async (options: RequestOptions) => says(await post(path, options))
        assert.deepEqual(await refused({ body, token: undefined }), [401, 'UNAUTHORIZED', channel, provider])
        assert.deepEqual(await refused({ body, token: 'nonsense' }), [401, 'UNAUTHORIZED', channel, provider])
        assert.deepEqual(await refused({ body: {} }), [400, 'VALIDATION_ERROR', channel, provider])
        assert.deepEqual(await refused({ raw: '{"to":' }), [400, 'VALIDATION_ERROR', channel, provider])
        assert.deepEqual(await refused({ body, headers: { 'idempotency-key': 'a b' } }), [
          400,
          'VALIDATION_ERROR',
          channel,
          provider,
        ])
        assert.deepEqual(await refused({ raw: 'a=b', headers: { 'content-type': 'text/plain' } }), [
          415,
          'UNSUPPORTED_MEDIA_TYPE',
          channel,
          provider,
        ])
        assert.deepEqual(await refused({ raw: ' '.repeat(1_048_577) }), [
          413,
          'PAYLOAD_TOO_LARGE',
          channel,
          provider,
        ])
        const strange = await app.app.service('auth').keys.create('other', ['store'])
        assert.deepEqual(await refused({ body, token: strange.key }), [403, 'FORBIDDEN', channel, provider])
        assert.deepEqual(await refused({ body, token: user }), [403, 'EMAIL_NOT_VERIFIED', channel, provider])
      })

      test(`${path}: what no schema can say`, async () => {
        const refused = await post(path, { body: { ...(body as object), to: 'nobody' } })
        assert.deepEqual(says(refused), [400, 'VALIDATION_ERROR', channel, provider])
        assert.equal(refused.body.error.details.issues[0].path, '/body/to')
      })
    }

    test('what the handler refuses, also when it is answered again', async () => {
      const body = BODIES['email/template'] as object
      const headers = { 'idempotency-key': 'wrong' }
      for (const replayed of [null, 'true']) {
        const refused = await post('email/template', { body: { ...body, data: {} }, headers })
        assert.equal(refused.headers.get('idempotency-replayed'), replayed)
        assert.deepEqual(says(refused), [400, 'VALIDATION_ERROR', 'email', 'smtp'])
        assert.equal(refused.body.error.details.issues[0].path, '/body/data/link')
      }
      const conflict = await post('email/template', { body, headers })
      assert.deepEqual(says(conflict), [409, 'IDEMPOTENCY_CONFLICT', 'email', 'smtp'])
    })

    test('other routes say nothing of a channel', async () => {
      const refused = await app.request('GET', '/messaging/logs')
      assert.deepEqual([refused.status, refused.body.error.details], [401, undefined])
    })

    test('the description says so', async () => {
      const { paths } = resolved((await app.request('GET', '/openapi.json')).body)
      const detailsIn = ({ content }: Described) =>
        content['application/json'].schema.properties.error.properties.details
      const failures = Object.entries<Described>(paths['/messaging/sms'].post.responses).filter(
        ([status]) => Number(status) >= 400,
      )
      assert.ok(failures.length > 5)
      for (const [status, failure] of failures) {
        assert.deepEqual(
          Object.keys(detailsIn(failure).properties).slice(-2),
          ['channel', 'provider'],
          status,
        )
        assert.deepEqual(detailsIn(failure).required, ['channel', 'provider'])
      }
      assert.equal(detailsIn(paths['/messaging/logs'].get.responses['401']).properties, undefined)
    })
  })

  test('over the limit', async (t) => {
    const mail = await startMailServer(t)
    const app = await startApp(t, engine, {
      environment: environmentOf(mail),
      config: { messaging: { limit: '1/hour' } },
    })
    const { token } = await app.register()
    for (const [path, channel] of [
      ['email', 'email'],
      ['sms', 'sms'],
    ] as const) {
      await app.request('POST', `/messaging/${path}`, { token, body: BODIES[path] })
      const refused = await app.request('POST', `/messaging/${path}`, { token, body: BODIES[path] })
      assert.deepEqual(says(refused), [429, 'RATE_LIMITED', channel, channel === 'email' ? 'smtp' : null])
    }
  })

  test('without a provider it is null', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await app.register()
    for (const [path, channel] of ROUTES) {
      const missing = await app.request('POST', `/messaging/${path}`, { token, body: BODIES[path] })
      assert.deepEqual(says(missing), [400, 'PROVIDER_NOT_CONFIGURED', channel, null])
      const refused = await app.request('POST', `/messaging/${path}`, { token, body: {} })
      assert.deepEqual(says(refused), [400, 'VALIDATION_ERROR', channel, null])
    }
  })

  test('of several providers it is the first, or the one that the error is about', async (t) => {
    const mail = await startMailServer(t)
    const named = (name: string, url: string) => ({ ...smtp({ url }), name })
    const app = await startApp(t, engine, {
      config: {
        messaging: { email: [named('first', 'smtp://127.0.0.1:1'), named('second', mail.url)] },
      },
    })
    const { token } = await app.app
      .service('auth')
      .keys.create('test', ['messaging'])
      .then(({ key }) => ({
        token: key,
      }))
    const refused = await app.request('POST', '/messaging/email', { token, body: {} })
    assert.deepEqual(says(refused), [400, 'VALIDATION_ERROR', 'email', 'first'])
    mail.next({ recipient: 550 })
    const failed = await app.request('POST', '/messaging/email', { token, body: BODIES['email'] })
    assert.deepEqual(says(failed), [500, 'SEND_FAILED', 'email', 'second'])
  })
})
