// Transactions of PostgreSQL that wait for each other in a circle: after a second the server ends one of them, and each held
// a connection until then.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import pg from 'pg'

import { withParts, type Steps } from '../../../../../db/database.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { declaredIndexes } from '../entries/index-definition.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

eachEngine((engine) => {
  if (engine.name === 'sqlite') return
  const ending = endOfSuite()
  let app: TestApp
  let token: string
  /** A transaction of another replica. */
  let other: pg.Client
  let pid: number
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    const indexes = { books: [{ fields: 'isbn', unique: true }], papers: ['year'] }
    app = await startApp(ending, engine, { databaseUrl, config: { store: { indexes } } })
    token = (await app.register()).token
    await readyIndexes(app)
    other = new pg.Client({ connectionString: databaseUrl })
    await other.connect()
    // Of two that wait for each other, this one is ended, and at once.
    await other.query(`set deadlock_timeout = '5ms'`)
    pid = (await other.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid
    ending.after(() => other.end())
  })

  const countBlocked = async (): Promise<number> =>
    (await app.app.db.get(sql<{ n: number }>`
      select cast(count(*) as integer) as n from pg_stat_activity
      where datname = current_database() and ${pid} = any(pg_blocking_pids(pid))`))!.n
  const isBlocked = async (): Promise<boolean> => (await countBlocked()) > 0

  test('new documents do not wait for those of another collection', async () => {
    const create = (collection: string, body: object) =>
      app.request('POST', `/store/${collection}`, { token, body })
    const { _id } = (await create('books', { isbn: 7 })).body
    // From then on its index is known.
    await create('papers', { year: 1972 })
    await other.query('begin')
    await other.query('delete from store_entries where id = $1', [_id])
    const waiting: ReturnType<typeof create>[] = []
    for (const blocked of [1, 2]) {
      waiting.push(create('books', { isbn: 7 }))
      await until(async () => (await countBlocked()) === blocked)
    }
    assert.equal((await create('papers', { year: 1973 })).status, 201)
    await other.query('rollback')
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      [409, 409],
    )
  })

  test('two documents that exchange unique values do not wait for each other', async () => {
    const ids = await Promise.all(
      [1, 2].map(
        async (isbn) =>
          (await app.request('POST', '/store/books', { token, body: { isbn } })).body._id as string,
      ),
    )
    await other.query('begin')
    await other.query('delete from store_entries where id = $1', [ids[1]])
    const changed = app.request('PUT', `/store/books/${ids[0]}`, { token, body: { isbn: 2 } })
    await until(isBlocked)
    const insert = other.query(
      `insert into store_entries select index_id, key, $1, owner, ends, is_unique from store_entries where id = $2`,
      [ids[1], ids[0]],
    )
    await assert.rejects(insert, { code: '23505' })
    await other.query('rollback')
    const { status, body } = await changed
    assert.deepEqual([status, body.error?.details?.fields], [409, ['isbn']])
    await assertEntries(app)
  })

  test('a build that ends and a change of the same indexes do not wait for each other', async (t) => {
    const [isHeld, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const batch = app.app.db.batch.bind(app.app.db) as (steps: Steps) => Promise<never>
    t.mock.method(app.app.db, 'batch', async (steps: Steps) => {
      // The last of a build before its end.
      const texts = steps.flat().map((step) => withParts(step).query.render('postgres').text)
      if (texts.some((text) => text.includes('ends = -1'))) {
        isHeld.resolve()
        await isReleased.promise
      }
      return batch(steps)
    })
    const { indexes } = app.app.service('store')
    await indexes.declare(declaredIndexes({ books: ['year'] }, () => false))
    await isHeld.promise
    await other.query('begin')
    await other.query(`update store_index_sets set version = version + 1 where collection = 'books'`)
    isReleased.resolve()
    await until(isBlocked)
    await other.query(`update store_indexes set reason = 'none' where collection = 'books'`)
    await other.query('commit')
    await readyIndexes(app)
    assert.deepEqual(
      (await indexesOf(app)).map(({ names, state }) => [names, state]),
      [['year', 'ready']],
    )
  })
})
