// Reports that an operator's own provider reads wrongly, or of messages that another provider sent.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { appForAll } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import type { TextProvider } from '../providers/provider.ts'

describe("an operator's own provider", () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    /** What it calls the next message that it takes. */
    let takenAs: string
    /** What it reads in the next report. */
    let event: unknown
    const own = (name: string, channel: 'sms' | 'whatsapp'): TextProvider =>
      ({
        name,
        channel,
        send: async () => ({ kind: 'accepted', id: takenAs }),
        check: async () => undefined,
        close: async () => undefined,
        receive: async () => [event],
      }) as never
    const app = appForAll(engine, {
      environment: { SIXWIRE_SANDBOX: 'off' },
      config: { messaging: { sms: [own('shop', 'sms')], whatsapp: [own('chat', 'whatsapp')] } },
    })
    let token: string
    before(async () => {
      token = (await app().app.service('auth').keys.create('test', ['*'])).key
    })

    const logs = async (query = '') =>
      (await app().request('GET', `/messaging/logs?${query}`, { token })).body.logs
    /** Sends a message, and answers its entry in the log. */
    async function send(channel: 'sms' | 'whatsapp', calledAs: string) {
      takenAs = calledAs
      const body = { to: '+4915112345678', body: 'Hello' }
      const { status, text } = await app().request('POST', `/messaging/${channel}`, { token, body })
      assert.equal(status, 200, text)
      return (await logs(`channel=${channel}&limit=1`))[0]
    }
    async function report(provider: string, read: unknown): Promise<number> {
      event = read
      return (await app().request('POST', `/messaging/reports/${provider}`, { raw: 'x' })).status
    }

    testOnce('what is no report of a text changes nothing, and is answered 503', async () => {
      const sent = await send('sms', 'shop-1')
      const { _id: id, messageId } = sent
      for (const wrong of [
        { id, messageId, status: 'bounced' },
        { id, messageId, status: 'constructor' },
        { id, messageId, status: 'DELIVERED' },
        { id, messageId },
        { id, status: 'delivered' },
        { messageId, status: 'delivered' },
        { id: 7, messageId, status: 'delivered' },
        null,
      ])
        assert.equal(await report('shop', wrong), 503, JSON.stringify(wrong))
      assert.deepEqual((await logs('limit=1'))[0], sent)
    })

    testOnce('a provider reports of its own messages only', async () => {
      const { _id: id, messageId } = await send('sms', 'shop-2')
      assert.equal(await report('chat', { id, messageId, status: 'failed' }), 200)
      assert.equal((await logs('limit=1'))[0].status, 'sent')
    })

    test('an id that two providers use is that of two messages', async () => {
      const { _id: id } = await send('sms', '17')
      await send('whatsapp', '17')
      assert.equal(await report('shop', { id, messageId: '17', status: 'delivered' }), 200)
      const [whatsapp, sms] = await logs('limit=2')
      assert.deepEqual(
        [whatsapp, sms].map(({ channel, status }) => [channel, status]),
        [
          ['whatsapp', 'sent'],
          ['sms', 'delivered'],
        ],
      )
    })
  })
})
