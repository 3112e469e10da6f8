import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../../../../../db/sql.ts'
import { anyEngine } from '../../../../../../testing/engines.ts'
import { openDocuments, type Documents } from '../../../language/query/documents.fixture.ts'
import type { Json } from '../../../language/query/filter.ts'
import { compileMatcher } from '../../../language/query/matcher.ts'
import { parseFilter } from '../../../language/query/parse-filter.ts'
import { matches } from '../../../language/query/reference.fixture.ts'
import { sqliteMatches } from './matches.ts'

type Document = { [name: string]: Json }

const printed = (filter: unknown): string =>
  sqliteMatches(parseFilter(JSON.stringify(filter))).render('sqlite').text

test('what most filters ask is SQL alone, and an id is looked up by the primary key', () => {
  const tests = {
    name: 'Ada',
    age: { $gte: 18, $not: { $mod: [4, 0] } },
    tags: { $all: ['a', null], $size: 2 },
    'items.sku': { $in: ['x', { y: 1 }] },
    scores: { $elemMatch: { $gt: 5, $lt: 10 } },
  }
  for (const [path, operand] of Object.entries(tests))
    assert.doesNotMatch(printed({ [path]: operand }), /store_/)
  assert.match(printed({ _id: { $gt: 'x' }, ...tests }), /^\(d\.id > \?\) and case when octet_length/)
  assert.equal(printed({ _id: 'x' }), 'd.id = ?')
  assert.equal(printed({ _id: { $gt: 'x' } }), 'd.id > ?')
})

test('of several conditions those that few documents meet come first, and costly ones last', () => {
  const text = printed({ a: { $regex: 'x' }, b: true, c: { $gt: 1 }, d: 'x' })
  const places = ['min(', '> ?', `'true'`, 'store_pattern'].map((word) => text.indexOf(word))
  assert.ok(places[0]! >= 0)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
})

test('many objects in a list are looked up, not compared one after the other', () => {
  const list = Array.from({ length: 1000 }, (_, i) => ({ x: i }))
  const matches = compileMatcher(parseFilter(JSON.stringify({ v: { $in: list } })))
  const start = performance.now()
  assert.equal(matches({ v: Array.from({ length: 100_000 }, () => ({ x: 'x' })) }), false)
  assert.equal(matches({ v: [{ x: 0, y: 1 }, { x: 999 }] }), true)
  assert.ok(performance.now() - start < 2000)
})

const names = [' ', '"', '\\', "'", '\\"', '[0]', '*', '@', '#', 'é', '😀', '\n', '\u0001', '\u2028', '/']

const numbers = [
  0,
  1,
  -1,
  0.1,
  5e-324,
  -1.5,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  2 ** 53 + 2,
  1152921504606847000,
  2 ** 63 - 1024,
  2 ** 63,
  2 ** 64,
  1e21,
  1e300,
]
const others: Json[] = [
  true,
  false,
  null,
  '',
  '0',
  '1',
  'true',
  'null',
  '[]',
  '{}',
  '[1]',
  '{"x":1}',
  [],
  {},
  [1],
  { x: 1 },
]
const values: Json[] = [...numbers, -5e-324, -(2 ** 63), 1024 - 2 ** 63, -(2 ** 64), -1e300, ...others]

anyEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  async function check(rows: readonly Document[], filters: readonly Document[]): Promise<void> {
    const collection = await documents.collection(rows)
    const found = await documents.matchingEach(collection, filters)
    for (const [i, filter] of filters.entries()) {
      const expected = rows.flatMap((row, number) => (matches(row, filter) ? [number] : []))
      assert.deepEqual(found[i], expected, JSON.stringify(filter))
    }
  }

  test('values of every kind and size are told apart, alone, in arrays and in arrays of objects', async () => {
    const rows = [
      ...values.map((v) => ({ v })),
      ...values.map((v) => ({ v: [v] })),
      ...values.map((v) => ({ v: { x: v } })),
      ...values.map((v) => ({ v: [{ x: v }, 7] })),
      {},
    ]
    const tests = values.flatMap((value) => [
      value,
      { $gt: value },
      { $gte: value },
      { $lt: value },
      { $lte: value },
    ])
    const operands: Json[] = [...tests, { $in: values }, { $type: ['int', 'double'] }, { $mod: [1000, 0] }]
    for (const path of ['v', 'v.x'])
      await check(
        rows,
        operands.map((operand) => ({ [path]: operand })),
      )
  })

  test('a field is found by any name', async () => {
    const rows = names.flatMap((name) => [{ [name]: 5 }, { [name]: { [name]: 5 } }, { a: [{ [name]: 5 }] }])
    await check(
      rows,
      names.flatMap((name) => [{ [name]: 5 }, { [`${name}.${name}`]: 5 }, { [`a.${name}`]: { $gte: 5 } }]),
    )
  })

  test('a large document is decided by many conditions as a small one', async () => {
    const rows = ['', 'x'.repeat(30_000)].flatMap((text): Document[] => [
      { text, a: { x: 7 }, tags: ['b'] },
      { text, a: [{ x: 1 }, { x: 190 }] },
      { text, tags: null },
    ])
    const none = Array.from({ length: 180 }, (_, i) => ({ [`no${i}.x`]: i }))
    await check(rows, [
      { $or: [...none, { 'a.x': 7 }, { 'a.x': 190 }] },
      { $nor: [...none, { tags: { $regex: '^b' } }] },
      { $and: [{ text: { $gte: '' } }, { $or: [...none, { tags: null }] }] },
    ])
  })

  test('a name written with an escape is not taken for one of another document', async () => {
    // Node's JSON.parse reads the second name as the first one: see `parseJson`.
    const rows = ['gr\\u0', 'gr\u0001\u0001e'].map((name) => ({ a: [{ id: 1, [name]: 2 }] }))
    await check(rows, [{ 'a.0.gr\u0001\u0001e': 2 }, { 'a.0.gr\\u0': 2 }])
  })

  test('the largest filters are prepared, and read in a thread as on the main one', async () => {
    const nested = Array.from({ length: 19 }).reduce<Document>((of) => ({ a: { $elemMatch: of } }), { b: 1 })
    const document = Array.from({ length: 19 }).reduce<Document>((of) => ({ a: [of] }), { b: 1 })
    let both: Document = {
      $or: Array.from({ length: 160 }, (_, i) => ({ [`a.b${i}`]: { $in: ['x', 0, null, i] } })),
    }
    for (let i = 0; i < 12; i++) both = { a: { $elemMatch: both } }
    const wide = { $or: Array.from({ length: 190 }, (_, i) => ({ [`a.b.c${i}`]: { $gt: i } })) }
    const rows = [document, { a: [{ b: { c189: 190 } }] }, { a: 1 }]
    await check(rows, [
      nested,
      both,
      wide,
      { $and: [{ 'a.0.a': { $exists: true } }, { 'a.0.b': { $regex: 'x' } }] },
    ])
    const collection = await documents.collection(rows)
    const { db } = documents
    for (const [filter, number] of [
      [nested, 0],
      [wide, 1],
    ] as const) {
      const where = sqliteMatches(parseFilter(JSON.stringify(filter)))
      const found = await db.scan<{ id: string }>(
        sql`select id from store_documents d where d.collection = ${collection} and ${where}`,
      )
      assert.deepEqual(
        found.map(({ id }) => Number(id)),
        [number],
      )
    }
  })
})
