// Documents that are created with their files in one call.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { sql } from '../../../../db/sql.ts'
import { MULTIPART, named, part, whole } from '../../../../http/bodies.fixture.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { storedObjects } from '../files.fixture.ts'

const config = {
  store: {
    quota: { user: '10000' },
    collections: {
      products: {
        unique: ['sku'],
        files: { photo: { types: ['text/*'], maxBytes: 10 }, photos: { max: 2 }, 'box.label': {} },
      },
    },
  },
} satisfies Config

const file = (field: string, bytes: string, name = `${field}.txt`): Buffer =>
  part(`${named(field, `; filename="${name}"`)}\r\ncontent-type: text/plain`, bytes)

eachEngine((engine) => {
  describe('a document that is created with its files', () => {
    let app: TestApp
    let folder: string
    let token: string
    const ending = endOfSuite()
    before(async () => {
      folder = await temporaryFolder(ending)
      app = await startApp(ending, engine, {
        config,
        environment: { SIXWIRE_POLICY: 'guarded', DATA_DIR: folder },
      })
      await app.register()
      token = (await app.register()).token
    })

    const create = (fields: unknown, files: readonly Buffer[], headers = {}, collection = 'products') =>
      app.request('POST', `/store/${collection}`, {
        token,
        raw: whole(part(named('_json'), JSON.stringify(fields)), ...files),
        headers: { ...MULTIPART, ...headers },
      })
    const count = async (): Promise<number[]> => {
      const [row] = await app.app.db.all<{ files: number; documents: number }>(sql`
        select (select count(*) from store_files) as files, (select count(*) from store_documents) as documents`)
      return [row!.files, row!.documents, (await storedObjects(folder)).length]
    }

    test('has their ids in the fields that name them', async () => {
      const { status, body, text } = await create({ name: 'lamp', photos: [], box: { size: 1 } }, [
        file('photo', 'front'),
        file('photos', 'left'),
        file('photos', 'right'),
        file('box.label', 'up'),
      ])
      assert.equal(status, 201, text)
      const { photo, photos, box, name } = body
      assert.deepEqual([name, box.size, photos.length], ['lamp', 1, 2])
      for (const [id, content] of [
        [photo, 'front'],
        [photos[0], 'left'],
        [photos[1], 'right'],
        [box.label, 'up'],
      ])
        assert.equal((await app.request('GET', `/store/files/${id}/content`, { token })).text, content)
      const kept = await app.request('DELETE', `/store/files/${photo}`, { token })
      assert.equal(kept.status, 409)
      const got = await app.request('GET', `/store/products/${body._id}`, { token })
      assert.deepEqual(got.body, body)
      assert.equal((await create({ name: 'no file' }, [])).status, 201)
    })

    test('is all or nothing', async () => {
      assert.equal((await create({ sku: 'taken' }, [])).status, 201)
      const before = await count()
      const photo = file('photo', 'front')
      for (const [fields, files, status, path] of [
        [{ sku: 'taken' }, [photo], 409],
        [{}, [file('photo', 'more than 10 bytes')], 400, '/body/photo'],
        [{}, [file('photo', '\0')], 400, '/body/photo'],
        [{}, [photo, photo], 400, '/body/photo'],
        [{}, [photo, file('other', 'x')], 400, '/body/other'],
        [{}, [photo, file('photos', '1'), file('photos', '2'), file('photos', '3')], 400, '/body/photos'],
        [{ photo: 'x' }, [photo], 400, '/body/photo'],
        [{ box: 'x' }, [file('box.label', 'x')], 400, '/body/box.label'],
        [[{}], [photo], 400, '/body'],
        [{}, [photo, file('photos', 'x'.repeat(10_000))], 413],
      ] as const) {
        const refused = await create(fields, files)
        assert.equal(refused.status, status, refused.text)
        if (path) assert.equal(refused.body.error.details.issues[0].path, path)
      }
      const unknown = await create({}, [photo], {}, 'letters')
      assert.match(unknown.text, /letters has no fields of files/)
      const anonymous = await app.request('POST', '/store/products', { raw: whole(), headers: MULTIPART })
      assert.equal(anonymous.status, 401)
      assert.deepEqual(await count(), before)
    })

    test('is created once under an Idempotency-Key', async () => {
      const headers = { 'idempotency-key': 'with-files' }
      const first = await create({ name: 'a' }, [file('photo', 'one')], headers)
      assert.equal(first.status, 201, first.text)
      const before = await count()
      const again = await create({ name: 'a' }, [file('photo', 'one')], headers)
      assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [first.text, 'true'])
      for (const other of [
        await create({ name: 'a' }, [file('photo', 'two')], headers),
        await create({ name: 'b' }, [file('photo', 'one')], headers),
      ])
        assert.deepEqual([other.status, other.body.error.code], [409, 'IDEMPOTENCY_CONFLICT'])
      // As if the process had ended after the commit.
      await app.app.db.write(sql`update sixwire_idempotency set answer = null where key = 'with-files'`)
      app.clock.advance(60_000)
      const later = await create({ name: 'a' }, [file('photo', 'one')], headers)
      assert.deepEqual([later.status, later.text], [201, first.text])
      assert.deepEqual(await count(), before)
    })
  })
})
