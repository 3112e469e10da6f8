import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { createParts, isIn } from './parts.ts'

const DOCUMENTS = 110
const OF_FEW = 8
// Of all of them together several parts.
const LARGE = 'x'.repeat(100_000)

type Item = { _id: string; n: number; place: number; group: number; state: string }

eachEngine((engine) => {
  let app: TestApp
  let few: { _id: string; token: string }
  let many: { _id: string; token: string }
  const ending = endOfSuite()

  /** Numbered from 0, in another order by `place`. */
  async function fill(collection: string, ownerOf: (n: number) => string): Promise<void> {
    const { documents } = app.app.service('store')
    for (let n = 0; n < DOCUMENTS; n++) {
      const fields = { n, place: (n * 37) % DOCUMENTS, group: n % 3, state: 'stays', text: LARGE }
      await documents.create(collection, newId(app.clock.now()), ownerOf(n), fields)
      app.clock.advance(1)
    }
  }

  before(async () => {
    app = await startApp(ending, engine, {
      config: { store: { collections: { shared: 'shared', owned: 'owner' } } },
    })
    await app.register() // an administrator, whose lists are those of all
    few = await app.register()
    many = await app.register()
    const ownerOf = (n: number) => (n % Math.ceil(DOCUMENTS / OF_FEW) === 0 ? few._id : many._id)
    await fill('shared', ownerOf)
    await fill('owned', ownerOf)
  })

  type Asked = { filter?: object; sort?: string; limit?: number; offset?: number; cursor?: string }

  async function list(collection: string, token: string, { filter, ...asked }: Asked) {
    const query = new URLSearchParams({ fields: 'n,place,state' })
    if (filter) query.set('filter', JSON.stringify(filter))
    for (const [name, value] of Object.entries(asked)) query.set(name, String(value))
    const { status, body, text } = await app.request('GET', `/store/${collection}?${query.toString()}`, {
      token,
    })
    assert.equal(status, 200, text)
    return body as { data: Item[]; total: number; limit: number; nextCursor?: string }
  }

  /** All pages, by cursors. */
  async function walk(collection: string, token: string, asked: Asked) {
    const items: Item[] = []
    const totals: number[] = []
    for (let cursor: string | undefined; ;) {
      const page = await list(collection, token, { ...asked, ...(cursor !== undefined && { cursor }) })
      items.push(...page.data)
      totals.push(page.total)
      cursor = page.nextCursor
      if (cursor === undefined) return { items, totals }
    }
  }

  const numbers = (items: readonly Item[]): number[] => items.map(({ n }) => n)
  const all = Array.from({ length: DOCUMENTS }, (_, n) => n)
  const byPlace = all.toSorted((a, b) => ((a * 37) % DOCUMENTS) - ((b * 37) % DOCUMENTS))

  test('pages and totals are those of the whole list, in every order', async () => {
    for (const [sort, ordered] of [
      ['createdAt', all],
      ['-createdAt', all.toReversed()],
      ['place', byPlace],
      ['-place', byPlace.toReversed()],
    ] as const)
      for (const [filter, holds] of [
        [{ group: 1 }, (n: number) => n % 3 === 1],
        [{ n: { $in: [3, 77] } }, (n: number) => n === 3 || n === 77],
        [{ n: { $lt: 0 } }, () => false],
      ] as const) {
        const expected = ordered.filter(holds)
        for (const [offset, limit] of [
          [0, 5],
          [35, 20],
          [200, 5],
        ] as const) {
          const { data, total, nextCursor } = await list('shared', many.token, {
            filter,
            sort,
            offset,
            limit,
          })
          assert.deepEqual(numbers(data), expected.slice(offset, offset + limit))
          assert.equal(total, expected.length)
          assert.equal(nextCursor !== undefined, offset + limit < expected.length)
        }
      }
    for (const sort of ['-createdAt', 'place']) {
      const { items, totals } = await walk('shared', many.token, { filter: { group: 1 }, sort, limit: 8 })
      assert.equal(new Set(numbers(items)).size, 37)
      assert.deepEqual(new Set(totals), new Set([37]))
    }
  })

  test('a page of large documents ends where it has enough bytes', async () => {
    for (const sort of ['createdAt', 'place']) {
      const asked = { filter: { n: { $gte: 0 } }, sort, limit: 100 }
      const page = await list('shared', many.token, asked)
      assert.ok(page.data.length < 45 && page.limit === page.data.length && page.nextCursor)
      const { items, totals } = await walk('shared', many.token, asked)
      assert.deepEqual(numbers(items), sort === 'place' ? byPlace : all)
      assert.deepEqual(new Set(totals), new Set([DOCUMENTS]))
    }
  })

  test('of an owner nothing else is found', async () => {
    for (const [{ token }, count] of [
      [few, OF_FEW],
      [many, DOCUMENTS - OF_FEW],
    ] as const)
      for (const asked of [
        {},
        { filter: { n: { $gte: 0 } } },
        { filter: { n: { $gte: 0 } }, sort: 'place' },
      ]) {
        const { data, total } = await list('owned', token, { ...asked, limit: 3 })
        assert.deepEqual([data.length, total], [3, count])
      }
  })

  test('no document that stays is lost, and none comes twice, while others change', async () => {
    const { documents } = app.app.service('store')
    const collection = 'shared'
    const { data } = await list(collection, many.token, { limit: 1000 })
    const changed = data.filter(({ n }) => n % 2 === 1)
    let over = false
    async function write(): Promise<void> {
      for (let i = 0; !over; i++) {
        const { _id } = changed[i % changed.length]!
        await documents.patch(collection, _id, { owner: undefined }, { place: -i, state: 'moves' }, undefined)
      }
    }
    const writing = write()
    const stay = all.filter((n) => n % 2 === 0).length
    for (const sort of ['-createdAt', 'place', '-place']) {
      const { items, totals } = await walk(collection, many.token, {
        filter: { state: 'stays' },
        sort,
        limit: 9,
      })
      const found = numbers(items.filter(({ n }) => n % 2 === 0))
      assert.deepEqual([found.length, new Set(found).size], [stay, stay], sort)
      assert.ok(totals.every((total) => total >= stay && total <= DOCUMENTS))
    }
    over = true
    await writing
  })

  if (engine.name === 'postgres') return

  test('each document is in one part, also when there are more of them; an owner of few has parts apart', async () => {
    const { db } = app.app
    let counted = 200
    const partsOf = createParts(db, async (_, owner) => (owner === undefined ? counted : counted / 4))
    for (const owner of [undefined, many._id, undefined]) {
      const { parts, from } = await partsOf('owned', owner, {})
      const mine = owner === undefined ? sql`` : sql` and owner = ${owner}`
      const found = []
      for (const part of parts) {
        const query = sql<{
          id: string
        }>`select id from ${from} where collection = 'owned'${mine} and ${isIn(part)}`
        found.push(...(await db.all(query)).map(({ id }) => id))
        const { text, params } = query.render('sqlite')
        const [plan] = await db.all<{ detail: string }>(sql`explain query plan ${query}`)
        assert.match(
          plan!.detail,
          owner ? /store_documents_owner/ : /PRIMARY KEY/,
          `${text} ${params.join()}`,
        )
      }
      assert.ok(parts.length >= 3, `${parts.length} parts`)
      assert.deepEqual(found, found.toSorted())
      const [row] = await db.all(
        sql`select count(*) as n from store_documents where collection = 'owned'${mine}`,
      )
      assert.equal(found.length, row!['n'])
      counted += 10_000
    }
  })

  test('a collection is divided once by lists of one caller that begin together', async () => {
    const scans: (string | undefined)[] = []
    const db = Object.assign(Object.create(app.app.db) as Database, {
      scan: (query: Sql, options: ScanOptions) => {
        scans.push(options.caller)
        return app.app.db.scan(query, options)
      },
    })
    const partsOf = createParts(db, async () => 200)
    await partsOf('shared', undefined, { caller: 'a' })
    const alone = scans.length
    const fresh = createParts(db, async () => 200)
    scans.length = 0
    await Promise.all(['a', 'a', 'b', 'a'].map((caller) => fresh('shared', undefined, { caller })))
    assert.deepEqual(
      ['a', 'b'].map((caller) => scans.filter((one) => one === caller).length),
      [alone, alone],
    )
  })
})
