import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'

import { createTransport, type SentMessageInfo, type Transporter } from 'nodemailer'

import { createApp } from '../../../server/src/app.ts'
import { systemClock } from '../../../server/src/base/clock.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { createJobs } from '../../../server/src/kernel/jobs/jobs.ts'
import {
  startApp,
  type StartOptions,
  type TestApp,
  type TestAnswer,
} from '../../../server/src/testing/app.ts'
import { someEngine, temporaryFolder, type Engine } from '../../../server/src/testing/engines.ts'
import { createSandbox } from '../index.ts'
import { sandboxForAll } from '../sandbox.fixture.ts'
import { MAILS_KEPT } from './inbox.ts'
import { linksOf, textOf } from './links.ts'

type Json = TestAnswer['body']

const begin = async (t: TestContext, engine: Engine, options: StartOptions = {}) =>
  mailOf(t, await startApp(t, engine, { ...options, sandbox: true }))

/** The mail server of a sandbox, and a client that sends there. */
async function mailOf(t: TestContext, app: TestApp) {
  const { mail } = (await app.request('GET', '/sandbox/api')).body
  const mailer: Transporter = createTransport(mail.variables.SMTP_URL)
  t.after(async () => mailer.close())
  const send = (to: string, more: Record<string, unknown> = {}): Promise<SentMessageInfo> =>
    mailer.sendMail({ from: mail.from, to, subject: 'Hello', text: 'Hi', ...more })
  return { app, mail, send }
}

const inbox = async (app: TestApp, to?: string): Promise<Json[]> => {
  const query = to === undefined ? '' : `?to=${encodeURIComponent(to)}`
  return (await app.request('GET', `/sandbox/api/mail${query}`)).body.messages
}

const subjects = async (app: TestApp, to?: string): Promise<string[]> =>
  (await inbox(app, to)).map(({ subject }) => subject)

const setFault = (app: TestApp, fault: unknown) =>
  app.request('PUT', '/sandbox/api/faults/mail', { body: fault })

/** Says these lines to the server, one after the other's answer. */
async function talk(address: string, lines: readonly string[]): Promise<{ codes: string[]; socket: Socket }> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  const codes: string[] = []
  let text = ''
  const hear = async (): Promise<void> => {
    while (!/^\d{3} .*\r\n$/m.test(text)) text += String((await once(socket, 'data'))[0])
    codes.push(/^(\d{3}) .*\r\n$/m.exec(text)![1]!)
    text = ''
  }
  await hear()
  for (const line of lines) {
    socket.write(`${line}\r\n`)
    await hear()
  }
  socket.on('error', () => undefined)
  return { codes, socket }
}

/** Says these lines, leaves, and answers the codes. */
async function speak(address: string, lines: readonly string[]): Promise<string[]> {
  const { codes, socket } = await talk(address, lines)
  socket.destroy()
  return codes
}

someEngine((engine) => {
  const empty = sandboxForAll(engine)

  test('a mail is in the inbox when its client is answered', async (t) => {
    const { app, mail, send } = await mailOf(t, await empty())
    const info = await send('Ada <ada@example.com>', {
      subject: 'Grüße',
      html: '<p>Hello <a href="http://localhost:3000/verify?a=1&amp;b=2">here</a></p>',
      text: 'Open http://localhost:3000/verify?a=1&b=2 or https://example.com/help.',
    })
    assert.match(String(info.response), /^250 /)
    const [received, ...more] = await inbox(app)
    assert.equal(more.length, 0)
    const { id, receivedAt, html, text, ...rest } = received
    assert.match(id, /^[0-9a-z]{26}$/)
    assert.match(receivedAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.match(html, /<a href=/)
    assert.match(text, /^Open http/)
    assert.deepEqual(rest, {
      from: mail.from,
      to: 'ada@example.com',
      subject: 'Grüße',
      links: ['http://localhost:3000/verify?a=1&b=2', 'https://example.com/help'],
    })
  })

  test('the inbox lists the newest mail first, and finds it by each receiver of the envelope in any case', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    await send('ada@example.com', { subject: 'one' })
    await send('bob@example.com', {
      subject: 'two',
      cc: 'Carol@Example.com',
      bcc: 'dan@example.com, eve@example.com',
    })
    await send('ada@example.com, bob@example.com', { subject: 'three' })
    assert.deepEqual(await subjects(app), ['three', 'two', 'one'])
    assert.deepEqual(await subjects(app, 'ADA@example.com'), ['three', 'one'])
    assert.deepEqual(await subjects(app, 'carol@example.com'), ['two'])
    assert.deepEqual(await subjects(app, 'eve@example.com'), ['two'])
    assert.deepEqual(await subjects(app, 'ad_@example.com'), [])
    assert.equal((await inbox(app))[0].to, 'ada@example.com, bob@example.com')
    assert.equal((await app.request('GET', '/sandbox/api/mail?limit=2')).body.messages.length, 2)
  })

  test('one mail shows its headers, its receivers and what is attached', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    const bytes = Buffer.from([0, 1, 2, 250, 251, 252])
    await send('ada@example.com', {
      bcc: 'bob@example.com',
      replyTo: 'help@example.com',
      headers: { 'X-Order': '17' },
      attachments: [{ filename: 'räty.bin', content: bytes, contentType: 'application/x-thing' }],
    })
    const [{ id, ...shown }] = (await inbox(app)) as [Json]
    const { body } = await app.request('GET', `/sandbox/api/mail/${id}`)
    for (const [name, value] of Object.entries(shown)) assert.deepEqual(body[name], value, name)
    assert.deepEqual(body.receivers, ['ada@example.com', 'bob@example.com'])
    assert.equal(body.replyTo, 'help@example.com')
    assert.deepEqual(
      body.headers.find(({ name }: Json) => name === 'X-Order'),
      { name: 'X-Order', value: '17' },
    )
    assert.deepEqual(body.attachments, [
      {
        filename: 'räty.bin',
        contentId: null,
        contentType: 'application/x-thing',
        size: bytes.length,
        content: bytes.toString('base64'),
      },
    ])
    const unknown = await app.request('GET', '/sandbox/api/mail/nothing')
    assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'NOT_FOUND'])
  })

  test('a mail is found by its text, read as it was sent, and deleted alone', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    await send('ada@example.com', { subject: 'One', text: 'Your code is\n4711.' })
    await send('bob@example.com', {
      subject: 'Two',
      text: undefined,
      html: '<p>Caf&eacute; &amp; <b>T</b>ea</p>',
    })
    const found = async (search: string): Promise<string[]> =>
      (await app.request('GET', `/sandbox/api/mail?search=${encodeURIComponent(search)}`)).body.messages.map(
        ({ subject }: Json) => subject,
      )
    assert.deepEqual(await found('CODE is 4711'), ['One'])
    assert.deepEqual(await found('bob@'), ['Two'])
    assert.deepEqual(await found('& T ea'), ['Two'])
    assert.deepEqual(await found('<p>'), [])
    assert.deepEqual(await found(''), ['Two', 'One'])

    const [, { id }] = (await inbox(app)) as [Json, Json]
    const source = await fetch(`${app.url}/sandbox/api/mail/${id}/source`)
    assert.deepEqual(
      ['content-type', 'content-disposition'].map((name) => source.headers.get(name)),
      ['message/rfc822', `attachment; filename="${id}.eml"`],
    )
    assert.match(await source.text(), /^From: .*\r\n(?:.+\r\n)+\r\nYour code is\r\n4711\.\r\n$/)

    const version = async () => (await app.request('GET', '/sandbox/api')).body.mail.messages
    assert.equal((await app.request('DELETE', `/sandbox/api/mail/${id}`)).status, 200)
    assert.deepEqual([await subjects(app), await version()], [['Two'], 1])
    assert.deepEqual(await subjects(app, 'ada@example.com'), [])
    for (const [method, path] of [
      ['DELETE', id],
      ['GET', id],
      ['GET', `${id}/source`],
    ] as const)
      assert.equal((await app.request(method, `/sandbox/api/mail/${path}`)).status, 404, path)
  })

  test('any bytes are kept, also those that are no text', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    const raw = Buffer.concat([
      Buffer.from('Subject: =?utf-8?B?AGE=?=\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nbad '),
      Buffer.from([0xff, 0x00, 0xed, 0xa0, 0x80]),
      Buffer.from(' bytes\r\n'),
    ])
    await send('ada@example.com', { raw, envelope: { from: '', to: ['ada@example.com'] } })
    const [received] = await inbox(app)
    assert.match(received.text, /^bad .* bytes/s)
    assert.equal(received.subject, '\0a')
    assert.equal(received.to, 'ada@example.com')
  })

  test('the inbox can be emptied', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    await send('ada@example.com')
    const { status, body } = await app.request('DELETE', '/sandbox/api/mail')
    assert.equal(status, 200)
    assert.equal(typeof body.message, 'string')
    assert.deepEqual(await inbox(app), [])
    assert.deepEqual(await inbox(app, 'ada@example.com'), [])
  })

  test('the mail server refuses a client that does not sign in, or with wrong credentials', async (t) => {
    const { app, mail } = await mailOf(t, await empty())
    assert.deepEqual(await speak(mail.variables.SMTP_URL, ['EHLO x', 'MAIL FROM:<a@example.com>']), [
      '220',
      '250',
      '530',
    ])
    const wrong = createTransport(mail.variables.SMTP_URL.replace(/:[^:@]+@/, ':wrong@'))
    await assert.rejects(wrong.sendMail({ from: 'a@example.com', to: 'b@example.com' }), {
      responseCode: 535,
    })
    assert.deepEqual(await inbox(app), [])
  })

  test('bounce@ is refused for good, and the other receivers get theirs', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    await assert.rejects(send('bounce@example.com'), { responseCode: 550 })
    const info = await send('Bounce+tag@example.com, ada@example.com')
    assert.deepEqual(info.rejected, ['Bounce+tag@example.com'])
    assert.deepEqual(await subjects(app), ['Hello'])
    assert.deepEqual(await subjects(app, 'bounce+tag@example.com'), [])
  })

  test('later@ takes a message at its second try, also from another server on the same database', async (t) => {
    const one = await mailOf(t, await empty())
    const { databaseUrl } = one.app.app.settings
    const two = await begin(t, engine, { databaseUrl })
    const mail = { messageId: '<1@example.com>' }
    await assert.rejects(one.send('later@example.com', mail), { responseCode: 451 })
    assert.deepEqual(await inbox(one.app), [])
    await two.send('later@example.com', mail)
    await assert.rejects(two.send('later@example.com', { messageId: '<2@example.com>' }), {
      responseCode: 451,
    })
    assert.deepEqual(await subjects(one.app), ['Hello'])
  })

  test('slow@ is in the inbox long before it is answered', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    let isAnswered = false
    const sending = send('slow@example.com').then(() => (isAnswered = true))
    while ((await inbox(app)).length === 0) assert.ok(!isAnswered)
    assert.ok(!isAnswered)
    await app.clock.through(sending)
  })

  test('faults: a code instead of anything, for so many messages', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    assert.equal((await setFault(app, { error: 452, times: 2 })).status, 200)
    await assert.rejects(send('ada@example.com'), { responseCode: 452 })
    await assert.rejects(send('ada@example.com'), { responseCode: 452 })
    assert.deepEqual(await inbox(app), [])
    await send('ada@example.com')
    assert.equal((await inbox(app)).length, 1)
  })

  test('faults: the message is kept, and the connection breaks instead of the answer', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    await setFault(app, { loseAnswer: true, times: 1 })
    await assert.rejects(send('ada@example.com', { subject: 'lost' }), (error: Json) => {
      assert.equal(error.responseCode, undefined)
      return true
    })
    await send('ada@example.com', { subject: 'next' })
    assert.deepEqual(await subjects(app), ['next', 'lost'])
  })

  test('faults: the mail server answers late', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    await setFault(app, { delayMs: 300 })
    const before = performance.now()
    await send('ada@example.com')
    assert.ok(performance.now() - before >= 290)
    await setFault(app, {})
    assert.deepEqual((await app.request('GET', '/sandbox/api')).body.faults, {})
  })

  test('before its tables are there it asks to come again', async (t) => {
    const folder = await temporaryFolder(t)
    const app = await createApp({
      environment: { DATABASE_URL: await engine.migratedUrl(), DATA_DIR: folder, LOG_LEVEL: 'silent' },
      folder,
    })
    t.after(() => app.close())
    const { log } = app.server.engine
    const sandbox = createSandbox({
      db: app.db,
      clock: systemClock,
      jobs: createJobs({ db: app.db, clock: systemClock, log }),
      settings: app.settings,
      log,
    })
    t.after(() => sandbox.close())
    await sandbox.open(new Set(['SMTP_URL']))
    const url = sandbox.variables['SMTP_URL']!
    const { username, password } = new URL(url)
    const credentials = Buffer.from(`\0${username}\0${password}`).toString('base64')
    const said = await speak(url, ['EHLO x', `AUTH PLAIN ${credentials}`, 'MAIL FROM:<a@example.com>'])
    assert.deepEqual(said, ['220', '250', '235', '451'])
  })

  test('the inbox and the password are the same after a restart', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await begin(t, engine, { databaseUrl })
    await first.send('ada@example.com')
    await setFault(first.app, { error: 450 })
    const before = await inbox(first.app)
    await first.app.stop()
    const second = await begin(t, engine, { databaseUrl })
    assert.deepEqual(await inbox(second.app), before)
    assert.equal(second.mail.password, first.mail.password)
    await assert.rejects(second.send('ada@example.com'), { responseCode: 450 })
  })

  test('the port of the mail server is the same after a restart, and another one if it is taken', async (t) => {
    const portOf = ({ mail }: Json): string => new URL(mail.variables.SMTP_URL).port
    const seen: string[][] = []
    // A stranger may hold the port that is drawn for a database: then another database's turn comes.
    while (seen.length < 4 && !seen.some(([before, after]) => before === after)) {
      const databaseUrl = await engine.migratedUrl()
      const first = await begin(t, engine, { databaseUrl })
      const beside = await begin(t, engine, { databaseUrl })
      assert.notEqual(portOf(beside), portOf(first))
      await beside.send('ada@example.com')
      await first.app.stop()
      const second = await begin(t, engine, { databaseUrl })
      seen.push([portOf(first), portOf(second)])
      await second.send('ada@example.com')
    }
    assert.equal(seen.at(-1)![1], seen.at(-1)![0], JSON.stringify(seen))
  })

  test('the newest mails are kept, and the oldest go as others come', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    const { db } = app.app
    // What many mails leave behind, without sending each.
    const past = (at: number) => sql`
      insert into sandbox_mail (id, raw, view, received_at)
      values (${`id-${at}`}, '', ${JSON.stringify({ subject: `mail ${at}` })}, ${at})`
    await db.batch(Array.from({ length: MAILS_KEPT }, (_, at) => past(at)))
    await db.write(
      sql`insert into sandbox_mail_receivers (mail_id, address) values ('id-0', 'old@example.com')`,
    )
    await send('ada@example.com')
    await send('ada@example.com')
    const [newest, ...older] = await subjects(app)
    assert.equal(newest, 'Hello')
    assert.equal(older.length, MAILS_KEPT - 1)
    assert.equal(older.at(-1), 'mail 2')
    assert.deepEqual(
      await db.all(sql`select address from sandbox_mail_receivers where address = 'old@example.com'`),
      [],
    )
    await db.batch(
      Array.from(
        { length: MAILS_KEPT },
        (_, at) => sql`insert into sandbox_mail_deferred (message, deferred_at) values (${`m-${at}`}, ${at})`,
      ),
    )
    await assert.rejects(send('later@example.com', { messageId: '<1@example.com>' }), { responseCode: 451 })
    await send('later@example.com', { messageId: '<1@example.com>' })
    const deferred = await db.get<{ count: number }>(sql`select count(*) as count from sandbox_mail_deferred`)
    assert.equal(deferred!.count, MAILS_KEPT)
  })

  test('the newest mail is kept after the clock was set back, too', async (t) => {
    const { app, send } = await mailOf(t, await empty())
    const ahead = Date.now() + 3_600_000
    await app.app.db.batch(
      Array.from({ length: MAILS_KEPT }, (_, at) => [
        sql`insert into sandbox_mail (id, raw, view, received_at)
            values (${`id-${at}`}, '', ${JSON.stringify({ subject: 'ahead' })}, ${ahead})`,
        sql`insert into sandbox_mail_deferred (message, deferred_at) values (${`m-${at}`}, ${ahead})`,
      ]).flat(),
    )
    for (const subject of ['one', 'two']) {
      await send('ada@example.com', { subject })
      assert.deepEqual(await subjects(app, 'ada@example.com'), [subject])
    }
    await assert.rejects(send('later@example.com', { messageId: '<1@example.com>' }), { responseCode: 451 })
    await send('later@example.com', { messageId: '<1@example.com>' })
  })

  test('a mail that breaks off is not kept, and a client that stops in the middle does not hold up the end', async (t) => {
    const { app, mail, send } = await begin(t, engine)
    const credentials = Buffer.from(`\0${mail.user}\0${mail.password}`).toString('base64')
    const lines = [
      'EHLO x',
      `AUTH PLAIN ${credentials}`,
      'MAIL FROM:<a@example.com>',
      'RCPT TO:<half@example.com>',
      'DATA',
    ]
    const begun = async () => {
      const { codes, socket } = await talk(mail.variables.SMTP_URL, lines)
      assert.equal(codes.at(-1), '354')
      socket.write('Subject: half\r\n\r\nof it')
      return socket
    }
    const gone = await begun()
    gone.destroy()
    await send('ada@example.com', { subject: 'whole' })
    assert.deepEqual(await subjects(app), ['whole'])
    const stuck = await begun()
    await app.stop()
    stuck.destroy()
  })

  test('a client that keeps its connection does not hold up the end of the mail server', async (t) => {
    const { app, mail } = await begin(t, engine)
    const pooled = createTransport({ url: mail.variables.SMTP_URL, pool: true } as Json)
    t.after(async () => pooled.close())
    await pooled.sendMail({ from: mail.from, to: 'ada@example.com', text: 'x' })
    const before = performance.now()
    await app.stop()
    // The server would wait half a minute for such a client.
    assert.ok(performance.now() - before < 20_000)
  })
})

describe('the text of HTML', () => {
  test('has no tags, styles or scripts, also where one does not end', () =>
    assert.equal(
      textOf('<style a>p {}</style ><p>Tea &amp; <b>cake</b><script>x</script>!<style>p {}').trim(),
      'Tea &  cake  !',
    ))

  test('is found in time that grows with the text only', () => {
    // Where it did not, this would take minutes.
    for (const piece of ['<style ', '<script></', '<']) textOf(piece.repeat(200_000))
  })
})

describe('links', () => {
  for (const [what, mail, links] of [
    [
      'of HTML come first, as they are meant',
      {
        html: `<html xmlns="http://www.w3.org/1999/xhtml"><img src="http://x.test/i.png">
          <a class="b" href="https:&#x2F;&#x2F;a.test/?x&#x3D;1&amp;y=2">A</a><a href='https://b.test/'>B</a> https://c.test/d).`,
        text: 'https://e.test, https://b.test/',
      },
      ['https://a.test/?x=1&y=2', 'https://b.test/', 'https://c.test/d', 'https://e.test'],
    ],
    [
      'of another kind are none',
      { html: '<a href="mailto:a@b.test">x</a><a href="/x">', text: 'ftp://x.test' },
      [],
    ],
    ['of nothing are none', { html: null, text: null }, []],
  ] as const)
    test(what, () => assert.deepEqual(linksOf(mail), links))

  test('are found in time that grows with the text only', () => {
    // Where it did not, this would take hours.
    for (const piece of ['<a ', '<', 'http://', '<a href="', '&#'])
      linksOf({ html: piece.repeat(200_000), text: piece.repeat(200_000) })
  })
})
