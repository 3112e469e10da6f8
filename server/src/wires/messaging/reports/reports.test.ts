// What providers report of a message after they took it.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { before, describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine, testOnOne } from '../../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../../testing/mail-server.ts'
import { environmentOf, startTextServer, TOKEN, type TextServer } from '../providers.fixture.ts'

const SECRET = 'the secret of the bounces'
const PUBLIC = 'https://api.shop.example'
const FORM = 'application/x-www-form-urlencoded'

/** https://www.twilio.com/docs/usage/security#validating-requests */
const sign = (url: string, fields: Record<string, string>, token = TOKEN): string =>
  createHmac('sha1', token)
    .update(
      url +
        Object.keys(fields)
          .toSorted()
          .map((name) => name + fields[name]!)
          .join(''),
    )
    .digest('base64')

describe('reports', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    let app: TestApp
    let mail: MailServer
    let texts: TextServer
    let token: string
    const ending = endOfSuite()
    before(async () => {
      mail = await startMailServer(ending)
      texts = await startTextServer(ending)
      app = await startApp(ending, engine, {
        environment: { ...environmentOf(mail, texts), PUBLIC_URL: PUBLIC },
        config: { messaging: { bounceSecret: SECRET } },
      })
      token = (await app.app.service('auth').keys.create('test', ['*'])).key
    })

    let numbers = 0
    async function text(): Promise<{ to: string; id: string; sid: string }> {
      const to = `+49151${String(20_000_000 + numbers++)}`
      const sent = await app.request('POST', '/messaging/sms', { token, body: { to, body: 'Hello' } })
      assert.equal(sent.status, 200, sent.text)
      const { body } = await app.request('GET', `/messaging/logs?to=${to}`, { token })
      return { to, id: body.logs[0]._id, sid: sent.body.messageId }
    }
    const statusOf = async (to: string) => {
      const { body } = await app.request('GET', `/messaging/logs?to=${to}`, { token })
      return body.logs[0].status
    }
    /** As Twilio would: to the address that the message was given. */
    async function report(
      { id, sid }: { id: string; sid: string },
      status: string,
      more: Record<string, string> = {},
      signed = (fields: Record<string, string>) => sign(`${PUBLIC}/messaging/twilio/status?id=${id}`, fields),
    ) {
      const fields = { MessageSid: sid, MessageStatus: status, AccountSid: 'AC', To: '+49 1', ...more }
      return app.request('POST', `/messaging/twilio/status?id=${id}`, {
        raw: new URLSearchParams(fields).toString(),
        headers: { 'content-type': FORM, 'x-twilio-signature': signed(fields) },
      })
    }

    test('a text is delivered once Twilio says so', async () => {
      const one = await text()
      const { callback } = texts.received.at(-1)!
      assert.equal(callback, `${PUBLIC}/messaging/twilio/status?id=${one.id}`)
      const answered = await report(one, 'delivered')
      assert.deepEqual([answered.status, answered.body], [200, { received: true }])
      assert.equal(await statusOf(one.to), 'delivered')
    })

    test('reports count once, in whatever order they come', async () => {
      const one = await text()
      for (const status of [
        'sent',
        'delivered',
        'sent',
        'queued',
        'delivered',
        'read',
        'failed',
        'something new',
      ])
        assert.equal((await report(one, status)).status, 200)
      assert.equal(await statusOf(one.to), 'delivered')
      const other = await text()
      await report(other, 'undelivered', { ErrorCode: '30003' })
      await report(other, 'sent')
      assert.equal(await statusOf(other.to), 'failed')
      const { body } = await app.request('GET', `/messaging/logs?to=${other.to}`, { token })
      assert.match(body.logs[0].error, /30003/)
    })

    test('a report tells two equal texts apart that were taken for each other', async () => {
      const taker = await text()
      const owner = await text()
      // As after both answers were lost: the first was found by the message that is the second's.
      await app.app.db.write(sql`
        update messaging_messages set status = 'failed', message_id = null, attempted_at = 1 where id = ${owner.id}`)
      await report({ id: owner.id, sid: taker.sid }, 'delivered')
      assert.equal(await statusOf(owner.to), 'delivered')
      const { body } = await app.request('GET', `/messaging/logs?to=${taker.to}`, { token })
      const [{ status, messageId, error }] = body.logs
      assert.deepEqual([status, messageId], ['failed', undefined])
      assert.match(error, /was an equal one/)
    })

    testOnce('a report with a signature that is not right changes nothing', async () => {
      const one = await text()
      const url = `${PUBLIC}/messaging/twilio/status?id=${one.id}`
      const host = `${app.url}/messaging/twilio/status?id=${one.id}`
      for (const forged of [
        () => '',
        () => 'AAAA',
        (fields: Record<string, string>) => sign(url, fields, 'another token'),
        (fields: Record<string, string>) => sign(host, fields),
        (fields: Record<string, string>) => sign(url, { ...fields, MessageStatus: 'sent' }),
        (fields: Record<string, string>) => sign(url.replace('?', '?a=b&'), fields),
      ]) {
        const refused = await report(one, 'delivered', {}, forged)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'INVALID_SIGNATURE'])
      }
      const other = await text()
      const stolen = await report({ ...one, sid: other.sid }, 'delivered')
      assert.equal(stolen.status, 200, 'signed, but of another message')
      assert.equal(await statusOf(one.to), 'sent')
    })

    testOnce('a report is a form, and nothing else', async () => {
      const path = '/messaging/twilio/status'
      for (const [type, raw, status] of [
        ['application/json', '{}', 415],
        ['text/plain', 'a=b', 415],
        [FORM, 'a=1&a=2', 400],
        [FORM, 'a=%00', 400],
        [FORM, '__proto__=x', 400],
        [FORM, '', 400],
        [FORM, `a=${'x'.repeat(1_100_000)}`, 413],
      ] as const) {
        const headers = { 'content-type': type, 'x-twilio-signature': 'AAAA' }
        const answered = await app.request('POST', path, { raw, headers })
        assert.equal(answered.status, status, `${type} ${raw.slice(0, 20)}: ${answered.text}`)
      }
      const elsewhere = await app.request('POST', '/messaging/sms', {
        token,
        raw: 'to=%2B4915112345678&body=x',
        headers: { 'content-type': FORM },
      })
      assert.equal(elsewhere.status, 415)
    })

    testOnce('who proves nothing is refused before the body is read', async () => {
      const bodies = ['{"messageId":', `{"messageId":"${'x'.repeat(17_000)}"}`, '{}']
      for (const raw of bodies)
        for (const headers of [{}, { authorization: 'Bearer x' }] as Record<string, string>[]) {
          const refused = await app.request('POST', '/messaging/email/bounce', { raw, headers })
          assert.deepEqual([refused.status, refused.body.error.code], [400, 'INVALID_SIGNATURE'])
        }
      const headers = { authorization: `Bearer ${SECRET}` }
      const statuses = bodies.map(
        async (raw) => (await app.request('POST', '/messaging/email/bounce', { raw, headers })).status,
      )
      assert.deepEqual(await Promise.all(statuses), [400, 413, 400])
      for (const raw of ['a=1&a=2', `a=${'x'.repeat(70_000)}`]) {
        const path = '/messaging/twilio/status'
        const unsigned = await app.request('POST', path, { raw, headers: { 'content-type': FORM } })
        assert.deepEqual([unsigned.status, unsigned.body.error.code], [400, 'INVALID_SIGNATURE'])
      }
    })

    testOnce('a report may come to the address of its provider, signed for that address', async () => {
      const one = await text()
      const path = `/messaging/reports/twilio?id=${one.id}`
      // As Twilio may encode it, and another program would not.
      const raw = `MessageSid=${one.sid}&MessageStatus=delivered&Body=a%20b+%C3%BC%2A`
      const fields = { MessageSid: one.sid, MessageStatus: 'delivered', Body: 'a b ü*' }
      const post = (to: string, signature: string, body = raw) =>
        app.request('POST', to, {
          raw: body,
          headers: { 'content-type': FORM, 'x-twilio-signature': signature },
        })
      for (const [to, signature, body] of [
        [path, 'AAAA', raw],
        [path, sign(`${PUBLIC}${path}`, fields), `${raw}&more=x`],
        [path, sign(`${PUBLIC}/messaging/twilio/status?id=${one.id}`, fields), raw],
        [path, sign(`${app.url}${path}`, fields), raw],
        [`${path}&x=y`, sign(`${PUBLIC}${path}`, fields), raw],
      ] as const) {
        const refused = await post(to, signature, body)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'INVALID_SIGNATURE'], to)
      }
      assert.equal(await statusOf(one.to), 'sent')
      const accepted = await post(path, sign(`${PUBLIC}${path}`, fields))
      assert.deepEqual([accepted.status, accepted.body], [200, { received: true }])
      assert.equal(await statusOf(one.to), 'delivered')
      const empty = await post(path, sign(`${PUBLIC}${path}`, {}), '')
      assert.deepEqual([empty.status, empty.body], [200, { received: true }], 'signed, and of nothing')
      const unknown = await post('/messaging/reports/nobody', 'AAAA')
      assert.deepEqual([unknown.status, unknown.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      for (const [body, status] of [
        ['a=1&a=2', 400],
        ['a=%ff', 400],
        [`a=${'x'.repeat(70_000)}`, 413],
      ] as const)
        assert.equal((await post(path, 'AAAA', body)).status, status, body.slice(0, 20))
    })

    testOnce('a report to the address of a provider is refused before its body is read', async () => {
      for (const provider of ['twilio', 'smtp', 'nobody']) {
        const raw = 'x'.repeat(70_000)
        const refused = await app.request('POST', `/messaging/reports/${provider}`, { raw })
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'INVALID_SIGNATURE'], provider)
      }
    })

    testOnce('a report of a mail may come to the address of SMTP', async () => {
      const body = { to: 'other@example.com', subject: 'Hello', body: '<p>Hello</p>' }
      const { messageId } = (await app.request('POST', '/messaging/email', { token, body })).body
      const tell = (raw: string, secret = SECRET) =>
        app.request('POST', '/messaging/reports/smtp', {
          raw,
          headers: { authorization: `Bearer ${secret}` },
        })
      for (const [raw, secret, status, code] of [
        [JSON.stringify({ messageId }), `${SECRET}x`, 400, 'INVALID_SIGNATURE'],
        ['{"messageId":', SECRET, 400, 'VALIDATION_ERROR'],
        ['', SECRET, 400, 'VALIDATION_ERROR'],
        ['null', SECRET, 400, 'VALIDATION_ERROR'],
        ['{}', SECRET, 400, 'VALIDATION_ERROR'],
        [JSON.stringify({ messageId: '' }), SECRET, 400, 'VALIDATION_ERROR'],
        [JSON.stringify({ messageId, status: 'sent' }), SECRET, 400, 'VALIDATION_ERROR'],
        [JSON.stringify({ messageId, reason: 7 }), SECRET, 400, 'VALIDATION_ERROR'],
      ] as const) {
        const refused = await tell(raw, secret)
        assert.deepEqual([refused.status, refused.body.error.code], [status, code], raw)
      }
      assert.equal(await statusOf('other@example.com'), 'sent')
      assert.equal((await tell(JSON.stringify({ messageId, status: 'delivered' }))).status, 200)
      assert.equal(await statusOf('other@example.com'), 'delivered')
    })

    testOnce('a mail that bounces, or arrives', async () => {
      const send = async (to: string) => {
        const body = { to, subject: 'Hello', body: '<p>Hello</p>' }
        return (await app.request('POST', '/messaging/email', { token, body })).body.messageId as string
      }
      const tell = (body: unknown, secret = SECRET) =>
        app.request('POST', '/messaging/email/bounce', {
          body,
          headers: { authorization: `Bearer ${secret}` },
        })
      const messageId = await send('bounced@example.com')
      for (const secret of ['', 'x', `${SECRET}x`, SECRET.slice(1)]) {
        const refused = await tell({ messageId }, secret)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'INVALID_SIGNATURE'], secret)
      }
      assert.equal(await statusOf('bounced@example.com'), 'sent')
      assert.deepEqual((await tell({ messageId, status: 'delivered' })).body, { received: true })
      assert.equal(await statusOf('bounced@example.com'), 'delivered')
      await tell({ messageId: `<${messageId}>`, reason: 'no such mailbox' })
      await tell({ messageId, status: 'delivered' })
      assert.equal(await statusOf('bounced@example.com'), 'bounced')
      assert.equal((await tell({ messageId: 'unknown@example.com' })).status, 200)
      assert.equal((await tell({})).status, 400)
      const { body } = await app.request('GET', '/messaging/logs?status=bounced', { token })
      assert.deepEqual([body.total, body.logs[0].error], [1, 'no such mailbox'])
    })
  })

  eachEngine((engine) => {
    test('Twilio is told where to report, and a report that is quicker than its answer counts', async (t) => {
      const texts = await startTextServer(t)
      const app = await startApp(t, engine, {
        environment: { ...environmentOf(undefined, texts), PUBLIC_URL: 'http://localhost:3000/api' },
      })
      const { key } = await app.app.service('auth').keys.create('test', ['*'])
      texts.onText = async ({ callback, sid }) => {
        assert.match(callback!, /^http:\/\/localhost:3000\/api\/messaging\/twilio\/status\?id=\w{26}$/)
        const fields = { MessageSid: sid, MessageStatus: 'delivered' }
        const { status } = await app.request('POST', callback!.replace('http://localhost:3000/api', ''), {
          raw: new URLSearchParams(fields).toString(),
          headers: { 'content-type': FORM, 'x-twilio-signature': sign(callback!, fields) },
        })
        assert.equal(status, 200)
      }
      const body = { to: '+4915112345678', body: 'Hello' }
      const sent = await app.request('POST', '/messaging/sms', { token: key, body })
      assert.deepEqual([sent.status, sent.body.messageId], [200, texts.received[0]!.sid])
      const [row] = await app.app.db.all<{ status: string; payload: string | null }>(
        sql`select status, payload from messaging_messages`,
      )
      assert.deepEqual(row, { status: 'delivered', payload: null })
    })
  })

  someEngine((engine) => {
    test('without what would prove them reports are refused', async (t) => {
      const app = await startApp(t, engine)
      for (const [path, options] of [
        ['email/bounce', { body: { messageId: 'x' }, headers: { authorization: 'Bearer ' } }],
        ['twilio/status', { raw: 'a=b', headers: { 'content-type': FORM, 'x-twilio-signature': '' } }],
      ] as const) {
        const refused = await app.request('POST', `/messaging/${path}`, options)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      }
    })
  })
})
