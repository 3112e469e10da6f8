import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../base/errors.ts'
import { eachEngine } from '../testing/engines.ts'
import { openFresh } from './database.fixture.ts'
import type { Database, Row } from './database.ts'
import { sql, type Sql, type SqlScalar } from './sql.ts'
import { anyText } from '../testing/any-text.ts'

// What a column gives back of what was bound to it.
const storable = anyText().filter((text) => !text.includes('\0'))

const hostile = [
  '',
  ' ',
  "'",
  "''; drop table kept; --",
  '"',
  '\\',
  "\\'",
  '$1',
  '?',
  ':name',
  '@name',
  '%',
  '_',
  '\x01',
  '\t\r\n',
  '\x7f',
  '{"a":1}',
  'null',
  'NULL',
  '1',
  '1e3',
  '0x10',
  '\\x00',
  'Infinity',
  'é',
  'e\u0301',
  'ÿ',
  '\u07ff',
  '\u0800',
  '\ufeffmark',
  '\ufffd',
  '\uffff',
  '😀',
  '\u{2ffff}',
  '\u{e0001}',
  '\u{10ffff}',
  '👩‍👩‍👧‍👦',
  '\u202eabc',
  'x'.repeat(70_000),
]

eachEngine((engine) => {
  let db: Database
  before(async () => {
    db = await openFresh(
      engine,
      `create table kept (id bigint primary key, text_value text, whole bigint, fraction double precision);
       create table texts (value text not null primary key)`,
    )
  })
  after(() => db.close())

  /** Each verb that reads rows, so that none of them answers otherwise than the rest. */
  const readers: Record<string, (query: Sql) => Promise<readonly Row[]>> = {
    get: async (query) => [await db.get(query)].filter((row) => row !== undefined),
    all: (query) => db.all(query),
    scan: (query) => db.scan(query),
    write: (query) => db.write(query),
    batch: async (query) => (await db.batch([query]))[0],
    'a transaction': (query) => db.transaction((tx) => tx.all(query)),
  }

  for (const [name, read] of Object.entries(readers)) {
    test(`${name} answers plain objects of text, numbers and null`, async () => {
      const rows = await read(
        sql`select 'a' as text_value, cast(5 as bigint) as whole, cast(0.5 as double precision) as fraction, null as absent`,
      )
      assert.deepEqual(rows, [{ text_value: 'a', whole: 5, fraction: 0.5, absent: null }])
      assert.equal(Object.getPrototypeOf(rows[0]), Object.prototype)
    })

    test(`${name} answers nothing where nothing is found`, async () => {
      assert.deepEqual(await read(sql`select id from kept where id = ${-1}`), [])
    })

    test(`${name} refuses text that can't be kept, and goes on`, async () => {
      for (const value of ['a\0b', '\ud800', 'x\udfff'])
        await assert.rejects(
          () => read(sql`select value from texts where value = ${value}`),
          (error: unknown) => error instanceof ApiError && error.status === 400,
        )
      assert.deepEqual(await read(sql`select 'a' as a`), [{ a: 'a' }])
    })

    test(`${name} rejects where the statement is wrong, and goes on`, async () => {
      await assert.rejects(read(sql`select a from nowhere`), /nowhere/)
      await assert.rejects(read(sql`selec`), /selec/)
      assert.deepEqual(await read(sql`select 'a' as a`), [{ a: 'a' }])
    })
  }

  let nextId = 0
  async function roundTrip(
    column: 'text_value' | 'whole' | 'fraction',
    value: SqlScalar,
  ): Promise<SqlScalar> {
    const id = ++nextId
    const name = sql.literal(column)
    const [written] = await db.write(
      sql`insert into kept (id, ${name}) values (${id}, ${value}) returning ${name} as v`,
    )
    const read = await db.get(sql`select ${name} as v from kept where id = ${id}`)
    assert.deepEqual(read, written)
    return read!['v']!
  }

  test('text comes back exactly', async () => {
    for (const value of hostile) assert.equal(await roundTrip('text_value', value), value)
    await fc.assert(
      fc.asyncProperty(storable, async (value) => assert.equal(await roundTrip('text_value', value), value)),
      { numRuns: 50 },
    )
  })

  test('text is found by exactly itself', async () => {
    const texts = [...hostile, ...fc.sample(storable, { numRuns: 100, seed: 1 })].filter(
      (text) => text.length < 2000,
    )
    for (const value of new Set(texts)) await db.write(sql`insert into texts (value) values (${value})`)
    for (const value of texts)
      assert.deepEqual(await db.all(sql`select value from texts where value = ${value}`), [{ value }])
    assert.equal((await db.all(sql`select value from texts`)).length, new Set(texts).size)
  })

  test('integers up to 2^53 - 1 come back exactly', async () => {
    const edges = [0, -0, 1, -1, 2 ** 31, 2 ** 32 + 1, 2 ** 53 - 1, 1 - 2 ** 53]
    for (const value of edges) assert.equal(await roundTrip('whole', value), value === 0 ? 0 : value)
    await fc.assert(
      fc.asyncProperty(fc.maxSafeInteger(), async (value) =>
        assert.equal(await roundTrip('whole', value), value),
      ),
      { numRuns: 50 },
    )
  })

  test('null is kept in every column', async () => {
    for (const column of ['text_value', 'whole', 'fraction'] as const)
      assert.equal(await roundTrip(column, null), null)
  })

  test('doubles come back exactly', async () => {
    const edges = [
      0.1,
      1 / 3,
      -1.5,
      Number.MAX_VALUE,
      Number.MIN_VALUE,
      2 ** -1022,
      1e21,
      1e-7,
      123456789.125,
    ]
    for (const value of edges) assert.equal(await roundTrip('fraction', value), value)
    await fc.assert(
      fc.asyncProperty(fc.double({ noNaN: true, noDefaultInfinity: true }), async (value) =>
        assert.equal((await roundTrip('fraction', value)) === value, true),
      ),
      { numRuns: 50 },
    )
  })

  test('an integer beyond 2^53 is kept exactly and is never read as another one', async () => {
    for (const value of [2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      const id = ++nextId
      await db.write(sql`insert into kept (id, whole) values (${id}, ${value})`)
      const row = await db.get(sql`select cast(whole as text) as digits from kept where id = ${id}`)
      assert.equal(row!['digits'], String(value))
      for (const read of Object.values(readers))
        await assert.rejects(
          read(sql`select whole from kept where id = ${id}`),
          /too large to be represented/,
        )
    }
    assert.deepEqual(await db.all(sql`select 'a' as a`), [{ a: 'a' }])
  })

  test('an integer that has no room in 64 bits is refused', async () => {
    for (const value of [2n ** 63n, -(2n ** 63n) - 1n])
      await assert.rejects(db.write(sql`insert into kept (id, whole) values (${++nextId}, ${value})`), Error)
    assert.equal(await roundTrip('whole', 1), 1)
  })

  test('a number bound to a column of text is written as in JavaScript', async () => {
    for (const value of [0, 1, -17, 2 ** 53 - 1, 1.5])
      assert.equal(await roundTrip('text_value', value), String(value))
  })

  test('whole numbers divide as whole numbers', async () => {
    const id = ++nextId
    await db.write(sql`insert into kept (id, whole) values (${id}, ${7})`)
    assert.deepEqual(await db.get(sql`select whole / ${2} as half from kept where id = ${id}`), { half: 3 })
  })

  test('what is computed comes as numbers', async () => {
    assert.deepEqual(
      await db.get(sql`
        select count(*) as count, sum(n) as sum, max(n) as max, avg(n) as avg, sum(n) * 1.5 as product,
          exists (select 1) as yes, 1 = 2 as no, count(*) filter (where n > 5) as none, sum(n) filter (where n > 5) as absent
        from (select cast(1 as bigint) as n union all select cast(2 as bigint) as n) as both_of_them`),
      { count: 2, sum: 3, max: 2, avg: 1.5, product: 4.5, yes: 1, no: 0, none: 0, absent: null },
    )
  })

  test('a sum beyond 2^53 is never read as another one', async () => {
    await assert.rejects(
      db.get(sql`select sum(n) as sum from (
        select cast(9007199254740991 as bigint) as n union all select cast(2 as bigint) as n) as both_of_them`),
      /too large to be represented/,
    )
  })
})
