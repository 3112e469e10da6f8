import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { storedObjects, uploadTo, type TestFile } from '../files.fixture.ts'
import { until } from '../../../../testing/until.ts'

const PUBLIC_URL = 'https://api.example/v1'
const QUOTA = 2_000
const PNG = new Uint8Array(
  Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
)

eachEngine((engine) => {
  describe('an upload link', () => {
    let app: TestApp
    let folder: string
    let owner: { _id: string; token: string }
    const ending = endOfSuite()
    before(async () => {
      folder = await temporaryFolder(ending)
      app = await startApp(ending, engine, {
        config: { store: { uploadLimit: '5000', quota: { user: String(QUOTA) } } },
        environment: { SIXWIRE_POLICY: 'guarded', DATA_DIR: folder, PUBLIC_URL },
      })
      await app.register()
      owner = await app.register()
    })

    async function create(terms: object = {}, token = owner.token) {
      const { status, body, text } = await app.request('POST', '/store/upload-links', { token, body: terms })
      assert.equal(status, 201, text)
      const { url } = body as { url: string }
      assert.ok(url.startsWith(`${PUBLIC_URL}/store/upload-links/${body._id}?token=`), url)
      return { ...(body as { _id: string; expiresAt: string }), path: url.slice(PUBLIC_URL.length) }
    }
    const send = (path: string, file: TestFile = {}, headers?: Record<string, string>) =>
      uploadTo(app, path, undefined, file, headers)
    const read = (method: string, id: string, token = owner.token) =>
      app.request(method, `/store/upload-links/${id}`, { token })

    test('takes one file without an account, which belongs to who made the link', async () => {
      const metadata = { request: 42 }
      const link = await create({ types: ['image/*'], maxBytes: 1_000, metadata })
      assert.equal((await read('GET', link._id)).body.file, null)
      const { status, body, text } = await send(link.path, { bytes: PNG, name: 'me.png', type: 'text/plain' })
      assert.equal(status, 201, text)
      assert.deepEqual([body.originalName, body.contentType], ['me.png', 'image/png'])
      assert.ok(!text.includes('request'), 'a stranger reads the metadata')
      const stored = await app.request('GET', `/store/files/${body._id}`, { token: owner.token })
      assert.deepEqual([stored.body.sha256, stored.body.metadata], [body.sha256, metadata])
      assert.equal((await app.request('GET', `/store/files/${body._id}/content`)).status, 401)
      assert.equal((await read('GET', link._id)).body.file, body._id)

      const again = await send(link.path, { bytes: PNG })
      assert.deepEqual([again.status, again.body.error.code], [409, 'CONFLICT'])
      assert.ok(!app.log().includes(link.path.split('token=')[1]!), 'the log has a token')
    })

    test('is not used up by an upload that is refused or cut off', async () => {
      const link = await create({ types: ['image/*', 'application/pdf'], maxBytes: PNG.length })
      const objects = await storedObjects(folder)
      const wrong = await send(link.path, { bytes: 'hello', type: 'image/png' })
      assert.equal(wrong.status, 400)
      assert.match(
        wrong.text,
        /must be image\/\* or application\/pdf: its bytes show application\/octet-stream/,
      )
      const large = await send(link.path, { bytes: new Uint8Array([...PNG, 0]) })
      assert.equal(large.body.error.code, 'PAYLOAD_TOO_LARGE')
      assert.match(large.body.error.message, new RegExp(`larger than ${PNG.length} bytes`))
      const cut = await app.request('POST', link.path, {
        raw: new Uint8Array(
          Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'),
        ),
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      })
      assert.equal(cut.status, 400)
      await until(async () => (await storedObjects(folder)).length === objects.length)
      assert.equal((await send(link.path, { bytes: PNG })).status, 201)
    })

    test('takes one file of many that are sent at once', async () => {
      const link = await create()
      const answers = await Promise.all(
        Array.from({ length: 4 }, (_, n) => send(link.path, { bytes: `${n}` })),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 409, 409, 409],
      )
    })

    test('answers a repetition under its Idempotency-Key as before', async () => {
      const link = await create()
      const headers = { 'idempotency-key': 'one' }
      const first = await send(link.path, {}, headers)
      assert.equal(first.status, 201)
      const again = await send(link.path, {}, headers)
      assert.deepEqual([again.status, again.body], [201, first.body])
      const other = await send(link.path, { bytes: 'other' }, { 'idempotency-key': 'two' })
      assert.equal(other.status, 409)
    })

    test('counts in the quota of who made it', async () => {
      const { token } = await app.register()
      const path = (await create({}, token)).path
      assert.equal(
        (await uploadTo(app, '/store/upload', token, { bytes: 'x'.repeat(QUOTA - 10) })).status,
        201,
      )
      const refused = await send(path, { bytes: 'more than ten bytes' })
      assert.deepEqual([refused.status, refused.body.error.code], [413, 'QUOTA_EXCEEDED'])
      assert.equal((await send(path, { bytes: 'ten' })).status, 201)
    })

    test('expires, and is not valid when changed, or for another link', async () => {
      const [link, other] = [await create({ expiresIn: 60 }), await create()]
      const token = link.path.split('?')[1]!
      for (const path of [`/store/upload-links/${other._id}?${token}`, `${link.path}x`])
        assert.equal((await send(path)).status, 401)
      app.clock.advance(60_001)
      const expired = await send(link.path)
      assert.equal(expired.status, 401)
      assert.match(expired.body.error.message, /expired/)
      assert.equal((await send(other.path)).status, 201)
    })

    test('is read and deleted by who made it, and takes nothing then', async () => {
      const link = await create()
      const stranger = (await app.register()).token
      assert.equal((await read('GET', link._id, stranger)).status, 404)
      assert.equal((await read('DELETE', link._id, stranger)).status, 404)
      assert.equal((await read('DELETE', link._id)).status, 200)
      assert.equal((await send(link.path)).status, 404)
    })

    test('is made by those who may upload files, with terms that can be met', async () => {
      const refused = (body: object) =>
        app.request('POST', '/store/upload-links', { token: owner.token, body })
      for (const terms of [
        { maxBytes: 5_001 },
        { maxBytes: 0 },
        { expiresIn: 604_801 },
        { types: [] },
        { types: ['image'] },
        { types: ['*/*'] },
        { access: 'open' },
      ])
        assert.equal((await refused(terms)).status, 400, JSON.stringify(terms))
      const { body } = await refused({ metadata: { text: 'x'.repeat(90_000) } })
      assert.equal(body.error.code, 'PAYLOAD_TOO_LARGE')
      assert.equal((await app.request('POST', '/store/upload-links', { body: {} })).status, 401)
    })
  })
})
