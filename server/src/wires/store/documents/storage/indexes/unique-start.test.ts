// A start with unique fields waits until they are checked, and is refused if documents have the same values.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, someEngine, type Engine } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { declaredIndexes } from '../entries/index-definition.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'
import { uniqueIndexes } from './unique-indexes.ts'

const UNIQUE = { books: { unique: ['isbn'] } }

/** Starts servers on one database, one after the other or at once. */
const startsOnFor = (engine: Engine) => async (t: TestContext) => {
  const databaseUrl = await engine.migratedUrl()
  return (collections: NonNullable<Config['store']>['collections'] = {}): Promise<TestApp> =>
    startApp(t, engine, { databaseUrl, config: { store: { collections } } })
}

const send = async (app: TestApp, token: string, method: string, path: string, body?: unknown) => {
  const answered = await app.request(method, `/store/${path}`, { token, body })
  assert.ok(answered.status < 300, answered.text)
  return answered.body
}
const statesOf = async (app: TestApp) => (await indexesOf(app)).map(({ names, state }) => `${names} ${state}`)

eachEngine((engine) => {
  const startsOn = startsOnFor(engine)

  test('a start is refused if two documents have the same values, until one is changed or the option removed', async (t) => {
    const start = await startsOn(t)
    const first = await start()
    const { token } = await first.register()
    const { data } = await send(first, token, 'POST', 'books', [
      { isbn: 1 },
      { isbn: [2, 1] },
      { isbn: null },
      {},
      {},
    ])
    const [one, other] = data.map(({ _id }: { _id: string }) => _id)
    const refused = {
      name: 'StartError',
      message: `store.collections.books.unique: the documents ${one} and ${other} have the same isbn: start without this option, change or delete what does not fit, then declare it again`,
    }
    await assert.rejects(start(UNIQUE), refused)
    await assert.rejects(start({ books: { unique: ['isbn', 'title'] } }), refused)
    // Nothing is kept up of it: a server that runs without it is not hindered.
    await send(first, token, 'POST', 'books', { isbn: 2 })

    const without = await start()
    await readyIndexes(without)
    assert.deepEqual(await statesOf(without), [])
    await assertEntries(without)
    await send(without, token, 'PATCH', `books/${other}`, { isbn: 3 })
    await without.stop()

    const last = await start(UNIQUE)
    assert.deepEqual(await statesOf(last), ['isbn ready'])
    await assertEntries(last)
    assert.equal((await last.request('POST', '/store/books', { token, body: { isbn: 3 } })).status, 409)
  })

  test('of two replicas that start at the same time one checks the documents, and both wait', async (t) => {
    const start = await startsOn(t)
    const first = await start()
    const { token } = await first.register()
    const documents = Array.from({ length: 1_000 }, (_, isbn) => ({ isbn }))
    for (const part of [0, 1, 2])
      await send(
        first,
        token,
        'POST',
        'books',
        documents.map(({ isbn }) => ({ isbn: `${part} ${isbn}` })),
      )
    const replicas = await Promise.all([start(UNIQUE), start(UNIQUE)])
    const logs = replicas.map((app) => app.log()).join('')
    assert.equal(logs.split('an index is built').length - 1, 1)
    for (const app of replicas) {
      assert.deepEqual(await statesOf(app), ['isbn ready'])
      const { status } = await app.request('POST', '/store/books', { token, body: { isbn: '2 999' } })
      assert.equal(status, 409)
    }
    // The replica that has not heard of the option.
    assert.equal((await first.request('POST', '/store/books', { token, body: { isbn: '0 0' } })).status, 409)
    await assertEntries(first)
  })

  test('a backup is restored although its documents do not fit, and the next start is refused', async (t) => {
    const app = await (await startsOn(t))()
    const { token } = await app.register()
    const { indexes } = app.app.service('store')
    /** What a start does. */
    const declare = async (): Promise<void> => {
      await indexes.declare(uniqueIndexes('books', ['isbn'], []))
      await indexes.complete(() => undefined)
    }
    const first = await send(app, token, 'POST', 'books', { isbn: 'A' })
    const second = await send(app, token, 'POST', 'books', { isbn: 'A' })
    const backup = await send(app, token, 'POST', 'backup')
    await send(app, token, 'DELETE', `books/${second._id}`)
    await declare()
    assert.equal((await app.request('POST', '/store/books', { token, body: { isbn: 'A' } })).status, 409)

    await send(app, token, 'POST', `backup/${backup._id}/restore`)
    const reason = `the documents ${first._id} and ${second._id} have the same isbn`
    assert.ok(app.log().includes(`an index fails with the restored documents: ${reason}`))
    await send(app, token, 'POST', 'books', { isbn: 'B' })
    await assert.rejects(declare(), (error: Error) => error.message.includes(reason))
    await send(app, token, 'DELETE', `books/${second._id}`)
    await declare()
    assert.equal((await app.request('POST', '/store/books', { token, body: { isbn: 'B' } })).status, 409)
    await assertEntries(app)
  })
})

someEngine((engine) => {
  const startsOn = startsOnFor(engine)

  test('a start that is refused leaves no other unique field behind', async (t) => {
    const start = await startsOn(t)
    const first = await start()
    const { token } = await first.register()
    await send(first, token, 'POST', 'books', [{ isbn: 1 }, { isbn: 1 }])
    await send(first, token, 'POST', 'pens', { name: 'x' })
    await assert.rejects(start({ ...UNIQUE, pens: { unique: ['name'] } }), { name: 'StartError' })
    await send(first, token, 'POST', 'pens', { name: 'x' })
    const next = await start()
    await readyIndexes(next)
    assert.deepEqual(await statesOf(next), [])
  })

  test('a server does not write without its unique fields, which one with another configuration has dropped', async (t) => {
    const start = await startsOn(t)
    const strict = await start(UNIQUE)
    const { token } = await strict.register()
    const { _id } = await send(strict, token, 'POST', 'books', { isbn: 1 })
    await start()
    for (const [method, path, body] of [
      ['POST', 'books', { isbn: 1 }],
      ['POST', 'books', [{ isbn: 2 }]],
      ['PUT', `books/${_id}`, { isbn: 2 }],
    ] as const) {
      const answered = await strict.request(method, `/store/${path}`, { token, body })
      assert.equal(answered.status, 503, answered.text)
      assert.match(answered.body.error.message, /index of isbn in books is not there/)
    }
  })

  test('a start that waits long for an index says so, and ends if the server is stopped', async (t) => {
    const app = await (await startsOn(t))()
    const { token } = await app.register()
    await send(app, token, 'POST', 'books', { isbn: 1 })
    const { db } = app.app
    const { indexes } = app.app.service('store')
    // Another process has the work, and stands still.
    await db.write(sql`
      insert into sixwire_jobs (id, kind, payload, lane, state, run_at, attempts, claimed_by, created_at)
      values ('held', 'store.indexes', '{"collection":"books"}', 'books', 'ready', 9999999999999, 1, 'another', 1)`)
    const [plain] = declaredIndexes({ books: ['author'] }, () => false)
    await indexes.declare([
      ...uniqueIndexes('books', ['isbn'], []),
      { ...plain!, requiredBy: 'store.collections.books.relations' },
    ])
    let isStopped = false
    const completing = indexes.complete(() => {
      if (isStopped) throw new Error('stopped')
    })
    const line = 'the index of isbn in books is being built: it has 0 documents (5 s so far)'
    app.clock.advance(5_000)
    await until(async () => app.log().includes(line))
    isStopped = true
    await assert.rejects(completing, { message: 'stopped' })

    await db.write(sql`delete from sixwire_jobs where id = 'held'`)
    app.clock.advance(2_000)
    await indexes.complete(() => undefined)
    assert.deepEqual(await statesOf(app), ['isbn ready', 'author ready'])
  })
})
