import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { deflateRawSync, crc32, gzipSync } from 'node:zlib'

import { head, MULTIPART, named, open, part, readAnswer, whole } from '../../../../http/bodies.fixture.ts'
import { openDatabase } from '../../../../db/open.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { storedObjects, upload, uploadAll, type TestFile } from '../files.fixture.ts'
import { until } from '../../../../testing/until.ts'

const LIMIT = 1_200_000
const PUBLIC_URL = 'https://api.example'
const OLE2 = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)])
const FILE = part(`${named('file', '; filename="a.txt"')}\r\ncontent-type: text/plain`, 'hello')
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A zip with one file, as office programs begin theirs. */
function zipOf(name: string, content: string): Buffer {
  const packed = deflateRawSync(content)
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(8, 8)
  header.writeUInt32LE(crc32(content), 14)
  header.writeUInt32LE(packed.length, 18)
  header.writeUInt32LE(content.length, 22)
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, Buffer.from(name), packed])
}

const DOCX = zipOf(
  '[Content_Types].xml',
  '<?xml version="1.0"?><Types><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
)

someEngine((engine) => {
  describe('an upload', () => {
    let app: TestApp
    let folder: string
    let databaseUrl: string
    const tokens = {} as Record<'admin' | 'owner' | 'other' | 'key', string>
    let ownerId: string
    const ending = endOfSuite()
    before(async () => {
      folder = await temporaryFolder(ending)
      databaseUrl = await engine.migratedUrl()
      app = await startApp(ending, engine, {
        databaseUrl,
        config: { store: { uploadLimit: String(LIMIT) } },
        environment: { SIXWIRE_POLICY: 'guarded', DATA_DIR: folder, PUBLIC_URL },
      })
      tokens.admin = (await app.register()).token
      const owner = await app.register()
      tokens.owner = owner.token
      ownerId = owner._id
      tokens.other = (await app.register()).token
      tokens.key = (await app.app.service('auth').keys.create('key', ['store'])).key
    })

    const send = (
      raw: Uint8Array<ArrayBuffer>,
      headers: Record<string, string> = {},
      path = '/store/upload',
    ) =>
      app.request('POST', path, {
        raw,
        token: tokens.owner,
        headers: { ...MULTIPART, ...headers },
      })
    const get = (id: string, token = tokens.owner) => app.request('GET', `/store/files/${id}`, { token })
    const objects = () => storedObjects(folder)

    test('stores the bytes, and answers their record', async () => {
      const bytes = new Uint8Array(Buffer.from('Grüße aus der Datei'))
      const { status, body, text } = await upload(app, tokens.owner, {
        bytes,
        name: 'Grüße 1.txt',
        metadata: { b: [1, { a: null }], a: 'ä' },
      })
      assert.equal(status, 201, text)
      const { _id, filename, createdAt } = body
      assert.deepEqual(body, {
        _id,
        filename,
        originalName: 'Grüße 1.txt',
        contentType: 'text/plain',
        size: bytes.length,
        sha256: sha256(bytes),
        url: `${PUBLIC_URL}/store/files/${_id}/content`,
        access: 'private',
        metadata: { b: [1, { a: null }], a: 'ä' },
        createdAt,
      })
      assert.ok(Math.abs(Date.parse(createdAt) - app.clock.now()) < 60_000)
      assert.match(text, /"metadata":\{"b":\[1,\{"a":null\}\],"a":"ä"\}/)
      assert.deepEqual(
        new Uint8Array(await readFile(join(folder, 'uploads', filename.slice(-2), filename))),
        bytes,
      )
      assert.deepEqual((await get(_id)).body, body)
      const content = await app.request('GET', `/store/files/${_id}/content`, { token: tokens.owner })
      assert.equal(content.text, 'Grüße aus der Datei')
    })

    test('is deleted with its bytes', async () => {
      const { body } = await upload(app, tokens.owner)
      const remove = (token: string) => app.request('DELETE', `/store/files/${body._id}`, { token })
      assert.equal((await remove(tokens.other)).status, 404)
      assert.ok((await objects()).includes(body.filename))
      const removed = await remove(tokens.owner)
      assert.deepEqual([removed.status, removed.body], [200, { message: `The file ${body._id} is deleted.` }])
      await until(async () => !(await objects()).includes(body.filename))
      for (const again of [await remove(tokens.owner), await get(body._id)])
        assert.deepEqual([again.status, again.body.error.code], [404, 'NOT_FOUND'])
      assert.equal(
        (await app.request('GET', `/store/files/${body._id}/content`, { token: tokens.owner })).status,
        404,
      )
    })

    test('may be empty, and as large as the limit', async () => {
      for (const size of [0, LIMIT]) {
        const bytes = new Uint8Array(size).fill(7)
        const { status, body, text } = await upload(app, tokens.owner, { bytes, type: 'image/png' })
        assert.equal(status, 201, text)
        assert.deepEqual([body.size, body.sha256], [size, sha256(bytes)])
        assert.equal(body.contentType, 'application/octet-stream')
        assert.deepEqual(body.metadata, {})
      }
    })

    test('gets the type of its bytes', async () => {
      const text = (content: string, type: string): TestFile => ({ bytes: content, type })
      const bytes = (content: Buffer, type = ''): TestFile => ({ bytes: new Uint8Array(content), type })
      const long = 'ä'.repeat(100_000)
      for (const [file, expected] of [
        [bytes(PNG, 'text/html'), 'image/png'],
        [bytes(PNG, 'image/jpeg'), 'image/png'],
        [bytes(PNG), 'image/png'],
        [text('%PDF-1.7\n%…', 'text/plain'), 'application/pdf'],
        [
          bytes(DOCX, 'application/zip'),
          'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
        ],
        [bytes(zipOf('mimetype', 'text/html')), 'application/zip'],
        [bytes(gzipSync(Buffer.alloc(1_000_000)), 'text/html'), 'application/gzip'],
        [text('<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml'), 'image/svg+xml'],
        [text('<?xml version="1.0"?><svg/>', 'image/svg+xml'), 'image/svg+xml'],
        [text('<?xml version="1.0"?><svg/>', 'image/png'), 'application/xml'],
        [text('<script>alert(1)</script>', 'image/png'), 'application/octet-stream'],
        [text('<script>alert(1)</script>', 'TEXT/HTML; charset=utf-16'), 'text/html'],
        [text('BM is how a bitmap begins', 'text/plain'), 'text/plain'],
        [text('{"a":1}', 'application/json'), 'application/json'],
        [text(long, 'text/plain'), 'text/plain'],
        [text(`x${long}`, 'text/plain'), 'text/plain'],
        // Other encodings, as Excel and Notepad write them.
        [bytes(Buffer.from('a;M\xfcller', 'latin1'), 'text/csv'), 'text/csv'],
        [bytes(Buffer.from('\xff\xfea\0;\0', 'latin1'), 'text/csv'), 'text/csv'],
        [bytes(Buffer.from('\xfe\xff\0a', 'latin1'), 'text/plain'), 'text/plain'],
        [bytes(Buffer.from(long).subarray(0, -1), 'text/plain'), 'text/plain'],
        [bytes(Buffer.from(`${long}\0`), 'text/plain'), 'application/octet-stream'],
        [
          bytes(Buffer.concat([Buffer.from(long), Buffer.from([0xff, 1])]), 'text/css'),
          'application/octet-stream',
        ],
        // Containers of several formats.
        [bytes(OLE2, 'application/msword'), 'application/msword'],
        [bytes(OLE2, 'application/vnd.ms-excel'), 'application/vnd.ms-excel'],
        [bytes(OLE2, 'text/html'), 'application/x-cfb'],
        [bytes(zipOf('a', 'b'), 'application/java-archive'), 'application/java-archive'],
        [bytes(zipOf('a', 'b'), 'text/html'), 'application/zip'],
        [text('hello', 'application/pdf'), 'application/octet-stream'],
        [text('hello', ''), 'application/octet-stream'],
      ] as const) {
        const { body, text: answered } = await upload(app, tokens.owner, file)
        assert.equal(body.contentType, expected, `${file.type}: ${answered}`)
      }
    })

    test('of text that is not UTF-8 is found by its type, and served without an encoding', async () => {
      const file = { bytes: new Uint8Array([0x61, 0x3b, 0xfc]), type: 'text/tab-separated-values' }
      const { body } = await upload(app, tokens.owner, file)
      for (const wanted of ['text/tab-separated-values', 'text/*']) {
        const list = await app.request('GET', `/store/files?contentType=${wanted}`, { token: tokens.owner })
        assert.equal(list.status, 200, list.text)
        assert.ok(
          list.body.files.some(({ _id }: { _id: string }) => _id === body._id),
          list.text,
        )
      }
      const content = await app.request('GET', `/store/files/${body._id}/content`, { token: tokens.owner })
      assert.equal(content.headers.get('content-type'), 'text/tab-separated-values')
    })

    test('is sent by the typed client', async () => {
      const body = new FormData()
      body.set('file', new File(['hello'], 'a.txt', { type: 'text/plain' }))
      const { size, url } = await app.client.call('POST /store/upload', { body, token: tokens.owner })
      assert.deepEqual([size, url.startsWith(`${PUBLIC_URL}/store/files/`)], [5, true])
    })

    test('has a name without folders', async () => {
      for (const [sent, expected] of [
        ['../../etc/passwd', 'passwd'],
        ['C:\\Users\\ada\\cv.pdf', 'cv.pdf'],
        ['x'.repeat(255), 'x'.repeat(255)],
      ] as const) {
        const { body, text } = await upload(app, tokens.owner, { name: sent })
        assert.equal(body.originalName, expected, text)
      }
    })

    test('that is not right is refused, and nothing of it is kept', async () => {
      const before = await objects()
      const metadata = (content: string) => part(named('metadata'), content)
      const file = (name: string) =>
        part(`${named('file', `; ${name}`)}\r\ncontent-type: text/plain`, 'hello')
      for (const [parts, path] of [
        [[], '/body/file'],
        [[metadata('{}')], '/body/file'],
        [[part(named('file'), 'hello')], '/body/file'],
        [[part(named('upload', '; filename="a"'), 'hello')], '/body'],
        [[FILE, metadata('{')], '/body/metadata'],
        [[FILE, metadata('[]')], '/body/metadata'],
        [[FILE, metadata('"a"')], '/body/metadata'],
        [[FILE, metadata('{"a":1,"a":2}')], '/body/metadata'],
        [[FILE, metadata('{"a":"\\ud800"}')], '/body/metadata/a'],
        [[FILE, metadata('{}'), metadata('{}')], '/body'],
        [[metadata('{'), FILE], '/body/metadata'],
        [[file(`filename="${'x'.repeat(256)}"`)], '/body/file'],
        [[file(`filename="${'x'.repeat(10_000)}"`)], '/body/file'],
        [[file('filename=".."')], '/body/file'],
        [[file(`filename*=utf-8''a%0d%0aset-cookie:b`)], '/body/file'],
        [[file(`filename*=utf-8''a%00b`)], '/body/file'],
        [[file(`filename*=utf-8''photo%e2%80%aegnp.exe`)], '/body/file'],
        [[file(`filename*=utf-8''%ed%a0%80`)], '/body/file'],
      ] as const) {
        const { status, body, text } = await send(whole(...parts))
        assert.equal(status, 400, text)
        assert.equal(
          body.error.details.issues[0].path.split('/').slice(0, path.split('/').length).join('/'),
          path,
          text,
        )
      }
      const large = await upload(app, tokens.owner, { bytes: new Uint8Array(LIMIT + 1) })
      assert.deepEqual([large.status, large.body.error.code], [413, 'PAYLOAD_TOO_LARGE'])
      const json = await app.request('POST', '/store/upload', { token: tokens.owner, body: {} })
      assert.equal(json.status, 415)
      assert.deepEqual(await objects(), before)
    })

    test('that is cut off leaves nothing', async () => {
      const before = await objects()
      const socket = await open(app.url)
      const start = `--b\r\n${named('file', '; filename="a"')}\r\n\r\n`
      socket.write(
        head(
          '/store/upload',
          `authorization: Bearer ${tokens.owner}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ${LIMIT}`,
        ) + start,
      )
      socket.write(Buffer.alloc(LIMIT - 1000, 1))
      await until(async () => (await objects()).length > before.length)
      socket.destroy()
      await until(async () => (await objects()).length === before.length)
    })

    test('under an Idempotency-Key is stored once', async () => {
      const headers = { 'idempotency-key': 'upload-1' }
      const first = await upload(app, tokens.owner, { metadata: { a: 1 } }, headers)
      assert.equal(first.status, 201, first.text)
      const before = await objects()
      const again = await upload(app, tokens.owner, { metadata: { a: 1 } }, headers)
      assert.deepEqual(again.body, first.body)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
      for (const other of [
        { bytes: 'Hello' },
        { metadata: { a: 2 } },
        { metadata: { a: 1 }, name: 'b.txt' },
      ]) {
        const refused = await upload(app, tokens.owner, other, headers)
        assert.deepEqual([refused.status, refused.body.error.code], [409, 'IDEMPOTENCY_CONFLICT'])
      }
      // As if the server had ended after the commit, before the answer was stored.
      const db = await openDatabase(databaseUrl)
      await db.write(sql`update sixwire_idempotency set answer = null, lease_until = 0`)
      await db.close()
      const later = await upload(app, tokens.owner, { metadata: { a: 1 } }, headers)
      assert.deepEqual([later.status, later.body], [201, first.body])
      assert.equal(later.headers.get('idempotency-replayed'), null)
      assert.deepEqual(await objects(), before)
      const atOnce = await Promise.all(
        Array.from({ length: 5 }, () => upload(app, tokens.owner, {}, { 'idempotency-key': 'upload-2' })),
      )
      const ids = new Set(atOnce.filter(({ status }) => status === 201).map(({ body }) => body._id))
      assert.equal(ids.size, 1)
      assert.deepEqual(
        atOnce.filter(({ status }) => ![201, 409].includes(status)),
        [],
      )
      assert.equal((await objects()).length, before.length + 1)
    })

    test('whose call died before its answer is stored once when it is repeated', async () => {
      const headers = { 'idempotency-key': 'upload-died' }
      const first = await upload(app, tokens.owner, {}, headers)
      const before = await objects()
      await app.app.db.write(sql`update sixwire_idempotency set answer = null where key = 'upload-died'`)
      app.clock.advance(60_000)
      const again = await upload(app, tokens.owner, {}, headers)
      assert.deepEqual([again.status, again.text], [201, first.text])
      assert.deepEqual(await objects(), before)
    })

    test('of several files stores all of them, in their order', async () => {
      const files = ['one', 'two', 'one'].map((bytes, i) => ({ bytes, name: `${i}.txt` }))
      const { status, body, text } = await uploadAll(app, tokens.owner, files)
      assert.equal(status, 201, text)
      const records = body.files as { _id: string; originalName: string; sha256: string }[]
      assert.deepEqual(
        records.map(({ originalName, sha256: hash }) => [originalName, hash]),
        files.map(({ name, bytes }) => [name, sha256(bytes)]),
      )
      for (const record of records) assert.deepEqual((await get(record._id)).body, record)
      const [first] = records
      const content = await app.request('GET', `/store/files/${first!._id}/content`, { token: tokens.owner })
      assert.equal(content.text, 'one')
    })

    test('of several files leaves nothing if one of them is refused', async () => {
      const before = await objects()
      const { total } = (await app.request('GET', '/store/files', { token: tokens.owner })).body
      const large = new Uint8Array(LIMIT)
      for (const [files, status] of [
        [[{}, { name: 'a\u202eexe.txt' }], 400],
        [[{}, { bytes: large }], 413],
        [Array.from({ length: 101 }, () => ({})), 400],
      ] as const)
        assert.equal((await uploadAll(app, tokens.owner, files)).status, status)
      const unfinished = await send(whole(FILE, FILE, part(named('other'))), {}, '/store/files')
      assert.equal(unfinished.status, 400)
      assert.deepEqual(await objects(), before)
      const list = await app.request('GET', '/store/files', { token: tokens.owner })
      assert.equal(list.body.total, total)
    })

    test('of several files under an Idempotency-Key is stored once', async () => {
      const headers = { 'idempotency-key': 'several' }
      const files = [{ bytes: 'one' }, { bytes: 'two' }]
      const first = await uploadAll(app, tokens.owner, files, headers)
      assert.equal(first.status, 201, first.text)
      const before = await objects()
      assert.equal((await uploadAll(app, tokens.owner, files.toReversed(), headers)).status, 409)
      await app.app.db.write(sql`update sixwire_idempotency set answer = null where key = 'several'`)
      app.clock.advance(60_000)
      const again = await uploadAll(app, tokens.owner, files, headers)
      assert.deepEqual([again.status, again.text], [201, first.text])
      assert.deepEqual(await objects(), before)
    })

    test('is its owner’s', async () => {
      const { body } = await upload(app, tokens.owner, { metadata: { a: ownerId } })
      assert.equal((await upload(app, undefined)).status, 401)
      assert.equal((await app.request('GET', `/store/files/${body._id}`)).status, 401)
      assert.equal((await app.request('DELETE', `/store/files/${body._id}`)).status, 401)
      assert.equal((await get(body._id, tokens.other)).status, 404)
      for (const token of [tokens.admin, tokens.key])
        assert.deepEqual((await get(body._id, token)).body, { ...body, owner: ownerId })
      for (const id of ['x', '01ARZ3NDEKTSV4RRFFQ69G5FAV', '..%2f..%2fetc%2fpasswd'])
        assert.equal((await get(id)).status, 404)
      const byKey = await upload(app, tokens.key)
      assert.equal((await get(byKey.body._id)).status, 404)
      assert.equal(
        (await app.request('DELETE', `/store/files/${body._id}`, { token: tokens.key })).status,
        200,
      )
    })

    test('is answered 503 while nothing can be stored', async () => {
      const uploads = join(folder, 'uploads')
      await rename(uploads, `${uploads}.away`)
      await writeFile(uploads, '')
      const refused = await upload(app, tokens.owner)
      assert.deepEqual([refused.status, refused.body.error.code], [503, 'UNAVAILABLE'], refused.text)
      assert.doesNotMatch(refused.text, /uploads|ENOTDIR|sixwire-test/)
      await rm(uploads)
      await rename(`${uploads}.away`, uploads)
      assert.equal((await upload(app, tokens.owner)).status, 201)
    })

    // Last, because the tokens have expired then.
    test('of several files that takes hours keeps those that came first', async () => {
      const begin = (name: string) => `--b\r\n${named('file', `; filename="${name}"`)}\r\n\r\n`
      const [first, end] = [`${begin('a')}one\r\n${begin('b')}`, '\r\n--b--\r\n']
      const [chunk, chunks] = [Buffer.alloc(100_000, 1), 3]
      const length = first.length + chunks * chunk.length + end.length
      const socket = await open(app.url)
      socket.write(
        head(
          '/store/files',
          `authorization: Bearer ${tokens.owner}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ${length}`,
        ) + first,
      )
      const stillWritten = async (): Promise<number> => {
        const [row] = await app.app.db.all<{ written: number }>(sql`
          select count(*) as written from store_unclaimed where state = 'writing' and due > ${app.clock.now() + 1_800_000}`)
        return row!.written
      }
      for (let sent = 0; sent < chunks; sent++) {
        socket.write(chunk)
        await until(async () => (await stillWritten()) >= 2)
        app.clock.advance(2_400_000)
      }
      socket.write(end)
      const { status, body } = await readAnswer(socket)
      assert.equal(status, 201, body)
      socket.destroy()
    })
  })
})
