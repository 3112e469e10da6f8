import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { startS3, startS3Proxy, type S3Proxy } from '../../../../testing/s3-server.ts'
import { until } from '../../../../testing/until.ts'
import { storedObjects, upload } from '../files.fixture.ts'
import {
  append,
  beginAppend,
  contentOf,
  create,
  offsetOf,
  sha256Of,
  uploadByTus,
} from './resumable.fixture.ts'

const MIB = 1_048_576
const DAY_MS = 86_400_000
const LIMIT = 20 * MIB
const QUOTA = 30 * MIB

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const checksum = (algorithm: string, bytes: Buffer): string =>
  `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}`

eachEngine((engine) => {
  describe('a resumable upload', () => {
    let app: TestApp
    let folder: string
    let token: string
    const ending = endOfSuite()
    before(async () => {
      folder = await temporaryFolder(ending)
      app = await startApp(ending, engine, {
        config: { store: { uploadLimit: String(LIMIT), quota: { user: String(QUOTA) } } },
        environment: { DATA_DIR: folder },
      })
      await app.register() // an administrator
      ;({ token } = await app.register())
    })
    const recordOf = async (id: string) => (await app.request('GET', `/store/files/${id}`, { token })).body

    test('by tus-js-client becomes a file as any other, and leaves no pieces', async () => {
      const bytes = randomBytes(9 * MIB)
      const metadata = {
        filename: 'C:\\photos\\mömo.txt',
        filetype: 'text/plain',
        metadata: '{"album":"summer"}',
        access: 'public',
      }
      const earlier = (await storedObjects(folder).catch(() => [])).length
      const { done } = uploadByTus(app.url, token, bytes, { metadata, chunkSize: 5 * MIB })
      const { file, url } = await done
      const { originalName, contentType, size, sha256, metadata: kept, access } = await recordOf(file!)
      assert.deepEqual(
        [originalName, contentType, size, sha256, kept, access],
        [
          'mömo.txt',
          'application/octet-stream',
          bytes.length,
          sha256Of(bytes),
          { album: 'summer' },
          'public',
        ],
      )
      await until(async () => (await storedObjects(folder)).length === earlier + 1)
      // It answers for a day what it has become, and may be ended without the file.
      const { body } = await app.request('GET', new URL(url).pathname, { token })
      assert.deepEqual([body.offset, body.size, body.file], [bytes.length, bytes.length, file])
      assert.equal((await app.request('DELETE', new URL(url).pathname, { token })).status, 204)
      assert.equal((await recordOf(file!)).size, bytes.length)
    })

    test('may have its bytes in its creation, or none at all', async () => {
      const { done } = uploadByTus(app.url, token, Buffer.from('hello'), { uploadDataDuringCreation: true })
      assert.equal(String(await contentOf(app, token, (await done).file!)), 'hello')
      const empty = await app.request('POST', '/store/uploads', {
        token,
        headers: { 'upload-length': '0', 'upload-metadata': `filename ${base64('folder/')}` },
      })
      const { size, originalName } = await recordOf(empty.body.file)
      assert.deepEqual([size, originalName], [0, 'file'])
    })

    test('goes on after what came before the connection was lost', async () => {
      const [bytes, sent] = [randomBytes(MIB), 600_000]
      const path = await create(app, token, bytes.length)
      const cut = await beginAppend(app, token, path, {
        offset: 0,
        bytes: bytes.subarray(0, sent),
        length: bytes.length,
      })
      await until(async () => (await storedObjects(folder)).some((name) => name.endsWith('.part')))
      cut.destroy()
      let stored = 0
      await until(async () => (stored = await offsetOf(app, token, path)) > 0)
      assert.equal(stored, sent)
      const wrong = await append(app, token, path, { offset: 0, bytes })
      assert.deepEqual(
        [wrong.status, wrong.headers.get('upload-offset'), wrong.body.error.details],
        [409, String(sent), { offset: sent }],
      )
      const rest = await append(app, token, path, { offset: sent, bytes: bytes.subarray(sent) })
      assert.deepEqual([rest.status, rest.headers.get('upload-offset')], [204, String(MIB)], rest.text)
      assert.ok((await contentOf(app, token, rest.headers.get('upload-file')!)).equals(bytes))
    })

    test('counts what has arrived while nothing more comes, and only of the newest request', async () => {
      const bytes = randomBytes(1000)
      const path = await create(app, token, bytes.length)
      const dead = await beginAppend(app, token, path, {
        offset: 0,
        bytes: bytes.subarray(0, 300),
        length: 1000,
      })
      await until(async () => {
        app.clock.advance(10_000)
        return (await offsetOf(app, token, path)) === 300
      })
      const rest = await append(app, token, path, { offset: 300, bytes: bytes.subarray(300) })
      assert.equal(rest.status, 204, rest.text)
      const answered = once(dead, 'response')
      dead.end(bytes.subarray(300))
      const [{ statusCode }] = (await answered) as [{ statusCode: number }]
      assert.equal(statusCode, 409)
      assert.ok((await contentOf(app, token, rest.headers.get('upload-file')!)).equals(bytes))
    })

    test('takes bytes with a checksum only if they have it', async () => {
      const bytes = randomBytes(1000)
      const path = await create(app, token, bytes.length)
      const send = (value: string) =>
        append(app, token, path, {
          offset: 0,
          bytes: bytes.subarray(0, 500),
          headers: { 'upload-checksum': value },
        })
      const wrong = await send(checksum('sha256', bytes))
      assert.deepEqual([wrong.status, wrong.body.error.code], [460, 'CHECKSUM_MISMATCH'])
      assert.equal((await send('md5 AAAA')).status, 400)
      assert.equal(await offsetOf(app, token, path), 0)
      assert.equal((await send(checksum('sha1', bytes.subarray(0, 500)))).status, 204)
      const rest = await append(app, token, path, {
        offset: 500,
        bytes: bytes.subarray(500),
        headers: { 'upload-checksum': checksum('sha256', bytes.subarray(500)) },
      })
      assert.equal((await recordOf(rest.headers.get('upload-file')!)).sha256, sha256Of(bytes))
    })

    test('is created once under an Idempotency-Key', async () => {
      const { token } = await app.register()
      const post = (key: string, size = LIMIT) =>
        app.request('POST', '/store/uploads', {
          token,
          headers: { 'upload-length': String(size), 'idempotency-key': key },
        })
      // Of more there is no room for two.
      const all = await Promise.all(Array.from({ length: 5 }, () => post('one')))
      assert.deepEqual(
        all.map(({ status, body }) => [status, body._id]),
        all.map(() => [201, all[0]!.body._id]),
      )
      const path = `/store/uploads/${all[0]!.body._id}`
      await append(app, token, path, { offset: 0, bytes: Buffer.from('hello') })
      assert.equal((await post('one')).body.offset, 5)
      assert.equal((await post('one', 7)).body.error.code, 'IDEMPOTENCY_CONFLICT')
      assert.equal(await offsetOf(app, token, path), 5)
      assert.notEqual((await post('two', 7)).body._id, all[0]!.body._id)
    })

    test('takes a file that fills the quota to the last byte, with its name and metadata', async () => {
      const { token: own } = await app.register()
      const metadata = '{"a":1}'
      const size = LIMIT
      const rest = QUOTA - size - metadata.length
      await upload(app, own, { bytes: randomBytes(rest) })
      const begin = (length: number) =>
        app.request('POST', '/store/uploads', {
          token: own,
          headers: {
            'upload-length': String(length),
            'upload-metadata': `filename ${btoa('name.bin')},metadata ${btoa(metadata)}`,
          },
        })
      assert.equal((await begin(size)).status, 201)
    })

    test('reserves room for all of it until it ends or expires', async () => {
      const other = await app.register()
      const path = await create(app, other.token, LIMIT)
      const second = () =>
        app.request('POST', '/store/uploads', {
          token: other.token,
          headers: { 'upload-length': String(LIMIT) },
        })
      assert.deepEqual([(await second()).status, (await second()).body.error.code], [413, 'QUOTA_EXCEEDED'])
      assert.equal((await app.request('DELETE', path, { token: other.token })).status, 204)
      assert.equal((await app.request('HEAD', path, { token: other.token })).status, 404)

      const kept = await second()
      const objects = await storedObjects(folder)
      const address = `/store/uploads/${kept.body._id}`
      await append(app, other.token, address, { offset: 0, bytes: randomBytes(1000) })
      assert.equal((await storedObjects(folder)).length, objects.length + 1)
      const { headers } = await app.request('HEAD', address, { token: other.token })
      assert.equal(
        Date.parse(headers.get('upload-expires')!),
        Math.floor((app.clock.now() + DAY_MS) / 1000) * 1000,
      )
      app.clock.advance(DAY_MS + 1000)
      const { token: later } = (
        await app.request('POST', '/auth/login', { body: { email: other.email, password: other.password } })
      ).body
      assert.equal((await app.request('HEAD', address, { token: later })).status, 404)
      assert.equal(
        (
          await app.request('POST', '/store/uploads', {
            token: later,
            headers: { 'upload-length': String(LIMIT) },
          })
        ).status,
        201,
      )
      await until(async () => {
        app.clock.advance(600_000)
        return (await storedObjects(folder)).length <= objects.length
      })
    })
  })

  test('keeps the bytes of a request with a checksum that arrive over hours', async (t) => {
    const folder = await temporaryFolder(t)
    const app = await startApp(t, engine, {
      config: { store: { uploadLimit: '1GB' } },
      environment: { DATA_DIR: folder },
    })
    const { token } = await app.register()
    const bytes = randomBytes(500)
    const path = await create(app, token, bytes.length)
    const slow = await beginAppend(app, token, path, {
      offset: 0,
      bytes: bytes.subarray(0, 100),
      length: bytes.length,
      headers: { 'upload-checksum': checksum('sha256', bytes) },
    })
    const answered = once(slow, 'response') as Promise<[IncomingMessage]>
    for (let sent = 100; sent < bytes.length; sent += 100) {
      // The piece ends by its time, and the next one begins much later.
      await until(async () => {
        app.clock.advance(10_000)
        const stored = await storedObjects(folder).catch(() => [])
        return stored.filter((name) => !name.endsWith('.part')).length === sent / 100
      })
      app.clock.advance(1_200_000)
      slow.write(bytes.subarray(sent, sent + 100))
    }
    const [{ statusCode, headers }] = await answered
    assert.equal(statusCode, 204)
    assert.equal(headers['upload-offset'], '500')
  })

  describe('the protocol of resumable uploads', () => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { config: { store: { uploadLimit: '1000' } } })
      ;({ token } = await app.register())
    })

    test('is told by OPTIONS, to pages of other origins as well', async () => {
      const { headers, status } = await app.request('OPTIONS', '/store/uploads', {
        headers: { origin: 'http://localhost:5173', 'access-control-request-method': 'PATCH' },
      })
      assert.deepEqual(
        [status, headers.get('tus-version'), headers.get('tus-max-size'), headers.get('tus-extension')],
        [204, '1.0.0', '1000', 'creation,creation-with-upload,termination,checksum,expiration'],
      )
      assert.match(headers.get('access-control-allow-methods')!, /PATCH/)
      const path = await create(app, token, 10, { origin: 'http://localhost:5173' })
      const one = await app.request('HEAD', path, { token, headers: { origin: 'http://localhost:5173' } })
      assert.match(one.headers.get('access-control-expose-headers')!, /upload-offset/)
      assert.equal(one.headers.get('cache-control'), 'no-store')
    })

    test('refuses what it does not allow, with its own statuses', async () => {
      const path = await create(app, token, 10, { 'upload-metadata': `filename ${base64('a.txt')}` })
      const bytes = Buffer.from('0123456789')
      const other = await app.register()
      const creation = async (headers: Record<string, string>) =>
        (await app.request('POST', '/store/uploads', { token, headers })).status
      const change = async (headers: Record<string, string>, content = bytes) =>
        (await append(app, token, path, { offset: 0, bytes: content, headers })).status
      assert.deepEqual(
        {
          tooLarge: await creation({ 'upload-length': '1001' }),
          noLength: await creation({ 'upload-defer-length': '1' }),
          parts: await creation({ 'upload-length': '1', 'upload-concat': 'partial' }),
          notBase64: await creation({ 'upload-length': '1', 'upload-metadata': 'filename ä' }),
          badName: await creation({ 'upload-length': '1', 'upload-metadata': `filename ${base64('\n')}` }),
          badAccess: await creation({ 'upload-length': '1', 'upload-metadata': `access ${base64('all')}` }),
          version: await change({ 'tus-resumable': '0.2.2' }),
          type: await change({ 'content-type': 'application/octet-stream' }),
          offset: await change({ 'upload-offset': '1' }),
          tooLong: await change({}, Buffer.alloc(11)),
          noToken: (await app.request('HEAD', path)).status,
          otherOwner: (await app.request('HEAD', path, { token: other.token })).status,
        },
        {
          tooLarge: 413,
          noLength: 400,
          parts: 400,
          notBase64: 400,
          badName: 400,
          badAccess: 400,
          version: 412,
          type: 415,
          offset: 409,
          tooLong: 413,
          noToken: 401,
          otherOwner: 404,
        },
      )
      assert.equal(await offsetOf(app, token, path), 0)
    })
  })

  describe('an upload to two replicas with one bucket', () => {
    let one: TestApp
    let two: TestApp
    let s3: S3Proxy
    const ending = endOfSuite()
    before(async () => {
      const server = await startS3(ending)
      s3 = await startS3Proxy(ending, server.url)
      const { bucket, accessKeyId, secretAccessKey } = server
      const options = {
        config: { store: { s3: { endpoint: s3.url, bucket, accessKeyId, secretAccessKey } } },
        databaseUrl: await engine.migratedUrl(),
      }
      one = await startApp(ending, engine, options)
      two = await startApp(ending, engine, options)
    })

    test('is continued by the other one, and made a file at the next request if the bucket failed', async () => {
      const bytes = randomBytes(9 * MIB)
      const { token } = await one.register()
      const begun = Promise.withResolvers<string>()
      const first = uploadByTus(one.url, token, bytes, {
        chunkSize: 3 * MIB,
        onChunkComplete: () => begun.resolve(first.upload.url!),
      })
      first.done.catch(() => undefined)
      const path = new URL(await begun.promise).pathname
      await first.upload.abort()
      await until(async () => (await offsetOf(two, token, path)) >= 3 * MIB)
      const second = uploadByTus(two.url, token, bytes, { uploadUrl: two.url + path })
      const { file } = await second.done
      assert.ok((await contentOf(one, token, file!)).equals(bytes))

      const small = await create(one, token, 1000)
      assert.equal(
        (await append(one, token, small, { offset: 0, bytes: bytes.subarray(0, 500) })).status,
        204,
      )
      s3.fault({ name: 'GetObject', answer: { status: 403, code: 'AccessDenied' } })
      const failed = await append(two, token, small, { offset: 500, bytes: bytes.subarray(500, 1000) })
      assert.deepEqual([failed.status, failed.body.error.code], [503, 'UNAVAILABLE'])
      s3.heal()
      const again = await one.request('HEAD', small, { token })
      assert.equal(again.headers.get('upload-offset'), '1000')
      const stored = await contentOf(two, token, again.headers.get('upload-file')!)
      assert.ok(stored.equals(bytes.subarray(0, 1000)))
    })
  })
})
