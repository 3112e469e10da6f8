// Providers of texts that are made in the configuration file, without any variable of the environment.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { before, describe, test } from 'node:test'

import official from 'twilio'

import { startApp, type TestApp } from '../../testing/app.ts'
import { eachEngine, endOfSuite, type Ending } from '../../testing/engines.ts'
import { ACCOUNT, startTextServer, TOKEN, type TextServer } from './providers.fixture.ts'
import { twilio } from './providers/twilio.ts'
import type { TextProvider } from './provider.ts'

const OTHER_TOKEN = 'the token of another account'
const FORM = 'application/x-www-form-urlencoded'

const provider = (apiBase: string, more: { channel?: 'whatsapp'; authToken?: string } = {}): TextProvider =>
  twilio({ channel: 'sms', accountSid: ACCOUNT, authToken: TOKEN, from: '+15005550006', apiBase, ...more })

/** An address where TCP connects and TLS never does: like a network that drops everything, it says nothing. */
async function startSilence(ending: Ending): Promise<{ base: string; connections(): number }> {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { base: `https://127.0.0.1:${port}`, connections: () => sockets.length }
}

describe('providers of texts in the configuration file', () => {
  eachEngine((engine) => {
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

  eachEngine((engine) => {
    test('take over from one that is out of reach, once', async (t) => {
      const silence = await startSilence(t)
      const texts = await startTextServer(t)
      const app = await startApp(t, engine, {
        config: { messaging: { sms: [provider(silence.base), provider(texts.base)] } },
      })
      const { key } = await app.app.service('auth').keys.create('test', ['*'])
      const body = { to: '+4915112345678', body: 'Hello' }
      const sent = await app.request('POST', '/messaging/sms', { token: key, body })
      assert.deepEqual([sent.status, sent.body.messageId], [200, texts.received[0]?.sid], sent.text)
      assert.deepEqual([silence.connections(), texts.begun()], [1, 1])
    })

    test('that can not prove a report are asked for none', async (t) => {
      const mute = provider('http://127.0.0.1:9')
      delete mute.signed
      const app = await startApp(t, engine, { config: { messaging: { sms: [mute] } } })
      const refused = await app.request('POST', '/messaging/twilio/status', {
        raw: 'a=b',
        headers: { 'content-type': FORM },
      })
      assert.deepEqual([refused.status, refused.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
    })
  })
})
