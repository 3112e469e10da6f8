// Reports that an operator's own provider reads wrongly, or of messages that another provider sent.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'
import type { TextProvider } from './provider.ts'

const own = (name: string, channel: 'sms' | 'whatsapp', event: () => unknown): TextProvider =>
  ({
    name,
    channel,
    send: async () => ({ kind: 'accepted', id: `${name}-1` }),
    check: async () => undefined,
    close: async () => undefined,
    receive: async () => [event()],
  }) as never

describe("an operator's own provider", () => {
  eachEngine((engine) => {
    test('what is no report of a text changes nothing, and is answered 503', async (t) => {
      let event: unknown
      const app = await startApp(t, engine, {
        environment: { SIXWIRE_SANDBOX: 'off' },
        config: { messaging: { sms: [own('shop', 'sms', () => event)] } },
      })
      const { key } = await app.app.service('auth').keys.create('test', ['*'])
      const to = '+4915112345678'
      await app.request('POST', '/messaging/sms', { token: key, body: { to, body: 'Hello' } })
      const log = async () => (await app.request('GET', '/messaging/logs', { token: key })).body.logs[0]
      const before = await log()
      const id = before._id
      const messageId = before.messageId
      for (const wrong of [
        { id, messageId, status: 'bounced' },
        { id, messageId, status: 'constructor' },
        { id, messageId, status: 'DELIVERED' },
        { id, messageId },
        { id, status: 'delivered' },
        { messageId, status: 'delivered' },
        { id: 7, messageId, status: 'delivered' },
        null,
      ]) {
        event = wrong
        const answered = await app.request('POST', '/messaging/reports/shop', { raw: 'x' })
        assert.equal(answered.status, 503, JSON.stringify(wrong))
      }
      assert.deepEqual(await log(), before)
    })

    test('a provider reports of its own messages only', async (t) => {
      const events: unknown[] = []
      const app = await startApp(t, engine, {
        environment: { SIXWIRE_SANDBOX: 'off' },
        config: {
          messaging: {
            sms: [own('shop', 'sms', () => events[0])],
            whatsapp: [own('chat', 'whatsapp', () => events[0])],
          },
        },
      })
      const { key } = await app.app.service('auth').keys.create('test', ['*'])
      await app.request('POST', '/messaging/sms', {
        token: key,
        body: { to: '+4915112345678', body: 'Hello' },
      })
      const log = async () => (await app.request('GET', '/messaging/logs', { token: key })).body.logs[0]
      const { _id: id, messageId } = await log()
      events.push({ id, messageId, status: 'failed' })
      const answered = await app.request('POST', '/messaging/reports/chat', { raw: 'x' })
      assert.equal(answered.status, 200)
      assert.equal((await log()).status, 'sent')
    })

    test('an id that two providers use is that of two messages', async (t) => {
      const events: unknown[] = []
      const counting = (name: string, channel: 'sms' | 'whatsapp') => ({
        ...own(name, channel, () => events[0]),
        send: async () => ({ kind: 'accepted' as const, id: '17' }),
      })
      const app = await startApp(t, engine, {
        environment: { SIXWIRE_SANDBOX: 'off' },
        config: { messaging: { sms: [counting('shop', 'sms')], whatsapp: [counting('chat', 'whatsapp')] } },
      })
      const { key } = await app.app.service('auth').keys.create('test', ['*'])
      const send = async (channel: string) => {
        const body = { to: '+4915112345678', body: 'Hello' }
        await app.request('POST', `/messaging/${channel}`, { token: key, body })
        const logs = await app.request('GET', `/messaging/logs?channel=${channel}`, { token: key })
        return logs.body.logs[0]
      }
      const { _id: id } = await send('sms')
      await send('whatsapp')
      events.push({ id, messageId: '17', status: 'delivered' })
      assert.equal((await app.request('POST', '/messaging/reports/shop', { raw: 'x' })).status, 200)
      const { body } = await app.request('GET', '/messaging/logs', { token: key })
      const states = Object.fromEntries(
        body.logs.map((one: { channel: string; status: string }) => [one.channel, one.status]),
      )
      assert.deepEqual(states, { sms: 'delivered', whatsapp: 'sent' })
    })
  })
})
