import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openDatabase } from '../../../../db/open.ts'
import type { Database } from '../../../../db/database.ts'
import { readMigrations } from '../../../../db/migrations.ts'
import { sql } from '../../../../db/sql.ts'
import { openFrame } from '../../../../kernel/frame.fixture.ts'
import { startApp } from '../../../../testing/app.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { insertSql, storedColumn, storedSql } from '../storage/sql/document-rows.ts'
import { withoutIndexes } from '../storage/sql/index-rows.ts'

const folder = new URL('../../migrations/', import.meta.url)

const insertInto =
  ({ dialect }: Database) =>
  (collection: string, id: string, owner: string) =>
    insertSql(dialect, { collection, id, owner, body: '{}' }, withoutIndexes(collection))

const countsOf = (db: Database) =>
  db.all<{ collection: string; owner: string; documents: number; bytes: number }>(sql`
    select collection, owner, sum(documents) as documents, sum(bytes) as bytes from store_counts
    group by collection, owner having sum(documents) <> 0 or sum(bytes) <> 0 order by collection, owner`)

const counted = (db: Database) =>
  db.all<{ collection: string; owner: string; documents: number; bytes: number }>(sql`
    select collection, owner, count(*) as documents, sum(bytes) as bytes from (
      select collection, owner, bytes from store_documents
      union all select collection, '' as owner, bytes from store_documents
    ) as each group by collection, owner order by collection, owner`)

eachEngine((engine) => {
  if (engine.name === 'postgres')
    test('counters are changed once for each statement, not for each row', async (t) => {
      const { db } = (await startApp(t, engine)).app
      // Bit 0 of tgtype: https://www.postgresql.org/docs/current/catalog-pg-trigger.html
      const triggers = await db.all<{ counted: string; row_level: number }>(sql`
        select c.relname as counted, t.tgtype & 1 as row_level from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where not t.tgisinternal and c.relname in ('store_documents', 'messaging_messages')`)
      assert.deepEqual(new Set(triggers.map(({ counted }) => counted)).size, 2)
      assert.deepEqual(
        triggers.filter(({ row_level }) => row_level !== 0),
        [],
      )
    })

  test('counters go on from a database of an earlier version', async () => {
    const { db } = await openFrame(engine)
    const migrations = await readMigrations('store', folder, engine.name)
    await db.migrate(migrations.slice(0, 1))
    for (const id of ['a', 'b', 'c'])
      await db.write(sql`
        insert into store_documents (collection, id, owner, version, body) values ('old', ${id}, 'x', 1, '{}')`)
    await db.migrate(migrations)
    const insert = insertInto(db)
    await Promise.all(['d', 'e', 'f'].map((id) => db.write(insert('old', id, 'y'))))
    await db.write(sql`delete from store_documents where id in ('a', 'd')`)
    assert.deepEqual(await countsOf(db), [
      { collection: 'old', owner: '', documents: 4, bytes: 8 },
      { collection: 'old', owner: 'x', documents: 2, bytes: 4 },
      { collection: 'old', owner: 'y', documents: 2, bytes: 4 },
    ])
    await db.close()
  })

  test('counters are right however many write and remove at once, from several replicas', async () => {
    const { db: first, url } = await openFrame(engine)
    const dbs = [first, await openDatabase(url), await openDatabase(url)]
    await first.migrate(await readMigrations('store', folder, engine.name))
    const insert = insertInto(first)
    const lanes = Array.from({ length: 60 }, async (_, lane) => {
      const db = dbs[lane % 3]!
      const owner = `owner${lane % 4}`
      for (let i = 0; i < 10; i++) {
        const collection = `c${(lane + i) % 3}`
        const id = `${lane}-${i}`
        await db.write(insert(collection, id, owner))
        await db.write(insert(collection, id, owner)) // repeated: nothing is added
        if (i % 3 === 0)
          await db.write(
            sql`update store_documents set ${storedColumn} = ${storedSql(`{"a":1${i}}`)} where id = ${id}`,
          )
        if (i % 4 === 0) await db.write(sql`delete from store_documents where id = ${id}`)
        if (i % 5 === 0) await db.batch([insert('c1', `${id}x`, owner), insert('c0', `${id}y`, owner)])
      }
    })
    await Promise.all(lanes)
    const counts = await countsOf(first)
    assert.ok(counts.length > 0)
    assert.deepEqual(counts, await counted(first))
    await Promise.all(dbs.map((one) => one.close()))
  })
})
