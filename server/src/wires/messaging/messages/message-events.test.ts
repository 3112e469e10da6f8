// The events of messages, as a receiver gets them.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { someEngine } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { startReceiver } from '../../../testing/webhook-receiver.ts'
import { environmentOf, startTextServer, TOKEN } from '../providers.fixture.ts'

const PUBLIC = 'https://api.shop.example'
const BOUNCES = 'the secret of the bounces'

someEngine((engine) => {
  test('messages are published as the log shows them, and without their content', async (t) => {
    const [mail, texts, receiver] = [
      await startMailServer(t),
      await startTextServer(t),
      await startReceiver(t),
    ]
    const { url, secret } = receiver
    const app = await startApp(t, engine, {
      environment: { ...environmentOf(mail, texts), PUBLIC_URL: PUBLIC },
      config: { messaging: { bounceSecret: BOUNCES }, webhooks: [{ url, secret, events: ['messaging.*'] }] },
    })
    const token = (await app.app.service('auth').keys.create('test', ['*'])).key
    const types = () => receiver.events.map(({ type }) => type.replace('messaging.message.', ''))

    // Of a text: sent, and delivered by its report, which comes twice.
    const to = '+4915120000001'
    const sent = await app.request('POST', '/messaging/sms', { token, body: { to, body: 'the secret text' } })
    assert.equal(sent.status, 200, sent.text)
    await receiver.arrived(2)
    const { _id } = receiver.events[0]!.data
    const path = `/messaging/twilio/status?id=${String(_id)}`
    const fields = { MessageSid: sent.body.messageId, MessageStatus: 'delivered', AccountSid: 'AC', To: to }
    const signed =
      PUBLIC +
      path +
      ['AccountSid', 'MessageSid', 'MessageStatus', 'To'].map((name) => name + fields[name as 'To']).join('')
    const report = {
      raw: new URLSearchParams(fields).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': createHmac('sha1', TOKEN).update(signed).digest('base64'),
      },
    }
    for (let i = 0; i < 2; i++) assert.equal((await app.request('POST', path, report)).status, 200)
    await receiver.arrived(3)
    assert.deepEqual(types(), ['created', 'sent', 'delivered'])
    const { body: log } = await app.request('GET', `/messaging/logs?to=${to}`, { token })
    assert.deepEqual(receiver.events[2]!.data, log.logs[0])

    // Of a mail: refused, and another one that bounces.
    mail.next({ recipient: 550 })
    const body = { to: 'ada@example.com', subject: 'Hello', body: '<p>the secret mail</p>' }
    assert.equal((await app.request('POST', '/messaging/email', { token, body })).status, 500)
    await receiver.arrived(5)
    const { messageId } = (await app.request('POST', '/messaging/email', { token, body })).body
    await receiver.arrived(7)
    await app.request('POST', '/messaging/email/bounce', {
      body: { messageId, reason: 'it was full' },
      headers: { authorization: `Bearer ${BOUNCES}` },
    })
    await receiver.arrived(8)
    assert.deepEqual(types().slice(3), ['created', 'failed', 'created', 'sent', 'bounced'])
    assert.equal(receiver.events[7]!.data['error'], 'it was full')
    assert.doesNotMatch(JSON.stringify(receiver.events), /the secret/)
  })

  test('of a mail of the service neither its subject nor its link is published', async (t) => {
    const [mail, receiver] = [await startMailServer(t), await startReceiver(t)]
    const { url, secret } = receiver
    const app = await startApp(t, engine, {
      environment: environmentOf(mail),
      config: { webhooks: [{ url, secret, events: ['messaging.message.sent'] }] },
    })
    await app.request('POST', '/auth/magic-link', { body: { email: (await app.register()).email } })
    await receiver.arrived(2)
    for (const { data } of receiver.events)
      assert.deepEqual(Object.keys(data).toSorted(), [
        '_id',
        'channel',
        'createdAt',
        'messageId',
        'provider',
        'status',
        'template',
        'to',
      ])
  })
})
