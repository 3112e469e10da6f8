// What documents refer to while their fields are renamed.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { registerAs } from '../../../../testing/administration.ts'
import { startApp } from '../../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { upload } from '../../files/files.fixture.ts'
import { collectionOf } from './field-changes.fixture.ts'

eachEngine((engine) => {
  test('files are read by their documents under a new name, and under the old one after an undo; no other file is', async (t) => {
    const app = await startApp(t, engine, {
      environment: { SIXWIRE_POLICY: 'guarded', DATA_DIR: await temporaryFolder(t) },
    })
    const { token } = await registerAs(app, 'admin')
    const [ann, ben] = [await registerAs(app, 'user'), await registerAs(app, 'user')]
    const books = collectionOf(app, token)
    const before = {
      read: 'user',
      create: 'user',
      files: { photo: {}, 'box.label': {}, picture: {} },
    }
    assert.equal((await books.put(before)).status, 200)
    const fileOf = async () => (await upload(app, ann.token)).body._id as string
    const [photo, label, later, own] = [await fileOf(), await fileOf(), await fileOf(), await fileOf()]
    const create = async (body: unknown, by = ann) => {
      const made = await app.request('POST', '/store/books', { token: by.token, body })
      assert.equal(made.status, 201, made.text)
    }
    await create({ photo, box: { label } })
    await create({ picture: own })
    // Whoever writes a plain field may write every id into it.
    await create({ cover: own, scan: later }, ben)
    await books.create([{ code: 1 }, { slug: 1 }])
    const readable = async () =>
      Promise.all(
        [photo, label, later, own].map(
          async (id) => (await app.request('GET', `/store/files/${id}`, { token: ben.token })).status,
        ),
      )
    assert.deepEqual(await readable(), [200, 200, 404, 200])

    const documents = [
      { rename: { from: 'photo', to: 'image' } },
      { rename: { from: 'box', to: 'crate' } },
      { rename: { from: 'scan', to: 'copy' } },
      { rename: { from: 'slug', to: 'code' } },
    ]
    const files = { image: {}, 'crate.label': {}, copy: {} }
    const after = { read: 'user', create: 'user', files, unique: ['code'], documents }
    assert.equal((await books.put(after)).status, 409, 'two have the same code')
    assert.deepEqual(await readable(), [200, 200, 404, 200])
    await create({ image: later })
    assert.equal((await books.remove()).status, 200)
    assert.deepEqual(await readable(), [200, 200, 404, 200])

    const { unique: _, ...others } = after
    const put = await books.put(others)
    assert.equal(put.status, 200, put.text)
    assert.deepEqual(await readable(), [200, 200, 200, 404])
    const deleted = await app.request('DELETE', `/store/files/${label}`, { token: ann.token })
    assert.equal(deleted.status, 409)
  })
})
