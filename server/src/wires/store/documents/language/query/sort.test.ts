import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApiError } from '../../../../../base/errors.ts'
import { allRows } from '../../../../../base/row-filter.ts'
import { sql } from '../../../../../db/sql.ts'
import { eachEngine } from '../../../../../testing/engines.ts'
import { cursorKey, openDocuments, type Document, type Documents } from './documents.fixture.ts'
import { createParsedLists, parsedListOf, parseList, whereAfterSql } from '../../lists/parsed-list.ts'
import { decodeCursor } from './cursor.ts'
import { parseSort } from './sort.ts'

const kinds: Document[] = [
  { v: true },
  { v: 'a' },
  { v: 2 },
  { v: null },
  { v: { x: 1 } },
  {},
  { v: false },
  { v: 'B' },
  { v: -1 },
  { v: [-0.5] },
  { v: '' },
  { v: 0 },
  { v: 1 },
  { v: [] },
  { v: [[]] },
]
const people: Document[] = [
  { name: 'Bo', age: 3, address: { city: 'Oslo' } },
  { name: 'Al', age: 3, address: { city: 'Rome' } },
  { name: 'Bo', age: 9, address: { city: 'Bonn' } },
  { name: 'Al', age: 9 },
]
// Both were made in the same millisecond, as were the last two.
const times: Document[] = [
  { createdAt: '2026-01-01T00:00:00.000Z', name: 'b' },
  { createdAt: '2026-01-01T00:00:00.000Z', name: 'a' },
  { createdAt: '2026-01-01T00:00:00.001Z', name: 'b' },
  { createdAt: '2026-01-01T00:00:00.001Z', name: 'a' },
]
const arrays: Document[] = [[3, 2], [0, 9], [4], [], [null, 1], [[0]], [{}]].map((v) => ({ v }))
const lists: Document[] = [
  { v: [{ a: 5 }, { a: 3 }] },
  { v: { a: 6 } },
  { v: [{ a: [] }, { a: 1 }] },
  { v: [1, [{ a: 0 }], { a: 2 }] },
  { v: { a: [4, 3] } },
]
const pairs: Document[] = [
  {
    v: [
      { a: 2, b: 1 },
      { a: 1, b: 3 },
    ],
  },
  {
    v: [
      { a: 3, b: 0 },
      { a: 1, b: 2 },
    ],
  },
  { v: [{ a: 2, b: 0 }] },
]
const objects: Document[] = [{ b: 1 }, { a: 1 }, { a: 'x' }, { a: {} }, { a: 1, b: 0 }, { b: null }].map(
  (v) => ({ v }),
)
const long = 'x'.repeat(100_000)
const texts: Document[] = [`${long}😀b`, `${long}😀a`, `${long}y`, `${long}\uffff`, long].map((v) => ({ v }))
const large: Document[] = [
  1e300,
  1.152921504606847e18,
  1.1529215046068472e18,
  2 ** 53,
  5e-324,
  -1e300,
  2 ** 64,
].map((v) => ({ v }))

type Case = [behaviour: string, documents: Document[], sort: string | undefined, numbers: number[]]
const cases: Case[] = [
  ['newest first by default', people, undefined, [3, 2, 1, 0]],
  ['oldest first', people, 'createdAt', [0, 1, 2, 3]],
  ['by _id', people, '_id', [0, 1, 2, 3]],
  ['types in their order', kinds, 'v', [13, 3, 5, 8, 9, 11, 12, 2, 10, 7, 1, 4, 14, 6, 0]],
  ['types in their order, descending', kinds, '-v', [0, 6, 14, 4, 1, 7, 10, 2, 12, 11, 9, 8, 5, 3, 13]],
  ['equal ones follow their _id', people, 'name', [1, 3, 0, 2]],
  ['equal ones follow their _id in the same direction', people, '-name', [2, 0, 3, 1]],
  ['two keys', people, 'name,age', [1, 3, 0, 2]],
  ['two keys in different directions', people, 'name,-age', [3, 1, 2, 0]],
  ['a dotted path', people, 'address.city', [3, 2, 0, 1]],
  ['a number in a path as index and as name', [{ v: [7, 2] }, { v: { 1: 1 } }, { v: [3] }], 'v.1', [2, 1, 0]],
  ['an array by its smallest element', arrays, 'v', [3, 4, 1, 0, 2, 6, 5]],
  ['an array by its largest element, descending', arrays, '-v', [5, 6, 1, 2, 0, 4, 3]],
  ['by what a path finds in the elements of an array', lists, 'v.a', [2, 3, 0, 4, 1]],
  ['by what a path finds in the elements of an array, descending', lists, '-v.a', [1, 0, 4, 3, 2]],
  ['two fields of one array by those of one element', pairs, 'v.a,v.b', [1, 0, 2]],
  ['two fields of one array by those of one element, descending', pairs, '-v.a,v.b', [1, 2, 0]],
  ['objects field by field: type, name, value', objects, 'v', [5, 1, 4, 0, 2, 3]],
  ['arrays of arrays element by element', [[2], [1, 9], [1], []].map((v) => ({ v: [v] })), 'v', [3, 2, 1, 0]],
  ['_id where it stands', people, 'age,-_id,name', [1, 0, 3, 2]],
  ['_id in the other direction', people, 'name,-_id', [3, 1, 2, 0]],
  ['createdAt at the end', people, 'name,-createdAt', [3, 1, 2, 0]],
  ['createdAt before another key', times, 'createdAt,name', [1, 0, 3, 2]],
  ['text of any length', texts, 'v', [4, 2, 3, 1, 0]],
  ['numbers of any size', large, 'v', [5, 4, 3, 1, 2, 6, 0]],
]

eachEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  for (const [behaviour, rows, sort, numbers] of cases) {
    test(`sorts ${behaviour}, and cursors of one document walk the same way`, async () => {
      const collection = await documents.collection(rows)
      const whole = await documents.page(collection, { sort })
      assert.deepEqual(whole.numbers, numbers)

      const walked: number[] = []
      let cursor: string | undefined
      do {
        const page = await documents.page(collection, { sort, cursor }, 1)
        walked.push(...page.numbers)
        cursor = page.cursor
        assert.ok(walked.length <= numbers.length, `repeats itself: ${walked.join()}`)
      } while (cursor !== undefined)
      assert.deepEqual(walked, numbers)
    })
  }

  test('a sort by the longest paths is answered, and so are its cursors', async () => {
    const paths = Array.from('abcdefgh', (name) => Array.from({ length: 62 }, () => name))
    const sort = paths.map((path) => path.join('.')).join()
    const rows = [[3, 1], [1, 2], [2]].map((values) => {
      const fields = values.map((value, i): Document => {
        const [name, ...rest] = paths[i]!
        return { [name!]: rest.reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) }
      })
      return Object.assign({}, ...fields) as Document
    })
    const collection = await documents.collection(rows)
    const first = await documents.page(collection, { sort }, 1)
    assert.deepEqual(first.numbers, [1])
    const { numbers } = await documents.page(collection, { sort, cursor: first.cursor })
    assert.deepEqual(numbers, [2, 0])
  })

  test('documents that cannot be sorted are refused, and those of other lists are not in the way', async () => {
    const rows = [{ kind: 1, a: [1], b: [2], c: [{ 0: 1 }] }, { kind: 2, a: [1], b: 1 }, { kind: 2 }]
    const collection = await documents.collection(rows)
    for (const [sort, message] of [
      ['c,a', /^\/query\/sort: .*"c" and "a" are two arrays side by side/],
      ['-b.0,x,a', /^\/query\/sort: .*"b.0" and "a" are two arrays side by side/],
      ['c.0', /^\/query\/sort: .*in "c.0" a number is the index of an array and the name/],
    ] as const)
      await assert.rejects(documents.page(collection, { sort }), { code: 'VALIDATION_ERROR', message })
    const others = { filter: '{"kind":2}', sort: 'a,b,c.0' }
    const page = await documents.page(collection, others, 1)
    assert.deepEqual(page.numbers, [2])
    assert.deepEqual((await documents.page(collection, { ...others, cursor: page.cursor })).numbers, [1])
  })

  test('a cursor goes on where it stood when documents before it are gone or new', async () => {
    const collection = await documents.collection(people)
    const first = await documents.page(collection, { sort: 'name' }, 2)
    assert.deepEqual(first.numbers, [1, 3])
    await documents.db.write(
      sql`delete from store_documents where collection = ${collection} and id like ${'%3'}`,
    )
    const second = await documents.page(collection, { sort: 'name', cursor: first.cursor })
    assert.deepEqual(second.numbers, [0, 2])
  })

  test('the default order is read off the primary key, page by page', async () => {
    const collection = await documents.collection(Array.from({ length: 2000 }, () => ({})))
    await documents.db.write(sql`analyze store_documents`)
    const { cursor } = await documents.page(collection, {}, 1000)
    const list = parseList({}, documents.db.dialect)
    assert.equal(list.scans, false)
    const { position } = decodeCursor(cursor!, collection + list.text, cursorKey)
    const query = sql`select d.body from store_documents d
      where d.collection = ${collection} and ${whereAfterSql(list, position, documents.db.dialect)}
      order by ${list.orderBy} limit 20`
    const plan =
      engine.name === 'sqlite'
        ? await documents.db.all<{ detail: string }>(sql`explain query plan ${query}`)
        : await documents.db.all<{ 'QUERY PLAN': string }>(sql`explain ${query}`)
    const text = JSON.stringify(plan)
    assert.match(
      text,
      engine.name === 'sqlite' ? /collection=\? AND id<\?/ : /Index Cond: .*collection = .*id </,
    )
    assert.doesNotMatch(text, /sort|b-tree/i)
  })
})

test('only what the primary key answers does not scan', () => {
  const scans = (parameters: Parameters<typeof parseList>[0]) => parseList(parameters, 'sqlite').scans
  assert.equal(scans({}), false)
  assert.equal(scans({ filter: '{}', sort: '_id' }), false)
  assert.equal(scans({ filter: '{"_id":{"$in":["a","b"]}}' }), false)
  assert.equal(scans({ filter: '{"_id":"a","name":"Ada"}' }), true)
  assert.equal(scans({ filter: '{"_id":{"$ne":"a"}}' }), true)
  assert.equal(scans({ filter: '{"_id":"a"}', sort: 'name' }), true)
  assert.equal(scans({ sort: 'name' }), true)
})

test('a list that is asked for again is parsed once, if it is short', () => {
  const lists = createParsedLists()
  const filterOf = (filter: object) =>
    parsedListOf(
      lists,
      { filter: JSON.stringify(filter) },
      'sqlite',
      { rowFilter: allRows, view: undefined },
      true,
    ).filter
  assert.equal(filterOf({ 'a.b': { $gt: 5 }, c: null }), filterOf({ 'a.b': { $gt: 5 }, c: null }))
  for (const long of [{ name: 'x'.repeat(1000) }, { name: { $regex: '\\pL'.repeat(20) } }])
    assert.notEqual(filterOf(long), filterOf(long))
})

describe('MongoDB’s form of a sort is the same as', () => {
  for (const [object, text] of [
    ['{"year":-1}', '-year'],
    [' { "author.name" : 1 , "year" : -1 } ', 'author.name,-year'],
    ['{"title":1,"2":-1}', 'title,-2'],
    ['{"a":1.0,"\\u0062":-1e0}', 'a,-b'],
    ['{"_id":-1}', '-_id'],
  ] as const)
    test(text, () => assert.deepEqual(parseSort(object), parseSort(text)))

  test('fields that text cannot name', () => {
    assert.deepEqual(parseSort('{"a,b":1,"-c":-1,"constructor":1}').keys, [
      { path: ['a,b'], descending: false },
      { path: ['-c'], descending: true },
      { path: ['constructor'], descending: false },
    ])
  })

  for (const [text, message] of [
    ['{"year":"desc"}', /The direction of "year" must be 1 \(ascending\) or -1 \(descending\)/],
    ['{"year":2}', /The direction of "year"/],
    ['{"a":1,"year":{"$meta":"textScore"}}', /The direction of "year"/],
    ['{"year":-1', /JSON/],
    ['{"a":1,"a":-1}', /a/],
    ['{"$where":1}', /\$where/],
    ['{"a..b":1}', /a\.\.b/],
    ['{}', /at least one field/],
    ['[["year",-1]]', /Give an object/],
    ['{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}', /at most 8 fields/],
  ] as const)
    test(`nothing, for ${text}`, () =>
      assert.throws(
        () => parseSort(text),
        (error) =>
          error instanceof ApiError && error.message.startsWith('/query/sort') && message.test(error.message),
      ))
})

describe('a sort is refused', () => {
  for (const [why, text] of [
    ['empty', ''],
    ['an empty field', 'name,'],
    ['a minus alone', '-'],
    ['two minuses', '--name'],
    ['a direction behind a colon', 'name:desc'],
    ['an operator', '$where'],
    ['a field twice', 'name,age,-name'],
    ['NUL', 'na\0me'],
    ['half a character', 'na\ud800me'],
    ['more than 8 fields', 'a,b,c,d,e,f,g,h,i'],
    ['more than 2048 characters', 'a'.repeat(2049)],
    ['a path of more than 64 parts', Array.from({ length: 65 }, () => 'a').join('.')],
  ] as const) {
    test(why, () => {
      assert.throws(
        () => parseSort(text),
        (error) =>
          error instanceof ApiError && error.status === 400 && error.message.startsWith('/query/sort: '),
      )
    })
  }
})
