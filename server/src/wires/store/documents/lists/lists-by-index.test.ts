// Lists that are answered from the entries of indexes: the same answers as without, in order, page by page, while documents
// and indexes change.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, describe, test } from 'node:test'

import { deriveKey } from '../../../../base/crypto.ts'
import { ownRows } from '../../../../base/row-filter.ts'
import { PostgresDatabase } from '../../../../db/postgres.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'
import type { Explanation } from './explain.ts'
import { changeIndexes, dropSql } from '../storage/sql/index-rows.ts'
import { readyIndexes } from '../storage/indexes/indexes.fixture.ts'
import { createLists } from './list.ts'

const FIELDS = ['year,-title', 'title', 'author.name,-createdAt', 'rank', '-rank,title', 'year,rank', 'note']
const ARRAYS = ['tags', 'parts.no,parts.size', 'year,tags', 'tags,year']

// Their keys are cut.
const NOTES = ['\u0001', '~'].map((character) => character.repeat(1100))

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
    note: pick(n, NOTES),
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

const searchFieldsOf = () => []

eachEngine((engine) => {
  const ending = endOfSuite()
  let databaseUrl: string
  let app: TestApp
  let owner: { _id: string; token: string }
  let other: { _id: string; token: string }
  let admin: { _id: string; token: string }
  before(async () => {
    databaseUrl = await engine.migratedUrl()
    app = await startApp(ending, engine, {
      databaseUrl,
      config: {
        store: {
          indexes: { growing: ['rank'], scalars: FIELDS, arrays: [...FIELDS.slice(0, 3), ...ARRAYS] },
          collections: {
            scalars: 'owner',
            plain: 'owner',
            arrays: 'owner',
            plainArrays: 'owner',
            growing: 'owner',
          },
        },
      },
      environment: { SIXWIRE_POLICY: 'guarded' },
    })
    admin = await app.register() // the first account
    owner = await app.register()
    other = await app.register()
    for (const [collection, withArrays] of [
      ['scalars', false],
      ['plain', false],
      ['arrays', true],
      ['plainArrays', true],
    ] as const)
      for (const { token } of [owner, other]) {
        const body = documentsOf(withArrays)
        assert.equal((await app.request('POST', `/store/${collection}`, { token, body })).status, 201)
      }
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
      assert.ok(numbers.length <= page.total)
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
    { rank: 1, n: { $in: [] } },
    { rank: 1, $nor: [{}] },
    { year: 1973, $or: [{ n: { $in: [] } }, { n: { $gt: null } }] },
    { year: { $in: [1973, 1979] }, n: { $in: [] } },
    { year: { $in: [1973, 1979] }, rank: 1, n: { $gt: null } },
    { rank: { $in: [1, 2] }, $nor: [{}] },
    ...NOTES.map((note) => ({ note })),
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
    test(`${indexed} are answered as without indexes`, async (t) => {
      const shift = randomInt(8)
      t.diagnostic(`shift ${shift}`)
      for (const [i, filter] of filters.entries()) {
        // Each sort with some filters, others each time; without one, with all.
        const some = sorts.filter((sort, j) => sort === undefined || (i + j + shift) % 8 === 0)
        await Promise.all(
          some.map(async (sort) => {
            const query = { filter, sort }
            assert.deepEqual(await walk(indexed, query), await walk(plain, query), JSON.stringify(query))
          }),
        )
      }
    })

  test('a list of everybody is read from the entries of all owners', async () => {
    const query = { filter: { year: 1973 }, sort: 'rank' }
    const { total, data } = await list('scalars', query, admin.token)
    assert.deepEqual([total, data.length], [20, 20])
    assert.deepEqual(
      data.map(({ n }) => n),
      (await list('plain', query, admin.token)).data.map(({ n }) => n),
    )
  })

  describe('explain', () => {
    const explain = async (query: Query, collection = 'scalars'): Promise<Explanation> => {
      const answer: unknown = await list(`${collection}/explain`, query, admin.token)
      return answer as Explanation
    }

    test('tells which index was searched, by what, and what it has cost', async () => {
      const { ms, indexes, ...plan } = await explain({
        filter: { year: { $in: [1979] }, title: { $gt: 'A', $lt: 'K' } },
      })
      assert.deepEqual(plan, {
        plan: 'index',
        index: 'year,-title',
        bounds: { year: [{ $eq: 1979 }], title: [{ $gt: 'A' }, { $lt: 'K' }] },
        exact: true,
        sort: 'sorted',
        examined: { entries: 20, documents: 10 },
        total: 10,
      })
      assert.ok(ms > 0)
      assert.deepEqual(
        indexes.map(({ fields, source, state }) => [fields, source, state]),
        FIELDS.map((fields) => [fields.replace('-rank,title', 'rank,-title'), 'declared', 'ready']),
      )
    })

    test('tells which lists are sorted, and which need the documents', async () => {
      for (const [query, index, sort, exact] of [
        [{ filter: { rank: 1 } }, 'rank', 'index', true],
        [{ filter: { 'author.name': 'Ende' } }, 'author.name,-createdAt', 'index', true],
        [{ filter: { 'author.name': 'Ende' }, sort: 'year' }, undefined, undefined, undefined],
        [{ filter: { rank: 1 }, sort: 'year' }, 'rank', 'sorted', true],
        [{ filter: { rank: { $gte: 2 } }, sort: '-rank' }, 'rank', 'index', true],
        [{ filter: { rank: 1, n: 8 } }, 'rank', 'sorted', false],
        [{ sort: '-year,title' }, 'year,-title', 'index', true],
        [{ sort: 'year,-rank' }, undefined, undefined, undefined],
      ] as const) {
        const plan = await explain(query)
        assert.deepEqual([plan.index, plan.sort, plan.exact], [index, sort, exact], JSON.stringify(query))
      }
      assert.equal((await explain({ filter: { tags: 'a' }, sort: 'tags' }, 'arrays')).plan, 'scan')
    })

    test('suggests an index where all documents are looked into', async () => {
      const { ms, indexes, ...plan } = await explain({ filter: { n: 2, year: { $gt: 5 } } }, 'plain')
      assert.deepEqual(plan, {
        plan: 'scan',
        examined: { entries: 0, documents: 120 },
        suggestion: "store.indexes: { plain: ['n,year'] }",
        total: 2,
      })
      assert.deepEqual([typeof ms, indexes], ['number', []])
      // One that cannot be declared, and one that an index serves already.
      assert.equal((await explain({ filter: { "it's": 2 } })).suggestion, undefined)
      assert.equal((await explain({ filter: { 'n,-year': 2 } })).suggestion, undefined)
      const wide = await explain({ filter: { year: { $gt: 0 }, n: { $ne: 5 } } })
      assert.deepEqual([wide.plan, wide.suggestion], ['scan', undefined])
      assert.equal((await explain({})).plan, 'id')
    })

    test('is for administrators', async () => {
      const { status, body } = await app.request('GET', '/store/scalars/explain', { token: owner.token })
      assert.deepEqual([status, body.error.code], [403, 'FORBIDDEN'])
    })
  })

  test('a walk along an index meets each document once that nobody touches, while others come, go and move', async () => {
    const send = (method: string, path: string, body?: unknown) =>
      app.request(method, `/store/scalars${path}`, { token: other.token, body })
    const query = { filter: { rank: { $gte: -3 } }, sort: '-rank' }
    const { data } = await list('scalars', { ...query, limit: 100 }, other.token)
    const touched = data.filter(({ n }) => (n as number) % 3 === 0)
    const met: string[] = []
    for (let cursor: string | undefined, i = 0; ; i++) {
      const page = await list('scalars', { ...query, cursor, limit: 9 }, other.token)
      met.push(...page.data.map(({ _id }) => _id))
      if ((cursor = page.nextCursor) === undefined) break
      const one = touched[i]!
      await send('POST', '', { rank: i % 9 })
      await (i % 2 === 0 ? send('DELETE', `/${one._id}`) : send('PUT', `/${one._id}`, { rank: 100 - i }))
    }
    const rest = data.map(({ _id }) => _id).filter((id) => !touched.some(({ _id }) => _id === id))
    assert.deepEqual(
      met.filter((id) => rest.includes(id)),
      rest,
    )
  })

  test('a page by a cursor has what it had when the list was shorter', async () => {
    const create = async (ranks: readonly number[]) => {
      const body = ranks.map((rank) => ({ n: rank, rank }))
      assert.equal((await app.request('POST', '/store/growing', { token: owner.token, body })).status, 201)
    }
    // More than are counted on the way, once others have come whose keys are lower.
    await create(Array.from({ length: 990 }, (_, n) => 990 - n))
    const query = { filter: { rank: { $gt: 0 } }, sort: '_id' }
    const { total, nextCursor: cursor } = await list('growing', query)
    assert.equal(total, 990)
    await create(Array.from({ length: 100 }, () => 1))
    const { data } = await list('growing', { ...query, cursor })
    assert.deepEqual(
      data.map(({ n }) => n),
      Array.from({ length: 20 }, (_, n) => 970 - n),
    )
  })

  test('documents that are much work are looked into where a query is stopped', async () => {
    const { documents, indexes, automaticIndexes } = app.app.service('store')
    const parts = Array.from({ length: 50 }, (_, i) => `x${i}`)
    for (let n = 0; n < 30; n++)
      await documents.create('arrays', { title: 'work', parts, tags: parts }, { owner: admin._id })
    const key = deriveKey('a secret of the tests', 'cursors')
    const lists = createLists({
      db: app.app.db,
      documents,
      indexes,
      automaticIndexes,
      limitMs: 10_000,
      key,
      searchFieldsOf,
    })
    const options = { signal: AbortSignal.abort(new Error('the client has gone')) }
    const totalOf = async (filter: Query, sort?: string) => {
      const parameters = { filter: JSON.stringify(filter), ...(sort && { sort }), limit: 20, offset: 0 }
      const access = { rowFilter: ownRows(admin._id), view: undefined }
      const { total } = await lists.list({ collection: 'arrays', access, parameters, options })
      return total
    }
    assert.equal(await totalOf({ title: 'work', parts: 'x1' }), 30)
    for (const [filter, sort] of [
      [{ $nor: parts.map((part) => ({ parts: `${part}y` })) }],
      [{ parts: { $not: { $elemMatch: { $all: parts } } } }],
      [{ parts: { $regex: '(?:x|y){150}' } }],
      [{}, 'tags.0.a,tags.b'],
    ] as const)
      await assert.rejects(totalOf({ title: 'work', ...filter }, sort), /the client has gone/)
    // Few documents, but many entries.
    await assert.rejects(totalOf({ tags: { $gt: 'x' } }), /the client has gone/)
    await assert.rejects(totalOf({}, 'tags'), /the client has gone/)
  })

  if (engine.name === 'postgres')
    test('lists by an index are no longer planned once their plans are known', async (t) => {
      const db = await PostgresDatabase.open(databaseUrl, 1)
      t.after(() => db.close())
      const { documents, indexes, automaticIndexes } = app.app.service('store')
      const key = deriveKey('a secret of the tests', 'cursors')
      const lists = createLists({
        db,
        documents,
        indexes,
        automaticIndexes,
        limitMs: 10_000,
        key,
        searchFieldsOf,
      })
      const access = { rowFilter: ownRows(owner._id), view: undefined }
      const request = { collection: 'scalars', access }
      for (let n = 0; n < 20; n++)
        for (const [filter, sort] of [
          [{ year: pick(n, [1973, 1979, 2001]) }, '-title'],
          [{ rank: { $gte: n - 10, $lt: n } }, 'rank'],
          [{ rank: { $in: [n % 3, n % 5] } }, '-createdAt'],
        ] as const) {
          const asked = { filter: JSON.stringify(filter), sort, limit: 1 + (n % 3), offset: 0 }
          const { nextCursor: cursor } = await lists.list({ ...request, parameters: asked })
          if (cursor) await lists.list({ ...request, parameters: { ...asked, cursor } })
        }
      const statements = await db.all(
        sql<{ statement: string; custom_plans: number; generic_plans: number }>`
          select statement, custom_plans, generic_plans from pg_prepared_statements
          where statement like ${'%store_entries%'}`,
      )
      assert.ok(statements.length >= 6)
      // PostgreSQL tries five times whether it is better to plan for the values.
      for (const { statement, custom_plans, generic_plans } of statements)
        assert.ok(custom_plans <= 5 && generic_plans > 0, `${custom_plans}, ${generic_plans}: ${statement}`)
    })

  test('an index that has changed since the plan was made answers nothing', async () => {
    const { documents, indexes, automaticIndexes } = app.app.service('store')
    const collection = 'arrays'
    const set = await indexes.recent(collection)
    // As on a replica that has not heard of the change.
    const stale = createLists({
      db: app.app.db,
      documents,
      indexes: { ...indexes, recent: () => set },
      automaticIndexes,
      limitMs: 10_000,
      searchFieldsOf,
      key: deriveKey('a secret of the tests', 'cursors'),
    })
    const answer = async () => {
      const parameters = { filter: JSON.stringify({ title: 'Jim' }), sort: '-rank', limit: 100, offset: 0 }
      const access = { rowFilter: ownRows(owner._id), view: undefined }
      const { total, documents: page } = await stale.list({ collection, access, parameters })
      return [total, page.length]
    }
    assert.deepEqual(await answer(), [15, 15])
    await documents.create(collection, { title: ['Momo', 'Jim'] }, { owner: owner._id })
    assert.deepEqual(await answer(), [16, 16])
    await changeIndexes(app.app.db, collection, [dropSql(set.indexes.map(({ id }) => id))])
    assert.deepEqual(await answer(), [16, 16])
  })
})
