import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { someEngine, endOfSuite } from '../testing/engines.ts'
import { startWatched } from '../testing/loaded-modules.ts'
import {
  bytes,
  FILE,
  FILE_MAX,
  HELLO,
  head,
  MULTIPART,
  named,
  open,
  part,
  readAnswer,
  startBodies,
  whole,
  type Bodies,
} from './bodies.fixture.ts'

test('a server without such a route does not load the parser', async (t) => {
  const server = await startWatched(t, { SIXWIRE_SANDBOX: 'off', SIXWIRE_WIRES: 'core' })
  const loaded = await server.loaded()
  assert.ok(loaded.some((url) => url.includes('/node_modules/fastify/')))
  assert.deepEqual(
    loaded.filter((url) => /busboy|fastify\/multipart/.test(url)),
    [],
  )
})

someEngine((engine) => {
  let it: Bodies
  const ending = endOfSuite()
  before(async () => {
    it = await startBodies(ending, engine)
  })

  describe('a multipart body', () => {
    test('is a file with fields before and after it', async () => {
      const metadata = part(`${named('metadata')}\r\ncontent-type: application/json`, '{"a":[1]}')
      const note = part(named('note'), 'grüß')
      const count = part(named('count'), '7')
      const { status, body } = await it.send('files', whole(metadata, FILE, note, count))
      assert.equal(status, 200)
      assert.deepEqual(body, {
        name: 'a.txt',
        contentType: 'text/plain',
        size: 5,
        sha256: HELLO,
        fields: { metadata: { a: [1] }, note: 'grüß', count: 7 },
      })
    })

    test('as fetch sends it', async () => {
      const data = new FormData()
      data.set('metadata', '{"of":"fetch"}')
      data.set('file', new File([new Uint8Array(FILE_MAX)], 'größe "1".bin', { type: 'image/png' }))
      const response = await fetch(`${it.app.url}/bodies/files`, { method: 'POST', body: data })
      const body = (await response.json()) as { name: string; size: number; fields: object }
      assert.equal(response.status, 200)
      assert.equal(body.size, FILE_MAX)
      assert.equal(body.name, 'größe "1".bin')
      assert.deepEqual(body.fields, { metadata: { of: 'fetch' } })
    })

    test('may be read while its end is waited for', async () => {
      const big = part(named('file', '; filename="b"'), Buffer.alloc(FILE_MAX, 1))
      const { status, body } = await it.send('at-once', whole(big, part(named('note'), 'n')))
      assert.deepEqual([status, body.size, body.fields], [200, FILE_MAX, { note: 'n' }])
    })

    test('whose file is not required, and skipped', async () => {
      const note = part(named('note'), 'n')
      assert.deepEqual((await it.send('skipped', whole(note))).body, { fields: { note: 'n' } })
      const picture = part(named('picture', '; filename="p"'), Buffer.alloc(FILE_MAX))
      const { body } = await it.send('skipped', whole(picture, note))
      assert.deepEqual(body, { name: 'p', fields: { note: 'n' } })
      assert.equal(
        (await it.send('skipped', whole(picture, part(named('note'), 'n'.repeat(11))))).status,
        400,
      )
    })

    for (const [what, content, path, message] of [
      ['no part', whole(), '/body/file', /is required/],
      ['fields only', whole(part(named('note'))), '/body/file', /is required/],
      ['a file without a name', whole(part(named('file'))), '/body/file', /a file with a name/],
      [
        'a file with an empty name',
        whole(part(named('file', '; filename=""'))),
        '/body/file',
        /a file with a name/,
      ],
      [
        'a file named by bytes that are not UTF-8',
        whole(part(Buffer.from(named('file', '; filename="\xff"'), 'latin1'))),
        '/body/file',
        /not allowed/,
      ],
      ['a file with U+0000 in its name', whole(part(named('file', '; filename="a\0"'))), '/body', /.*/],
      ['a second file', whole(FILE, FILE), '/body/file', /only once/],
      [
        'a file under another name',
        whole(part(named('other', '; filename="a"'))),
        '/body',
        /holds a part "other", which this route does not take: send the file in the part "file"/,
      ],
      [
        'a file in the place of a field',
        whole(part(named('note', '; filename="a"')), FILE),
        '/body/note',
        /not a file/,
      ],
      ['an unknown field before', whole(part(named('other')), FILE), '/body', /does not take/],
      ['an unknown field after', whole(FILE, part(named('other'))), '/body', /does not take/],
      [
        'a part without a name',
        whole(part('content-disposition: form-data'), FILE),
        '/body',
        /does not take/,
      ],
      ['a field twice', whole(part(named('note')), FILE, part(named('note'))), '/body/note', /only once/],
      ['a field that is too long', whole(FILE, part(named('note'), 'x'.repeat(11))), '/body/note', /10/],
      [
        'a field that is not UTF-8',
        whole(part(named('note'), Buffer.from([0xff])), FILE),
        '/body/note',
        /UTF-8/,
      ],
      ['a field with U+0000', whole(part(named('note'), 'a\0'), FILE), '/body/note', /not allowed/],
      ['metadata that is no JSON', whole(part(named('metadata'), '{a:1}'), FILE), '/body/metadata', /.*/],
      ['metadata that is no object', whole(part(named('metadata'), '[1]'), FILE), '/body/metadata', /object/],
      [
        'metadata with a key twice',
        whole(FILE, part(named('metadata'), '{"a":1,"a":2}')),
        '/body/metadata/a',
        /.*/,
      ],
      [
        'metadata with a prototype',
        whole(part(`${named('metadata')}\r\ncontent-type: application/json`, '{"__proto__":{}}'), FILE),
        '/body/metadata/__proto__',
        /.*/,
      ],
      ['a number that is none', whole(part(named('count'), '1.5'), FILE), '/body/count', /integer/],
      ['a part named __proto__', whole(part(named('__proto__')), FILE), '/body', /.*/],
      ['a part named constructor', whole(FILE, part(named('constructor'))), '/body', /.*/],
      [
        'a thousand parts',
        whole(...Array.from({ length: 1000 }, () => part(named('note')))),
        '/body/note',
        /once/,
      ],
      ['no end', new Uint8Array(FILE), '/body', /read/],
      [
        'an end in the middle of a part',
        new Uint8Array(Buffer.concat([FILE, FILE.subarray(0, -9)])),
        '/body',
        /.*/,
      ],
      ['an end in the headers of a part', new Uint8Array(FILE.subarray(0, 30)), '/body', /.*/],
      ['no multipart at all', bytes('{"a":1}'), '/body', /.*/],
      ['nothing', bytes(''), '/body', /.*/],
    ] as const)
      test(`of ${what} is refused, and nothing is kept`, async () => {
        const earlier = it.kept.length
        const { status, body, text } = await it.send('files', content)
        assert.equal(status, 400, text)
        assert.equal(body.error.code, 'VALIDATION_ERROR')
        const [issue] = body.error.details.issues
        if (path !== undefined) assert.ok(issue.path.startsWith(path), text)
        assert.match(issue.message, message)
        assert.equal(it.kept.length, earlier)
        await it.isWell()
      })

    test('without a boundary, or of another type', async () => {
      const none = await it.send('files', whole(FILE), { 'content-type': 'multipart/form-data' })
      assert.equal(none.status, 400, none.text)
      for (const type of ['multipart/mixed; boundary=b', 'application/json', 'text/plain']) {
        const { status, body } = await it.send('files', whole(FILE), { 'content-type': type })
        assert.equal(status, 415, type)
        assert.equal(body.error.message, 'Send the body as multipart/form-data.')
      }
      const nothing = await it.app.request('POST', '/bodies/files')
      assert.deepEqual([nothing.status, nothing.body.error.details.issues[0].path], [400, '/body'])
      await it.isWell()
    })

    test('over its limit, announced or not, is refused while it is read', async () => {
      const big = (size: number) => part(named('file', '; filename="b"'), Buffer.alloc(size))
      assert.equal((await it.send('files', whole(big(FILE_MAX)))).status, 200)
      for (const size of [FILE_MAX + 1, 2 * FILE_MAX, 20 * FILE_MAX]) {
        const { status, body } = await it.send('files', whole(big(size)))
        assert.deepEqual([status, body.error.message], [413, `The file is larger than ${FILE_MAX} bytes.`])
      }
      for (const content of [
        whole(FILE, part(named('metadata'), `{"a":"${'x'.repeat(70_000)}"}`)),
        whole(part(named('metadata'), `{"a":"${'x'.repeat(70_000)}"}`), FILE),
      ])
        assert.equal((await it.send('files', content)).status, 413)
      // Of unknown length: it is refused while the client is still sending, without an end.
      const socket = await open(it.app.url)
      const chunked = `${MULTIPART['content-type']}\r\ntransfer-encoding: chunked`
      socket.write(head('/bodies/files', `content-type: ${chunked}`))
      const piece = (content: Buffer) =>
        Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n')])
      socket.write(piece(big(1).subarray(0, -2)))
      let isAnswered = false
      const answered = readAnswer(socket).finally(() => (isAnswered = true))
      while (!isAnswered) {
        socket.write(piece(Buffer.alloc(10_000)))
        await it.app.request('GET', '/ready')
      }
      assert.equal((await answered).status, 413)
      socket.destroy()
      await it.isWell()
    })

    test('whose preamble never ends is refused', async () => {
      const { status } = await it.send('files', bytes('x'.repeat(FILE_MAX + 150_000)))
      assert.equal(status, 413)
    })

    test('that the handler does not read is answered, and the connection is used again', async () => {
      const content = whole(part(named('file', '; filename="unread"'), Buffer.alloc(5_000_000)))
      const socket = await open(it.app.url)
      socket.write(
        head(
          '/bodies/unread',
          `content-type: ${MULTIPART['content-type']}\r\ncontent-length: ${content.length}`,
        ),
      )
      socket.write(content.subarray(0, 1000))
      const { status, body } = await readAnswer(socket)
      assert.deepEqual([status, JSON.parse(body).name], [200, 'unread'])
      socket.write(content.subarray(1000))
      socket.write('GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n')
      assert.equal((await readAnswer(socket)).status, 200)
      socket.destroy()
      await it.isWell()
    })

    test('that came whole and is not read leaves the connection to the next request', async () => {
      const socket = await open(it.app.url)
      for (const size of [1, 100_000, 300_000]) {
        const content = whole(part(named('file', '; filename="unread"'), Buffer.alloc(size)))
        const length = `content-length: ${content.length}`
        socket.write(head('/bodies/unread', `content-type: ${MULTIPART['content-type']}\r\n${length}`))
        socket.write(content)
        assert.equal((await readAnswer(socket)).status, 200)
      }
      socket.destroy()
      await it.isWell()
    })

    const sized = (name: string, size: number, field = 'file') =>
      part(named(field, `; filename="${name}"`), Buffer.alloc(size, 1))

    test('may have several files, which are read one after the other', async () => {
      const note = part(named('note'), 'n')
      const half = FILE_MAX / 2
      const { status, body } = await it.send(
        'album',
        whole(sized('a', half), note, sized('b', 0), sized('c', half)),
      )
      assert.deepEqual(
        [status, body],
        [200, { files: [`file a ${half}`, 'file b 0', `file c ${half}`], fields: { note: 'n' } }],
      )
      const skipping = await it.send('album', whole(sized('skip', half), sized('b', 2)))
      assert.deepEqual(skipping.body.files, ['file skip skipped', 'file b 2'])
      const first = await it.send('first', whole(sized('a', 3), sized('b', half), note))
      assert.deepEqual(first.body, { files: ['a 3'], fields: { note: 'n' } })
    })

    test('of several files is refused over the number or the sum that the route takes', async () => {
      const one = sized('a', 1)
      const many = await it.send('album', whole(one, one, one, one))
      assert.deepEqual(
        [many.status, many.body.error.details],
        [400, { issues: [{ path: '/body', message: 'holds more than 3 files' }] }],
      )
      const large = await it.send('album', whole(sized('a', FILE_MAX), one))
      assert.deepEqual(
        [large.status, large.body.error.message],
        [413, `The files are larger than ${FILE_MAX} bytes together.`],
      )
      assert.equal(await it.receipts.at(-1)!.ended, large.body.error.message)
      await it.isWell()
    })

    test('has JSON as its first part and files behind it, on a route that takes JSON too', async () => {
      const card = (text: string, ...files: Buffer[]) =>
        it.send('card', whole(part(named('_json'), text), ...files))
      const sent = await card('{"title":"a"}', sized('p', 9, 'photo'), sized('q', 1, 'a.b'))
      assert.deepEqual(
        [sent.status, sent.body],
        [200, { fields: { title: 'a', stars: 1 }, files: ['photo p 9', 'a.b q 1'] }],
      )
      assert.deepEqual((await card('{"title":"a"}')).body, { fields: { title: 'a', stars: 1 }, files: [] })
      const json = await it.app.request('POST', '/bodies/card', { body: { title: 'a' } })
      assert.deepEqual([json.status, json.body], [200, { fields: { title: 'a', stars: 1 } }])
      for (const [answered, path, message] of [
        [await card('{"title":"longer than 9"}'), '/body/title', /9/],
        [await card('{"title":'), '/body/_json', /JSON/],
        [await card(''), '/body', /object/],
        [await it.app.request('POST', '/bodies/card'), '/body', /object/],
        [await it.app.request('POST', '/bodies/card', { body: { title: 1 } }), '/body/title', /string/],
        [await it.send('card', whole()), '/body/_json', /is required/],
        [
          await it.send('card', whole(sized('p', 1), part(named('_json'), '{}'))),
          '/body/_json',
          /before the files/,
        ],
        [await card('{"title":"a"}', part(named('_json'), '{}')), '/body/_json', /only once/],
        [
          await card('{"title":"a"}', part(named('stars'), '2')),
          '/body/stars',
          /write fields that are no files into/,
        ],
        [
          await card('{"title":"a"}', sized('p', 1), sized('p', 1), sized('p', 1)),
          '/body',
          /more than 2 files/,
        ],
      ] as const) {
        const [issue] = answered.body.error?.details?.issues ?? []
        assert.deepEqual([answered.status, issue?.path], [400, path], answered.text)
        assert.match(issue.message, message)
      }
      const large = await card(`{"title":"a","more":"${'x'.repeat(262_144)}"}`)
      assert.deepEqual([large.status, large.body.error.code], [413, 'PAYLOAD_TOO_LARGE'])
      assert.equal((await it.send('card', bytes('a'), { 'content-type': 'text/plain' })).status, 415)
      await it.isWell()
    })

    test('of JSON with files is one call under an Idempotency-Key', async () => {
      const { token } = await it.app.register()
      const card = (size: number) =>
        it.app.request('POST', '/bodies/card', {
          raw: whole(part(named('_json'), '{"title":"a"}'), sized('p', size)),
          token,
          headers: { ...MULTIPART, 'idempotency-key': 'card' },
        })
      const earlier = it.performed()
      const first = await card(1)
      assert.equal((await card(1)).text, first.text)
      assert.equal((await card(2)).status, 409)
      assert.deepEqual([first.status, it.performed()], [200, earlier + 1])
    })

    test('is streamed: what the handler has not read is not in memory', async () => {
      const size = 64 * 1024 * 1024
      const content = whole(part(named('file', '; filename="big"'), Buffer.alloc(size)))
      const socket = await open(it.app.url)
      const length = `content-length: ${content.length}`
      socket.write(head('/bodies/gated', `content-type: ${MULTIPART['content-type']}\r\n${length}`))
      let isSent = false
      socket.write(content, () => (isSent = true))
      // Far more turns than the server would need to take it all in, if it did.
      for (let turn = 0; turn < 200; turn++) await it.app.request('GET', '/ready')
      assert.equal(isSent, false)
      it.gate.resolve()
      const { status, body } = await readAnswer(socket)
      assert.deepEqual([status, JSON.parse(body).size], [200, size])
      assert.equal(isSent, true)
      socket.destroy()
    })

    test('whose client goes away ends the reading of its file', async () => {
      const length = `content-length: ${FILE_MAX}`
      for (const reset of [false, true]) {
        const earlier = it.receipts.length
        const socket = await open(it.app.url)
        socket.write(head('/bodies/files', `content-type: ${MULTIPART['content-type']}\r\n${length}`))
        socket.write(FILE.subarray(0, -3))
        while (it.receipts.length === earlier) await it.app.request('GET', '/ready')
        if (reset) socket.resetAndDestroy()
        else socket.destroy()
        assert.match(await it.receipts.at(-1)!.ended, /^\/body: is not multipart/)
        await it.isWell()
      }
    })

    test('is one call under an Idempotency-Key, if its bytes are equal', async () => {
      const { token } = await it.app.register()
      const other = part(named('file', '; filename="a.txt"'), 'other')
      const upload = (content: Uint8Array<ArrayBuffer>, headers = {}) =>
        it.app.request('POST', '/bodies/once', {
          raw: content,
          token,
          headers: { ...MULTIPART, 'idempotency-key': 'up', ...headers },
        })
      const earlier = it.performed()
      const first = await upload(whole(FILE))
      assert.deepEqual([first.status, first.body.sha256], [200, HELLO])
      const again = await upload(whole(FILE))
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('content-type'), first.headers.get('content-type'))
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      assert.equal(it.performed(), earlier + 1)
      for (const content of [whole(other), whole(FILE, part(named('note'), 'n'))]) {
        const refused = await upload(content)
        assert.deepEqual([refused.status, refused.body.error.code], [409, 'IDEMPOTENCY_CONFLICT'])
      }
      assert.equal((await upload(whole(FILE, FILE))).status, 400)
      assert.equal(it.performed(), earlier + 1)
      assert.equal((await upload(whole(other), { 'idempotency-key': 'up2' })).status, 200)
      assert.equal((await upload(whole(FILE), { 'idempotency-key': 'a b' })).status, 400)
    })

    test('of which the handler does not ask once is a bug that is told', async () => {
      const headers = { ...MULTIPART, 'idempotency-key': 'careless' }
      const { status, body } = await it.send('careless', whole(FILE), headers)
      assert.equal(status, 500)
      assert.match(body.error.message, /POST \/bodies\/careless .* call\.once/)
      assert.equal((await it.send('careless', whole(FILE))).status, 200)
    })
  })
})
