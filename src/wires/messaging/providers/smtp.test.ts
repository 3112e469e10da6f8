import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'

import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

import type { MailProvider, OutgoingMail, Outcome } from '../provider.ts'
import { smtp } from './smtp.ts'

const PATIENCE = 20_000 // ms: no outcome but those of a limit waits for it
const SHORT = 250 // ms: for the outcomes of a limit

type Received = { from: string; to: string[]; raw: Buffer; secure: boolean; user: unknown }

/** A refusal with the server's code. */
const no = (responseCode: number, text = 'no, thank you'): Error =>
  Object.assign(new Error(text), { responseCode })

/** A real SMTP server. */
async function receive(t: TestContext, options: SMTPServerOptions = {}) {
  const received: Received[] = []
  const read = (): Promise<Email[]> => Promise.all(received.map(({ raw }) => PostalMime.parse(raw)))
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks),
          secure: session.secure,
          user: session.user,
        })
        callback()
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        drop(server)
      }),
  )
  const { port } = server.server.address() as AddressInfo
  return { received, read, server, port, url: `smtp://127.0.0.1:${port}` }
}

/** Cuts every connection. */
function drop(server: SMTPServer): void {
  for (const connection of server.connections)
    (connection as unknown as { _socket: Socket })._socket.destroy()
}

/** A server that follows a script: answers each line of a client, or does something else with the connection. */
async function scripted(t: TestContext, answer: (line: string, socket: Socket) => string | undefined) {
  const sockets = new Set<Socket>()
  const lines: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let rest = ''
    const say = (line: string): void => {
      const reply = answer(line, socket)
      if (reply !== undefined && !socket.destroyed) socket.write(`${reply}\r\n`)
    }
    say('')
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\r\n')
      rest = parts.pop()!
      for (const line of parts) {
        lines.push(line)
        say(line)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { lines, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** What a plain server answers; what is said of a step replaces it. */
function script(steps: Record<string, string | ((socket: Socket) => string | undefined)>) {
  let inContent = false
  return (line: string, socket: Socket): string | undefined => {
    const step = inContent ? (line === '.' ? '.' : 'content') : (/^[A-Z]+/.exec(line)?.[0] ?? 'hello')
    if (step === '.') inContent = false
    const usual = {
      hello: '220 here',
      EHLO: '250 here',
      MAIL: '250 ok',
      RCPT: '250 ok',
      DATA: '354 go',
      '.': '250 taken',
    }
    const said =
      steps[step] ?? (usual as Record<string, string>)[step] ?? (step === 'content' ? undefined : '250 ok')
    const reply = typeof said === 'function' ? said(socket) : said
    if (step === 'DATA' && reply?.startsWith('354')) inContent = true
    return reply
  }
}

function open(t: TestContext, options: Parameters<typeof smtp>[0]): MailProvider {
  const provider = smtp(options)
  t.after(() => provider.close())
  return provider
}

const letter = (more: Partial<OutgoingMail> = {}): OutgoingMail => ({
  messageId: 'fixed.1@shop.example',
  to: ['ada@example.com'],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<p>Good morning</p>',
  attachments: [],
  ...more,
})

const send = (t: TestContext, url: string, more?: Partial<OutgoingMail>): Promise<Outcome> =>
  open(t, { url, from: 'shop@example.com' }).send(letter(more), PATIENCE)

/** A certificate that nobody vouches for: X.509 version 1 (RFC 5280, section 4.1), signed by its own key. */
function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts)
    const { length } = content
    const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
    return Buffer.concat([Buffer.from([tag, ...size]), content])
  }
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'))
  const commonName = der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('localhost')))
  const name = der(0x30, der(0x31, commonName))
  const time = (text: string): Buffer => der(0x17, Buffer.from(text))
  const toBeSigned = der(
    0x30,
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    der(0x30, time('200101000000Z'), time('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  const certificate = der(0x30, toBeSigned, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}

describe('a mail', () => {
  test('arrives with everything in it', async (t) => {
    const { received, read, url } = await receive(t)
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
    const [{ raw, ...envelope }] = received as [Received]
    const [mail] = (await read()) as [Email]
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
    assert.doesNotMatch(raw.toString(), /secret@|^bcc/im)
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
      const { received, read, port } = await receive(t, {
        onAuth: (_auth, _session, done) => done(null, { user: 'x' }),
      })
      const { user = '', ...rest } = options
      const provider = open(t, { url: `smtp://${user}127.0.0.1:${port}`, ...rest })
      assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
      assert.equal(received[0]?.from, from)
      assert.deepEqual((await read())[0]?.from, { address: from, name })
    })

  test('may say itself whom it is from', async (t) => {
    const { read, url } = await receive(t)
    assert.equal((await send(t, url, { from: 'Ada <ada@shop.example>' })).kind, 'accepted')
    assert.deepEqual((await read())[0]?.from, { address: 'ada@shop.example', name: 'Ada' })
  })

  test('is sent once, also where a hundred are at the same moment', async (t) => {
    const { received, read, url } = await receive(t)
    const provider = open(t, { url: `${url}?maxConnections=3` })
    const ids = Array.from({ length: 100 }, (_, at) => `many.${at}@shop.example`)
    const outcomes = await Promise.all(ids.map((messageId) => provider.send(letter({ messageId }), PATIENCE)))
    assert.deepEqual(
      outcomes,
      ids.map((id) => ({ kind: 'accepted', id })),
    )
    assert.equal(received.length, ids.length)
    assert.deepEqual(
      new Set((await read()).map(({ messageId }) => messageId)),
      new Set(ids.map((id) => `<${id}>`)),
    )
  })

  test('goes over another connection once as many have gone over one as the address says', async (t) => {
    const { received, server, url } = await receive(t)
    let connections = 0
    server.server.on('connection', () => connections++)
    const provider = open(t, { url: `${url}?maxConnections=1&maxMessages=2` })
    for (let mail = 0; mail < 5; mail++)
      assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
    assert.equal(received.length, 5)
    assert.equal(connections, 3)
  })

  test('leaves in one piece, not a header or a boundary at a time', async (t) => {
    const pieces: string[] = []
    const { url } = await scripted(
      t,
      script({
        DATA: (socket) => {
          socket.on('data', (chunk) => pieces.push(String(chunk)))
          return '354 go'
        },
      }),
    )
    const provider = open(t, { url })
    assert.equal((await provider.send(letter({ text: 'Hello' }), PATIENCE)).kind, 'accepted')
    const [first] = pieces.filter((piece) => piece.includes('MIME-Version'))
    assert.match(first!, /^From: [^]*multipart\/alternative[^]*--\r\n/)
  })

  test('goes over a new connection where the server has ended the one that was kept', async (t) => {
    const { received, server, url } = await receive(t)
    const provider = open(t, { url })
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
    drop(server)
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'accepted')
    assert.equal(received.length, 2)
  })
})

describe('TLS', () => {
  const trusting = (port: number, scheme = 'smtp') =>
    `${scheme}://localhost:${port}?tls.rejectUnauthorized=false`

  for (const scheme of ['smtp', 'smtp+starttls'])
    test(`is begun by STARTTLS where it is offered (${scheme})`, async (t) => {
      const { received, port } = await receive(t, { ...selfSigned(), disabledCommands: [] })
      assert.equal((await send(t, trusting(port, scheme))).kind, 'accepted')
      assert.equal(received[0]?.secure, true)
    })

  test('is there from the start with smtps', async (t) => {
    const { received, port } = await receive(t, { ...selfSigned(), secure: true })
    assert.equal((await send(t, trusting(port, 'smtps'))).kind, 'accepted')
    assert.equal(received[0]?.secure, true)
  })

  for (const [scheme, options] of [
    ['smtp', { disabledCommands: [] as string[] }],
    ['smtps', { secure: true }],
  ] as const)
    test(`with a certificate that nobody vouches for sends nothing (${scheme})`, async (t) => {
      const { received, port } = await receive(t, { ...selfSigned(), ...options, disabledCommands: [] })
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
      const { lines, url } = await scripted(
        t,
        script({ EHLO: '250-here\r\n250 AUTH PLAIN LOGIN', STARTTLS: '502 no', AUTH: '235 ok' }),
      )
      const outcome = await send(t, `${url.replace('smtp://', `${scheme}://user:pass@`)}${query}`)
      assert.equal(outcome.kind, 'retry')
      assert.match((outcome as { reason: string }).reason, /requireTLS=false/)
      assert.doesNotMatch(lines.join('\n'), /^(AUTH|MAIL)/m)
    })
})

describe('a sign-in', () => {
  const guarded: SMTPServerOptions = {
    authOptional: false,
    onAuth: ({ username, password }, _session, done) =>
      username === 'us@er' && password === 'p@ss/w:rd%'
        ? done(null, { user: username })
        : done(no(535, `wrong: ${password}`)),
  }
  const RIGHT = 'us%40er:p%40ss%2Fw%3Ard%25'

  test('is made with what the address says', async (t) => {
    const { received, port } = await receive(t, guarded)
    const url = `smtp://${RIGHT}@127.0.0.1:${port}`
    assert.equal((await send(t, url)).kind, 'accepted')
    assert.equal(received[0]?.user, 'us@er')
    await open(t, { url }).check()
  })

  for (const user of ['us%40er:wrong-secret@', 'nobody:wrong-secret@', ''])
    test(`that is wrong or missing can be put right, so the mail is tried again (${user || 'none'})`, async (t) => {
      const { received, port } = await receive(t, guarded)
      const url = `smtp://${user}127.0.0.1:${port}`
      const outcome = await send(t, url)
      assert.equal(outcome.kind, 'retry')
      assert.doesNotMatch(JSON.stringify(outcome), /wrong-secret/)
      assert.deepEqual(received, [])
      if (user !== '')
        await assert.rejects(open(t, { url }).check(), (error: Error) => {
          assert.match(
            error.message,
            /^127\.0\.0\.1:\d+: the server refused the user or the password \(535\)$/,
          )
          return true
        })
    })
})

describe('a check', () => {
  test('says where nobody answers', async (t) => {
    const { url } = await closedPort()
    await assert.rejects(open(t, { url }).check(), /^Error: 127\.0\.0\.1:\d+: .*ECONNREFUSED/)
  })

  test('sends nothing', async (t) => {
    const { received, url } = await receive(t)
    await open(t, { url }).check()
    assert.deepEqual(received, [])
  })
})

async function closedPort(): Promise<{ url: string }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return { url: `smtp://127.0.0.1:${port}` }
}

describe('an answer of the server', () => {
  type Step = 'onMailFrom' | 'onRcptTo' | 'onData'
  const at = (step: Step, code: number): SMTPServerOptions => ({
    [step]: (given: unknown, _session: unknown, done: (error: Error) => void) => {
      if (step !== 'onData') return done(no(code))
      const stream = given as NodeJS.ReadableStream
      stream.resume()
      stream.on('end', () => done(no(code)))
    },
  })

  for (const pipelining of [true, false])
    for (const step of ['onMailFrom', 'onRcptTo', 'onData'] as const)
      for (const [code, kind] of [
        [421, 'retry'],
        [450, 'retry'],
        [452, 'retry'],
        [503, 'retry'],
        [550, 'refused'],
        [554, 'refused'],
      ] as const)
        test(`${code} at ${step} is ${kind}${pipelining ? '' : ', without pipelining'}`, async (t) => {
          const { url } = await receive(t, { hidePIPELINING: !pipelining, ...at(step, code) })
          const outcome = await send(t, url)
          assert.equal(outcome.kind, kind)
          assert.match((outcome as { reason: string }).reason, new RegExp(`${code} .*no, thank you`))
        })

  for (const [code, kind] of [
    [451, 'retry'],
    [554, 'refused'],
  ] as const)
    test(`${code} to DATA itself is ${kind}`, async (t) => {
      const { url } = await scripted(t, script({ DATA: `${code} not now` }))
      assert.equal((await send(t, url)).kind, kind)
    })

  test('that wants a sign-in says nothing about the mail', async (t) => {
    const { url } = await receive(t, at('onMailFrom', 530))
    assert.equal((await send(t, url)).kind, 'retry')
  })

  for (const code of [421, 554])
    test(`${code} as its greeting is retry`, async (t) => {
      const { url } = await scripted(t, script({ hello: `${code} no service` }))
      assert.equal((await send(t, url)).kind, 'retry')
    })

  test('that is long or has several lines is one short line in the reason', async (t) => {
    const { url } = await scripted(t, script({ MAIL: `550-first\r\n550-${'x'.repeat(2000)}\r\n550 last` }))
    const { kind, reason } = (await send(t, url)) as { kind: string; reason: string }
    assert.equal(kind, 'refused')
    assert.doesNotMatch(reason, /[\r\n]/)
    assert.ok(reason.length < 400)
  })

  test('that is 250 instead of 354 is taken as it is meant', async (t) => {
    const { url } = await scripted(t, script({ DATA: '354 go', '.': '250 queued as 42' }))
    assert.deepEqual(await send(t, url), { kind: 'accepted', id: 'fixed.1@shop.example' })
  })

  test('by which some recipients are refused is accepted, and names them', async (t) => {
    const { received, url } = await receive(t, {
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('bad') ? no(550, 'no such user') : null),
    })
    const outcome = await send(t, url, { to: ['ada@example.com', 'bad@example.com'] })
    assert.deepEqual(
      received.map(({ to }) => to),
      [['ada@example.com']],
    )
    assert.deepEqual(outcome, {
      kind: 'accepted',
      id: 'fixed.1@shop.example',
      refusedRecipients: [
        { address: 'bad@example.com', reason: 'Recipient command failed: 550 no such user' },
      ],
    })
  })

  test('by which all of them are refused, some for now, is retry', async (t) => {
    const { url } = await receive(t, {
      onRcptTo: ({ address }, _session, done) => done(no(address.startsWith('bad') ? 550 : 450)),
    })
    assert.equal((await send(t, url, { to: ['bad@example.com', 'ada@example.com'] })).kind, 'retry')
  })
})

describe('a connection', () => {
  test('that is refused is retry', async (t) => {
    assert.equal((await send(t, (await closedPort()).url)).kind, 'retry')
  })

  const hangUp = (socket: Socket): undefined => void socket.destroy()
  const end = (socket: Socket): undefined => void socket.end()

  for (const [how, act] of [
    ['reset', hangUp],
    ['ended', end],
  ] as const) {
    for (const step of ['hello', 'EHLO', 'MAIL', 'RCPT', 'DATA'])
      test(`${how} at ${step === 'hello' ? 'the greeting' : step} is retry`, async (t) => {
        const { url } = await scripted(t, script({ [step]: act }))
        assert.equal((await send(t, url)).kind, 'retry')
      })

    for (const step of ['content', '.'])
      test(`${how} ${step === '.' ? 'after the mail was sent' : 'while the mail is sent'} is unknown`, async (t) => {
        const { lines, url } = await scripted(t, script({ [step]: act }))
        assert.equal((await send(t, url)).kind, 'unknown')
        assert.equal(lines.filter((line) => line.startsWith('DATA')).length, 1, 'not sent again')
      })
  }

  test('cut by a real server after DATA is unknown, and the mail is not sent again', async (t) => {
    let taken = 0
    const { server, url } = await receive(t, {
      onData(stream) {
        stream.resume()
        stream.on('end', () => {
          taken++
          drop(server)
        })
      },
    })
    const provider = open(t, { url })
    assert.equal((await provider.send(letter(), PATIENCE)).kind, 'unknown')
    assert.equal(taken, 1)
  })

  test('cut with half an answer is unknown', async (t) => {
    const { url } = await scripted(t, script({ '.': (socket) => void socket.end('550 5.7.1 no') }))
    assert.equal((await send(t, url)).kind, 'unknown')
  })
})

describe('the limit of time', () => {
  const silent = (): undefined => undefined

  for (const [step, kind] of [
    ['hello', 'retry'],
    ['EHLO', 'retry'],
    ['MAIL', 'retry'],
    ['RCPT', 'retry'],
    ['DATA', 'retry'],
    ['.', 'unknown'],
  ] as const)
    test(`ends a send to a server that is silent at ${step}: ${kind}`, async (t) => {
      const { lines, url } = await scripted(t, script({ [step]: silent }))
      const outcome = await open(t, { url }).send(letter(), SHORT)
      assert.equal(outcome.kind, kind)
      assert.match((outcome as { reason: string }).reason, /within 0\.25 seconds/)
      if (kind === 'retry') assert.doesNotMatch(lines.join('\n'), /^Subject/m)
    })

  test('counts while others hold every connection, and the mail that waited is not sent later', async (t) => {
    let answer: (() => void) | undefined
    const { read, url } = await receive(t, {
      onMailFrom: (_address, _session, done) => void (answer ? done() : (answer = done)),
    })
    const provider = open(t, { url: `${url}?maxConnections=1` })
    const first = provider.send(letter({ messageId: 'first@shop.example' }), PATIENCE)
    const second = await provider.send(letter({ messageId: 'second@shop.example' }), SHORT)
    assert.equal(second.kind, 'retry')
    while (!answer) await new Promise((resolve) => void setTimeout(resolve, 5))
    answer()
    assert.equal((await first).kind, 'accepted')
    assert.equal(
      (await provider.send(letter({ messageId: 'third@shop.example' }), PATIENCE)).kind,
      'accepted',
    )
    assert.deepEqual(
      (await read()).map(({ messageId }) => messageId),
      ['<first@shop.example>', '<third@shop.example>'],
    )
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
    for (const field of ['to', 'cc', 'bcc', 'replyTo', 'from'] as const)
      test(`by ${JSON.stringify(address)} in ${field} sends nothing`, async (t) => {
        if (field === 'from' && /^(A )?<a@x\.example>$/.test(address)) return // the sender may have a name
        const { lines, url } = await scripted(t, script({}))
        const value = field === 'replyTo' || field === 'from' ? address : [address]
        assert.equal((await send(t, url, { [field]: value })).kind, 'refused')
        assert.deepEqual(lines, [])
      })

  test('by a line break in the subject, a file name or a type changes no header', async (t) => {
    const { received, read, url } = await receive(t)
    const evil = 'x\r\nBcc: b@y.example\r\n\r\nbody'
    const outcome = await send(t, url, {
      subject: evil,
      attachments: [{ filename: evil, contentType: `text/plain${evil}`, content: Buffer.from('x') }],
    })
    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(received[0]?.to, ['ada@example.com'])
    assert.doesNotMatch(received[0].raw.toString(), /^bcc/im)
    assert.equal((await read())[0]?.bcc, undefined)
  })

  test('by the end of the mail in the middle of it is part of the mail', async (t) => {
    const { received, read, url } = await receive(t)
    const text = 'one\r\n.\r\nMAIL FROM:<a@x.example>\r\nRCPT TO:<b@y.example>\r\n\r\n\n.\nQUIT'
    assert.equal((await send(t, url, { text, html: text })).kind, 'accepted')
    assert.equal(received.length, 1)
    assert.match((await read())[0]!.text!, /^\.\r?\nMAIL FROM/m)
  })

  for (const field of ['html', 'text', 'subject'] as const)
    test(`by an object in ${field} reads no file and no address`, async (t) => {
      const { received, url } = await receive(t)
      const content = { path: new URL(import.meta.url).pathname } as unknown as string
      await send(t, url, { [field]: content })
      for (const { raw } of received) assert.doesNotMatch(raw.toString(), /PostalMime/)
    })
})

describe('close', () => {
  test('waits for what is under way and for what is queued behind it', async (t) => {
    let began: () => void = () => undefined
    const begun = new Promise<void>((resolve) => (began = resolve))
    let answer: (() => void) | undefined
    const { received, url } = await receive(t, {
      onMailFrom(_address, _session, done) {
        if (answer) return done()
        answer = done
        began()
      },
    })
    const provider = smtp({ url: `${url}?maxConnections=1` })
    const sending = [1, 2].map((at) => provider.send(letter({ messageId: `${at}@shop.example` }), PATIENCE))
    await begun
    const closing = provider.close().then(() => received.length)
    answer!()
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
      assert.throws(() => smtp({ url: 'smtp://mail.example', from }), /^StartError: MAIL_FROM: /)
    })
})
