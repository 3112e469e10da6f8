import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../testing/engines.ts'
import { storedObjects, upload } from './files/files.fixture.ts'
import { until } from '../../testing/until.ts'

const FILE_BYTES = 1_000
const USER_FILES = 10
const ALL_FILES = 15

eachEngine((engine) => {
  describe('a quota', () => {
    let app: TestApp
    let folder: string
    const ending = endOfSuite()
    before(async () => {
      folder = await temporaryFolder(ending)
      app = await startApp(ending, engine, {
        config: {
          store: {
            quota: { user: String(USER_FILES * FILE_BYTES), total: String(ALL_FILES * FILE_BYTES + 1) },
          },
        },
        environment: { DATA_DIR: folder },
      })
    })

    const bytes = new Uint8Array(FILE_BYTES).fill(1)
    const uploads = (token: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => upload(app, token, { bytes })))
    const isStored = ({ status }: { status: number }): boolean => status === 201
    const objects = () => storedObjects(folder)

    test('counts metadata as bytes', async () => {
      const { token, _id: owner } = await app.register()
      const metadata = (length: number) => ({ text: 'x'.repeat(length - '{"text":""}'.length) })
      const usage = async () =>
        (await app.app.db.get<{ bytes: number }>(
          sql`select cast(coalesce(sum(bytes), 0) as bigint) as bytes from store_usage where owner = ${owner}`,
        ))!.bytes
      const limit = USER_FILES * FILE_BYTES
      const refused = await upload(app, token, { bytes: 'a', metadata: metadata(limit) })
      assert.deepEqual([refused.status, refused.body.error.code], [413, 'QUOTA_EXCEEDED'])
      const { status, body } = await upload(app, token, { bytes: 'a', metadata: metadata(limit - 1) })
      assert.deepEqual([status, await usage()], [201, limit])
      const change = (length: number) =>
        app.request('PATCH', `/store/files/${body._id}`, { token, body: { metadata: metadata(length) } })
      assert.equal((await change(limit)).body.error.code, 'QUOTA_EXCEEDED')
      assert.equal((await change(limit - 1)).status, 200)
      assert.deepEqual([(await change(20)).status, await usage()], [200, 21])
      const more = Array.from({ length: 10 }, (_, i) => change(limit - 5 + i))
      const statuses = (await Promise.all(more)).map(({ status }) => status)
      assert.ok(statuses.includes(200), statuses.join())
      assert.ok(!statuses.slice(5).includes(200), statuses.join())
      assert.ok((await usage()) <= limit)
      await app.request('DELETE', `/store/files/${body._id}`, { token })
      assert.equal(await usage(), 0)
    })

    test('is never passed, however many uploads come at once, and nothing of the others is kept', async () => {
      const [first, second] = [await app.register(), await app.register()]
      const answers = await uploads(first.token, 50)
      assert.equal(answers.filter(isStored).length, USER_FILES)
      for (const { status, body, text } of answers.filter((one) => !isStored(one))) {
        assert.deepEqual([status, body.error.code], [413, 'QUOTA_EXCEEDED'], text)
        assert.match(text, /your files and documents may take 10000 bytes together, and \d+ are left/)
      }
      assert.equal((await objects()).length, USER_FILES)

      const others = await uploads(second.token, 20)
      assert.equal(others.filter(isStored).length, ALL_FILES - USER_FILES)
      assert.match(
        others.find((one) => !isStored(one))!.text,
        /all files and documents may take 15001 bytes together/,
      )
      assert.equal((await objects()).length, ALL_FILES)

      // Room that is given back can be used, to the last byte.
      const [{ body }] = answers.filter(isStored) as [(typeof answers)[number]]
      await app.request('DELETE', `/store/files/${body._id}`, { token: first.token })
      assert.equal((await upload(app, first.token, { bytes })).status, 201)
      assert.equal((await upload(app, second.token, { bytes: 'ab' })).status, 413)
      assert.equal((await upload(app, second.token, { bytes: 'a' })).status, 201)
      assert.equal((await upload(app, second.token, { bytes: '' })).status, 201)
      await until(async () => (await objects()).length === ALL_FILES + 2)

      // A repeated call that had filled the quota gets its answer; the files of a service key count in all only.
      const { key } = await app.app.service('auth').keys.create('key', ['store'])
      for (const { body: file } of others.filter(isStored))
        await app.request('DELETE', `/store/files/${file._id}`, { token: second.token })
      for (const { body: file } of answers.filter(isStored).slice(1))
        await app.request('DELETE', `/store/files/${file._id}`, { token: first.token })
      const large = { bytes: new Uint8Array((ALL_FILES - 1) * FILE_BYTES) }
      const idempotent = { 'idempotency-key': 'fills' }
      const stored = await upload(app, key, large, idempotent)
      assert.equal(stored.status, 201, stored.text)
      assert.deepEqual((await upload(app, key, large, idempotent)).body, stored.body)
    })

    describe('of documents', () => {
      const QUOTA = 100_000
      let one: TestApp
      let two: TestApp
      before(async () => {
        const options = {
          config: { store: { quota: { user: String(QUOTA) } } },
          databaseUrl: await engine.migratedUrl(),
          environment: { DATA_DIR: folder },
        }
        one = await startApp(ending, engine, options)
        two = await startApp(ending, engine, options)
      })
      test('counts what is imported and changed in bulk, and a service key has none', async () => {
        const { token } = await one.register() // an administrator
        const ask = (path: string, body: unknown, of = token) =>
          one.request('POST', `/store/${path}`, { token: of, body })
        await ask('bulk', note(91_000))
        const form = new FormData()
        form.set('file', new File([JSON.stringify(note(9_000)), '\n', JSON.stringify(note(500))], 'a.ndjson'))
        const imported = await one.client.call('POST /store/:collection/import', {
          params: { collection: 'bulk' },
          body: form,
          token,
        })
        assert.deepEqual([imported.created, imported.errors[0]!.code], [1, 'QUOTA_EXCEEDED'])
        const set = { text: 'x'.repeat(99_000) }
        const changed = await ask('bulk/bulk', { action: 'set', set, filter: {}, expected: 2 })
        assert.deepEqual([changed.body.changed, changed.body.failed], [1, 1], changed.text)
        const { key } = await one.app.service('auth').keys.create('key', ['store'])
        assert.equal((await ask('bulk', note(QUOTA), key)).status, 201)
      })
      const note = (length: number) => ({ text: 'x'.repeat(length) })

      test('is never passed on two replicas, by no way of writing, and files count in it', async () => {
        const { token } = await one.register()
        const ask = (method: string, path: string, body?: unknown, of = one) =>
          of.request(method, `/store/${path}`, { token, body })
        const created = await Promise.all(
          Array.from({ length: 30 }, (_, i) =>
            ask('POST', i % 3 ? 'notes' : 'memos', note(9_000), i % 2 ? one : two),
          ),
        )
        const stored = created.filter(isStored)
        const bytesOfAll = stored.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
        const left = QUOTA - bytesOfAll
        assert.equal(stored.length, Math.floor(QUOTA / Buffer.byteLength(stored[0]!.text)))
        const refused = async (answer: Promise<TestAnswer>) => {
          const { status, body, text } = await answer
          assert.deepEqual(
            [status, body.error?.code, body.error?.details],
            [413, 'QUOTA_EXCEEDED', { quota: QUOTA, left }],
            text,
          )
          assert.ok(text.includes(`and ${left} are left`), text)
        }
        const [{ _id: id }] = (await ask('GET', 'notes?limit=1')).body.data
        await refused(ask('POST', 'notes', note(left)))
        await refused(ask('POST', 'notes', [note(left / 2), note(left / 2)]))
        await refused(ask('PUT', `notes/${id}`, note(9_000 + left + 1)))
        await refused(ask('PATCH', `notes/${id}`, { $set: { more: 'x'.repeat(left) } }, two))
        await refused(upload(two, token, { bytes: new Uint8Array(left + 1) }))
        // The last byte, no more; what shrinks is taken.
        assert.equal((await ask('PUT', `notes/${id}`, note(9_000 + left))).status, 200)
        assert.equal((await ask('PATCH', `notes/${id}`, { text: 'x' })).status, 200)
        assert.equal((await ask('POST', 'notes', note(8_000))).status, 201)
      })
    })

    // In this order: what the test before has stored stays.
    describe('of uploads under way', () => {
      const LARGE_QUOTA = 4_000_000
      const partSizes = async (data: string): Promise<number> => {
        let sum = 0
        for (const name of await readdir(join(data, 'uploads'), { recursive: true }).catch(() => []))
          if (name.endsWith('.part'))
            sum += (await stat(join(data, 'uploads', name)).catch(() => ({ size: 0 }))).size
        return sum
      }

      /** An upload that stops before its end. */
      function begin(url: string, token: string, bytes: number, sent: number) {
        const { hostname, port } = new URL(url)
        const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
        const tail = '\r\n--b--\r\n'
        const socket = connect(Number(port), hostname)
        socket.on('error', () => undefined) // the server may cut it
        socket.write(
          `POST /store/upload HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=b\r\n` +
            `content-length: ${head.length + bytes + tail.length}\r\n\r\n${head}`,
        )
        socket.write(Buffer.alloc(sent, 1))
        return {
          socket,
          answer: async () => String((await once(socket, 'data'))[0]),
          finish: () => socket.write(Buffer.concat([Buffer.alloc(bytes - sent, 1), Buffer.from(tail)])),
        }
      }

      let data: string
      let one: TestApp
      let two: TestApp
      before(async () => {
        data = await temporaryFolder(ending)
        const options = {
          config: { store: { quota: { user: String(LARGE_QUOTA) } } },
          databaseUrl: await engine.migratedUrl(),
          environment: { DATA_DIR: data },
        }
        one = await startApp(ending, engine, options)
        two = await startApp(ending, engine, options)
      })

      test('is counted on every replica before it is written, and given back when it ends', async () => {
        const { token } = await one.register()
        const first = begin(one.url, token, 3_000_000, 1_000_000)
        await until(async () => (await partSizes(data)) > 0)
        const refused = begin(two.url, token, 3_000_000, 200_000)
        assert.match(await refused.answer(), /^HTTP\/1\.1 413 [^]*QUOTA_EXCEEDED/)
        assert.ok((await partSizes(data)) <= LARGE_QUOTA)
        first.finish()
        assert.match(await first.answer(), /^HTTP\/1\.1 201/)
        // One that is given up.
        const left = begin(two.url, token, 900_000, 800_000)
        await until(async () => (await partSizes(data)) > 0)
        assert.equal((await upload(one, token, { bytes: new Uint8Array(900_000) })).status, 413)
        left.socket.destroy()
        await until(async () => (await upload(one, token, { bytes: new Uint8Array(900_000) })).status === 201)
        refused.socket.destroy()
        first.socket.destroy()
      })

      test('admits the first of two uploads that do not both fit', async () => {
        const { _id, token } = await one.register()
        const { hostname, port } = new URL(one.url)
        const chunk = (bytes: Buffer) =>
          Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
        const uploads = Array.from({ length: 2 }, () => {
          const socket = connect(Number(port), hostname)
          socket.on('error', () => undefined)
          socket.write(
            `POST /store/upload HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=b\r\n` +
              'transfer-encoding: chunked\r\n\r\n',
          )
          const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
          socket.write(chunk(Buffer.concat([Buffer.from(head), Buffer.alloc(1_900_000)])))
          return socket
        })
        const reserved = async () =>
          (await one.app.db.get(
            sql<{ bytes: number }>`
              select cast(sum(bytes) as bigint) as bytes from store_reservations where owner = ${_id}`,
          ))!.bytes
        await until(async () => (await reserved()) >= 3_800_000)
        const rest = Buffer.concat([Buffer.alloc(1_100_000), Buffer.from('\r\n--b--\r\n')])
        const answers = uploads.map(async (socket) => {
          const answer = once(socket, 'data')
          socket.write(Buffer.concat([chunk(rest), Buffer.from('0\r\n\r\n')]))
          return String((await answer)[0]).slice(9, 12)
        })
        assert.deepEqual((await one.clock.through(Promise.all(answers))).toSorted(), ['201', '413'])
        for (const socket of uploads) socket.destroy()
      })
    })
  })
})
