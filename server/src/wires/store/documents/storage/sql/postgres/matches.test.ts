import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { sql, type Sql } from '../../../../../../db/sql.ts'
import { eachEngine } from '../../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../../testing/long-run.ts'
import { openDocuments, type Document, type Documents } from '../../../language/query/documents.fixture.ts'
import type { FilterTree } from '../../../language/query/filter.ts'
import { anyDocument, anyFilter } from '../../../language/query/filters.fixture.ts'
import { parseFilter } from '../../../language/query/parse-filter.ts'
import { matches } from '../../../language/query/reference.fixture.ts'
import { fieldExactly } from './exact.ts'
import { comparisonExactly } from './expression.ts'
import { postgresMatches } from './matches.ts'

const printed = (filter: unknown): { text: string; params: readonly unknown[] } =>
  postgresMatches(parseFilter(JSON.stringify(filter))).render('postgres')

test('several tests are one path, and an id is looked up by the primary key', () => {
  const tests = { a: 1, 'b.c': { $gt: 'x', $ne: 'y' }, $nor: [{ d: { $exists: false } }] }
  assert.equal(printed(tests).text, '(d.doc @? $1::jsonpath)')
  assert.equal(printed({ _id: 'x' }).text, '(d.id = $1)')
  assert.equal(printed({ _id: { $gt: 'x' } }).text, '(d.id > $1)')
})

test('the largest filters are short in SQL', () => {
  const inside = (path: string): Document => {
    let filter: Document = { b: 1 }
    for (let i = 0; i < 8; i++) filter = { [path]: { $elemMatch: filter } }
    return filter
  }
  let deep: unknown = 1
  for (let i = 0; i < 120; i++) deep = { ['k'.repeat(50)]: deep }
  const patterns = Array.from({ length: 3 }, () => ({ 'v.0.0.0': { $regex: '\\p{L}'.repeat(9) } }))
  const lengthOf = (filter: unknown): number => {
    const { text, params } = printed(filter)
    return text.length + params.join('').length
  }
  for (const filter of [inside('a.0'), { 'v.0.0.0': { $all: [deep, [deep]] } }, { $or: patterns }]) {
    const length = lengthOf(filter)
    assert.ok(length < 3_000_000, `${JSON.stringify(filter).slice(0, 60)}: ${length}`)
  }
  const objects = Array.from({ length: 1000 }, (_, x) => ({ x }))
  assert.ok(lengthOf({ v: { $in: objects } }) < 4 * JSON.stringify(objects).length)
})

/** As the filter is asked of a document where no jsonpath can say it. */
function exactly(filter: FilterTree): Sql {
  if (filter.kind === 'field') return fieldExactly(sql`d.body`, filter.path, filter.test)
  if (filter.kind === 'expr') return comparisonExactly(sql`d.body`, filter)
  if (filter.kind === 'not') return sql`not ${exactly(filter.of)}`
  if (filter.of.length === 0) return sql.literal(String(filter.kind === 'and'))
  return sql`(${sql.join(filter.of.map(exactly), ` ${filter.kind} `)})`
}

const names = [
  ' ',
  '"',
  '\\',
  "'",
  '$',
  '@',
  '*',
  'a b',
  '\t\n\r',
  '\u0001',
  '\u2028',
  '😀',
  'é',
  'e\u0301',
  '[0]',
  '?',
]

eachEngine((engine) => {
  if (engine.name !== 'postgres') return
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  const check = async (rows: readonly Document[], filter: unknown): Promise<void> => {
    const expected = rows.flatMap((row, i) => (matches(row as never, filter as never) ? [i] : []))
    const found = await documents.matching(await documents.collection(rows), filter)
    assert.deepEqual(found, expected, JSON.stringify(filter))
  }

  test('names and texts of any characters stand in a path', async () => {
    const rows = names.flatMap((name) => [
      { [name]: { [name]: name } },
      { a: [{ [name]: name }] },
      { a: name },
    ])
    const filters = names
      .filter((name) => !name.startsWith('$'))
      .flatMap((name) => [
        { [`${name}.${name}`]: name },
        { [`a.${name}`]: { $gte: name } },
        { a: { $in: [name] } },
      ])
    const collection = await documents.collection(rows)
    const found = await documents.matchingEach(collection, filters)
    for (const [i, filter] of filters.entries()) {
      const expected = rows.flatMap((row, at) => (matches(row, filter as never) ? [at] : []))
      assert.deepEqual(found[i], expected, JSON.stringify(filter))
    }
  })

  test('an index and a size beyond every array are no fault', async () => {
    const beyond = '99999999999999999999'
    const rows = [{ a: [1, 2] }, { a: { 4294967296: 5 } }, { a: [{ [beyond]: 5 }] }]
    await check(rows, { 'a.4294967296': 5 })
    await check(rows, { [`a.${beyond}`]: { $exists: true } })
    await check(rows, { a: { $size: 2 ** 31 } })
    await check(rows, { a: { $elemMatch: { $not: { $size: 2 ** 40 } } } })
  })

  test('long lists, many conditions and deep ones are no fault', async () => {
    const rows = [
      { a: 7 },
      { a: [7, 'x'] },
      { a: ['x999'] },
      { a: [[7]] },
      { a: null },
      {},
      { a: [{ b: 'x5' }] },
    ]
    const many = Array.from({ length: 1000 }, (_, i) => `x${i}`)
    await check(rows, { a: { $in: [...many.slice(1), 7] } })
    await check(rows, { a: { $nin: [...many.slice(2), null, 7] } })
    await check(rows, { 'a.b': { $in: [...many.slice(3), null] } })
    await check(rows, { a: { $elemMatch: { $in: many } } })
    await check(rows, { a: { $elemMatch: { b: { $in: many } } } })
    await check(rows, { $or: many.slice(0, 190).map((name) => ({ [`${name}.b`]: { $ne: 1 } })) })
    let deep: object = { $gt: 1 }
    for (let i = 0; i < 18; i++) deep = i % 2 ? { $not: deep } : { $elemMatch: deep }
    await check(rows, { a: deep })
  })

  test('what no path can say is asked of the text, with the same answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyDocument, { minLength: 1, maxLength: 12 }),
        fc.array(anyFilter, { minLength: 1, maxLength: 12 }),
        async (rows, filters) => {
          const collection = await documents.collection(rows)
          const asked = filters.map((filter) => exactly(parseFilter(JSON.stringify(filter))))
          const found = await documents.db.all<{ verdicts: string }>(sql`
            select jsonb_build_array(${sql.join(asked)}) as verdicts from store_documents d
            where d.collection = ${collection} order by d.id`)
          for (const [at, row] of rows.entries())
            assert.deepEqual(
              JSON.parse(found[at]!.verdicts),
              filters.map((filter) => matches(row, filter)),
              JSON.stringify([row, filters]),
            )
        },
      ),
      { numRuns: isLongRun ? 1000 : 30 },
    )
  })
})
