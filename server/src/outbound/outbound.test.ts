import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'

import { testClock } from '../testing/clock.ts'
import { startSilence } from '../testing/silence.ts'
import { createOutbound, jsonOf, type Reply } from './outbound.ts'
import { answer, SCHEMES, startPeer } from './peer.fixture.ts'

const reasonOf = (reply: Reply): string => (reply.kind === 'answered' ? '' : reply.reason)

for (const scheme of SCHEMES)
  describe(`a call over ${scheme}`, () => {
    test('sends a GET, and answers status, headers and bytes', async (t) => {
      const peer = await startPeer(
        t,
        (socket) => socket.end(answer('{"a":"ü"}', { status: 404, headers: { 'x-what': 'yes' } })),
        { scheme },
      )
      const reply = await peer.outbound({ headers: { authorization: 'Bearer s' } }).call('/a/b?c=d')
      assert.equal(reply.kind, 'answered')
      if (reply.kind !== 'answered') return
      assert.deepEqual([reply.status, reply.headers['x-what'], jsonOf(reply)], [404, 'yes', { a: 'ü' }])
      const [head = ''] = peer.received
      assert.match(head, /^GET \/a\/b\?c=d HTTP\/1\.1\r\n/)
      assert.match(head, new RegExp(`^host: localhost:${peer.port}\r$`, 'im'))
      assert.match(head, /^authorization: Bearer s\r$/im)
      assert.match(head, /^user-agent: sixwire\r$/im)
      assert.match(head, /^connection: close\r$/im)
    })

    for (const [what, request, type, body] of [
      ['JSON', { json: { a: 'ü', b: null } }, 'application/json', '{"a":"ü","b":null}'],
      [
        'a form',
        { form: { To: '+49 1', Body: 'ü&=' } },
        'application/x-www-form-urlencoded;charset=UTF-8',
        'To=%2B49+1&Body=%C3%BC%26%3D',
      ],
      ['bytes', { body: Buffer.from('<x>'), headers: { 'Content-Type': 'text/xml' } }, 'text/xml', '<x>'],
    ] as const)
      test(`sends ${what} by POST`, async (t) => {
        const peer = await startPeer(t, (socket) => socket.end(answer('')), { scheme })
        assert.equal((await peer.outbound().call('/x', request)).kind, 'answered')
        const [head, content] = Buffer.from(peer.received[0]!, 'latin1').toString().split('\r\n\r\n')
        assert.match(head!, /^POST \/x HTTP/)
        assert.ok(head!.toLowerCase().includes(`content-type: ${type.toLowerCase()}`))
        assert.ok(head!.toLowerCase().includes(`content-length: ${Buffer.byteLength(body)}`))
        assert.equal(content, body)
      })

    test('goes over a connection of its own', async (t) => {
      const peer = await startPeer(t, (socket) => socket.write(answer('')), { scheme })
      const outbound = peer.outbound()
      for (let i = 0; i < 3; i++) assert.equal((await outbound.call('/')).kind, 'answered')
      assert.equal(peer.received.length, 3)
    })

    test('ends its connection, however it ended', async (t) => {
      const peer = await startPeer(
        t,
        (socket, _text, requests) => void socket.write(answer('x'.repeat(requests * 10))),
        { scheme },
      )
      const outbound = peer.outbound({ maxBytes: 15 })
      assert.equal((await outbound.call('/')).kind, 'answered')
      assert.equal((await outbound.call('/')).kind, 'unknown')
      while (peer.open() > 0) await turn()
    })

    describe('is unknown', () => {
      // Over TLS a socket can only be destroyed: without a farewell of TLS, which is a cut as well.
      const reset = (socket: Socket): void =>
        void (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy())
      const CUTS: [what: string, cut: (socket: Socket) => void][] = [
        ['reset before an answer', reset],
        ['ended before an answer', (socket) => void socket.end()],
        ['cut within the head', (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
        [
          'cut within the body',
          (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a"'),
        ],
        [
          'reset within the body',
          (socket) => {
            socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a"', () =>
              setImmediate(() => reset(socket)),
            )
          },
        ],
        [
          'cut within a chunk',
          (socket) => void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{"a"'),
        ],
        [
          'cut before the last chunk',
          (socket) => void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n'),
        ],
        ['answered in no HTTP', (socket) => void socket.end('220 mail.example ESMTP\r\n')],
        [
          'answered with two lengths',
          (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
        ],
        [
          'answered with a head without end',
          (socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`),
        ],
        [
          'switched to another protocol',
          (socket) =>
            void socket.write(
              'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
            ),
        ],
      ]
      for (const [what, cut] of CUTS)
        test(`if it was ${what}`, async (t) => {
          const peer = await startPeer(t, cut, { scheme })
          const reply = await peer.outbound({ name: 'The peer' }).call('/x', { json: { secret: 's3cret' } })
          assert.equal(reply.kind, 'unknown', JSON.stringify(reply))
          assert.match(reasonOf(reply), /^the connection to The peer was lost \([A-Z_a-z ]+\)$/)
          assert.equal(peer.received.length, 1, 'not sent again')
        })

      for (const [what, send] of [
        ['in one piece', (socket: Socket) => socket.write(answer('x'.repeat(101)))],
        [
          'in chunks',
          (socket: Socket) => {
            socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
            for (let i = 0; i < 101; i++) socket.write('1\r\nx\r\n')
          },
        ],
        [
          'without an end',
          (socket: Socket) => {
            socket.write('HTTP/1.0 200 OK\r\n\r\n')
            const more = (): void =>
              void (socket.writable && socket.write('x'.repeat(1000), () => setImmediate(more)))
            more()
          },
        ],
      ] as const)
        test(`if the answer is larger than allowed, ${what}`, async (t) => {
          const peer = await startPeer(t, (socket) => void send(socket), { scheme })
          const reply = await peer.outbound({ maxBytes: 100 }).call('/')
          assert.deepEqual(reply, {
            kind: 'unknown',
            reason: `the answer of ${peer.origin} has more than 100 bytes`,
          })
        })

      for (const [what, begin] of [
        ['silent', () => undefined],
        [
          'silent after half an answer',
          (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
        ],
        [
          'only telling that it goes on',
          (socket: Socket) => void socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(3)),
        ],
      ] as const)
        test(`if the peer is ${what} until the limit`, async (t) => {
          const clock = testClock()
          const { promise: came, resolve } = Promise.withResolvers<void>()
          const peer = await startPeer(t, (socket) => (begin(socket), resolve()), { scheme })
          const call = peer.outbound({ name: 'The peer', clock }).call('/', { limitMs: 60_000 })
          await came
          clock.advance(60_000)
          const reply = await call
          assert.equal(reply.kind, 'unknown')
          assert.match(reasonOf(reply), /^The peer has not answered for 6\d(\.\d)? seconds$/)
        })

      test('if its signal ends it', async (t) => {
        const controller = new AbortController()
        const peer = await startPeer(t, () => controller.abort(), { scheme })
        const outbound = peer.outbound({ name: 'The peer' })
        const reason = 'the call of The peer was ended'
        const { signal } = controller
        assert.deepEqual(await outbound.call('/', { signal }), { kind: 'unknown', reason })
        assert.deepEqual(await outbound.call('/', { signal }), { kind: 'not-sent', reason })
        assert.equal(peer.received.length, 1)
      })
    })

    test('takes the whole of what is as large as allowed', async (t) => {
      const chunks = '1\r\nx\r\n'.repeat(5000)
      const peer = await startPeer(
        t,
        (socket) => socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
        { scheme },
      )
      const reply = await peer.outbound({ maxBytes: 5000 }).call('/')
      assert.ok(reply.kind === 'answered' && reply.body.equals(Buffer.alloc(5000, 'x')))
    })

    test('asks for no compression, and unpacks none', async (t) => {
      const bomb = gzipSync(Buffer.alloc(10_000_000))
      const peer = await startPeer(
        t,
        (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`)
          socket.end(bomb)
        },
        { scheme },
      )
      const reply = await peer.outbound().call('/')
      assert.ok(reply.kind === 'answered' && reply.body.equals(bomb))
      assert.match(peer.received[0]!, /^accept-encoding: identity\r$/im)
    })

    test('does not follow a redirect unless it is asked to', async (t) => {
      const peer = await startPeer(
        t,
        (socket) => socket.end(answer('', { status: 302, headers: { location: '/elsewhere' } })),
        { scheme },
      )
      const reply = await peer.outbound().call('/')
      assert.ok(reply.kind === 'answered' && reply.status === 302)
      assert.equal(peer.received.length, 1)
    })
  })

describe('a call is not sent', () => {
  test('if nobody is there', async (t) => {
    const peer = await startPeer(t, () => undefined)
    await peer.stop()
    assert.deepEqual(await peer.outbound({ name: 'The peer' }).call('/key/s3cret'), {
      kind: 'not-sent',
      reason: "The peer can't be reached (ECONNREFUSED)",
    })
  })

  test('if the name is unknown', async () => {
    const reply = await createOutbound().call('https://nobody.invalid/key/s3cret?t=s3cret')
    assert.equal(reply.kind, 'not-sent')
    assert.match(reasonOf(reply), /^https:\/\/nobody\.invalid can't be reached \((ENOTFOUND|EAI_AGAIN)\)$/)
  })

  test('if the lookup never ends', async () => {
    const clock = testClock()
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const call = createOutbound({ clock, lookup: () => resolve() }).call('http://slow.example/')
    await asked
    clock.advance(3_000)
    const reply = await call
    assert.equal(reply.kind, 'not-sent')
    assert.match(reasonOf(reply), /can't be reached \(no connection within 3(\.\d)? seconds\)$/)
  })

  // It connects, but there is no TLS: nothing was said to it.
  test('if TLS does not begin, and before the limit of the call is over', async (t) => {
    const clock = testClock()
    const silence = await startSilence(t)
    const call = createOutbound({ base: `https://${silence.host}`, clock }).call('/', {
      method: 'POST',
      limitMs: 5_000,
    })
    while (silence.requests() === 0) await turn()
    clock.advance(2_000)
    const reply = await call
    assert.equal(reply.kind, 'not-sent')
    assert.match(reasonOf(reply), /no connection within 2(\.\d)? seconds/)
  })

  test('if the peer ends the connection before TLS stands', async (t) => {
    const peer = await startPeer(t, () => undefined, { onConnection: (socket) => void socket.destroy() })
    const reply = await peer.outbound({ base: peer.origin.replace('http:', 'https:') }).call('/x')
    assert.equal(reply.kind, 'not-sent')
  })

  for (const [what, options, code] of [
    ['nobody vouches for', { ca: undefined }, /(DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+)/],
    ['names another host', { base: 'https://other.example' }, /ERR_TLS_CERT_ALTNAME_INVALID/],
  ] as const)
    test(`if the certificate is one that ${what}`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(answer('')), { scheme: 'https' })
      const { ca, base = peer.origin } = { ca: 'theirs', base: undefined, ...options }
      const url = new URL(base)
      url.port = String(peer.port)
      const outbound =
        ca === undefined
          ? createOutbound({
              base: url,
              lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
            })
          : peer.outbound({ base: url })
      const reply = await outbound.call('/', { json: {} })
      assert.equal(reply.kind, 'not-sent', JSON.stringify(reply))
      assert.match(reasonOf(reply), code)
      assert.deepEqual(peer.received.join(''), '')
    })

  test('if a plain peer is called over TLS', async (t) => {
    const peer = await startPeer(t, (socket) => socket.end(answer('')))
    const reply = await peer
      .outbound({ base: peer.origin.replace('http:', 'https:') })
      .call('/x', { json: 1 })
    assert.equal(reply.kind, 'not-sent')
    assert.ok(!peer.received.join('').includes('POST'))
  })

  for (const [what, headers] of [
    ['a line break', { authorization: 'Bearer s3cret\r\nx: y' }],
    ['a character beyond Latin-1', { authorization: 's3cret€' }],
    ['a name that is none', { 's3cret header': 'x' }],
  ] as [string, Record<string, string>][])
    test(`if a header holds ${what}`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(answer('')))
      const reply = await peer.outbound({ headers }).call('/')
      assert.equal(reply.kind, 'not-sent')
      assert.ok(!reasonOf(reply).includes('s3cret'))
      assert.equal(peer.received.join(''), '')
    })

  for (const address of [
    'not an address',
    'ftp://x.example/',
    'file:///etc/passwd',
    'http://user:s3cret@x.example/',
    'http://s3cret@x.example',
  ])
    test(`to ${address}`, async () => {
      const reply = await createOutbound().call(address)
      assert.equal(reply.kind, 'not-sent')
      assert.ok(!reasonOf(reply).includes('s3cret'))
    })

  for (const path of [
    '/../secret',
    '/%2e%2e/secret',
    '/a/../../secret',
    'secret',
    '@evil.example',
    '',
    '\\evil',
  ])
    test(`to a path that leaves its base: ${path}`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(answer('')))
      const reply = await peer.outbound({ base: `${peer.origin}/v1/` }).call(path)
      assert.deepEqual(reply, { kind: 'not-sent', reason: 'the path leads out of the base' })
      assert.deepEqual(peer.received, [])
    })
})

test('a base that is no address, or holds credentials, says so and not what it holds', () => {
  for (const base of ['', 'api.example', 'ftp://api.example', 'https://user:s3cret@api.example/s3cret'])
    assert.throws(
      () => createOutbound({ base }),
      (error: Error) => error.name === 'StartError' && !error.message.includes('s3cret'),
    )
})

describe('connections that are kept', () => {
  test('carry several calls', async (t) => {
    const peer = await startPeer(t, (socket, _text, requests) => void socket.write(answer(String(requests))))
    const outbound = peer.outbound({ keepAlive: true })
    for (const expected of ['1', '2', '3']) {
      const reply = await outbound.call('/')
      assert.ok(reply.kind === 'answered' && reply.body.toString() === expected)
      await turn()
    }
    assert.equal(peer.received.length, 1)
    outbound.close()
    while (peer.open() > 0) await turn()
  })

  // The peer has given up the connection at the same time: it may have read the request, or not.
  test('leave a call unknown whose connection ends while it is sent, and it is not sent again', async (t) => {
    const peer = await startPeer(t, (socket, _text, requests) => {
      if (requests === 1) socket.write(answer(''))
      else socket.resetAndDestroy()
    })
    const outbound = peer.outbound({ keepAlive: true })
    assert.equal((await outbound.call('/')).kind, 'answered')
    await turn()
    assert.equal((await outbound.call('/', { json: {} })).kind, 'unknown')
    assert.equal(peer.received.length, 1)
    assert.equal(peer.received[0]!.split('POST').length, 2)
  })
})

describe('redirects', () => {
  const to = (location: string, status = 302): string => answer('', { status, headers: { location } })

  test('are followed as often as allowed', async (t) => {
    const peer = await startPeer(t, (socket, text, requests) =>
      socket.end(text.includes('/5 ') ? answer('there') : to(`/${requests}`)),
    )
    const reply = await peer.outbound({ redirects: 5 }).call('/')
    assert.ok(reply.kind === 'answered' && reply.body.toString() === 'there')
    const less = await peer.outbound({ redirects: 4 }).call('/')
    assert.equal(less.kind, 'unknown')
    assert.match(reasonOf(less), /redirects more than 4 times/)
  })

  test('of anything but GET and HEAD are not followed', async (t) => {
    for (const status of [301, 302, 303, 307, 308]) {
      const peer = await startPeer(t, (socket) => socket.end(to('/next', status)))
      const reply = await peer.outbound({ redirects: 5 }).call('/', { form: { a: 'b' } })
      assert.ok(reply.kind === 'answered' && reply.status === status)
      assert.equal(peer.received.length, 1)
    }
  })

  test('take no credentials to another origin, nor back from there', async (t) => {
    const home = await startPeer(t, (socket, text) =>
      socket.end(text.startsWith('GET /back') ? answer('back') : to(`${away.origin}/`)),
    )
    const away = await startPeer(t, (socket) => socket.end(to(`${home.origin}/back`)))
    const headers = {
      authorization: 'Bearer s3cret',
      cookie: 'a=s3cret',
      'x-api-key': 's3cret',
      accept: 'x/y',
    }
    const reply = await home.outbound({ redirects: 5, headers }).call('/')
    assert.ok(reply.kind === 'answered' && reply.body.toString() === 'back')
    assert.match(home.received[0]!, /s3cret/)
    assert.doesNotMatch(away.received[0]! + home.received[1]!, /s3cret/)
    assert.match(away.received[0]!, /^accept: x\/y\r$/im)
    assert.match(away.received[0]!, new RegExp(`^host: localhost:${away.port}\r$`, 'im'))
  })

  test('stay with https', async (t) => {
    const plain = await startPeer(t, (socket) => socket.end(answer('')))
    const peer = await startPeer(t, (socket) => socket.end(to(`${plain.origin}/`)), { scheme: 'https' })
    const reply = await peer.outbound({ redirects: 5 }).call('/')
    assert.equal(reply.kind, 'unknown')
    assert.match(reasonOf(reply), /redirects from https to http$/)
    assert.deepEqual(plain.received, [])
  })

  for (const location of ['http://user:s3cret@localhost/', 'file:///etc/passwd', 'http://[', 'javascript:0'])
    test(`to ${location} end the call`, async (t) => {
      const peer = await startPeer(t, (socket) => socket.end(to(location)))
      const reply = await peer.outbound({ redirects: 5 }).call('/')
      assert.ok(reply.kind === 'unknown' && !reply.reason.includes('s3cret'))
    })

  test('have one limit of time together', async (t) => {
    const clock = testClock()
    const peer = await startPeer(t, (socket, _text, requests) => {
      clock.advance(400)
      socket.end(to(`/${requests}`))
    })
    const reply = await peer.outbound({ redirects: 50, clock }).call('/', { limitMs: 1_000 })
    assert.equal(reply.kind, 'unknown')
    assert.ok(peer.received.length <= 3)
  })
})

test('a body that is no JSON value is not sent, and rejects nothing', async () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  for (const json of [{ amount: 5n }, circular]) {
    const reply = await createOutbound({ base: 'http://127.0.0.1:9' }).call('/x', { json })
    assert.deepEqual(reply, { kind: 'not-sent', reason: 'the body of the request is not a JSON value' })
  }
})
