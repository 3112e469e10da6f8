import assert from 'node:assert/strict'
import { readdir, readlink, truncate, unlink } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { anyEngine, endOfSuite, someEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { contentPath, upload, type NewFile, type Uploaded } from './file-content.fixture.ts'
import { dispositionOf } from './disposition.ts'

someEngine((engine) => {
  let app: TestApp
  let token: string
  let folder: string
  let letters: Uploaded
  const ending = endOfSuite()
  before(async () => {
    folder = await temporaryFolder(ending)
    app = await startApp(ending, engine, {
      environment: { DATA_DIR: folder, SIXWIRE_POLICY: 'guarded' },
      config: { auth: { local: { requireEmailVerification: false } } },
    })
    token = (await app.register()).token
    letters = await upload(app, token, { bytes: 'abcdefghij' })
  })
  const get = (file: Uploaded, headers: Record<string, string> = {}, query = '') =>
    app.request('GET', contentPath(file, query), { token, headers })
  const add = (file: NewFile) => upload(app, token, file)
  const pathOf = ({ filename }: Uploaded) => join(folder, 'uploads', filename.slice(-2), filename)

  test('a file is answered whole', async () => {
    const { status, text, headers } = await get(letters)
    assert.equal(status, 200)
    assert.equal(text, 'abcdefghij')
    const expected = {
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '10',
      'accept-ranges': 'bytes',
      etag: `"${letters.sha256}"`,
      'last-modified': new Date(letters.createdAt).toUTCString(),
      'cache-control': 'private, no-cache',
      'content-disposition': 'inline; filename="file"',
      'x-content-type-options': 'nosniff',
    }
    assert.partialDeepStrictEqual(Object.fromEntries(headers), expected)
    assert.match(headers.get('content-security-policy')!, /^sandbox; default-src 'none';/)

    const head = await app.request('HEAD', contentPath(letters), { token, headers: { range: 'bytes=0-1' } })
    assert.equal(head.status, 200)
    assert.partialDeepStrictEqual(Object.fromEntries(head.headers), expected)
  })

  test('ranges', async () => {
    const seventeen = Array.from({ length: 17 }, (_, n) => `${n}-${n}`).join()
    const cases: [range: string, status: number, contentRange: string | null, text?: string][] = [
      ['bytes=0-3', 206, 'bytes 0-3/10', 'abcd'],
      ['bytes=4-', 206, 'bytes 4-9/10', 'efghij'],
      ['bytes=-3', 206, 'bytes 7-9/10', 'hij'],
      ['bytes=-100', 206, 'bytes 0-9/10', 'abcdefghij'],
      [`bytes=-${'9'.repeat(400)}`, 206, 'bytes 0-9/10', 'abcdefghij'],
      ['bytes=8-100', 206, 'bytes 8-9/10', 'ij'],
      ['BYTES=0-0', 206, 'bytes 0-0/10', 'a'],
      ['bytes=0-4,3-6', 206, 'bytes 0-6/10', 'abcdefg'],
      ['bytes= 0-1 ,, 1-2,', 206, 'bytes 0-2/10', 'abc'],
      ['bytes=20-30,0-1', 206, 'bytes 0-1/10', 'ab'],
      ['bytes=10-', 416, 'bytes */10'],
      ['bytes=-0', 416, 'bytes */10'],
      ['bytes=20-30,40-', 416, 'bytes */10'],
      ...[
        'items=0-1',
        'bytes=',
        'bytes=a-b',
        'bytes=3-1',
        'bytes=-',
        'bytes 0-1',
        'bytes=0-1-2',
        'bytes=0-1;2-3',
      ].map((range): [string, number, null, string] => [range, 200, null, 'abcdefghij']),
      [`bytes=${seventeen}`, 200, null, 'abcdefghij'],
    ]
    for (const [range, status, contentRange, text] of cases) {
      const answered = await get(letters, { range })
      assert.equal(answered.status, status, range)
      assert.equal(answered.headers.get('content-range'), contentRange, range)
      if (text === undefined) assert.equal(answered.body.error.code, 'RANGE_NOT_SATISFIABLE')
      else assert.equal(answered.text, text, range)
    }
  })

  test('several ranges are the parts of one body, in the order of the request', async () => {
    const { status, text, headers } = await get(letters, { range: 'bytes=7-8,0-1' })
    assert.equal(status, 206)
    const [, boundary] = /^multipart\/byteranges; boundary=(\w+)$/.exec(headers.get('content-type')!)!
    const part = (range: string, bytes: string) =>
      `\r\n--${boundary}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-range: bytes ${range}/10\r\n\r\n${bytes}`
    assert.equal(text, `${part('7-8', 'hi')}${part('0-1', 'ab')}\r\n--${boundary}--\r\n`)
    assert.equal(headers.get('content-length'), String(text.length))
    assert.equal(headers.get('content-range'), null)
  })

  test('an empty file', async () => {
    const empty = await add({ bytes: '' })
    for (const range of [undefined, 'bytes=0-', 'bytes=-1']) {
      const { status, text, headers } = await get(empty, range === undefined ? {} : { range })
      assert.deepEqual([status, text, headers.get('content-length')], [200, '', '0'])
    }
  })

  test('conditions, in the order of RFC 9110', async () => {
    const etag = `"${letters.sha256}"`
    const at = Date.parse(letters.createdAt)
    const date = new Date(at).toUTCString()
    const earlier = new Date(at - 5000).toUTCString()
    const later = new Date(at + 5000).toUTCString()
    const range = 'bytes=0-0'
    const cases: [headers: Record<string, string>, status: number][] = [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"x", W/${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': '"x,y"' }, 200],
      [{ 'if-none-match': letters.sha256 }, 200],
      [{ 'if-none-match': '"x"', 'if-modified-since': date }, 200],
      [{ 'if-none-match': etag, range }, 304],
      [{ 'if-modified-since': date }, 304],
      [{ 'if-modified-since': earlier }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-modified-since': 'Sat Nov  6 08:49:37 2100' }, 304],
      [{ 'if-match': etag }, 200],
      [{ 'if-match': '*' }, 200],
      [{ 'if-match': `W/${etag}` }, 412],
      [{ 'if-match': '"x"', 'if-none-match': etag }, 412],
      [{ 'if-match': etag, 'if-unmodified-since': earlier }, 200],
      [{ 'if-match': etag, 'if-none-match': etag }, 304],
      [{ 'if-unmodified-since': earlier }, 412],
      [{ 'if-unmodified-since': date }, 200],
      [{ range, 'if-range': etag }, 206],
      [{ range, 'if-range': date }, 206],
      [{ range, 'if-range': '"x"' }, 200],
      [{ range, 'if-range': `W/${etag}` }, 200],
      [{ range, 'if-range': later }, 200],
      [{ range: 'bytes=50-', 'if-range': '"x"' }, 200],
    ]
    for (const [headers, status] of cases) {
      const answered = await get(letters, headers)
      const what = JSON.stringify(headers)
      assert.equal(answered.status, status, what)
      if (status === 304) {
        assert.match(answered.headers.get('content-security-policy')!, /^sandbox;/)
        assert.equal(answered.text, '', what)
        assert.equal(answered.headers.get('etag'), etag, what)
        assert.equal(answered.headers.get('content-length'), null, what)
      }
    }
    const head = await app.request('HEAD', contentPath(letters), {
      token,
      headers: { 'if-none-match': etag },
    })
    assert.equal(head.status, 304)
  })

  test('what a browser would run is an attachment', async () => {
    const cases: [file: NewFile, expected: string][] = [
      [{ name: 'a.html', type: 'text/html', bytes: '<script>alert(1)</script>' }, 'attachment'],
      [
        { name: 'a.svg', type: 'image/svg+xml', bytes: '<svg xmlns="http://www.w3.org/2000/svg"/>' },
        'attachment',
      ],
      [{ name: 'a.xml', type: 'text/xml', bytes: '<?xml version="1.0"?><a/>' }, 'attachment'],
      [{ name: 'a.js', type: 'text/javascript', bytes: 'alert(1)' }, 'attachment'],
      [{ name: 'a.bin', type: 'application/x-anything', bytes: 'abc' }, 'attachment'],
      [{ name: 'a.png', type: 'image/png', bytes: '<script>alert(1)</script>' }, 'attachment'],
      [{ name: 'a.txt', bytes: '<script>alert(1)</script>' }, 'inline'],
    ]
    for (const [file, expected] of cases) {
      const { status, headers } = await get(await add(file))
      assert.equal(status, 200)
      assert.equal(headers.get('content-disposition'), `${expected}; filename="${file.name}"`)
    }
    const forced = await get(letters, {}, '?download')
    assert.equal(forced.headers.get('content-disposition'), 'attachment; filename="file"')
  })

  test('only who may read a file gets its bytes', async () => {
    const other = (await app.register()).token
    assert.equal((await app.request('GET', contentPath(letters), { token: other })).status, 404)
    assert.equal((await app.request('GET', contentPath(letters))).status, 401)
    assert.equal((await app.request('HEAD', contentPath(letters), { token: other })).status, 404)
    assert.equal((await get({ ...letters, _id: 'nothing' })).status, 404)
  })

  describe('bytes that', () => {
    test('are missing answer 500, and the log tells which', async () => {
      const file = await add({ bytes: 'lost' })
      await unlink(pathOf(file))
      for (const headers of [{}, { range: 'bytes=0-1' }, { range: 'bytes=0-0,2-2' }] as Record<
        string,
        string
      >[]) {
        const { status, body, headers: answered } = await get(file, headers)
        assert.equal(status, 500)
        assert.match(body.error.message, /^The bytes of file \w+ are missing in the storage/)
        assert.equal(answered.get('content-disposition'), null)
      }
      assert.match(app.log(), new RegExp(`The bytes of file ${file._id} are missing`))
      assert.match(app.log(), new RegExp(`the object ${file.filename} does not exist`))
    })

    test('are cut off at once answer 500, later they end the connection', async () => {
      const file = await add({ bytes: 'x'.repeat(3_000_000) })
      await truncate(pathOf(file), 2_000_000)
      await assert.rejects(get(file), { code: 'ECONNRESET' })
      await assert.rejects(get(file, { range: 'bytes=0-1,1500000-2500000' }), { code: 'ECONNRESET' })
      assert.equal((await get(file, { range: 'bytes=1000-1999' })).text.length, 1000)
      assert.match(app.log(), /the answer was cut off, because its bytes cannot be read/)
      await truncate(pathOf(file), 0)
      assert.equal((await get(file)).status, 500)
    })
  })
})

anyEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  before(async () => {
    app = await startApp(ending, engine)
  })

  test('a client that goes away closes the file', { skip: process.platform !== 'linux' }, async () => {
    const { token } = await app.register()
    const file = await upload(app, token, { bytes: 'x'.repeat(12_000_000) })
    const openFiles = async () => {
      const links = await Promise.all(
        (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      )
      return links.filter((link) => link.endsWith(file.filename)).length
    }
    for (const range of [undefined, 'bytes=0-9000000,9000002-11000000']) {
      const headers = { authorization: `Bearer ${token}`, ...(range !== undefined && { range }) }
      const sent = httpRequest(app.url + contentPath(file), { headers }).end()
      await new Promise<void>((resolve) =>
        sent.once('response', (response) => response.once('data', () => resolve())),
      )
      assert.equal(await openFiles(), 1)
      sent.destroy()
      while ((await openFiles()) > 0) await sleep(5)

      // Some of these have gone when the file is opened, and before the answer begins.
      for (let ms = 0; ms < 20; ms++) {
        const early = httpRequest(app.url + contentPath(file), { headers })
        early.on('error', () => undefined).end()
        await sleep(ms / 4)
        early.destroy()
      }
      while ((await openFiles()) > 0) await sleep(5)
    }
  })

  test('the description has bytes and answers without a body', async () => {
    const { body } = await app.request('GET', '/openapi.json')
    const { responses } = body.paths['/store/files/{id}/content'].get
    assert.deepEqual(Object.keys(responses['206'].content), ['*/*'])
    assert.deepEqual(responses['304'], { description: 'Not Modified' })
  })
})

test('a name is given in both forms if it is not plain', () => {
  const nameOf = (name: string) => dispositionOf('image/png', name, false).replace(/^inline; /, '')
  assert.equal(nameOf('Summer (1).png'), 'filename="Summer (1).png"')
  assert.equal(nameOf('€ rates'), `filename="_ rates"; filename*=UTF-8''%E2%82%AC%20rates`)
  assert.equal(nameOf('a"b\\c%41.png'), `filename="a_b_c_41.png"; filename*=UTF-8''a%22b%5Cc%2541.png`)
  assert.equal(nameOf("it's*()\n"), `filename="it's*()_"; filename*=UTF-8''it%27s%2A%28%29%0A`)
  assert.equal(nameOf('\uD800'), `filename="_"; filename*=UTF-8''%EF%BF%BD`)
})
