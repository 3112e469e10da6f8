import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startMailServer, type ReceivedMail } from '../../../testing/mail-server.ts'
import { startScriptedSmtp } from '../../../testing/scripted-smtp.ts'
import { letter, open, PATIENCE, send } from './smtp.fixture.ts'
import { smtp } from './smtp.ts'

describe('a mail', () => {
  test('arrives with everything in it', async (t) => {
    const { received, url } = await startMailServer(t)
    const outcome = await send(t, url, {
      to: ['ada@example.com', 'grace@example.com'],
      cc: ['alan@example.com'],
      bcc: ['secret@example.com'],
      replyTo: 'help@shop.example',
      subject: 'Grüße, 日本',
      html: '<p>Ünï</p>',
      text: 'Ünï, plain',
      attachments: [{ filename: 'prices ä.csv', contentType: 'text/csv', content: Buffer.from('a;b') }],
    })
    assert.deepEqual(outcome, { kind: 'accepted', id: 'fixed.1@shop.example' })
    const [{ raw, parsed: mail, ...envelope }] = received as [ReceivedMail]
    assert.equal(received.length, 1)
    assert.equal(envelope.from, 'shop@example.com')
    assert.deepEqual(envelope.to, [
      'ada@example.com',
      'grace@example.com',
      'alan@example.com',
      'secret@example.com',
    ])
    assert.equal(mail.messageId, '<fixed.1@shop.example>')
    assert.deepEqual(
      mail.to?.map(({ address }) => address),
      ['ada@example.com', 'grace@example.com'],
    )
    assert.deepEqual(
      mail.cc?.map(({ address }) => address),
      ['alan@example.com'],
    )
    assert.deepEqual(
      mail.replyTo?.map(({ address }) => address),
      ['help@shop.example'],
    )
    assert.equal(mail.subject, 'Grüße, 日本')
    assert.equal(mail.html?.trim(), '<p>Ünï</p>')
    assert.equal(mail.text?.trim(), 'Ünï, plain')
    assert.equal(mail.attachments[0]?.filename, 'prices ä.csv')
    assert.equal(mail.attachments[0]?.mimeType, 'text/csv')
    assert.doesNotMatch(raw, /secret@|^bcc/im)
  })

  for (const [options, from, name] of [
    [{ from: 'Shop, Ltd. <hello@shop.example>' }, 'hello@shop.example', 'Shop, Ltd.'],
    [{ from: '"Shop" <hello@shop.example>' }, 'hello@shop.example', 'Shop'],
    [{ from: 'hello@shop.example' }, 'hello@shop.example', ''],
    [{ user: 'mailer%40mail.example:x@' }, 'no-reply@mail.example', ''],
    [{ user: 'mailer:x@', appUrl: 'https://app.example:8443/x' }, 'no-reply@app.example', ''],
    [{ appUrl: 'http://192.0.2.1/' }, 'no-reply@localhost', ''],
    [{}, 'no-reply@localhost', ''],
  ] as [{ from?: string; user?: string; appUrl?: string }, string, string][])
    test(`is from ${from} where the options are ${JSON.stringify(options)}`, async (t) => {
      const { received, port } = await startMailServer(t)
      const { user = '', ...rest } = options
      const provider = open(t, { url: `smtp://${user}127.0.0.1:${port}`, ...rest })
      assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
      assert.equal(received[0]?.from, from)
      assert.deepEqual(received[0]?.parsed.from, { address: from, name })
    })

  test('is sent once, also where a hundred are at the same moment', async (t) => {
    const { received, url } = await startMailServer(t)
    const provider = open(t, { url: `${url}?maxConnections=3` })
    const ids = Array.from({ length: 100 }, (_, at) => `many.${at}@shop.example`)
    const outcomes = await Promise.all(ids.map((messageId) => provider.send(letter({ messageId }), PATIENCE)))
    assert.deepEqual(
      outcomes,
      ids.map((id) => ({ kind: 'accepted', id })),
    )
    assert.equal(received.length, ids.length)
    assert.deepEqual(new Set(received.map(({ messageId }) => messageId)), new Set(ids))
  })

  test('goes over another connection once as many have gone over one as the address says', async (t) => {
    const { received, connections, url } = await startMailServer(t)
    const provider = open(t, { url: `${url}?maxConnections=1&maxMessages=2` })
    for (let mail = 0; mail < 5; mail++)
      assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
    assert.equal(received.length, 5)
    assert.equal(connections().opened, 3)
  })

  test('leaves in one piece, not a header or a boundary at a time', async (t) => {
    const pieces: string[] = []
    const { url } = await startScriptedSmtp(t, {
      DATA: (socket) => {
        socket.on('data', (chunk) => pieces.push(String(chunk)))
        return '354 go'
      },
    })
    const provider = open(t, { url })
    assert.equal((await provider.send(letter({ text: 'Hello' }), PATIENCE)).kind, 'accepted')
    const [first] = pieces.filter((piece) => piece.includes('MIME-Version'))
    assert.match(first!, /^From: [^]*multipart\/alternative[^]*--\r\n/)
  })

  test('goes over a new connection where the server has ended the one that was kept', async (t) => {
    const { received, drop, url } = await startMailServer(t)
    const provider = open(t, { url })
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
    drop()
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
    assert.equal(received.length, 2)
  })
})

describe('TLS', () => {
  const trusting = (port: number, scheme = 'smtp') =>
    `${scheme}://localhost:${port}?tls.rejectUnauthorized=false`

  for (const scheme of ['smtp', 'smtp+starttls'])
    test(`is begun by STARTTLS where it is offered (${scheme})`, async (t) => {
      const { received, port } = await startMailServer(t, { tls: 'starttls' })
      assert.equal((await send(t, trusting(port, scheme))).kind, 'accepted')
      assert.equal(received[0]?.secure, true)
    })

  test('is there from the start with smtps', async (t) => {
    const { received, port } = await startMailServer(t, { tls: 'implicit' })
    assert.equal((await send(t, trusting(port, 'smtps'))).kind, 'accepted')
    assert.equal(received[0]?.secure, true)
  })

  for (const [scheme, tls] of [
    ['smtp', 'starttls'],
    ['smtps', 'implicit'],
  ] as const)
    test(`with a certificate that nobody vouches for sends nothing (${scheme})`, async (t) => {
      const { received, port } = await startMailServer(t, { tls })
      const outcome = await send(t, `${scheme}://localhost:${port}`)
      assert.equal(outcome.kind, 'retry')
      assert.match((outcome as { reason: string }).reason, /certificate/)
      assert.deepEqual(received, [])
    })

  for (const [scheme, query] of [
    ['smtp+starttls', ''],
    ['smtp', '?requireTLS=true'],
  ] as const)
    test(`that is required and not offered ends it before the password is said (${scheme}${query})`, async (t) => {
      const { lines, url } = await startScriptedSmtp(t, {
        EHLO: '250-here\r\n250 AUTH PLAIN LOGIN',
        STARTTLS: '502 no',
        AUTH: '235 ok',
      })
      const outcome = await send(t, `${url.replace('smtp://', `${scheme}://user:pass@`)}${query}`)
      assert.equal(outcome.kind, 'retry')
      assert.match((outcome as { reason: string }).reason, /requireTLS=false/)
      assert.doesNotMatch(lines.join('\n'), /^(AUTH|MAIL)/m)
    })
})

describe('a sign-in', () => {
  const accounts = { 'us@er': 'p@ss/w:rd%' }
  const RIGHT = 'us%40er:p%40ss%2Fw%3Ard%25'

  test('is made with what the address says', async (t) => {
    const { received, port } = await startMailServer(t, { accounts })
    const url = `smtp://${RIGHT}@127.0.0.1:${port}`
    assert.equal((await send(t, url)).kind, 'accepted')
    assert.equal(received[0]?.user, 'us@er')
    await open(t, { url }).check()
  })

  for (const user of ['us%40er:wrong-secret@', 'nobody:wrong-secret@', ''])
    test(`that is wrong or missing can be put right, so the mail is tried again (${user || 'none'})`, async (t) => {
      const { received, port } = await startMailServer(t, { accounts })
      const url = `smtp://${user}127.0.0.1:${port}`
      const outcome = await send(t, url)
      assert.equal(outcome.kind, 'retry')
      assert.doesNotMatch(JSON.stringify(outcome), /wrong-secret/)
      assert.deepEqual(received, [])
    })
})

describe('an attempt to reach somebody else', () => {
  for (const address of [
    'a@x.example\r\nBcc: b@y.example',
    'a@x.example\nBcc: b@y.example',
    'a@x.example>\r\nRCPT TO:<b@y.example',
    'a@x.example, b@y.example',
    'a@x.example;b@y.example',
    'A <a@x.example>',
    '<a@x.example>',
    'a@x.example b@y.example',
    'group: a@x.example;',
    '"a@x.example" @y.example',
    'a@x.example\u0000',
    'a@b@y.example',
    '',
  ])
    for (const field of ['to', 'cc', 'bcc', 'replyTo'] as const)
      test(`by ${JSON.stringify(address)} in ${field} sends nothing`, async (t) => {
        const { lines, url } = await startScriptedSmtp(t)
        const value = field === 'replyTo' ? address : [address]
        assert.equal((await send(t, url, { [field]: value })).kind, 'refused')
        assert.deepEqual(lines, [])
      })

  test('whose subject looks like an encoded word arrives with the subject that was sent', async (t) => {
    const { received, url } = await startMailServer(t)
    const subjects = ['=?utf-8?B?SGVsbG8=?=', `${'Größe 😀 '.repeat(20)}=?iso-8859-1?Q?=41?= =?`]
    for (const subject of subjects) await send(t, url, { subject })
    assert.deepEqual(
      received.map(({ parsed }) => parsed.subject),
      subjects,
    )
  })

  test('by a line break in the subject, a file name or a type changes no header', async (t) => {
    const { received, url } = await startMailServer(t)
    const evil = 'x\r\nBcc: b@y.example\r\n\r\nbody'
    const outcome = await send(t, url, {
      subject: evil,
      attachments: [{ filename: evil, contentType: `text/plain${evil}`, content: Buffer.from('x') }],
    })
    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(received[0]?.to, ['ada@example.com'])
    assert.doesNotMatch(received[0].raw, /^bcc/im)
    assert.equal(received[0].parsed.bcc, undefined)
  })

  test('by the end of the mail in the middle of it is part of the mail', async (t) => {
    const { received, url } = await startMailServer(t)
    const text = 'one\r\n.\r\nMAIL FROM:<a@x.example>\r\nRCPT TO:<b@y.example>\r\n\r\n\n.\nQUIT'
    assert.equal((await send(t, url, { text, html: text })).kind, 'accepted')
    assert.equal(received.length, 1)
    assert.match(received[0]!.parsed.text!, /^\.\r?\nMAIL FROM/m)
  })

  for (const field of ['html', 'text', 'subject'] as const)
    test(`by an object in ${field} reads no file and no address`, async (t) => {
      const { received, url } = await startMailServer(t)
      const content = { path: new URL('./smtp.fixture.ts', import.meta.url).pathname } as unknown as string
      await send(t, url, { [field]: content })
      for (const { raw } of received) assert.doesNotMatch(raw, /PATIENCE/)
    })
})

describe('close', () => {
  test('waits for what is under way and for what is queued behind it', async (t) => {
    const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const mail = await startMailServer(t)
    mail.onBegun = () => {
      begun.resolve()
      return answer.promise
    }
    const provider = smtp({ url: `${mail.url}?maxConnections=1` })
    const sending = [1, 2].map((at) => provider.send(letter({ messageId: `${at}@shop.example` }), PATIENCE))
    await begun.promise
    const closing = provider.close().then(() => mail.received.length)
    answer.resolve()
    assert.deepEqual(
      (await Promise.all(sending)).map(({ kind }) => kind),
      ['accepted', 'accepted'],
    )
    assert.equal(await closing, 2)
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'retry')
  })
})

describe('a MAIL_FROM that cannot work', () => {
  for (const from of [
    '',
    'nobody',
    'A <a@x.example> B',
    'a@x.example, b@x.example',
    'a@x.example\r\nBcc: b@x.example',
  ])
    test(`${JSON.stringify(from)} is refused`, () => {
      assert.throws(() => smtp({ url: 'smtp://mail.example', from }), /^StartError: MAIL_FROM, /)
    })
})
