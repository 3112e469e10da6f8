import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { TestApp, TestAnswer } from '../../server/src/testing/app.ts'
import { someEngine } from '../../server/src/testing/engines.ts'
import { sandboxForAll } from './sandbox.fixture.ts'

type Json = TestAnswer['body']

const ADA = '+4915112345678'

/** Waits until a log entry has this status, and answers it. */
async function logged(app: TestApp, token: string, query: string, status: string): Promise<Json> {
  for (;;) {
    const { body } = await app.request('GET', `/messaging/logs?${query}`, { token })
    if (body.logs[0]?.status === status) return body.logs[0]
    await delay(20)
  }
}

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('with nothing configured, what is sent arrives in the sandbox', async () => {
    const app = await empty()
    const { token } = await app.register()
    const send = async (path: string, body: unknown): Promise<Json> => {
      const answered = await app.request('POST', `/messaging/${path}`, { body, token })
      assert.equal(answered.status, 200, answered.text)
      return answered.body
    }

    await send('email', { to: 'ada@example.com', subject: 'Hello', body: '<p>Hi <b>Ada</b></p>' })
    const inbox = await app.request('GET', '/sandbox/api/mail?to=ada@example.com')
    const [mail, ...more] = inbox.body.messages
    assert.equal(more.length, 0)
    assert.deepEqual([mail.to, mail.subject], ['ada@example.com', 'Hello'])
    assert.match(mail.html, /<b>Ada<\/b>/)
    assert.equal((await logged(app, token, 'channel=email&to=ada@example.com', 'sent')).provider, 'smtp')

    await send('sms', { to: ADA, body: 'By SMS' })
    await send('whatsapp', { to: ADA, body: 'By WhatsApp', media: { url: 'https://example.com/a.png' } })
    const phone = await app.request('GET', `/sandbox/api/phone?to=${ADA}`)
    assert.deepEqual(
      phone.body.messages.map(({ channel, body, media }: Json) => [channel, body, media]),
      [
        ['whatsapp', 'By WhatsApp', ['https://example.com/a.png']],
        ['sms', 'By SMS', []],
      ],
    )
    for (const channel of ['sms', 'whatsapp'])
      assert.equal((await logged(app, token, `channel=${channel}`, 'delivered')).provider, 'twilio')
    await send('sms', { to: '+15005550010', body: 'Nobody gets this' })
    assert.match((await logged(app, token, 'channel=sms', 'failed')).error, /30003/)
  })

  test('a lost answer of the phone stand-in leads to no second message', async () => {
    const app = await empty()
    const { token } = await app.register()
    await app.request('PUT', '/sandbox/api/faults/phone', { body: { loseAnswer: true, times: 1 } })
    await app.request('POST', '/messaging/sms', { body: { to: ADA, body: 'once' }, token })
    assert.equal((await logged(app, token, 'channel=sms', 'delivered')).to, ADA)
    assert.equal((await app.request('GET', '/sandbox/api/phone')).body.messages.length, 1)
  })

  test('the providers are healthy as long as the sandbox is', async () => {
    const app = await empty()
    const { token } = await app.register()
    const health = () => app.request('GET', '/messaging/health', { token })
    const { status, text } = await health()
    assert.equal(status, 200, text)
  })
})
