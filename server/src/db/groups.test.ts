import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { eachEngine } from '../testing/engines.ts'
import { ConstraintError, type Database } from './database.ts'
import { openDatabase } from './open.ts'
import { sql, type SqlScalar } from './sql.ts'

eachEngine((engine) => {
  let db: Database
  let other: Database
  before(async () => {
    const url = await engine.freshUrl()
    db = await openDatabase(url)
    other = await openDatabase(url)
    const tables = `create table items (
         collection text not null, id text not null, n bigint, x double precision, body text,
         primary key (collection, id)
       );
       create table limited (id text primary key, n bigint not null check (n < 100))`
    await db.migrate([{ wire: 'test', name: '001-tables', text: tables }])
  })
  after(() => Promise.all([db.close(), other.close()]))

  const insert = (id: string, row: Partial<Record<'n' | 'x' | 'body', SqlScalar>> = {}) =>
    sql.insert('items', { collection: 'c', id, n: 0, x: null, body: null, ...row }, ['collection', 'id'])

  test('reads of one turn each have their own answer', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => db.write(insert(`r${i}`, { n: i, x: i / 2 }))))
    const reads = (i: number) => [
      db.get(sql`select n from items where collection = ${'c'} and id = ${`r${i}`}`),
      db.get(
        sql`select n, x from items where collection = 'c' and n = ${i} and x = ${i / 2} and id like 'r%'`,
      ),
      db.get(sql`select id from items where n > ${i} and id like 'r%' order by n desc limit 1`),
      db.get(sql`select id from items where n < ${i} and id like 'r%' order by n limit ${i % 2}`),
      db.get(
        sql`with few as (select n from items where n <= ${i} and id like 'r%') select count(*) as n from few`,
      ),
      db.get(sql`select cast(${null} as bigint) as absent, cast(${i} as text) as text`),
      db.all(sql`select n from items where n between ${i} and ${i + 2} and id like 'r%' order by n desc`),
      db.get(sql`select 1 as one`),
    ]
    // Twice, because the first time is how the types of the parameters become known.
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => Promise.all(reads(i))))
      for (const [i, answer] of answers.entries())
        assert.deepEqual(answer, [
          i < 50 ? { n: i } : undefined,
          i < 50 ? { n: i, x: i / 2 } : undefined,
          i < 49 ? { id: 'r49' } : undefined,
          i % 2 === 1 ? { id: 'r0' } : undefined,
          { n: Math.min(i + 1, 50) },
          { absent: null, text: String(i) },
          [i + 2, i + 1, i].filter((n) => n < 50).map((n) => ({ n })),
          { one: 1 },
        ])
    }
  })

  test('one read that fails takes no other with it', async () => {
    await db.write(insert('large', { n: 2n ** 60n }))
    await db.write(insert('small', { n: 1 }))
    const read = (id: string) => db.get(sql`select n from items where collection = 'c' and id = ${id}`)
    for (let round = 0; round < 2; round++) {
      const settled = await Promise.allSettled([
        read('small'),
        read('large'), // cannot be read as a number
        db.get(sql`select nothing from items`),
        read('absent'),
        db.all(sql`select n from items where id = ${'small'}`),
      ])
      assert.deepEqual(
        settled.map((one) => (one.status === 'fulfilled' ? one.value : 'failed')),
        [{ n: 1 }, 'failed', 'failed', undefined, [{ n: 1 }]],
      )
    }
  })

  test('a read that begins after a write was answered sees it', async () => {
    const lanes = Array.from({ length: 16 }, async (_, lane) => {
      const id = `lane${lane}`
      await db.write(insert(id))
      for (let n = 1; n <= 30; n++) {
        await db.write(sql`update items set n = ${n} where collection = 'c' and id = ${id}`)
        assert.deepEqual(await db.get(sql`select n from items where collection = 'c' and id = ${id}`), { n })
      }
    })
    await Promise.all(lanes)
  })

  test('insert answers its key, and nothing if that exists', async () => {
    assert.deepEqual(await db.write(insert('k')), [{ collection: 'c', id: 'k' }])
    assert.deepEqual(await db.write(insert('k', { n: 5 })), [])
    assert.deepEqual(await db.batch([insert('l'), insert('k')]), [[{ collection: 'c', id: 'l' }], []])
    assert.deepEqual(await db.transaction((tx) => tx.write(insert('m'))), [{ collection: 'c', id: 'm' }])
    assert.deepEqual(await db.get(sql`select n from items where id = 'k'`), { n: 0 })
  })

  test('of inserts of one key at once, one succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const rows = await Promise.all(
        Array.from({ length: 30 }, (_, i) => db.write(insert(`same${round}-${i % 3}`, { n: i }))),
      )
      assert.equal(rows.flat().length, 3)
      for (const [i, [row]] of rows.entries())
        if (row) {
          const stored = await db.get(sql`select n from items where id = ${row.id}`)
          assert.deepEqual([row.id, stored], [`same${round}-${i % 3}`, { n: i }])
        }
    }
  })

  test('inserts that arrive together keep every value exactly', async () => {
    const texts = [
      '',
      ' ',
      'null',
      'NULL',
      '{}',
      '{"a":"b\\"c"}',
      '"',
      '\\',
      '\\"',
      ',',
      'é😀',
      '\r\n\t',
      "'",
      '$1',
      '(1,2)',
    ]
    const rows = texts.map((body, i) => ({ id: `text${i}`, n: 2n ** 53n + BigInt(i), x: i / 3, body }))
    await Promise.all(rows.map(({ id, ...row }) => db.write(insert(id, row))))
    for (const { id, n, x, body } of rows)
      assert.deepEqual(await db.get(sql`select cast(n as text) as n, x, body from items where id = ${id}`), {
        n: String(n),
        x,
        body,
      })
    const odd = ["'; drop table items; --", 'a"b', 'a\\b', '{a}', 'a,b', ' a ']
    const answers = await Promise.all(odd.map((id) => db.write(insert(id))))
    assert.deepEqual(
      answers,
      odd.map((id) => [{ collection: 'c', id }]),
    )
  })

  test('an insert that fails takes no other with it', async () => {
    const limited = (id: string, n: number | null) => sql.insert('limited', { id, n }, ['id'])
    for (let round = 0; round < 3; round++) {
      const settled = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          db.write(limited(`${round}-${i}`, i === 7 ? 100 : i === 8 ? null : i)),
        ),
      )
      for (const [i, one] of settled.entries())
        if (i === 7 || i === 8) assert.ok(one.status === 'rejected' && one.reason instanceof ConstraintError)
        else assert.ok(one.status === 'fulfilled' && one.value.length === 1)
    }
    assert.deepEqual(await db.get(sql`select count(*) as n from limited`), { n: 54 })
  })

  test('an insert needs the columns of its key', () => {
    assert.throws(
      () => sql.insert('items', { n: 1 } as Record<'n' | 'id', number>, ['id']),
      /no value for id of the key/,
    )
  })

  test('a transaction may see others’ commits as they happen, or not', async () => {
    await db.write(insert('seen', { n: 1 }))
    const read = sql<{ n: number }>`select n from items where id = 'seen'`
    for (const isolation of ['read committed', 'repeatable read', 'serializable', undefined] as const) {
      await db.write(sql`update items set n = 1 where id = 'seen'`)
      const seen = await db.transaction(async (tx) => {
        const first = await tx.get(read)
        // On SQLite a write would wait for the end of the transaction, so only PostgreSQL is written to meanwhile.
        if (engine.name === 'postgres') await other.write(sql`update items set n = 2 where id = 'seen'`)
        return [first!.n, (await tx.get(read))!.n]
      }, isolation && { isolation })
      assert.deepEqual(seen, [1, engine.name === 'postgres' && isolation === 'read committed' ? 2 : 1])
    }
  })

  test('rows that are read for update are not changed by others until the transaction ends', async () => {
    await db.write(insert('locked', { n: 0 }))
    const addOne = (one: Database): Promise<unknown> =>
      one.transaction(
        async (tx) => {
          const row = await tx.get(
            sql<{ n: number }>`select n from items where id = 'locked' ${sql.forUpdate}`,
          )
          await tx.write(sql`update items set n = ${row!.n + 1} where id = 'locked'`)
        },
        { isolation: 'read committed' },
      )
    await Promise.all(Array.from({ length: 10 }, (_, at) => addOne(at % 2 === 0 ? db : other)))
    const row = await db.get(sql<{ n: number }>`select n from items where id = 'locked'`)
    assert.equal(row!.n, 10)
  })
})
