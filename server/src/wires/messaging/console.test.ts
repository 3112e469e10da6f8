// What an operator sees of messages: what happened to one, its content, templates and their previews; and sends again.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp, type TestApp } from '../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder, testOnOne } from '../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../testing/mail-server.ts'
import { environmentOf, settled, startTextServer, type TextServer } from './providers.fixture.ts'

const DAY = 86_400_000
const PHONE = '+4915112345678'

eachEngine((engine) => {
  const testOnce = testOnOne(engine)
  let app: TestApp
  let mail: MailServer
  let texts: TextServer
  let admin: string
  let viewer: string
  let user: { _id: string; token: string }
  const ending = endOfSuite()
  before(async () => {
    mail = await startMailServer(ending)
    texts = await startTextServer(ending)
    const templates = await temporaryFolder(ending)
    await mkdir(join(templates, 'mails'))
    const write = (file: string, text: string) => writeFile(join(templates, 'mails', file), text)
    await write(
      'order.html',
      '---\nsubject: Order {{number}}\n---\n<p>{{#lines}}{{what}} {{/lines}}{{{note}}}</p>',
    )
    await write('bad.html', '<p>no subject</p>')
    app = await startApp(ending, engine, {
      environment: environmentOf(mail, texts),
      config: {
        messaging: { limit: '1000/min', templates: join(templates, 'mails') },
      },
    })
    admin = (await app.register()).token
    user = await app.register()
    const other = await app.register()
    await app.app.db.write(sql`update auth_users set is_viewer = 1 where id = ${other._id}`)
    viewer = (
      await app.request('POST', '/auth/login', { body: { email: other.email, password: other.password } })
    ).body.token
    await settled(app)
  })
  const call = (method: string, path: string, body?: unknown, token = admin) =>
    app.clock.through(
      app.request(method, `/messaging/${path}`, { token, ...(body !== undefined && { body }) }),
    )
  const newest = async (query = '') => (await call('GET', `logs?limit=1${query}`)).body.logs[0]
  const failMail = async (html = '<p>Hello</p>', by = user.token) => {
    mail.next({ recipient: 550 })
    const to = `a${Math.random()}@example.com`
    assert.equal((await call('POST', 'email', { to, subject: 'Hello', body: html }, by)).status, 500)
    return (await newest())._id as string
  }
  const detail = async (id: string) => (await call('GET', `logs/${id}`)).body
  const audited = () =>
    app.app.db.all(sql`select action, target, actor_role from sixwire_audit where action = 'message.resent'`)

  describe('a message', () => {
    testOnce('shows what its provider was asked and answered', async () => {
      mail.next({ recipient: 451 })
      const sent = await call('POST', 'email', { to: 'b@example.com', subject: 'Hi', body: 'x' }, user.token)
      assert.equal(sent.status, 200, sent.text)
      const { _id } = await newest()
      const message = await detail(_id)
      assert.deepEqual(
        message.history.map(({ event, provider }: Record<string, unknown>) => [event, provider]),
        [
          ['called', 'smtp'],
          ['retry', undefined],
          ['called', 'smtp'],
          ['sent', 'smtp'],
        ],
      )
      assert.match(message.history[1].text, /451/)
      assert.deepEqual(
        [message.status, message.attempts, message.owner, message.hasContent, message.canResend],
        ['sent', 2, user._id, false, false],
      )
      assert.equal((await call('GET', 'logs/nothing')).status, 404)
      assert.equal((await call('GET', `logs/${_id}`, undefined, user.token)).status, 403)
    })

    test('is found by its owner and by text', async () => {
      await call(
        'POST',
        'email',
        { to: 'zoe_1@example.com', subject: 'Your 100% invoice', body: 'x' },
        user.token,
      )
      const ids = async (query: string) =>
        (await call('GET', `logs?${query}`)).body.logs.map(({ to }: { to: string }) => to)
      assert.deepEqual(await ids('q=ZOE_1'), ['zoe_1@example.com'])
      assert.deepEqual(await ids(`q=${encodeURIComponent('100% inv')}`), ['zoe_1@example.com'])
      assert.deepEqual(await ids('q=zoe%251'), [])
      assert.deepEqual(await ids(`owner=${user._id}&limit=1`), ['zoe_1@example.com'])
      const uncounted = (await call('GET', 'logs?total=none&limit=1')).body
      assert.deepEqual(Object.keys(uncounted).toSorted(), ['limit', 'logs', 'nextCursor', 'offset'])
      assert.equal((await call('GET', `logs?owner=${user._id}`, undefined, user.token)).status, 403)
    })
  })

  describe('a failed message', () => {
    test('is sent again with its content, once, and the audit log has it', async () => {
      const id = await failMail('<p>the content</p>')
      const failed = await detail(id)
      assert.deepEqual([failed.status, failed.canResend, failed.hasContent], ['failed', true, true])
      const count = mail.received.length
      const queued = await call('POST', `logs/${id}/resend`)
      assert.equal(queued.status, 200, queued.text)
      await settled(app)
      const after = await detail(id)
      assert.equal(after.status, 'sent')
      assert.deepEqual(
        after.history.map(({ event }: { event: string }) => event),
        ['called', 'failed', 'resent', 'called', 'sent'],
      )
      assert.equal(mail.received.length, count + 1)
      assert.match(mail.received.at(-1)!.raw, /the content/)
      const again = await call('POST', `logs/${id}/resend`)
      assert.deepEqual(
        [again.status, again.body.error.message],
        [409, 'The message was sent: only one that failed can be sent again.'],
      )
      assert.deepEqual(await audited(), [
        { action: 'message.resent', target: `message:${id}`, actor_role: 'admin' },
      ])
    })

    testOnce('is not sent again by a viewer or a user', async () => {
      const id = await failMail()
      for (const token of [viewer, user.token])
        assert.equal((await call('POST', `logs/${id}/resend`, undefined, token)).status, 403)
      assert.equal((await call('GET', `logs/${id}`, undefined, viewer)).status, 200)
      assert.equal((await call('GET', `logs/${id}/content`, undefined, viewer)).status, 403)
      assert.equal((await detail(id)).status, 'failed')
    })

    testOnce('by SMS is not sent again where it may have arrived', async () => {
      texts.next({ status: 400, code: 21211 })
      assert.equal((await call('POST', 'sms', { to: PHONE, body: 'Hello' })).status, 500)
      const { _id } = await newest('&channel=sms')
      assert.equal((await detail(_id)).canResend, true)
      // As a provider leaves it that does not say whether it took the message.
      await app.app.db.write(sql`update messaging_messages set attempted_at = 1 where id = ${_id}`)
      assert.equal((await detail(_id)).canResend, false)
      const refused = await call('POST', `logs/${_id}/resend`)
      assert.equal(refused.status, 409)
      assert.match(refused.body.error.message, /^The message may have arrived/)
    })
  })

  describe('the content of a message', () => {
    testOnce('is answered while it is stored, with a page that runs nothing', async () => {
      const id = await failMail(
        '<link rel="preconnect" href="https://evil.example"><p onclick="x()">Hello</p>',
      )
      const { status, body } = await call('GET', `logs/${id}/content`)
      assert.equal(status, 200)
      assert.deepEqual([body.subject, body.attachments], ['Hello', []])
      assert.match(body.html, /<p onclick/)
      const page = await app.request('GET', body.page)
      assert.equal(page.status, 200)
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.match(page.headers.get('content-security-policy')!, /^sandbox; default-src 'none'; /)
      assert.equal(page.headers.get('cache-control'), 'no-store')
      assert.doesNotMatch(page.text, /<link/)
      const forged = body.page.replace(/.{8}$/, 'AAAAAAAA')
      assert.equal((await app.request('GET', forged)).status, 404)
      app.clock.advance(900_001)
      assert.equal((await app.request('GET', body.page)).status, 404)
    })

    testOnce('of the server’s own messages is not', async () => {
      mail.next({ recipient: 550 })
      const steps = await app.app.service('messaging').mail({
        to: 'c@example.com',
        template: 'reset-password',
        data: { link: 'https://app.example/#token=secret' },
      })
      await app.app.db.batch(steps)
      await settled(app)
      const { _id } = await newest()
      const refused = await call('GET', `logs/${_id}/content`)
      assert.equal(refused.status, 403)
      assert.equal((await call('POST', `logs/${_id}/resend`)).status, 200)
      await settled(app)
    })
  })

  describe('templates', () => {
    testOnce('are listed with what they need, those of the application too', async () => {
      const { templates } = (await call('GET', 'templates')).body
      const named = (name: string) => templates.find((one: { name: string }) => one.name === name)
      assert.deepEqual(named('order'), {
        name: 'order',
        channel: 'email',
        source: 'application',
        isBuiltIn: false,
        languages: ['en'],
        subject: 'Order {{number}}',
        values: [
          { name: 'number', isRequired: true },
          { name: 'lines.what', isRequired: false },
          { name: 'note', isRequired: true },
        ],
        sample: { number: '1007', lines: { what: 'what' }, note: 'note' },
      })
      assert.equal(named('sign-in-code').channel, 'sms')
      assert.deepEqual(named('reset-password').values, [
        { name: 'name', isRequired: false },
        { name: 'link', isRequired: true },
      ])
      assert.match(named('bad').error, /the subject is missing/)
      assert.doesNotMatch(named('bad').error, /sixwire-test/)
      const { texts, ...order } = (await call('GET', 'templates/order')).body
      assert.deepEqual(order, named('order'))
      assert.deepEqual(
        texts.map(({ file, subject }: { file: string; subject: string }) => [file, subject]),
        [['order.html', 'Order {{number}}']],
      )
      assert.equal((await call('GET', 'templates/..%2Forder')).status, 404)
      assert.equal((await call('GET', 'templates', undefined, user.token)).status, 403)
    })

    testOnce('are shown with a sample, and with values', async () => {
      const sample = (await call('POST', 'templates/order/preview', {})).body
      assert.equal(sample.subject, 'Order 1007')
      const dark = await app.request('GET', `${sample.page}&scheme=dark`)
      assert.match(dark.text, /color-scheme: dark !important/)
      assert.match((await app.request('GET', sample.page)).text, /<p>what note<\/p>/)
      const data = { number: 7, lines: [{ what: '<b>' }], note: '<script>alert(1)</script>' }
      const preview = (await call('POST', 'templates/order/preview', { data }, viewer)).body
      assert.equal(preview.subject, 'Order 7')
      assert.match(preview.html, /<p>&lt;b&gt; <script>/)
      assert.match(
        (await call('POST', 'templates/sign-in-code/preview', {})).body.text,
        /^123456 is your code/,
      )
      const missing = await call('POST', 'templates/order/preview', { data: {} })
      assert.deepEqual(missing.body.error.details.issues[0], {
        path: '/body/data/number',
        message: 'The template needs this value.',
      })
      const bad = await call('POST', 'templates/bad/preview', {})
      assert.deepEqual([bad.status, bad.body.error.details.issues[0].path], [400, '/params/name'])
      const long = await call('POST', 'templates/order/preview', {
        data: { number: 1, note: Array.from({ length: 3_000 }, () => Math.random()).join() },
      })
      assert.deepEqual([long.status, long.body.page], [200, undefined])
    })
  })
  // It ends the sessions of the others.
  describe('after three days', () => {
    testOnce('a failed message has no content any more', async () => {
      const id = await failMail()
      app.clock.advance(4 * DAY)
      while (
        (await app.app.db.get<{ payload: string | null }>(
          sql`select payload from messaging_messages where id = ${id}`,
        ))!.payload !== null
      )
        await new Promise((resolve) => setTimeout(resolve, 10))
      admin = (await app.app.service('auth').keys.create('test', ['*'])).key
      const refused = await call('POST', `logs/${id}/resend`)
      assert.deepEqual(
        [refused.status, refused.body.error.message],
        [409, 'The content of the message is deleted already: send a new one.'],
      )
      assert.equal((await call('GET', `logs/${id}/content`)).status, 404)
    })
  })
})
