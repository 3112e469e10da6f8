import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { login, PASSWORD } from '../../../../../testing/auth.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { changeIndexes, insertIndexSql } from '../../storage/sql/index-rows.ts'
import { assertEntries, indexesOf, readyIndexes } from '../../storage/indexes/indexes.fixture.ts'

const hooksRun: string[] = []
const config = {
  store: {
    indexes: { books: ['year', 'author,-title'] },
    collections: {
      books: {
        unique: ['slug'],
        relations: { sequelOf: { to: 'books' } },
        hooks: {
          beforeDelete: () => void hooksRun.push('before'),
          afterDelete: () => void hooksRun.push('after'),
        },
      },
      loans: { relations: { book: { to: 'books', onDelete: 'cascade' } } },
    },
  },
} satisfies Config

eachEngine((engine) => {
  const ending = endOfSuite()
  let [app, replica]: TestApp[] = []
  let [admin, ann] = ['', '']
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    app = await startApp(ending, engine, { config, databaseUrl })
    replica = await startApp(ending, engine, { config, databaseUrl })
    admin = (await app.register()).token
    ann = (await app.register()).token
  })
  const ask = (method: string, path: string, body?: unknown, of = app!, token = admin) =>
    of.request(method, `/store/${path}`, { token, body })
  const drop = (documents: number | string, of = app!, token = admin) =>
    ask('DELETE', `books?documents=${documents}`, undefined, of, token)
  const total = async (of: TestApp, collection = 'books', token = admin): Promise<number> =>
    (await ask('GET', collection, undefined, of, token)).body.total
  const books = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      slug: `s${i}`,
      year: 1900 + i,
      author: ['Ende', 'Preussler'],
    }))
  async function made(path: string, body: unknown, token = admin): Promise<TestAnswer['body']> {
    const { status, body: answered, text } = await ask('POST', path, body, app, token)
    assert.equal(status, 201, text)
    return answered
  }

  beforeEach(async () => {
    await readyIndexes(app!)
    for (const name of ['loans', 'books'])
      assert.equal((await ask('DELETE', `${name}?documents=${await total(app!, name)}`)).status, 200)
  })

  test('a dropped collection loses documents, entries and counts on every replica, and takes new ones', async () => {
    const { data } = await made('books', books(30))
    await made('books', { slug: 'ann', sequelOf: data[0]._id }, ann)
    await made('films', { title: 'Momo' })
    assert.equal(await total(replica!), 31)
    hooksRun.length = 0
    const { status, body } = await drop(31)
    assert.deepEqual([status, body], [200, { message: 'The 31 documents of books are deleted.' }])
    for (const server of [app!, replica!])
      for (const token of [admin, ann]) assert.equal(await total(server, 'books', token), 0)
    assert.equal(await total(app!, 'films'), 1)
    assert.equal((await ask('GET', `books/${data[0]._id}`)).status, 404)
    await assertEntries(app!)
    assert.deepEqual(
      (await indexesOf(app!)).map(({ state }) => state),
      Array(5).fill('ready'),
    )
    const [left] = await app!.app.db.all(
      sql`select sum(documents) as documents from store_counts where collection = 'books'`,
    )
    assert.equal(Number(left!['documents']), 0)
    assert.deepEqual(hooksRun, [])

    // The same unique values are free again, and only once.
    await made('books', books(2))
    const again = await ask('POST', 'books', books(1)[0], replica)
    assert.deepEqual([again.status, again.body.error.details], [409, { fields: ['slug'] }])
    const list = await ask('GET', 'books?filter={"year":1901}', undefined, replica)
    assert.equal(list.body.total, 1)
    await assertEntries(app!)
  })

  test('a wrong number of documents is answered 409 with the right one, and drops nothing', async () => {
    await made('books', books(3))
    for (const documents of [0, 2, 4]) {
      const { status, body } = await drop(documents)
      assert.deepEqual([status, body.error.code, body.error.details], [409, 'CONFLICT', { documents: 3 }])
    }
    for (const text of ['', '-1', 'all', '1.5']) assert.equal((await drop(text)).status, 400)
    assert.equal((await ask('DELETE', 'books')).status, 400)
    assert.equal(await total(app!), 3)
  })

  test('a collection that others refer to is not dropped, whatever onDelete is', async () => {
    const { data } = await made('books', books(2))
    const loan = await made('loans', { book: data[1]._id })
    const { status, body } = await drop(2)
    assert.equal(status, 409)
    assert.deepEqual(body.error.details, { collection: 'loans', field: 'book' })
    assert.match(body.error.message, /Other documents refer to documents of books/)
    assert.equal(await total(app!), 2)
    await ask('DELETE', `loans/${loan._id}`)
    assert.equal((await drop(2)).status, 200)
  })

  test('only administrators and service keys that may write to the store drop a collection', async () => {
    const { keys } = app!.app.service('auth')
    await made('books', books(1))
    const keyOf = async (scope: string) => (await keys.create('key', [scope])).key
    assert.equal((await app!.request('DELETE', '/store/books?documents=1')).status, 401)
    assert.equal((await drop(1, app, ann)).status, 403)
    assert.equal((await drop(1, app, await keyOf('store:read'))).status, 403)
    assert.equal((await drop(1, app, await keyOf('store'))).status, 200)
  })

  test('a collection is not dropped while an index of it is built', async () => {
    await made('films', { title: 'Jim Knopf' })
    const { db } = app!.app
    const definition = {
      collection: 'films',
      fields: [{ path: ['title'], descending: false }],
      isUnique: false,
      isSparse: false,
      isSearch: false,
      ignoreCase: false,
      byOwner: false,
    }
    await changeIndexes(db, 'films', [insertIndexSql(definition, 'automatic', 0)])
    const number = await total(app!, 'films')
    const { status, body, headers } = await ask('DELETE', `films?documents=${number}`)
    assert.deepEqual([status, body.error.code, headers.get('retry-after')], [503, 'UNAVAILABLE', '5'])
    await db.write(sql`delete from store_indexes where collection = 'films'`)
  })

  test('a reference that is written during the drop leads to a document, or is refused', async () => {
    for (let i = 0; i < 20; i++) {
      const { data } = await made('books', books(20))
      const loan = () => ask('POST', 'loans', { book: data[i]._id }, replica)
      const [dropped, loaned] = await Promise.all(
        i % 2 === 0 ? [drop(20), loan()] : [loan(), drop(20)].toReversed(),
      )
      assert.deepEqual([dropped!.status, loaned!.status], dropped!.status === 200 ? [200, 400] : [409, 201])
      assert.equal(await total(app!), dropped!.status === 200 ? 0 : 20)
      await ask('DELETE', `loans?documents=${await total(app!, 'loans')}`)
      await ask('DELETE', `books?documents=${await total(app!)}`)
    }
  })

  // On SQLite nothing else writes until the end.
  if (engine.name === 'postgres')
    test('a reference that comes during the deletion keeps the documents', async () => {
      const { data } = await made('books', books(2))
      const { db } = app!.app
      let [dropping, loaned]: Promise<TestAnswer>[] = []
      await db.transaction(
        async (tx) => {
          await tx.get(sql`select id from store_documents where id = ${data[0]._id} for update`)
          dropping = drop(2, replica)
          await until(
            async () =>
              (await replica!.app.db.get(sql`
                select 1 as waits from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'
                  and query like '%delete from store_documents%'`)) !== undefined,
          )
          loaned = ask('POST', 'loans', { book: data[1]._id }, replica)
          await loaned
        },
        { isolation: 'read committed' },
      )
      assert.deepEqual([(await loaned!).status, (await dropping!).status], [201, 409])
      assert.equal(await total(app!), 2)
    })

  test('documents that are written meanwhile are counted or stay, with their entries', async () => {
    for (let i = 0; i < 10; i++) {
      const { data } = await made('books', books(20))
      const writes = [
        ask('POST', 'books', { slug: 'new', year: 2000 }, replica),
        ask('PATCH', `books/${data[3]._id}`, { year: 2001 }, replica),
        ask('DELETE', `books/${data[4]._id}`, undefined, replica),
      ]
      const [dropped, created, patched, deleted] = await Promise.all([drop(20), ...writes])
      assert.equal(created!.status, 201)
      const left = await total(app!)
      // Before both, or after both.
      if (dropped.status === 200) assert.equal(left, deleted!.status === 404 ? 1 : 0)
      else {
        assert.deepEqual([dropped.status, patched!.status, deleted!.status], [409, 200, 200])
        assert.equal(left, 20)
      }
      await assertEntries(app!)
      await ask('DELETE', `books?documents=${left}`)
    }
  })

  // Last: it moves the clock of all.
  test('administrators have to confirm who they are, 10 minutes after they signed in', async () => {
    await made('books', books(1))
    const email = 'late@example.com'
    await app!.app.service('auth').users.create({ email, password: PASSWORD, role: 'admin' })
    const late = (await login(app!, email)).body.token
    app!.clock.advance(600_000)
    const { status, body } = await drop(1, app, late)
    assert.deepEqual([status, body.error.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
    assert.equal(await total(app!, 'books', late), 1)
    await app!.request('POST', '/auth/confirm', { token: late, body: { password: PASSWORD } })
    assert.equal((await drop(1, app, late)).status, 200)
  })
})
