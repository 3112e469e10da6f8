// Lists that are answered from the entries of indexes: the same answers as without, in order, page by page, while documents
// and indexes change.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { readyIndexes } from './indexes/indexes.fixture.ts'

const FIELDS = ['year,-title', 'title', 'author.name,-createdAt', 'rank', '-rank,title', 'year,rank']
const ARRAYS = ['tags', 'parts.no,parts.size', 'year,tags', 'tags,year']

type Query = { [name: string]: unknown }
type Listed = { data: { _id: string; [field: string]: unknown }[]; total: number; nextCursor?: string }

const pick = <T>(n: number, values: readonly T[]): T => values[n % values.length]!

/** The same documents in each collection. */
const documentsOf = (withArrays: boolean): Query[] =>
  Array.from({ length: 60 }, (_, n) => ({
    n,
    year: pick(n, [1973, 1979, 2001, '2001', null, true]),
    ...(n % 4 > 0 && { title: pick(n, ['Momo', 'Jim', 'x'.repeat(300), '']) }),
    author: pick(n, [{ name: 'Ende' }, { name: 'Lindgren' }, 'nobody', {}]),
    rank: Math.floor(n / 7) - 3,
    ...(withArrays && {
      tags: pick(n, [['a', 'b'], [], 'a', ['b', 'c', 'b'], [['a']], null]),
      parts: pick(n, [
        [
          { no: 1, size: 2 },
          { no: 2, size: 1 },
        ],
        [{ no: 1 }],
        { no: 2, size: 2 },
        [1, {}],
      ]),
    }),
  }))

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let owner: { _id: string; token: string }
  let other: { _id: string; token: string }
  before(async () => {
    app = await startApp(ending, engine, {
      config: {
        store: {
          indexes: { scalars: FIELDS, arrays: [...FIELDS.slice(0, 3), ...ARRAYS], shared: FIELDS },
          collections: { scalars: 'owner', plain: 'owner', arrays: 'owner', plainArrays: 'owner' },
        },
      },
      environment: { SIXWIRE_POLICY: 'guarded' },
    })
    owner = await app.register()
    other = await app.register()
    const { documents } = app.app.service('store')
    for (const [collection, withArrays] of [
      ['scalars', false],
      ['plain', false],
      ['arrays', true],
      ['plainArrays', true],
    ] as const)
      for (const { _id } of [owner, other])
        await Promise.all(
          documentsOf(withArrays).map((fields) =>
            documents.create(collection, newId(app.clock.now()), _id, fields),
          ),
        )
    await readyIndexes(app)
  })

  async function list(collection: string, { filter, ...query }: Query, token = owner.token): Promise<Listed> {
    const parameters = new URLSearchParams()
    if (filter !== undefined) parameters.set('filter', JSON.stringify(filter))
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) parameters.set(name, value as string)
    const { status, body, text } = await app.request('GET', `/store/${collection}?${parameters.toString()}`, {
      token,
    })
    assert.equal(status, 200, text)
    return body
  }

  /** All documents of a list by its cursors, as numbers. */
  async function walk(collection: string, query: Query): Promise<unknown[]> {
    const numbers: unknown[] = []
    for (let cursor: string | undefined; ;) {
      const page = await list(collection, { ...query, cursor, limit: 25 })
      numbers.push(...page.data.map(({ n }) => n))
      assert.ok(page.data.length === 25 || page.nextCursor === undefined)
      if (page.nextCursor === undefined) {
        assert.equal(page.total, numbers.length)
        return numbers
      }
      cursor = page.nextCursor
    }
  }

  const filters: unknown[] = [
    undefined,
    { year: 1973 },
    { year: { $in: [1973, '2001', 5] } },
    { year: { $gt: 1973 } },
    { year: { $gte: 1973, $lt: 2001 }, rank: { $gte: 0 } },
    { year: null },
    { year: 2001, title: { $gte: 'J' } },
    { title: { $regex: '^[M]om' } },
    { title: null, year: { $ne: 1973 } },
    { 'author.name': 'Ende' },
    { 'author.name': null },
    { rank: { $in: [] } },
    { rank: { $gt: 1, $lt: 0 } },
    { tags: 'a' },
    { tags: ['a'] },
    { tags: { $in: ['a', 'b'] } },
    { tags: { $gt: 'a', $lt: 'b' } },
    { tags: { $elemMatch: { $gt: 'a', $lt: 'c' } } },
    { tags: null },
    { tags: 'b', year: 1979 },
    { 'parts.no': 1, 'parts.size': 1 },
    { 'parts.no': 2 },
    { parts: { $elemMatch: { no: 1, size: 2 } } },
    { $or: [{ year: 1973 }, { rank: 2 }] },
  ]
  const sorts = [
    undefined,
    'year,-title',
    '-year,title',
    'rank',
    '-rank',
    'year',
    'title,-year',
    'tags',
    '-tags',
    'rank,_id',
  ]

  for (const [indexed, plain] of [
    ['scalars', 'plain'],
    ['arrays', 'plainArrays'],
  ] as const)
    test(`${indexed} are answered as without indexes`, async () => {
      for (const [i, filter] of filters.entries()) {
        // Each sort with some filters; without one, with all.
        const some = sorts.filter((sort, j) => sort === undefined || (i + j) % 4 === 0)
        await Promise.all(
          some.map(async (sort) => {
            const query = { filter, sort }
            assert.deepEqual(await walk(indexed, query), await walk(plain, query), JSON.stringify(query))
          }),
        )
      }
    })
})
