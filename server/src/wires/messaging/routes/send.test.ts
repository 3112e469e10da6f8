// Sending while the caller waits, over the real adapters to counterparts that speak the real protocols.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../../testing/mail-server.ts'
import { environmentOf, startTextServer, type TextServer } from '../providers.fixture.ts'

const PHONE = '+4915112345678'
const MAIL = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
const FILE_ID = '01arz3ndektsv4rrffq69g5fav'

eachEngine((engine) => {
  const testOnce = testOnOne(engine)
  describe('one server', () => {
    let app: TestApp
    let mail: MailServer
    let texts: TextServer
    let token: string
    const ending = endOfSuite()
    before(async () => {
      mail = await startMailServer(ending)
      texts = await startTextServer(ending)
      app = await startApp(ending, engine, {
        environment: environmentOf(mail, texts),
        config: { messaging: { limit: '1000/min' } },
      })
      // A key, and no account: nobody is sent a mail to verify an address.
      token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
    })

    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      app.clock.through(app.request('POST', `/messaging/${path}`, { body, token, headers }))
    const entry = async (to: string) => {
      const { status, text, body } = await app.request(
        'GET',
        `/messaging/logs?to=${encodeURIComponent(to)}`,
        {
          token,
        },
      )
      assert.equal(status, 200, text)
      return body.logs[0]
    }
    const payloads = () =>
      app.app.db.all(sql`select id from messaging_messages
        where claim is not null or (payload is not null and status <> 'failed')`)

    let people = 0
    const newAddress = (): string => `receiver${people++}@example.com`
    const newPhone = (): string => `+49151${String(10_000_000 + people++)}`

    testOnce('a mail is sent as it was given, and answered once the provider has it', async () => {
      const to = [newAddress(), newAddress()]
      const cc = newAddress()
      const bcc = newAddress()
      const answered = await post('email', {
        to,
        cc,
        bcc: [bcc],
        replyTo: 'reply@example.com',
        subject: 'Grüße',
        body: '<p>Hello</p>',
        text: 'Hello in text',
        attachments: [
          {
            filename: 'a.txt',
            contentType: 'text/plain',
            content: Buffer.from('attached').toString('base64'),
          },
        ],
      })
      assert.equal(answered.status, 200, answered.text)
      const { messageId, ...rest } = answered.body
      assert.deepEqual(rest, { status: 'sent', channel: 'email', to: to.join(', ') })
      const received = mail.received.at(-1)!
      assert.equal(received.messageId, messageId)
      assert.deepEqual(received.to, [...to, cc, bcc])
      assert.match(received.raw, /^From: Shop <shop@example\.com>$/m)
      assert.match(received.raw, /^Reply-To: reply@example\.com$/m)
      assert.match(received.raw, /Hello in text/)
      assert.match(received.raw, new RegExp(Buffer.from('attached').toString('base64')))
      assert.doesNotMatch(received.raw, new RegExp(bcc), 'nobody reads who is in bcc')

      const { createdAt, _id, ...logged } = await entry(cc)
      assert.deepEqual(logged, {
        channel: 'email',
        to: to.join(', '),
        subject: 'Grüße',
        status: 'sent',
        messageId,
        provider: 'smtp',
      })
      assert.ok(typeof _id === 'string' && Date.parse(createdAt) > 0)
      assert.deepEqual(await payloads(), [], 'what was sent is not kept')
    })

    testOnce('a mail from a template', async () => {
      const to = newAddress()
      const link = 'https://app.example/verify#token=abc'
      const answered = await post('email/template', { to, template: 'verify-email', data: { link } })
      assert.equal(answered.status, 200, answered.text)
      const { messageId, ...rest } = answered.body
      assert.deepEqual(rest, { status: 'sent', channel: 'email', to, template: 'verify-email' })
      assert.equal(mail.received.at(-1)!.messageId, messageId)
      assert.equal((await entry(to)).template, 'verify-email')

      for (const body of [
        { to, template: 'verify-email', data: {} },
        { to, template: 'verify-email' },
        { to, template: 'no-such-template', data: {} },
        { to, template: '../../etc/passwd', data: {} },
        { template: 'verify-email', data: { link } },
        { to: [to], template: 'verify-email', data: { link } },
      ]) {
        const refused = await post('email/template', body)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'VALIDATION_ERROR'], refused.text)
      }
    })

    for (const [channel, prefix] of [
      ['sms', ''],
      ['whatsapp', 'whatsapp:'],
    ] as const)
      testOnce(`a message by ${channel}`, async () => {
        const to = newPhone()
        const media = channel === 'whatsapp' ? { media: { url: 'https://example.com/a.png' } } : {}
        const answered = await post(channel, { to, body: 'Hello', ...media })
        assert.equal(answered.status, 200, answered.text)
        const received = texts.received.at(-1)!
        assert.deepEqual(answered.body, { messageId: received.sid, status: 'sent', channel, to })
        assert.deepEqual(
          [received.to, received.body, received.media],
          [prefix + to, 'Hello', media.media?.url],
        )
        const logged = await entry(to)
        assert.deepEqual(
          [logged.channel, logged.status, logged.provider, logged.messageId],
          [channel, 'sent', 'twilio', received.sid],
        )
      })

    testOnce('invalid messages are refused before anything is sent, and name the fault', async () => {
      const begun = [mail.begun(), texts.begun()]
      const many = Array.from({ length: 25 }, (_, i) => `p${i}@example.com`)
      const file = { filename: 'a', contentType: 'text/plain', content: 'YQ==' }
      for (const [path, body, at] of [
        ['email', { ...MAIL, to: [] }, '/body/to'],
        ['email', { ...MAIL, to: 'a@example.com, b@example.com' }, '/body/to'],
        ['email', { ...MAIL, to: 'a@example.com\r\nBcc: b@example.com' }, '/body/to'],
        ['email', { ...MAIL, to: ['a@example.com', 'Name <b@example.com>'] }, '/body/to/1'],
        ['email', { ...MAIL, to: many, cc: many, bcc: 'c@example.com' }, '/body/to'],
        ['email', { ...MAIL, cc: 'nobody' }, '/body/cc'],
        ['email', { ...MAIL, bcc: ['b@localhost'] }, '/body/bcc/0'],
        ['email', { ...MAIL, replyTo: 'a@example.com\nX: y' }, '/body/replyTo'],
        ['email', { ...MAIL, subject: 'a\r\nBcc: b@example.com' }, '/body/subject'],
        ['email', { ...MAIL, subject: '' }, '/body/subject'],
        ['email', { ...MAIL, body: { path: '/etc/passwd' } }, '/body/body'],
        ['email', { to: 'a@example.com', subject: 'x' }, '/body/body'],
        [
          'email',
          { ...MAIL, attachments: [{ ...file, filename: 'a\r\nb' }] },
          '/body/attachments/0/filename',
        ],
        ['email', { ...MAIL, attachments: [{ ...file, filename: '../a' }] }, '/body/attachments/0/filename'],
        ['email', { ...MAIL, attachments: [{ ...file, content: 'ä' }] }, '/body/attachments/0/content'],
        [
          'email',
          { ...MAIL, attachments: [{ ...file, contentType: 'a\nb' }] },
          '/body/attachments/0/contentType',
        ],
        ['email', { ...MAIL, attachments: [{ ...file, fileId: 'x' }] }, '/body/attachments/0/fileId'],
        ['sms', { to: '01511234567', body: 'x' }, '/body/to'],
        ['sms', { to: '+49', body: 'x' }, '/body/to'],
        ['sms', { to: '+49 151 12345678', body: 'x' }, '/body/to'],
        ['sms', { to: PHONE, body: '' }, '/body/body'],
        ['sms', { to: PHONE, body: 'x'.repeat(1601) }, '/body/body'],
        ['sms', { to: PHONE, body: '😀'.repeat(801) }, '/body/body'],
        ['sms', { to: '+5215512345678', body: 'x' }, '/body/to'],
        ['sms', { to: [PHONE], body: 'x' }, '/body/to'],
        ['whatsapp', { to: PHONE, body: 'x', media: { url: 'http://example.com' } }, '/body/media/url'],
        ['whatsapp', { to: PHONE, body: 'x', media: { url: 'file:///etc/passwd' } }, '/body/media/url'],
      ] as const) {
        const refused = await post(path, body)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'VALIDATION_ERROR'], refused.text)
        assert.equal(refused.body.error.details.issues[0].path, at, refused.text)
      }
      assert.deepEqual([mail.begun(), texts.begun()], begun)
    })

    testOnce('a Mexican number is taken as WhatsApp itself writes it', async () => {
      for (const to of ['+5215512345678', '+525512345678'])
        assert.equal((await post('whatsapp', { to, body: 'hi' })).status, 200)
    })

    testOnce('all that is not right is named at once', async () => {
      for (const [path, body, places] of [
        [
          'email',
          {
            ...MAIL,
            subject: 5,
            to: ['a@example.com', 'nobody'],
            cc: 'nobody',
            replyTo: 'nobody',
            attachments: [{ filename: 'a', contentType: 'text/plain', content: 'ä', fileId: FILE_ID }],
          },
          ['subject', 'to/1', 'cc', 'replyTo', 'attachments/0/content', 'attachments/0/fileId'],
        ],
        ['email/template', { to: 'nobody', template: 5 }, ['template', 'to']],
        ['sms', { to: '+49', body: '' }, ['body', 'to']],
        ['whatsapp', { to: '+49', body: 'x', media: { url: 'http://a.example' } }, ['to', 'media/url']],
      ] as const) {
        const { status, body: answered, text } = await post(path, body)
        assert.equal(status, 400, text)
        const named = answered.error.details.issues.map((one: { path: string }) => one.path)
        assert.deepEqual(named.toSorted(), places.map((place) => `/body/${place}`).toSorted(), text)
      }
    })

    testOnce('a refusal for good ends at once', async () => {
      const to = newAddress()
      const begun = mail.begun()
      mail.next({ recipient: 550 })
      const failed = await post('email', { ...MAIL, to })
      assert.equal(failed.status, 500)
      const { code, message, details } = failed.body.error
      const logged = await entry(to)
      assert.deepEqual(
        [code, details],
        ['SEND_FAILED', { channel: 'email', provider: 'smtp', logId: logged._id }],
      )
      assert.match(message, /550/)
      assert.equal(mail.begun(), begun + 1)
      assert.equal(logged.status, 'failed')
      assert.match(logged.error, /550/)
      assert.equal(logged.messageId, undefined)

      const phone = newPhone()
      texts.next({ status: 400, code: 21211 })
      const refused = await post('sms', { to: phone, body: 'x' })
      const refusedEntry = await entry(phone)
      assert.deepEqual(
        [refused.status, refused.body.error.code, refused.body.error.details],
        [500, 'SEND_FAILED', { channel: 'sms', provider: 'twilio', logId: refusedEntry._id }],
      )
      assert.equal(refusedEntry.status, 'failed')
      assert.deepEqual(await payloads(), [])
    })

    testOnce('a transient failure is tried again, three times at most', async () => {
      const to = newAddress()
      mail.next({ recipient: 451 }, { data: 452 })
      assert.equal((await post('email', { ...MAIL, to })).status, 200)
      assert.equal((await entry(to)).status, 'sent')

      const begun = mail.begun()
      const never = newAddress()
      mail.next({ recipient: 451 }, { recipient: 451 }, { recipient: 451 })
      const failed = await post('email', { ...MAIL, to: never })
      assert.deepEqual([failed.status, failed.body.error.code], [500, 'SEND_FAILED'])
      assert.equal(mail.begun(), begun + 3)
      assert.equal((await entry(never)).status, 'failed')

      const phone = newPhone()
      texts.next({ status: 429, code: 20429 }, { status: 429, code: 20429 })
      assert.equal((await post('sms', { to: phone, body: 'x' })).status, 200)
      assert.equal(texts.received.filter((one) => one.to === phone).length, 1)
    })

    testOnce('a mail whose acknowledgement was cut is sent again under the same Message-ID', async () => {
      const to = newAddress()
      mail.next('take and drop')
      const { status, body } = await post('email', { ...MAIL, to })
      assert.equal(status, 200)
      const mails = mail.received.filter((one) => one.to[0] === to)
      assert.deepEqual(
        mails.map(({ messageId }) => messageId),
        [body.messageId, body.messageId],
      )
    })

    testOnce('a text whose answer was lost is found at its provider, and not sent again', async () => {
      const to = newPhone()
      texts.next('take and drop')
      const { status, body, text } = await post('sms', { to, body: 'x' })
      assert.equal(status, 200, text)
      const arrivals = texts.received.filter((one) => one.to === to)
      assert.deepEqual(
        arrivals.map(({ sid }) => sid),
        [body.messageId],
      )
    })

    testOnce('a text that its provider does not have is failed, and not sent again', async () => {
      const to = newPhone()
      const begun = texts.begun()
      texts.next('lose and drop')
      const failed = await post('sms', { to, body: 'x' }, { 'idempotency-key': to })
      assert.deepEqual([failed.status, failed.body.error.code], [500, 'SEND_FAILED'], failed.text)
      assert.match(failed.body.error.message, /not sent again/)
      const again = await post('sms', { to, body: 'x' }, { 'idempotency-key': to })
      assert.equal(again.status, 500)
      assert.equal(texts.begun(), begun + 1)
      assert.equal((await entry(to)).status, 'failed')
    })

    testOnce('the text of an earlier message is not taken for a lost one', async () => {
      const to = newPhone()
      assert.equal((await post('sms', { to, body: 'the same' })).status, 200)
      texts.next('lose and drop')
      assert.equal((await post('sms', { to, body: 'the same' })).status, 500)
    })

    test('the same Idempotency-Key sends once, also at the same moment', async () => {
      const to = newAddress()
      const key = { 'idempotency-key': to }
      const answers = await Promise.all([1, 2, 3].map(() => post('email', { ...MAIL, to }, key)))
      const sent = answers.filter(({ status }) => status === 200)
      assert.ok(sent.length > 0 && answers.every(({ status }) => status === 200 || status === 409))
      const again = await post('email', { ...MAIL, to }, key)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      assert.deepEqual(again.body, sent[0]!.body)
      assert.equal(mail.received.filter((one) => one.to[0] === to).length, 1)
    })

    testOnce('after a failure the same Idempotency-Key tries again', async () => {
      const to = newAddress()
      const key = { 'idempotency-key': to }
      mail.next({ recipient: 550 })
      assert.equal((await post('email', { ...MAIL, to }, key)).status, 500)
      const again = await post('email', { ...MAIL, to }, key)
      assert.equal(again.status, 200, again.text)
      const { body } = await app.request('GET', `/messaging/logs?to=${to}`, { token })
      assert.deepEqual([body.total, body.logs[0].status], [1, 'sent'])
    })

    test('the log is read by channel, status and everybody whom a message went to, page by page', async () => {
      const [a, b] = [newAddress(), newAddress()]
      const phone = newPhone()
      await post('email', { ...MAIL, to: a, bcc: b, subject: 'one' })
      mail.next({ recipient: 550 })
      await post('email', { ...MAIL, to: b, subject: 'two' })
      await post('sms', { to: phone, body: 'x' })
      const logs = async (query: string) => {
        const { status, body, text } = await app.request('GET', `/messaging/logs?${query}`, { token })
        assert.equal(status, 200, text)
        return body
      }
      const subjects = async (query: string) =>
        (await logs(query)).logs.map(({ subject }: { subject: string }) => subject)
      assert.deepEqual(await subjects(`to=${b}`), ['two', 'one'])
      assert.deepEqual(await subjects(`to=${b.toUpperCase()}`), ['two', 'one'])
      assert.deepEqual(await subjects(`to=${b}&status=sent`), ['one'])
      assert.deepEqual(await subjects(`to=${b}&channel=sms`), [])
      assert.deepEqual(await subjects(`to=${b}&limit=1&offset=1`), ['one'])
      const at = new Date(app.clock.now() - 60_000).toISOString()
      assert.deepEqual(await subjects(`to=${b}&since=${at}`), ['two', 'one'])
      assert.deepEqual(await subjects(`to=${b}&status=sent&until=${at}`), [])
      assert.equal((await logs(`to=${phone}`)).total, 1, 'a plus that was not percent-encoded')
      const all = await logs('limit=5000')
      assert.deepEqual([all.limit, all.offset, all.total], [1000, 0, all.logs.length])
      const usual = await logs('')
      assert.deepEqual([usual.limit, usual.offset], [20, 0])
      for (const query of ['channel=fax', 'status=lost', 'limit=0', 'limit=x', 'offset=-1'])
        assert.equal((await app.request('GET', `/messaging/logs?${query}`, { token })).status, 400, query)
    })

    testOnce('who is not signed in is refused everywhere but at health', async () => {
      for (const path of ['email', 'email/template', 'sms', 'whatsapp'])
        assert.equal((await app.request('POST', `/messaging/${path}`, { body: {} })).status, 401)
      assert.equal((await app.request('GET', '/messaging/logs')).status, 401)
      const { status, body } = await app.request('GET', '/messaging/health')
      assert.equal(status, 200)
      assert.deepEqual(body, {
        status: 'healthy',
        providers: {
          email: { provider: 'smtp', status: 'connected' },
          sms: { provider: 'twilio', status: 'connected' },
          whatsapp: { provider: 'twilio', status: 'connected' },
        },
      })
    })
  })
})
