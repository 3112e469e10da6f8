// Providers of texts that are made in the configuration file, without any variable of the environment.
import assert from 'node:assert/strict'
import { before, describe, test, type TestContext } from 'node:test'

import official from 'twilio'

import { errors } from '../../../base/errors.ts'
import { receiveErrors, type WebhookRequest } from '../../../providers/receive.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { testClock } from '../../../testing/clock.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { startSilence } from '../../../testing/silence.ts'
import { ACCOUNT, startTextServer, TOKEN, type TextServer } from '../providers.fixture.ts'
import { twilio } from './twilio.ts'
import type { OutgoingText, SendOutcome, TextProvider } from './provider.ts'

const OTHER_TOKEN = 'the token of another account'
const FORM = 'application/x-www-form-urlencoded'

const provider = (
  apiBase: string,
  more: { channel?: TextProvider['channel']; authToken?: string } = {},
): TextProvider =>
  twilio({ channel: 'sms', accountSid: ACCOUNT, authToken: TOKEN, from: '+15005550006', apiBase, ...more })

describe('providers of texts in the configuration file', () => {
  someEngine((engine) => {
    let app: TestApp
    let texts: TextServer
    let token: string
    const ending = endOfSuite()
    before(async () => {
      texts = await startTextServer(ending)
      app = await startApp(ending, engine, {
        environment: { PUBLIC_URL: 'https://Bücher.Example:443/API//' },
        config: {
          messaging: {
            sms: [provider(texts.base)],
            whatsapp: [provider('http://127.0.0.1:9', { channel: 'whatsapp', authToken: OTHER_TOKEN })],
          },
        },
      })
      token = (await app.app.service('auth').keys.create('test', ['*'])).key
    })

    let numbers = 0
    async function send() {
      const to = `+49151${String(30_000_000 + numbers++)}`
      const { status, text } = await app.request('POST', '/messaging/sms', {
        token,
        body: { to, body: 'Hello' },
      })
      assert.equal(status, 200, text)
      const { callback, sid } = texts.received.at(-1)!
      return { to, callback: callback!, sid }
    }
    const report = (callback: string, sid: string, by: string) => {
      const fields = { MessageSid: sid, MessageStatus: 'delivered' }
      return app.request('POST', `/messaging/twilio/status${new URL(callback).search}`, {
        raw: new URLSearchParams(fields).toString(),
        headers: {
          'content-type': FORM,
          'x-twilio-signature': official.getExpectedTwilioSignature(by, callback, fields),
        },
      })
    }
    const statusOf = async (to: string) => {
      const { body } = await app.request('GET', `/messaging/logs?to=${to}`, { token })
      return body.logs[0].status
    }

    test('are told where to report, however the public address is written', async () => {
      const { callback } = await send()
      assert.match(callback, /^https:\/\/xn--bcher-kva\.example\/API\/messaging\/twilio\/status\?id=\w{26}$/)
      assert.equal(callback, new URL(callback).href)
    })

    test('prove their reports, each by its own token', async () => {
      for (const by of [TOKEN, OTHER_TOKEN]) {
        const { to, callback, sid } = await send()
        const refused = await report(callback, sid, 'a token of nobody')
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'INVALID_SIGNATURE'])
        assert.equal(await statusOf(to), 'sent')
        assert.equal((await report(callback, sid, by)).status, 200)
        assert.equal(await statusOf(to), 'delivered')
      }
    })
  })

  someEngine((engine) => {
    const start = async (t: TestContext, channel: 'sms' | 'whatsapp', ...bases: string[]) => {
      const app = await startApp(t, engine, {
        config: { messaging: { [channel]: bases.map((base) => provider(base, { channel })) } },
      })
      const { key } = await app.app.service('auth').keys.create('test', ['*'])
      const body = { to: '+4915112345678', body: 'Hello' }
      return () => app.request('POST', `/messaging/${channel}`, { token: key, body })
    }

    test('take over from one that is out of reach, once', async (t) => {
      const silence = await startSilence(t)
      const texts = await startTextServer(t)
      const send = await start(t, 'sms', `https://${silence.host}`, texts.base)
      const sent = await send()
      assert.deepEqual([sent.status, sent.body.messageId], [200, texts.received[0]?.sid], sent.text)
      assert.deepEqual([silence.connections(), texts.begun()], [1, 1])
    })

    for (const channel of ['sms', 'whatsapp'] as const)
      test(`take over for ${channel} from one that fails for now, and only then`, async (t) => {
        const [first, second] = [await startTextServer(t), await startTextServer(t)]
        const send = await start(t, channel, first.base, second.base)
        first.next({ status: 429, code: 20429 })
        const sent = await send()
        assert.deepEqual([sent.status, sent.body.messageId], [200, second.received[0]?.sid], sent.text)
        assert.equal((await send()).status, 200)
        first.next({ status: 400, code: 21211 })
        const refused = await send()
        const { logId, ...details } = refused.body.error.details
        assert.deepEqual(
          [refused.status, refused.body.error.code, details, typeof logId],
          [500, 'SEND_FAILED', { channel, provider: 'twilio' }, 'string'],
        )
        assert.deepEqual([first.begun(), first.received.length, second.begun()], [3, 1, 1])
        const prefix = channel === 'whatsapp' ? 'whatsapp:' : ''
        assert.equal(second.received[0]!.to, `${prefix}+4915112345678`)
      })

    test('that an operator wrote are told where to report, verify it themselves, and may break', async (t) => {
      const told: string[] = []
      let answer: () => unknown = () => ({ kind: 'accepted', id: `acme-${told.length}` })
      class Acme implements TextProvider {
        readonly name = 'acme & sons'
        readonly channel = 'sms'
        readonly #secret = 'secret'
        async send(text: OutgoingText) {
          told.push(text.reportTo!)
          return answer() as SendOutcome
        }
        async check() {
          assert.equal(this.#secret, 'secret')
        }
        close = async () => undefined
        authorize(headers: WebhookRequest['headers']) {
          if (headers['x-acme'] !== this.#secret) throw receiveErrors.invalid_signature()
        }
        async receive({ headers, bytes, publicUrl }: WebhookRequest) {
          this.authorize(headers)
          if (bytes.includes('later')) throw errors.unavailable()
          if (bytes.includes('break')) throw new Error('a bug')
          const id = new URL(publicUrl).searchParams.get('id')!
          return [{ id, messageId: bytes.toString(), status: 'delivered' } as const]
        }
      }
      const app = await startApp(t, engine, {
        environment: { PUBLIC_URL: 'https://shop.example' },
        config: { messaging: { sms: [new Acme()] } },
      })
      const { key: token } = await app.app.service('auth').keys.create('test', ['*'])
      const send = () =>
        app.request('POST', '/messaging/sms', { token, body: { to: '+4915112345678', body: 'Hello' } })
      const sent = await send()
      assert.deepEqual([sent.status, sent.body.messageId], [200, 'acme-1'], sent.text)
      const { pathname, search, origin } = new URL(told[0]!)
      assert.equal(origin + pathname, 'https://shop.example/messaging/reports/acme%20%26%20sons')
      const report = (raw: string, secret: string) =>
        app.request('POST', pathname + search, { raw, headers: { 'x-acme': secret } })
      for (const [raw, secret, status] of [
        ['acme-1', 'x', 400],
        ['later', 'secret', 503],
        ['break', 'secret', 503],
        ['acme-1', 'secret', 200],
      ] as const)
        assert.equal((await report(raw, secret)).status, status, raw)
      const { body } = await app.request('GET', '/messaging/logs', { token })
      assert.deepEqual([body.logs[0].status, body.logs[0].provider], ['delivered', 'acme & sons'])

      for (const broken of [
        () => ({ kind: 'accepted' }),
        () => 'sent',
        () => {
          throw new Error('a bug')
        },
      ]) {
        answer = broken
        const failed = await send()
        assert.deepEqual([failed.status, failed.body.error.code], [500, 'SEND_FAILED'], failed.text)
      }
      // Each outcome was unknown, so nothing was sent a second time.
      assert.equal(told.length, 4)
    })

    test('that answer no ids to a look leave the outcome unknown, and are asked again later', async (t) => {
      const looks: unknown[] = [['a', 7], undefined, 'acme-1']
      let calls = 0
      const acme: TextProvider = {
        name: 'acme',
        channel: 'sms',
        send: async () => ({ kind: 'unknown', reason: `lost ${++calls}` }),
        find: async () => (looks.length > 0 ? looks.shift() : ['acme-1']) as string[],
        check: async () => undefined,
        close: async () => undefined,
      }
      const app = await startApp(t, engine, { clock: testClock(), config: { messaging: { sms: [acme] } } })
      const { key: token } = await app.app.service('auth').keys.create('test', ['*'])
      const body = { to: '+4915112345678', body: 'Hello' }
      const sent = await app.clock.through(app.request('POST', '/messaging/sms', { token, body }))
      assert.deepEqual([sent.status, sent.body.messageId, calls], [200, 'acme-1', 1], sent.text)
      assert.match(app.log(), /"reason":"lost 1"/)
      assert.match(app.log(), /the provider answered no list of ids/)
    })

    test('that can not prove a report are asked for none', async (t) => {
      const mute = provider('http://127.0.0.1:9')
      delete mute.receive
      const app = await startApp(t, engine, { config: { messaging: { sms: [mute] } } })
      const refused = await app.request('POST', '/messaging/twilio/status', {
        raw: 'a=b',
        headers: { 'content-type': FORM },
      })
      assert.deepEqual([refused.status, refused.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
    })
  })
})
