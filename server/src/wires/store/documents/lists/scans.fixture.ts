import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine, type Engine } from '../../../../testing/engines.ts'
import { storedColumn, storedSql } from '../storage/sql/document-rows.ts'

const STEP = 20_000

/** The documents `{"n": 1, "w": {"t": "xx…x1"}}` and so on. */
async function seed({ app }: TestApp, documents: number, characters: number): Promise<void> {
  const text = sql`${sql.either({
    sqlite: sql`printf('%.*c', cast(${characters} as integer), 'x')`,
    postgres: sql`repeat('x', ${characters})`,
  })} || i`
  const body = sql`'{"_id":"' || id || '","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z","n":'
    || i || ',"w":{"t":"' || ${text} || '"}}'`
  for (let first = 1; first <= documents; first += STEP)
    await app.db.write(sql`
      insert into store_documents (collection, id, owner, version, ${storedColumn})
      with recursive numbers (i) as (
        select cast(${first} as integer) union all select i + 1 from numbers
        where i < ${Math.min(first + STEP - 1, documents)}),
      ids as (select i, 'id' || (100000000 + i) as id from numbers)
      select 'large', id, 'owner', 1, ${storedSql(body)} from ids`)
}

/**
 * Shows that scans which no index serves answer, and find what is there, however many documents they look into.
 *
 * @param charactersOf how long each document is
 */
export const testScans = (documents: number, charactersOf: Readonly<Record<Engine['name'], number>>): void =>
  someEngine((engine) => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, { config: { store: { queryLimitSeconds: 120 } } })
      token = (await app.register()).token
      await seed(app, documents, charactersOf[engine.name])
    })

    const one = String(documents - 1)
    for (const [what, query, total] of [
      ['a pattern', { filter: { 'w.t': { $regex: `x${one}$` } } }, 1],
      ['a pattern that all match', { filter: { 'w.t': { $regex: '^x' } } }, documents],
      [
        'a pattern, sorted',
        { filter: { 'w.t': { $not: { $regex: `x${one}$` } } }, sort: '-n' },
        documents - 1,
      ],
      ['an object', { filter: { w: { $gt: { t: 'y' } } } }, 0],
      ['objects, sorted', { sort: 'w' }, documents],
    ] as const)
      test(`${what}, among ${documents} documents`, async () => {
        const filter = 'filter' in query ? JSON.stringify(query.filter) : '{}'
        const sort = 'sort' in query ? query.sort : '_id'
        const list = (cursor?: string) => {
          const parameters = {
            filter,
            sort,
            fields: 'n',
            limit: '2',
            ...(cursor !== undefined && { cursor }),
          }
          return app.request('GET', `/store/large?${new URLSearchParams(parameters).toString()}`, { token })
        }
        const first = await list()
        assert.equal(first.status, 200, first.text)
        assert.equal(first.body.total, total)
        assert.equal(first.body.data.length, Math.min(total, 2))
        if (total <= 2) return
        const second = await list(first.body.nextCursor)
        assert.equal(second.status, 200, second.text)
        assert.deepEqual(
          [second.body.total, second.body.data.length, second.body.data[0].n === first.body.data[0].n],
          [total, 2, false],
        )
      })

    for (const format of ['ndjson', 'csv'])
      test(`an export of a pattern as ${format}, sorted, among ${documents} documents`, async () => {
        const filter = JSON.stringify({ 'w.t': { $regex: `x(?:2|${one})$` } })
        const parameters = new URLSearchParams({ format, filter, sort: '-n' }).toString()
        const exported = await app.request('GET', `/store/large/export?${parameters}`, { token })
        assert.equal(exported.status, 200, exported.text)
        assert.deepEqual(exported.text.match(/id\d{9}/g), [`id${100_000_000 + documents - 1}`, 'id100000002'])
      })
  })
