// Groups of documents, as people ask for them: counts, sums and times; with rules, indexes and limits as lists have them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'
import { sql } from '../../../../db/sql.ts'
import { until } from '../../../../testing/until.ts'
import type { JsonObject } from '../language/query/filter.ts'
import { readyIndexes } from '../storage/indexes/indexes.fixture.ts'
import type { DocumentAggregates, DocumentAggregate } from './aggregate.ts'
import { groupsOf } from './group.fixture.ts'

const config = {
  store: {
    indexes: { indexed: ['n', 'status'] },
    collections: {
      goods: {
        read: 'public',
        create: 'user',
        hidden: ['cost', 'supplier.iban', 'lines.margin'],
        showTo: { phone: 'owner' },
      },
      notes: { read: 'owner', create: 'user' },
      shared: { read: ['owner', { members: '$$user._id' }], create: 'user' },
      secret: { read: 'admin', create: 'admin' },
      books: { read: 'user', create: 'user', search: ['title'] },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>
type Query = Readonly<Record<string, string | number | object>>

eachEngine((engine) => {
  let app: TestApp
  let [admin, ann, bob]: Person[] = []
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
    bob = await app.register()
  })

  async function create(collection: string, documents: readonly object[], who = ann!): Promise<void> {
    const made = await app.request('POST', `/store/${collection}`, { token: who.token, body: documents })
    assert.equal(made.status, 201, made.text)
  }
  function ask(collection: string, query: Query = {}, who: Person | undefined = ann): Promise<TestAnswer> {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query))
      parameters.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
    return app.request('GET', `/store/${collection}/aggregate?${parameters.toString()}`, {
      token: who?.token,
    })
  }
  async function aggregate(
    collection: string,
    query: Query = {},
    who: Person | undefined = ann,
  ): Promise<DocumentAggregates> {
    const { status, body, text } = await ask(collection, query, who)
    assert.equal(status, 200, text)
    return body
  }
  const groups = async (...asked: Parameters<typeof aggregate>): Promise<DocumentAggregate[]> =>
    (await aggregate(...asked)).data
  const values = (list: readonly DocumentAggregate[], field: string) =>
    list.map(({ by, count }) => [by[field], count])

  describe('groups', () => {
    before(() =>
      create('orders', [
        { status: 'paid', price: 20, customer: { name: 'Momo' }, at: '2026-03-31T21:59:59Z' },
        { status: 'paid', price: 0.1, customer: { name: 'Jim' }, at: '2026-03-31T22:00:00Z' },
        { status: 'open', price: 0.2, customer: { name: 'Momo' }, at: '2026-05-01' },
        { status: 'open', price: 'free', at: 'soon' },
        { price: 7 },
      ]),
    )

    test('orders are counted by status, and the biggest group comes first if that is asked', async () => {
      assert.deepEqual(await aggregate('orders', { by: 'status' }), {
        data: [
          { by: { status: null }, count: 1 },
          { by: { status: 'open' }, count: 2 },
          { by: { status: 'paid' }, count: 2 },
        ],
        more: false,
      })
      const biggest = await groups('orders', { by: 'status', sort: '-count' })
      assert.deepEqual(values(biggest, 'status'), [
        ['open', 2],
        ['paid', 2],
        [null, 1],
      ])
      const smallest = await aggregate('orders', { by: 'status', sort: 'count', limit: 1 })
      assert.deepEqual(smallest, { data: [{ by: { status: null }, count: 1 }], more: true })
    })

    test('revenue by month is that of months of a time zone', async () => {
      const query = { by: 'at:month', sum: 'price', timeZone: 'Europe/Berlin' }
      assert.deepEqual(await groups('orders', query), [
        { by: { at: null }, count: 2, sum: { price: 7 } },
        { by: { at: '2026-03-01T00:00:00+01:00' }, count: 1, sum: { price: 20 } },
        { by: { at: '2026-04-01T00:00:00+02:00' }, count: 1, sum: { price: 0.1 } },
        { by: { at: '2026-05-01T00:00:00+02:00' }, count: 1, sum: { price: 0.2 } },
      ])
    })

    test('all documents are one group without by, also if there are none', async () => {
      const query = { sum: 'price', average: 'price', min: 'price', max: 'price', distinct: 'customer.name' }
      assert.deepEqual(await groups('orders', query), [
        {
          by: {},
          count: 5,
          sum: { price: 27.3 },
          average: { price: 6.825 },
          min: { price: 0.1 },
          max: { price: 'free' },
          distinct: { 'customer.name': 2 },
        },
      ])
      const none = {
        by: {},
        count: 0,
        sum: { price: 0 },
        average: { price: null },
        min: { price: null },
        max: { price: null },
        distinct: { 'customer.name': 0 },
      }
      assert.deepEqual(await groups('orders', { ...query, filter: { status: 'lost' } }), [none])
      assert.deepEqual(await groups('nothing', query), [none])
      assert.deepEqual(await groups('nothing', { ...query, by: 'status' }), [])
    })

    test('a time beyond the years of four digits is answered', async () => {
      await create('forever', [{ at: '9999-12-31T23:59:59Z' }])
      for (const slot of ['hour', 'day', 'week', 'month']) {
        const [group] = await groups('forever', { by: `at:${slot}`, timeZone: 'Asia/Tokyo' })
        assert.equal(group!.count, 1)
      }
    })

    test('the values of an answer have 4 MiB at most', async () => {
      const texts = Array.from({ length: 9 }, (_, n) => ({ text: `${n}`.repeat(600_000) }))
      for (const one of texts) await create('large', [one])
      const { data, more } = await aggregate('large', { by: 'text' })
      assert.deepEqual([data.length, more], [6, true])
      const smallest = await aggregate('large', { by: 'text', min: 'text', sort: '-by', limit: 1 })
      assert.deepEqual([smallest.data[0]!.min!['text'] === texts[8]!.text, smallest.more], [true, true])
    })

    test('as many fields as may be asked are answered, however long their paths are', async () => {
      await create('deep', [{ n: 1 }])
      const long = (name: string): string => [name, ...Array.from({ length: 63 }, () => `x"'`)].join('.')
      const slots = ['a', 'b', 'c'].map((name) => `${long(name)}:month`).join()
      const fields = Array.from({ length: 5 }, (_, n) => long(`f${n}`)).join()
      const query = { by: slots, sum: fields, min: fields, timeZone: 'Europe/Berlin' }
      const [group] = await groups('deep', query)
      assert.deepEqual([group!.count, Object.values(group!.by)], [1, [null, null, null]])
      assert.equal(
        (
          await groups('deep', {
            by: fields.split(',').slice(0, 3).join(),
            average: fields,
            distinct: fields,
          })
        )[0]!.count,
        1,
      )
    })

    test('the time of a document is that of the server', async () => {
      const [group] = await groups('orders', { by: 'createdAt:day', min: 'createdAt' })
      const { createdAt } = group!.min!
      assert.deepEqual(values([group!], 'createdAt'), [
        [`${(createdAt as string).slice(0, 10)}T00:00:00Z`, 5],
      ])
    })

    test('decimals are added as they are written', async () => {
      await create('decimals', [
        ...Array.from({ length: 10 }, () => ({ n: 0.1, kind: 'tenth' })),
        { n: 0.7, kind: 'x' },
        { n: 0.1, kind: 'x' },
      ])
      await create('decimals', [
        { n: 2 ** 53, kind: 'y' },
        { n: 1, kind: 'y' },
        { n: 1, kind: 'y' },
        { n: 1e300, kind: 'z' },
        { n: -1e300, kind: 'z' },
      ])
      await create('decimals', [
        { n: 1.7e308, kind: 'zz' },
        { n: 1.7e308, kind: 'zz' },
      ])
      const sums = (await groups('decimals', { by: 'kind', sum: 'n' })).map(({ sum }) => sum!['n'])
      assert.deepEqual(sums, [1, 0.8, 2 ** 53 + 2, 0, Number.MAX_VALUE])
    })

    test('the days on which clocks change have 23 and 25 hours', async () => {
      const hours = (from: string) =>
        Array.from({ length: 72 }, (_, n) => ({
          at: new Date(Date.parse(from) + n * 3_600_000).toISOString(),
        }))
      await create('hours', [...hours('2026-03-27T23:00:00Z'), ...hours('2026-10-23T22:00:00Z')])
      const timeZone = 'Europe/Berlin'
      assert.deepEqual(values(await groups('hours', { by: 'at:day', timeZone }), 'at'), [
        ['2026-03-28T00:00:00+01:00', 24],
        ['2026-03-29T00:00:00+01:00', 23],
        ['2026-03-30T00:00:00+02:00', 24],
        ['2026-03-31T00:00:00+02:00', 1],
        ['2026-10-24T00:00:00+02:00', 24],
        ['2026-10-25T00:00:00+02:00', 25],
        ['2026-10-26T00:00:00+01:00', 23],
      ])
      const twice = await groups('hours', { by: 'at:hour', timeZone, limit: 1000 })
      assert.deepEqual(
        values(twice, 'at').filter(([at]) => (at as string).startsWith('2026-10-25T02')),
        [
          ['2026-10-25T02:00:00+02:00', 1],
          ['2026-10-25T02:00:00+01:00', 1],
        ],
      )
    })
  })

  describe('documents', () => {
    const documents = Array.from({ length: 400 }, (_, n): JsonObject => ({
      n,
      status: ['open', 'paid', null][n % 3]!,
      text: `order ${n}`,
    }))
    const filters: Record<string, { filter: object; passes: (n: number) => boolean }> = {
      'few by an index': { filter: { n: { $lt: 5 } }, passes: (n) => n < 5 },
      'an index and another condition': {
        filter: { n: { $lt: 20 }, text: { $regex: '1$' } },
        passes: (n) => n < 20 && n % 10 === 1,
      },
      'nearly all': { filter: { n: { $gte: 5 } }, passes: (n) => n >= 5 },
      'two indexes': {
        filter: { $or: [{ n: 3 }, { n: 5, status: null }] },
        passes: (n) => n === 3 || n === 5,
      },
      'a pattern': {
        filter: { text: { $regex: '^order 1.*[05]$' } },
        passes: (n) => /^1.*[05]$/.test(String(n)),
      },
      'no index': { filter: { text: 'order 7' }, passes: (n) => n === 7 },
    }

    before(async () => {
      await create('indexed', documents)
      await create('plain', documents)
      await readyIndexes(app)
    })

    for (const [name, { filter, passes }] of Object.entries(filters))
      test(`those of a filter are grouped: ${name}`, async () => {
        const query = { by: 'status', sum: 'n', max: 'text' }
        const expected = groupsOf(
          documents.filter(({ n }) => passes(n as number)),
          query,
        )
        for (const collection of ['indexed', 'plain'])
          for (const who of [ann, admin])
            assert.deepEqual(await groups(collection, { ...query, filter }, who), expected)
      })

    test('an index that groups are read by counts as used', async () => {
      await groups('indexed', { filter: { n: 1 } }, admin)
      const uses = () =>
        app.app.db.all<{ collection: string }>(
          sql`select collection from store_indexes where last_used_at is not null`,
        )
      await until(async () => (await uses()).some(({ collection }) => collection === 'indexed'))
    })

    test('those of a search are grouped', async () => {
      await create('books', [
        { title: 'Momo and the time', year: 1973 },
        { title: 'The Neverending Story', year: 1979 },
        { title: 'Momo again', year: 1979 },
      ])
      await readyIndexes(app)
      assert.deepEqual(values(await groups('books', { search: 'momo', by: 'year' }), 'year'), [
        [1973, 1],
        [1979, 1],
      ])
      assert.deepEqual(await groups('books', { search: 'momo', filter: { year: 1979 } }), [
        { by: {}, count: 1 },
      ])
      const refused = await ask('orders', { search: 'momo' })
      assert.equal(refused.body.error.details.issues[0].path, '/query/search')
    })
  })

  describe('rules', () => {
    before(async () => {
      await create(
        'goods',
        [{ title: 'a', cost: 5, phone: '1', supplier: { name: 'Momo', iban: 'CH93' } }],
        admin,
      )
      await create('notes', [{ n: 1 }, { n: 2 }], ann)
      await create('notes', [{ n: 10 }], bob)
      await create('shared', [{ n: 1, members: [bob!._id] }, { n: 2 }], ann)
      await create('shared', [{ n: 10 }], bob)
    })

    test('groups are of the documents that the caller may read', async () => {
      const sum = async (collection: string, who: Person) =>
        (await groups(collection, { sum: 'n' }, who))[0]!.sum!['n']
      assert.deepEqual(
        [await sum('notes', ann!), await sum('notes', bob!), await sum('notes', admin!)],
        [3, 10, 13],
      )
      assert.deepEqual(
        [await sum('shared', ann!), await sum('shared', bob!), await sum('shared', admin!)],
        [3, 11, 13],
      )
    })

    test('who may not read a collection may not aggregate it', async () => {
      assert.equal((await ask('secret', {}, ann)).status, 403)
      assert.equal((await app.request('GET', '/store/secret/aggregate')).status, 401)
      assert.equal((await app.request('GET', '/store/notes/aggregate')).status, 401)
      assert.equal((await app.request('GET', '/store/goods/aggregate')).status, 200)
    })

    for (const parameter of ['by', 'sum', 'average', 'min', 'max', 'distinct'])
      test(`a field that is not shown to all is refused in ${parameter}`, async () => {
        for (const field of [
          'cost',
          'cost.x',
          'supplier',
          'supplier.iban',
          'lines.0.margin',
          'lines',
          'phone',
          'title,cost',
        ]) {
          const { status, body, text } = await ask('goods', { [parameter]: field })
          assert.equal(status, 400, text)
          const [issue] = body.error.details.issues
          assert.equal(issue.path, `/query/${parameter}`)
          assert.match(
            issue.message,
            new RegExp(`cannot be used in ${parameter}: it is, or holds, a field that only`),
          )
        }
        assert.equal((await ask('goods', { [parameter]: 'cost' }, admin)).status, 200)
        assert.equal((await ask('goods', { [parameter]: 'supplier.name' })).status, 200)
      })

    test('nor can it be filtered by', async () => {
      const { body } = await ask('goods', { filter: { cost: 5 } })
      assert.equal(body.error.details.issues[0].path, '/query/filter')
    })
  })

  const long = Array.from({ length: 65 }, () => 'a').join('.')
  for (const [query, at, message] of [
    [{ by: 'a,b,c,d' }, 'by', /at most 3 fields/],
    [{ by: 'a,a' }, 'by', /"a" is there more than once/],
    [{ by: 'createdAt:day,createdAt:month' }, 'by', /"createdAt" is there more than once/],
    [{ by: 'createdAt:year' }, 'by', /give hour, day, week, month/],
    [{ by: ':day' }, 'by', /Name at least one field/],
    [{ by: '' }, 'by', /Name at least one field/],
    [{ by: 'a..b' }, 'by', /A part of "a\.\.b" is empty/],
    [{ by: long }, 'by', /at most 64 parts/],
    [{ by: 'a'.repeat(2049) }, 'by', /at most 2048 characters/],
    [{ sum: 'price:day' }, 'sum', /has a colon/],
    [{ sum: '$price' }, 'sum', /never begins with \$/],
    [{ sum: 'a,b,c,d,e', min: 'a,b,c,d,e', max: 'a' }, 'max', /at most 10 fields together/],
    [{ timeZone: 'Mars/Olympus' }, 'timeZone', /is not a time zone/],
    [{ sort: 'price' }, 'sort', /./],
    [{ limit: 0 }, 'limit', /./],
    [{ limit: 1001 }, 'limit', /./],
    [{ filter: '{' }, 'filter', /./],
    [{ group: 'a' }, 'group', /is not a parameter/],
  ] as const)
    test(`a mistake is refused at its place: ${JSON.stringify(query).slice(0, 60)}`, async () => {
      const { status, body, text } = await ask('orders', query)
      assert.equal(status, 400, text)
      const [issue] = body.error.details.issues
      assert.equal(issue.path, `/query/${at}`)
      assert.match(issue.message, message)
    })
})
