import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Client } from 'pg'

import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { follow, readable } from './changes.fixture.ts'

const config = {
  store: { collections: { books: { read: 'public', create: 'user', delete: 'user' } } },
} as const
const query = { collection: 'books' }

async function create(app: TestApp, token: string, title: string): Promise<string> {
  const answer = await app.request('POST', '/store/books', { token, body: { title } })
  assert.equal(answer.status, 201, answer.text)
  return answer.body._id
}

const ownersIn = async ({ app: { db } }: TestApp): Promise<string[]> =>
  (await db.all<{ owner: string }>(sql`select distinct owner from store_changes`)).map(({ owner }) => owner)

eachEngine((engine) => {
  test('the log loses the changes of a deleted account, and clients that have not read them list again', async (t) => {
    const app = await startApp(t, engine, { config })
    const { _id: admin, token: adminToken } = await app.register()
    const leaving = await app.register()
    const other = await app.register()
    const stream = await follow(t, app.url, { query })
    await stream.receives('ready')
    await create(app, adminToken, 'first')
    const removed = await create(app, leaving.token, 'secret')
    await app.request('DELETE', `/store/books/${removed}`, { token: leaving.token })
    await until(() => stream.events.at(-1)!.event === 'gone')
    const early = stream.events[0]!.id
    const atEnd = await follow(t, app.url, { query })
    await atEnd.receives('ready')
    const own = { token: leaving.token, body: { password: leaving.password } }
    assert.equal((await app.request('DELETE', '/auth/me', own)).status, 200)
    assert.deepEqual(await ownersIn(app), [admin])

    // The last change in the log was one of them.
    for (const [lastEventId, told] of [
      [early, 'reset expired'],
      [atEnd.lastId(), 'ready'],
    ] as const)
      await (await follow(t, app.url, { query, lastEventId })).receives(told)
    await create(app, other.token, 'next')
    await until(() => stream.events.at(-1)!.data.document?.title === 'next')
    assert.ok(!stream.events.some(({ event }) => event === 'reset'))
    await atEnd.receives('ready', 'put next')

    assert.equal((await app.request('DELETE', `/auth/users/${other._id}`, { token: adminToken })).status, 200)
    // The log tells of the documents that are erased with the account for a while.
    await until(async () => {
      app.clock.advance(11_000)
      return (await ownersIn(app)).join() === admin
    })
  })

  if (engine.name === 'sqlite') return
  test('an account that is deleted takes changes with it that no process can read yet: all list again', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { config, databaseUrl })
    const { token: admin } = await app.register()
    const { token, password } = await app.register()
    const stream = await follow(t, app.url, { query })
    await stream.receives('ready')
    const client = new Client({ connectionString: databaseUrl })
    await client.connect()
    t.after(() => client.end())
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
    await create(app, token, 'unread')
    assert.equal((await app.request('DELETE', '/auth/me', { token, body: { password } })).status, 200)
    // That the document is erased is logged again, as soon as its job runs.
    assert.deepEqual(await app.app.db.all(sql`select id from store_changes where version > 0`), [])
    await client.query('commit')
    await readable(app)
    // Before that, the list that follows a reset would have it.
    await stream.receives('ready', 'reset restored')
    await create(app, admin, 'next')
    // The document itself is erased meanwhile.
    await until(() => stream.events.some(({ data }) => data.document?.title === 'next'))
    const told = stream.events
      .map(({ event }) => event)
      .filter((event) => event !== 'ping' && event !== 'gone')
    assert.deepEqual(told, ['ready', 'reset', 'put'])
  })
})
