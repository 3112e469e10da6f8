import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readCatalogue } from '../../../db/catalogue.ts'
import { sql } from '../../../db/sql.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { pieces, recordSql, setUp } from '../objects/objects.fixture.ts'
import type { Objects } from '../objects/objects.ts'
import type { ObjectStorage } from '../objects/storage.ts'
import { createFileCheck } from './file-check.ts'
import { RECORD_TABLES } from './object-records.ts'

const OPTIONS = { deletesUnused: false, onProgress: () => undefined }

eachEngine((engine) => {
  test('what is written and deleted while files are checked is neither lost nor unused', async (t) => {
    const { db, clock, objects, names } = await setUp(t, engine)
    async function store(): Promise<string> {
      const object = await objects.write('uploads', pieces())
      await db.batch([object.claimSql, recordSql(object)])
      return object.key
    }
    async function remove(key: string): Promise<void> {
      await db.batch([
        ...objects.discardSql('uploads', sql`select object as key from store_files where object = ${key}`),
        sql`delete from store_files where object = ${key}`,
      ])
      await objects.collectGarbage()
    }
    const [kept, deleted, fading] = [await store(), await store(), await store()]
    const { uploads } = objects.storages
    let isListed = false
    const watched: ObjectStorage = {
      ...uploads,
      async *list() {
        yield* uploads.list()
        await store()
        await remove(deleted)
        // Its bytes are gone before its record is: as if it were deleted between the two looks.
        await uploads.remove(fading)
        isListed = true
      },
      async stat(key) {
        const found = await uploads.stat(key)
        if (key === fading) await remove(key)
        return found
      },
    }
    const storages = { ...objects.storages, uploads: watched }
    const uses = { fields: [], fieldsOf: () => [], usedOf: async () => new Set<string>() }
    const changing: Objects = { ...objects, storages }
    const check = createFileCheck({ db, clock }, { objects: changing, uses })
    const first = await check.check(OPTIONS)
    assert.ok(isListed)
    assert.deepEqual([first.lost.count, first.unused.count, first.records.file], [0, 0, 3])
    assert.ok((await names()).includes(kept))
  })

  test('every table that names objects is among those that are read', async (t) => {
    const { db } = await setUp(t, engine)
    const tables = await db.snapshot((snapshot) => readCatalogue(snapshot, db.dialect))
    const naming = [...tables.values()].filter(
      ({ name: table, columns }) =>
        table.startsWith('store_') && columns.some(({ name }) => name === 'object'),
    )
    const read = new Set(RECORD_TABLES.map(({ table }) => table))
    assert.ok(naming.length > 2)
    assert.deepEqual(
      naming.map(({ name }) => name).filter((name) => !read.has(name)),
      [],
    )
  })
})
