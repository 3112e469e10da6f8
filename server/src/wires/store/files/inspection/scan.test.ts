import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { before, beforeEach, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { contentPath, upload, type Uploaded } from '../content/file-content.fixture.ts'
import type { FileScan, ScannedFile } from './scan.ts'

const PIXEL = new Uint8Array(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
)

eachEngine((engine) => {
  describe('a scan', () => {
    let app: TestApp
    let token: string
    let _id: string
    let key: string
    let scan: FileScan
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, {
        environment: { SIXWIRE_POLICY: 'guarded' },
        config: {
          store: { files: { scan: (...call: Parameters<FileScan>) => scan(...call) } },
          auth: { local: { requireEmailVerification: false } },
        },
        sandbox: true,
      })
      await app.register()
      ;({ token, _id } = await app.register())
      ;({ key } = await app.app.service('auth').keys.create('operator', ['*']))
    })
    beforeEach(() => {
      scan = () => ({ ok: true })
    })

    const get = (file: Uploaded, query = '') => app.request('GET', contentPath(file, query), { token })
    const asOperator = (file: Uploaded) => app.request('GET', contentPath(file), { token: key })
    const record = async (file: Uploaded) =>
      (await app.request('GET', `/store/files/${file._id}`, { token })).body
    const mail = (file: Uploaded) =>
      app.request('POST', '/messaging/email', {
        token: key,
        body: { to: 'a@example.com', subject: 'a', body: 'a', attachments: [{ fileId: file._id }] },
      })
    const link = async (file: Uploaded) =>
      (await app.request('POST', `/store/files/${file._id}/link`, { token, body: {} })).body.url as string
    const read = async (file: Uploaded, url: string) =>
      app.request('GET', contentPath(file, new URL(url).search))

    test('sees the file before anybody is served it', async () => {
      const scanned = Promise.withResolvers<[ScannedFile, Buffer]>()
      const answer = Promise.withResolvers<void>()
      scan = async (file, bytes) => {
        scanned.resolve([file, await buffer(bytes)])
        await answer.promise
        return { ok: true }
      }
      const file = await upload(app, token, { bytes: PIXEL, name: 'a.png' })
      const { originalName, contentType, size, sha256 } = await record(file)
      const [seen, bytes] = await scanned.promise
      assert.deepEqual(seen, { _id: file._id, owner: _id, originalName, contentType, size, sha256 })
      assert.deepEqual(new Uint8Array(bytes), PIXEL)

      const url = await link(file)
      assert.equal((await record(file)).status, 'pending')
      for (const pending of [
        await get(file),
        await get(file, '?size=64'),
        await read(file, url),
        await mail(file),
      ])
        assert.deepEqual(
          [pending.status, pending.body.error.code, pending.headers.get('retry-after')],
          [409, 'FILE_PENDING', '2'],
        )
      answer.resolve()
      await until(async () => (await record(file)).image !== undefined)
      assert.equal((await record(file)).status, undefined)
      for (const served of [await get(file), await get(file, '?size=64'), await read(file, url)])
        assert.equal(served.status, 200)
      assert.equal((await mail(file)).status, 200)
    })

    test('refuses a file with its reason, and nobody is served it', async () => {
      scan = () => ({ ok: false, reason: 'Eicar-Test-Signature' })
      const file = await upload(app, token, { bytes: PIXEL, name: 'a.png' })
      const url = await link(file)
      await until(async () => (await record(file)).status === 'refused')
      assert.equal((await record(file)).refusal, 'Eicar-Test-Signature')
      for (const refused of [
        await get(file),
        await get(file, '?size=64'),
        await read(file, url),
        await asOperator(file),
      ]) {
        assert.deepEqual([refused.status, refused.body.error.code], [403, 'FILE_REFUSED'])
        assert.match(refused.body.error.message, /Eicar-Test-Signature/)
      }
      assert.equal((await mail(file)).body.error.code, 'FILE_REFUSED')
      assert.match(app.log(), /a file was refused by the scan: Eicar-Test-Signature/)
      const { text } = await app.request('GET', '/metrics', { token: key })
      assert.match(text, /^sixwire_files_scanned_total\{verdict="refused"\} 1$/m)
      assert.equal((await record(file)).image, undefined)
      assert.equal((await app.request('DELETE', `/store/files/${file._id}`, { token })).status, 200)
    })

    test('that fails, answers nothing or takes too long is repeated', async () => {
      const answers: FileScan[] = [
        () => Promise.reject(new Error('the scanner is down')),
        // @ts-expect-error no verdict
        () => undefined,
        (_file, _bytes, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new Error('over'))),
          ),
      ]
      scan = (...call) => (answers.shift() ?? (() => ({ ok: true })))(...call)
      const file = await upload(app, token, { bytes: 'repeated' })
      await until(async () => {
        app.clock.advance(30_000)
        return (await asOperator(file)).status === 200
      })
      assert.match(app.log(), /store\.files\.scan: the scanner is down/)
      assert.match(app.log(), /store\.files\.scan: it must answer \{ ok: true \}/)
      assert.match(app.log(), /store\.files\.scan: it has not answered for 60 seconds/)
    })

    test('begins again for a file that has lost its job, such as one of a backup', async () => {
      const lost = await upload(app, key, { bytes: 'lost' })
      await until(async () => (await asOperator(lost)).status === 200)
      await app.app.db.write(sql`update store_files set status = 'pending' where id = ${lost._id}`)
      assert.equal((await asOperator(lost)).status, 409)
      app.clock.advance(600_000)
      await until(async () => (await asOperator(lost)).status === 200)
    })
  })

  test('a scan that the end of the server interrupts begins again, and pending files of no scan are served', async (t) => {
    const options = {
      databaseUrl: await engine.migratedUrl(),
      environment: { DATA_DIR: await temporaryFolder(t) },
    }
    const begun = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    const hanging: FileScan = (_file, _bytes, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve())
      begun.resolve()
      return new Promise(() => undefined)
    }
    const first = await startApp(t, engine, { ...options, config: { store: { files: { scan: hanging } } } })
    const { token } = await first.register()
    const file = await upload(first, token, {})
    await begun.promise
    await first.app.close()
    await aborted.promise
    const second = await startApp(t, engine, options)
    await until(async () => (await second.request('GET', contentPath(file), { token })).status === 200)
  })
})
