// Indexes that the server makes by itself, because lists that need them are slow. Here every list is.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { parseList } from './parsed-list.ts'
import { assertEntries, indexesOf, readyIndexes } from '../storage/indexes/indexes.fixture.ts'
import { uniqueIndexes } from '../storage/indexes/unique-indexes.ts'

const DOCUMENTS = 1_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({
  serial: i,
  year: 1900 + (i % 100),
  genre: i % 10 === 0 ? 'essay' : 'novel',
  pages: i % 7,
}))

const collections = {
  books: 'public-read',
  papers: 'public-read',
  maps: 'public-read',
  coins: 'public-read',
} as const
const store = { collections, automaticIndexes: { slowMs: 0, max: 2 } }

type Collection = keyof typeof collections

const indexesIn = (from: TestApp) => from.app.service('store').indexes
const automaticIndexesIn = (from: TestApp) => from.app.service('store').automaticIndexes

eachEngine((engine) => {
  const ending = endOfSuite()
  let databaseUrl: string
  let app: TestApp
  before(async () => {
    databaseUrl = await engine.migratedUrl()
    app = await startApp(ending, engine, { databaseUrl, config: { store } })
    const { token } = await app.register()
    for (const collection of Object.keys(collections)) {
      const answer = await app.request('POST', `/store/${collection}`, { token, body: documents })
      assert.equal(answer.status, 201)
    }
  })

  /** Asks for a list some times, and waits for what comes of it. */
  async function list(
    collection: Collection,
    filter: object,
    { sort = '_id', times = 3, from = app } = {},
  ): Promise<void> {
    for (let i = 0; i < times; i++) {
      const query = new URLSearchParams({ filter: JSON.stringify(filter), sort, limit: '1' })
      const answered = await from.request('GET', `/store/${collection}?${query.toString()}`)
      assert.equal(answered.status, 200, answered.text)
    }
    await automaticIndexesIn(from).idle()
    await readyIndexes(from)
  }

  const all = async (collection: Collection) =>
    (await indexesOf(app)).filter((index) => index.collection === collection)
  const namesIn = async (collection: Collection): Promise<string[]> =>
    (await all(collection)).map(({ names, state }) => (state === 'ready' ? names : `${names} ${state}`))

  async function used(id: number): Promise<void> {
    automaticIndexesIn(app).used(id)
    await automaticIndexesIn(app).idle()
  }

  test('the third slow list of a shape adds the index that it needs, and the log says so', async () => {
    await list('books', { year: 1973 }, { times: 2 })
    app.clock.advance(HOUR)
    await list('books', { year: 1974 }, { times: 2 })
    // What an index would not help: it finds most documents, or cannot be searched for it.
    await list('books', { genre: 'novel' })
    await list('books', { pages: { $ne: 3 } })
    assert.deepEqual(await namesIn('books'), [])

    await list('books', { year: 1975 }, { times: 1 })
    assert.deepEqual(await namesIn('books'), ['year'])
    const [line] = app.log().match(/^.*an index is added.*$/m)!
    const { level, collection, fields, msg } = JSON.parse(line) as Record<string, unknown>
    assert.deepEqual([level, collection, fields], [30, 'books', 'year'])
    assert.equal(msg, 'an index is added: 3 lists within an hour took 0 ms or longer without it')
    // It finds most documents, but in the order of the list.
    await list('books', { genre: 'novel' }, { sort: '-pages,year' })
    assert.deepEqual(await namesIn('books'), ['year', 'genre,pages,-year'])
    await assertEntries(app)
  })

  test('at the limit, a new automatic index replaces the one that was unused for longest', async () => {
    const [year] = await all('books')
    for (let i = 0; i < 2; i++) await list('books', { serial: i })
    assert.deepEqual(await namesIn('books'), ['year', 'genre,pages,-year'])
    assert.equal(app.log().match(/no room for another/g)?.length, 1)

    app.clock.advance(2 * HOUR)
    await used(year!.id)
    await list('books', { serial: 1 })
    assert.deepEqual(await namesIn('books'), ['year', 'serial'])
    await list('books', { pages: 1 })
    assert.deepEqual(await namesIn('books'), ['year', 'serial'])
    await assertEntries(app)
  })

  test('an automatic index that documents do not fit fails, and is not added again', async () => {
    await list('maps', { year: 1973, serial: 73 })
    assert.deepEqual(await namesIn('maps'), ['serial,year'])
    const { token } = await app.register()
    const body = { year: [1], serial: [2] }
    assert.equal((await app.request('POST', '/store/maps', { token, body })).status, 201)
    await readyIndexes(app)
    assert.deepEqual(await namesIn('maps'), ['serial,year failed'])
    await list('maps', { year: 1973, serial: 73 })
    assert.deepEqual(await namesIn('maps'), ['serial,year failed'])
    await assertEntries(app)
  })

  test('an automatic index that no list uses for 14 days is dropped', async () => {
    const [year] = await all('books')
    for (let day = 0; day < 15; day++) {
      app.clock.advance(DAY)
      await used(year!.id)
    }
    await until(async () => {
      // A job that a busy machine has failed is tried again.
      app.clock.advance(60_000)
      return (await indexesOf(app)).length === 1
    })
    await readyIndexes(app)
    assert.deepEqual([await namesIn('books'), await namesIn('maps')], [['year'], []])
    assert.match(app.log(), /an automatic index is dropped: no list has used it for 14 days/)
    await assertEntries(app)
  })

  test('two replicas add an automatic index once, and a declared one replaces it', async (t) => {
    const replica = await startApp(t, engine, { databaseUrl, config: { store } })
    await Promise.all([list('papers', { year: 1973 }), list('papers', { year: 1974 }, { from: replica })])
    assert.deepEqual(await namesIn('papers'), ['year'])
    const lines = (app.log() + replica.log()).match(/"papers".*an index is added/g)
    assert.equal(lines?.length, 1)

    const [automatic] = await all('papers')
    const next = await startApp(t, engine, {
      databaseUrl,
      config: { store: { collections, automaticIndexes: false, indexes: { papers: ['year'] } } },
    })
    await readyIndexes(next)
    // No automatic ones are kept where none are wanted.
    assert.deepEqual(
      (await indexesOf(next)).map((one) => [one.id, one.source, one.state]),
      [[automatic!.id, 'declared', 'ready']],
    )
    // A build may have been faster than the lists that asked for it.
    const lastUses = () => app.app.db.all(sql`select last_used_at from store_indexes`)
    const before = await lastUses()
    await list('papers', { pages: 1 }, { from: next })
    assert.deepEqual(await namesIn('papers'), ['year'])
    assert.deepEqual(await lastUses(), before)
    await assertEntries(next)
  })

  test('a list that the index of a unique field does not serve adds one beside it, which a start keeps', async () => {
    /** What a start does. */
    const declare = async (): Promise<void> => {
      await indexesIn(app).declare(uniqueIndexes('coins', ['serial'], []))
      await readyIndexes(app)
    }
    await declare()
    await list('coins', { serial: 5 })
    assert.deepEqual(await namesIn('coins'), ['serial'])
    await list('coins', {}, { sort: 'serial' })
    await declare()
    assert.deepEqual(
      (await all('coins')).map(({ names, isSparse, source }) => [names, isSparse, source]),
      [
        ['serial', true, 'declared'],
        ['serial', false, 'automatic'],
      ],
    )
    await assertEntries(app)
  })
})

someEngine((engine) => {
  test('lists that are quick, but many, add the index that they need', async (t) => {
    const counted = await startApp(t, engine, {
      config: { store: { collections, automaticIndexes: { slowMs: 3_600_000 } } },
    })
    const { token } = await counted.register()
    const answer = await counted.request('POST', '/store/books', { token, body: documents })
    assert.equal(answer.status, 201)
    const automaticIndexes = automaticIndexesIn(counted)
    const { documents: stored } = counted.app.service('store')
    const list = parseList({ filter: '{"year":1973}' }, counted.app.db.dialect)
    const countAll = () => stored.count('books')
    async function scan(ms: number): Promise<number> {
      automaticIndexes.observe({ collection: 'books', list, countAll }, { ms, total: 10 })
      await automaticIndexes.idle()
      return (await indexesOf(counted)).length
    }
    // 1.9 s in each of two minutes.
    for (let minute = 0; minute < 2; minute++) {
      for (let i = 0; i < 19; i++) assert.equal(await scan(100), 0)
      counted.clock.advance(60_000)
    }
    for (let i = 0; i < 49; i++) assert.equal(await scan(40), 0)
    assert.equal(await scan(40), 1)
    assert.match(counted.log(), /"books","fields":"year".*lists without it took 2 s within a minute/)
  })
})
