import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../testing/engines.ts'
import { storedObjects, upload } from './files.fixture.ts'
import { until } from '../../../testing/until.ts'

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

    test('is never passed, however many uploads come at once, and nothing of the others is kept', async () => {
      const [first, second] = [await app.register(), await app.register()]
      const answers = await uploads(first.token, 50)
      assert.equal(answers.filter(isStored).length, USER_FILES)
      for (const { status, body, text } of answers.filter((one) => !isStored(one))) {
        assert.deepEqual([status, body.error.code], [413, 'QUOTA_EXCEEDED'], text)
        assert.match(text, /your files may take 10000 bytes together/)
      }
      assert.equal((await objects()).length, USER_FILES)

      const others = await uploads(second.token, 20)
      assert.equal(others.filter(isStored).length, ALL_FILES - USER_FILES)
      assert.match(others.find((one) => !isStored(one))!.text, /all files may take 15001 bytes together/)
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
  })
})
