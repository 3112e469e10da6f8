import assert from 'node:assert/strict'
import { before, test, type TestContext } from 'node:test'

import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { storedColumn, storedSql } from '../documents/storage/sql/document-rows.ts'
import { caughtUp, follow, pathOf, shortOf } from './changes.fixture.ts'

const collections = {
  books: { read: 'public', create: 'user', update: 'user', delete: 'user' },
  parts: { read: 'public', create: 'user', hidden: ['cost'] },
  projects: { read: ['owner', { members: '$$user._id' }], create: 'user', update: 'user', delete: 'user' },
  people: { read: 'public', create: 'user', update: 'user', showTo: { phone: 'owner' } },
  drafts: { read: 'public', create: 'user', changes: false },
  secrets: { read: 'admin' },
  vault: { read: 'admin', changes: false },
} as const

type Server = { app: TestApp; databaseUrl: string; admin: Awaited<ReturnType<TestApp['register']>> }

/** Two new users of a server, none of whose changes is still to be read. */
async function setUp(t: TestContext, { app, databaseUrl, admin }: Server) {
  const ada = await app.register()
  await caughtUp(t, app, { token: ada.token, collection: 'books' })
  const bob = await app.register()
  const create = async (collection: string, body: unknown, { token } = ada) => {
    const answer = await app.request('POST', `/store/${collection}`, { token, body })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
  const patch = async (collection: string, id: string, body: unknown) => {
    const answer = await app.request('PATCH', `/store/${collection}/${id}`, { token: admin.token, body })
    assert.equal(answer.status, 200, answer.text)
  }
  const remove = async (collection: string, id: string) => {
    const answer = await app.request('DELETE', `/store/${collection}/${id}`, { token: admin.token })
    assert.ok(answer.status < 300, answer.text)
  }
  return { app, databaseUrl, admin, ada, bob, create, patch, remove }
}

/** A poll of changes. */
const poll = (app: TestApp, query: Record<string, unknown>, token?: string) =>
  app.request('GET', pathOf(query), { token, headers: { accept: 'application/json' } })

eachEngine((engine) => {
  const ending = endOfSuite()
  let shared: Server
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(ending, engine, { config: { store: { collections } }, databaseUrl })
    // The first user is an administrator.
    shared = { app, databaseUrl, admin: await app.register() }
  })

  test('a stream delivers creations, changes and deletions as a list shows them', async (t) => {
    const { app, create, patch, remove } = await setUp(t, shared)
    const stream = await follow(t, app.url, { query: { collection: 'books' } })
    await stream.receives('ready')
    const book = await create('books', { title: 'a', year: 2001 })
    const { _id } = book
    await stream.receives('ready', 'put a')
    assert.deepEqual(stream.events[1]!.data, {
      watch: 0,
      collection: 'books',
      _id,
      etag: '"1"',
      document: book,
    })
    await patch('books', _id, { title: 'b' })
    await stream.receives('ready', 'put a', 'put b')
    assert.equal(stream.events[2]!.data.etag, '"2"')
    await remove('books', _id)
    await stream.receives('ready', 'put a', 'put b', `gone ${_id}`)
    assert.deepEqual(stream.events[3]!.data, { watch: 0, collection: 'books', _id })
    assert.ok(stream.events.every(({ id }) => id))
  })

  test('a stream with a filter delivers put for a document that enters it and gone for one that leaves it', async (t) => {
    const { app, create, patch } = await setUp(t, shared)
    const query = { collection: 'books', filter: { year: { $gte: 2000 } } }
    const stream = await follow(t, app.url, { query })
    await stream.receives('ready')
    const { _id } = await create('books', { title: 'a', year: 1999 })
    await patch('books', _id, { year: 2000 })
    await stream.receives('ready', 'put a')
    await patch('books', _id, { title: 'b', year: 1999 })
    await stream.receives('ready', 'put a', `gone ${_id}`)
    assert.deepEqual(stream.events[2]!.data, { watch: 0, collection: 'books', _id })
  })

  test('a caller who loses access gets `gone` with the id alone', async (t) => {
    const { app, bob, create, patch } = await setUp(t, shared)
    const stream = await follow(t, app.url, { token: bob.token, query: { collection: 'projects' } })
    await stream.receives('ready')
    const { _id } = await create('projects', { title: 'a', members: [bob._id] })
    await stream.receives('ready', 'put a')
    await patch('projects', _id, { title: 'secret', members: [] })
    await stream.receives('ready', 'put a', `gone ${_id}`)
    assert.deepEqual(stream.events[2]!.data, { watch: 0, collection: 'projects', _id })
  })

  test('each caller gets the documents that they may read, in their view', async (t) => {
    const { app, admin, ada, bob, create } = await setUp(t, shared)
    const query = { watch: [{ collection: 'projects' }, { collection: 'people' }, { collection: 'parts' }] }
    const [ofAdmin, ofAda, ofBob] = await Promise.all(
      [admin, ada, bob].map(({ token }) => follow(t, app.url, { token, query })),
    )
    for (const stream of [ofAdmin!, ofAda!, ofBob!]) await stream.receives('ready')
    await create('projects', { title: 'of ada' })
    await create('people', { title: 'ada', phone: '1' })
    await create('parts', { title: 'part', cost: 5 }, admin)
    await ofAdmin!.receives('ready', 'put of ada', 'put ada', 'put part')
    await ofAda!.receives('ready', 'put of ada', 'put ada', 'put part')
    await ofBob!.receives('ready', 'put ada', 'put part')
    const fieldsOf = ({ events }: typeof ofAdmin & object) =>
      events.slice(-2).map(({ data }) => [data.document.phone, data.document.cost])
    assert.deepEqual(fieldsOf(ofAdmin!), [
      ['1', undefined],
      [undefined, 5],
    ])
    assert.deepEqual(fieldsOf(ofAda!), [
      ['1', undefined],
      [undefined, undefined],
    ])
    assert.deepEqual(fieldsOf(ofBob!), [
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  test('a stream with several watches applies the filter and fields of each', async (t) => {
    const { app, create, patch } = await setUp(t, shared)
    const watch = [
      { collection: 'books', filter: { year: 1 }, fields: 'title' },
      { collection: 'books', filter: { year: { $in: [1, 2] } }, fields: '-title' },
    ]
    const stream = await follow(t, app.url, { query: { watch } })
    await stream.receives('ready')
    const { _id } = await create('books', { title: 'a', year: 1 })
    await until(() => stream.events.length === 3)
    assert.deepEqual(
      stream.events.slice(1).map(({ data }) => [data.watch, data.document.title, data.document.year]),
      [
        [0, 'a', undefined],
        [1, undefined, 1],
      ],
    )
    await patch('books', _id, { year: 2 })
    await until(() => stream.events.length === 5)
    assert.deepEqual(
      new Map(stream.events.slice(3).map(({ event, data }) => [data.watch, event])),
      new Map([
        [0, 'gone'],
        [1, 'put'],
      ]),
    )
  })

  test('a stream that is resumed continues after its last event, with the current documents', async (t) => {
    const { app, create, patch, remove } = await setUp(t, shared)
    const query = { collection: 'books' }
    const stream = await follow(t, app.url, { query })
    await stream.receives('ready')
    const [kept, changed, gone] = [
      await create('books', { title: 'kept' }),
      await create('books', { title: '1' }),
      await create('books', { title: 'x' }),
    ]
    await stream.receives('ready', 'put kept', 'put 1', 'put x')
    const lastEventId = stream.lastId()!
    stream.close()
    for (const title of ['2', '3']) await patch('books', changed._id, { title })
    await remove('books', gone._id)
    await create('books', { title: 'new' })
    const again = await follow(t, app.url, { query, lastEventId })
    const receives = (...expected: string[]) =>
      until(() => expected.every((one) => again.events.map(shortOf).includes(one)))
    await receives('ready', 'put 3', `gone ${gone._id}`, 'put new')
    assert.ok(!again.events.map(shortOf).includes('put kept'))
    const byCursor = await follow(t, app.url, { query: { ...query, cursor: stream.events[1]!.id } })
    await until(() => byCursor.held.size === 2)
    assert.ok(!byCursor.held.has(kept._id))
  })

  test('a cursor of other watches or another caller is answered with a reset, an invalid one with 400', async (t) => {
    const { app, ada, bob } = await setUp(t, shared)
    const stream = await follow(t, app.url, { token: ada.token, query: { collection: 'projects' } })
    await stream.receives('ready')
    const lastEventId = stream.lastId()!
    const others = await follow(t, app.url, {
      token: bob.token,
      query: { collection: 'projects' },
      lastEventId,
    })
    await others.receives('reset changed')
    const filtered = { collection: 'projects', filter: { a: 1 } }
    const other = await follow(t, app.url, { token: ada.token, query: filtered, lastEventId })
    await other.receives('reset changed')
    for (const cursor of ['x', lastEventId.slice(1), '.']) {
      const { status, body } = await app.request('GET', pathOf({ collection: 'books', cursor }))
      assert.equal(status, 400)
      assert.equal(body.error.details.issues[0].path, '/query/cursor')
    }
  })

  test('a poll answers what has changed, or waits for it', async (t) => {
    const { app, create, remove } = await setUp(t, shared)
    const query = { collection: 'books' }
    const first = await poll(app, query)
    assert.deepEqual(first.body.changes, [])
    const waiting = poll(app, { ...query, cursor: first.body.cursor })
    const book = await create('books', { title: 'a' })
    const { _id } = book
    const second = await waiting
    assert.deepEqual(second.body.changes, [
      { event: 'put', watch: 0, collection: 'books', _id, etag: '"1"', document: book },
    ])
    await remove('books', _id)
    const third = await poll(app, { ...query, cursor: second.body.cursor })
    assert.deepEqual(third.body.changes, [{ event: 'gone', watch: 0, collection: 'books', _id }])
    const reset = await poll(app, { ...query, filter: { a: 1 }, cursor: third.body.cursor })
    assert.deepEqual(reset.body.changes, [{ event: 'reset', reason: 'changed' }])
  })

  test('a stream delivers documents that are written by SQL', async (t) => {
    const { app, databaseUrl } = await setUp(t, shared)
    const stream = await follow(t, app.url, { query: { collection: 'books' } })
    await stream.receives('ready')
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const [id, time] = ['01arz3ndektsv4rrffq69g5fav', '2027-01-01T00:00:00.000Z']
    const text = JSON.stringify({ _id: id, createdAt: time, updatedAt: time, title: 'by hand' })
    await db.write(sql`
      insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
      values ('books', ${id}, 'nobody', 1, 0, ${storedSql(text)})`)
    await stream.receives('ready', 'put by hand')
    await db.write(sql`delete from store_documents where id = ${id}`)
    await stream.receives('ready', 'put by hand', `gone ${id}`)
  })

  test('the log of a collection without changes stays empty', async (t) => {
    const { databaseUrl, create } = await setUp(t, shared)
    await create('drafts', { title: 'a' })
    const { data: books } = await create('books', [{ title: 'b' }, { title: 'c' }])
    const [first, second] = books.map(({ _id }: { _id: string }) => _id)
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    assert.deepEqual(
      await db.all(sql`
        select distinct collection, count(*) as n from store_changes
        where collection = 'drafts' or id in (${first}, ${second}) group by collection`),
      [{ collection: 'books', n: 2 }],
    )
  })

  test('changes with wrong parameters or without access are refused as a list is', async (t) => {
    const { app, ada } = await setUp(t, shared)
    const patterns = Array.from({ length: 10 }, (_, i) => ({ title: { $regex: String(i) } }))
    const cases: [query: Record<string, unknown>, status: number, path?: string, token?: string][] = [
      [{}, 400, '/query/collection'],
      [{ collection: 'drafts' }, 400, '/query/collection'],
      [{ collection: 'a b' }, 400, '/query/collection'],
      [{ collection: 'books', filters: {} }, 400, '/query/filters'],
      [{ collection: 'books', filter: { year: { $what: 1 } } }, 400, '/query/filter/year/$what'],
      [{ collection: 'parts', filter: { cost: 1 } }, 400, '/query/filter'],
      [{ collection: 'parts', fields: 'cost' }, 400, '/query/fields'],
      [{ collection: 'books', watch: [{ collection: 'books' }] }, 400, '/query/watch'],
      [{ watch: [] }, 400, '/query/watch'],
      [{ watch: '{' }, 400, '/query/watch'],
      [{ watch: Array.from({ length: 21 }, () => ({ collection: 'books' })) }, 400, '/query/watch'],
      [{ watch: [{ collection: 'books' }, { collection: 'a b' }] }, 400, '/query/watch/1/collection'],
      [{ watch: [{ collection: 'books', sort: 'year' }] }, 400, '/query/watch/0'],
      [
        { watch: [{ collection: 'books', filter: { $or: [{ a: { $gt: 1 } }, { a: { $x: 1 } }] } }] },
        400,
        '/query/watch/0/filter/$or/1/a/$x',
      ],
      [{ watch: [{ collection: 'books', fields: 'a,-b' }] }, 400, '/query/watch/0/fields'],
      [{ watch: [{ collection: 'parts', fields: 'cost' }] }, 400, '/query/watch/0/fields'],
      [{ collection: 'books', filter: { $or: patterns } }, 400, '/query/filter'],
      [{ watch: patterns.map((filter) => ({ collection: 'books', filter })) }, 400, '/query/watch/9/filter'],
      [{ collection: 'projects' }, 401],
      [{ collection: 'secrets' }, 401],
      [{ collection: 'secrets' }, 403, undefined, ada.token],
      [{ collection: 'vault' }, 401],
      [{ watch: [{ collection: 'drafts' }] }, 400, '/query/watch/0/collection'],
    ]
    for (const [query, status, path, token] of cases) {
      const answer = await app.request('GET', pathOf(query), { token })
      const at = answer.body.error.details?.issues?.[0].path
      assert.deepEqual([query, answer.status, at], [query, status, path])
    }
  })
})
