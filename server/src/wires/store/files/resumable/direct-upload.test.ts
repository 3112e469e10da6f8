import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, test } from 'node:test'

import sharp from 'sharp'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { isLongRun } from '../../../../testing/long-run.ts'
import { s3OfEnvironment, startS3, startS3Proxy, type S3Proxy } from '../../../../testing/s3-server.ts'
import { until } from '../../../../testing/until.ts'
import { append, contentOf, create, sha256Of } from './resumable.fixture.ts'

const MIB = 1_048_576
const DAY_MS = 86_400_000
const QUOTA = 40 * MIB
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>')

type Part = { number: number; start: number; size: number; url: string }

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const putPart = (bytes: Buffer, { url, start, size }: Part): Promise<Response> =>
  fetch(url, { method: 'PUT', body: new Uint8Array(bytes.subarray(start, start + size)) })

async function putParts(bytes: Buffer, parts: readonly Part[]): Promise<void> {
  for (const part of parts) assert.equal((await putPart(bytes, part)).status, 200)
}

/** Begins an upload to the bucket. @returns its path, and the parts to send */
async function begin(
  app: TestApp,
  token: string,
  size: number,
  metadata = `filename ${base64('a.bin')}`,
): Promise<{ path: string; parts: Part[] }> {
  const { status, body } = await app.request('POST', '/store/uploads', {
    token,
    headers: { 'upload-length': String(size), 'upload-metadata': metadata, 'upload-direct': 'true' },
  })
  assert.equal(status, 201)
  return { path: `/store/uploads/${body._id}`, parts: body.parts }
}

eachEngine((engine) => {
  describe('an upload from the client to the bucket', () => {
    let app: TestApp
    let other: TestApp
    let strict: TestApp
    let s3: S3Proxy
    let token: string
    const ending = endOfSuite()
    before(async () => {
      const server = (isLongRun && s3OfEnvironment()) || (await startS3(ending))
      s3 = await startS3Proxy(ending, server.url, { isComplete: isLongRun })
      const { bucket, accessKeyId, secretAccessKey } = server
      const storeOptions = {
        s3: { endpoint: s3.url, bucket, accessKeyId, secretAccessKey },
        quota: { user: String(QUOTA) },
      }
      const options = { config: { store: storeOptions }, databaseUrl: await engine.migratedUrl() }
      app = await startApp(ending, engine, options)
      other = await startApp(ending, engine, options)
      strict = await startApp(ending, engine, {
        ...options,
        config: { store: { ...storeOptions, fileAccess: { create: 'admin' } } },
      })
      await app.register() // an administrator
      token = (await app.register()).token
    })
    const get = async (path: string, at = app) => (await at.request('GET', path, { token })).body

    test('is signed part by part, goes on where it was, and becomes a file by what the bucket has', async () => {
      const bytes = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(20 * MIB)])
      const metadata = [
        `filename ${base64('offer.pdf')}`,
        `filetype ${base64('image/png')}`,
        `metadata ${base64('{"offer":7}')}`,
        `sha256 ${base64(sha256Of(bytes))}`,
      ].join()
      const { path, parts } = await begin(app, token, bytes.length, metadata)
      assert.deepEqual(
        parts.map(({ number, start, size }) => [number, start, size]),
        [
          [1, 0, 8 * MIB],
          [2, 8 * MIB, 8 * MIB],
          [3, 16 * MIB, 4 * MIB + 9],
        ],
      )
      await putParts(bytes, [parts[2]!, parts[0]!])
      const state = await get(path, other)
      assert.deepEqual([state.offset, state.file], [12 * MIB + 9, undefined])
      assert.deepEqual(
        state.parts.map((part: Part) => part.number),
        [2],
      )
      s3.calls.length = 0
      await putParts(bytes, state.parts)
      const { file, parts: left } = await get(path, other)
      assert.equal(left, undefined)
      // The bytes are read once, and written by the client only.
      const others = s3.calls.filter((call) => call !== 'GetObject')
      assert.deepEqual([...new Set(others)], ['UploadPart 2', 'ListParts', 'CompleteMultipartUpload'])
      const record = await get(`/store/files/${file}`)
      assert.deepEqual(
        [record.originalName, record.contentType, record.size, record.sha256, record.metadata],
        ['offer.pdf', 'application/pdf', bytes.length, sha256Of(bytes), { offer: 7 }],
      )
      assert.ok((await contentOf(app, token, file)).equals(bytes))
      const late = await putPart(bytes, parts[0]!).catch(() => undefined) // or the connection is cut
      assert.notEqual(late?.status, 200)
      // It tells for a day what it has become.
      assert.equal((await get(path)).file, file)
    })

    test('takes parts of their length only, for an hour', async () => {
      const { parts } = await begin(app, token, 10)
      const { searchParams } = new URL(parts[0]!.url)
      assert.deepEqual(
        [searchParams.get('X-Amz-SignedHeaders'), searchParams.get('X-Amz-Expires')],
        ['content-length;host', '3600'],
      )
      // s3rver does not compare signatures; the server of the long run does.
      const longer = await putPart(Buffer.alloc(11), { ...parts[0]!, size: 11 })
      assert.equal(longer.status, isLongRun ? 403 : 200)
    })

    test('of other bytes than were declared ends, and leaves nothing', async () => {
      s3.calls.length = 0
      const { path, parts } = await begin(app, token, 5, `sha256 ${base64(sha256Of(Buffer.from('hello')))}`)
      await putParts(Buffer.from('jello'), parts)
      const { status, body } = await app.request('GET', path, { token })
      assert.deepEqual([status, body.error.code], [460, 'CHECKSUM_MISMATCH'])
      assert.equal((await app.request('GET', path, { token })).status, 404)
      await until(() => s3.calls.includes('DeleteObject'))
    })

    for (const lost of ['request', 'answer'] as const)
      test(`is completed if the ${lost} of it to the bucket was lost`, async () => {
        const { path, parts } = await begin(app, token, SVG.length)
        await putParts(SVG, parts)
        s3.fault({ name: 'CompleteMultipartUpload', drop: lost, times: 3 })
        await app.request('GET', path, { token })
        s3.heal()
        const { file } = await get(path, other)
        assert.ok((await contentOf(app, token, file)).equals(SVG))
      })

    test('is completed once, however many ask', async () => {
      const { path, parts } = await begin(app, token, SVG.length)
      await putParts(SVG, parts)
      const states = await Promise.all([app, other, app, other].map((at) => get(path, at)))
      assert.equal(new Set(states.map(({ file }) => file)).size, 1)
      assert.ok((await contentOf(app, token, states[0].file)).equals(SVG))
    })

    test('is begun in the bucket by the next request if the first one did not come so far', async () => {
      const reached = Promise.withResolvers<void>()
      s3.heal()
      s3.fault({ name: 'CreateMultipartUpload', hold: reached.promise, times: 1 })
      const post = (at: TestApp) =>
        at.request('POST', '/store/uploads', {
          token,
          headers: {
            'upload-length': String(SVG.length),
            'upload-direct': 'true',
            'idempotency-key': 'two-requests',
          },
        })
      const first = post(app)
      await until(() => s3.calls.includes('CreateMultipartUpload'))
      const { body } = await post(other)
      assert.equal(body.parts?.length, 1)
      reached.resolve()
      const { _id, parts } = (await first).body
      const uploadOf = ({ url }: Part) => new URL(url).searchParams.get('uploadId')
      assert.deepEqual([_id, uploadOf(parts[0])], [body._id, uploadOf(body.parts[0])])
      await putParts(SVG, parts)
      const { file } = await get(`/store/uploads/${_id}`)
      assert.ok((await contentOf(app, token, file)).equals(SVG))
    })

    test('is not found by others', async () => {
      const { path } = await begin(app, token, 1)
      assert.equal((await app.request('GET', path, { token: (await app.register()).token })).status, 404)
    })

    test('is one file if the bucket completes it for longer than the server waits', async () => {
      const { path, parts } = await begin(app, token, SVG.length)
      await putParts(SVG, parts)
      const slow = Promise.withResolvers<void>()
      s3.heal()
      s3.fault({ name: 'CompleteMultipartUpload', hold: slow.promise, times: 1 })
      const first = get(path)
      await until(() => s3.calls.includes('CompleteMultipartUpload'))
      other.clock.advance(61_000)
      const { file } = await get(path, other)
      slow.resolve()
      assert.equal((await first).file, file)
      assert.ok((await contentOf(app, token, file)).equals(SVG))
    })

    test('leaves nothing if it is ended while the bucket completes it', async () => {
      const { path, parts } = await begin(app, token, SVG.length)
      await putParts(SVG, parts)
      const ended = Promise.withResolvers<void>()
      s3.heal()
      s3.fault({ name: 'CompleteMultipartUpload', hold: ended.promise })
      const completing = app.request('GET', path, { token })
      await until(() => s3.calls.includes('CompleteMultipartUpload'))
      assert.equal((await other.request('DELETE', path, { token })).status, 204)
      await until(() => s3.calls.includes('DeleteObject'))
      ended.resolve()
      assert.equal((await completing).status, 404)
      const { origin, pathname } = new URL(parts[0]!.url)
      await until(async () => (await fetch(origin + pathname, { method: 'HEAD' })).status !== 200)
    })

    test('is not completed by one who may not upload any more', async () => {
      const { path, parts } = await begin(app, token, SVG.length)
      assert.equal((await strict.request('GET', path, { token })).status, 403)
      await putParts(SVG, parts)
      assert.equal((await strict.request('GET', path, { token })).status, 403)
      const { file } = await get(path)
      assert.equal((await get(path, strict)).file, file)
    })

    test('names its file for a day, however long the bytes took', async () => {
      const { token, email, password } = await app.register()
      const { path, parts } = await begin(app, token, SVG.length)
      await putParts(SVG, parts)
      app.clock.advance(DAY_MS - 60_000)
      const login = async () =>
        (await app.request('POST', '/auth/login', { body: { email, password } })).body.token
      const { file } = (await app.request('GET', path, { token: await login() })).body
      app.clock.advance(DAY_MS - 60_000)
      const later = await app.request('GET', path, { token: await login() })
      assert.equal(later.body.file, file)
    })

    test('holds its room until it ends or a day has passed, and takes bytes in no other way', async () => {
      const { token, email, password } = await app.register()
      const { path } = await begin(app, token, QUOTA - 99)
      const more = () =>
        app.request('POST', '/store/uploads', {
          token,
          headers: { 'upload-length': '100', 'upload-direct': 'true' },
        })
      assert.deepEqual((await more()).body.error.code, 'QUOTA_EXCEEDED')
      const appended = await append(app, token, path, { offset: 0, bytes: SVG })
      assert.deepEqual(
        [appended.status, appended.body.error.message],
        [409, 'The bytes of this upload go to the bucket: GET the upload for the URLs of its parts.'],
      )
      assert.equal((await app.request('DELETE', path, { token })).status, 204)
      const { status, body } = await more()
      assert.equal(status, 201)
      app.clock.advance(DAY_MS)
      const login = await app.request('POST', '/auth/login', { body: { email, password } })
      const late = await app.request('GET', `/store/uploads/${body._id}`, { token: login.body.token })
      assert.equal(late.status, 404)
    })
  })
})

someEngine((engine) => {
  test('an upload to the bucket is stored without metadata, if files are', async (t) => {
    const { url: endpoint, ...access } = await startS3(t)
    const s3 = await startS3Proxy(t, endpoint)
    const app = await startApp(t, engine, {
      config: { store: { files: { stripMetadata: true }, s3: { ...access, endpoint: s3.url } } },
    })
    const { token } = await app.register()
    const author = 'Ada of 5 Secret Street'
    const photo = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .withExifMerge({ IFD0: { Artist: author } })
      .jpeg()
      .toBuffer()
    assert.ok(photo.includes(author))
    const { path, parts } = await begin(app, token, photo.length)
    await putParts(photo, parts)
    const { file } = (await app.request('GET', path, { token })).body
    const stored = await contentOf(app, token, file)
    assert.ok(!stored.includes(author))
    assert.equal((await sharp(stored).metadata()).width, 9)
  })

  test('where files are in a folder, an upload to the bucket goes through the server', async (t) => {
    const app = await startApp(t, engine, { environment: { DATA_DIR: await temporaryFolder(t) } })
    const { token } = await app.register()
    const { path, parts } = await begin(app, token, SVG.length)
    assert.equal(parts, undefined)
    const { headers } = await append(app, token, path, { offset: 0, bytes: SVG })
    assert.ok((await contentOf(app, token, headers.get('upload-file')!)).equals(SVG))
    const empty = await create(app, token, 0, { 'upload-direct': 'true' })
    assert.equal((await app.request('GET', empty, { token })).body.offset, 0)
  })
})
