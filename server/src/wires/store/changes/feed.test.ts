import assert from 'node:assert/strict'
import { before, test, type TestContext } from 'node:test'

import type { Database } from '../../../db/database.ts'
import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { SqliteConnection } from '../../../db/sqlite-connection.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite, type Ending, type Engine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { storedColumn, storedSql } from '../documents/storage/sql/document-rows.ts'
import { caughtUp, follow, pathOf, readable, shortOf, type Stream } from './changes.fixture.ts'
import { selectChangesSql } from './log-rows.ts'
import { readPage, type ChangePage } from './log.ts'
import { LOG_START } from './position.ts'

const MIB = 1_048_576

const store = {
  user: { teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' } },
  collections: {
    books: { read: 'public', create: 'user', update: 'user', delete: 'user' },
    tasks: { read: { team: { $in: '$$user.teams' } }, create: 'user', update: 'user' },
    memberships: { read: 'admin', create: 'user', delete: 'user' },
  },
} as const

type Server = { app: TestApp; db: Database; databaseUrl: string }

/** A server, and its database as others write to it. */
async function startServer(ending: Ending, engine: Engine): Promise<Server> {
  const databaseUrl = await engine.migratedUrl()
  const app = await startApp(ending, engine, { config: { store }, databaseUrl })
  const db = await openDatabase(databaseUrl)
  ending.after(() => db.close())
  await app.register() // an administrator
  return { app, db, databaseUrl }
}

/** A new user of a server, none of whose changes is still to be read. */
async function setUp(t: TestContext, { app, db }: Server) {
  const { _id: user, token } = await app.register()
  await caughtUp(t, app, { token, collection: 'books' })
  const create = async (collection: string, body: unknown) => {
    const answer = await app.request('POST', `/store/${collection}`, { token, body })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
  return { app, db, user, token, create }
}

const receives = (stream: Stream, ...texts: string[]) =>
  until(() => texts.every((text) => stream.events.map(shortOf).includes(text)))

eachEngine((engine) => {
  const ending = endOfSuite()
  let shared: Server
  before(async () => {
    shared = await startServer(ending, engine)
  })

  test('a feed without followers for 31 seconds delivers to a new one while others write', async (t) => {
    const { app, token, create } = await setUp(t, shared)
    const query = { collection: 'books' }
    const first = await follow(t, app.url, { query })
    await receives(first, 'ready')
    first.close()
    let isOver = false
    const writes = (async () => {
      while (!isOver) await app.request('POST', '/store/other', { token, body: {} })
    })()
    await until(async () => (await app.request('GET', '/metrics')).text.includes('changes_followers 0'))
    app.clock.advance(31_000)
    await app.request('GET', '/ready')
    const second = await follow(t, app.url, { query })
    await create('books', { title: 'a' })
    await receives(second, 'put a')
    isOver = true
    await writes
  })

  test('a stream that is resumed by its last id receives no event twice', async (t) => {
    const { app, create } = await setUp(t, shared)
    const query = { collection: 'books' }
    for (const title of ['a', 'b', 'c', 'd', 'e']) {
      const first = await follow(t, app.url, { query })
      await receives(first, 'ready')
      first.close()
      await create('books', { title })
      const again = await follow(t, app.url, { query, lastEventId: first.lastId() })
      await receives(again, `put ${title}`)
      await create('books', { title: 'end' })
      await again.receives('ready', `put ${title}`, 'put end')
      again.close()
    }
  })

  test('a stream that is resumed between two events of one change receives both again', async (t) => {
    const { app, create } = await setUp(t, shared)
    const watch = [{ collection: 'books' }, { collection: 'books', fields: 'title' }]
    const stream = await follow(t, app.url, { query: { watch } })
    await create('books', { title: 'a', pages: 1 })
    await until(() => stream.events.length === 3)
    const again = await follow(t, app.url, { query: { watch }, lastEventId: stream.events[1]!.id })
    await until(() => again.events.length >= 3)
    assert.deepEqual(
      again.events.map(({ data }) => data.watch),
      [undefined, 0, 1],
    )
  })

  test('a cursor of another log is answered with a reset, wherever that log was', async (t) => {
    const { app, db, create } = await setUp(t, await startServer(t, engine))
    const query = { collection: 'books' }
    await create('books', { title: 'a' })
    const stream = await follow(t, app.url, { query })
    await create('books', { title: 'b' })
    await receives(stream, 'put b')
    const lastEventId = stream.lastId()
    await db.write(sql`update store_feed set generation = 'another'`)
    if (engine.name === 'sqlite') await db.write(sql`update sqlite_sequence set seq = 0`)
    await db.write(sql`delete from store_changes`)
    await create('books', { title: 'c' })
    await receives(stream, 'reset restored')
    const again = await follow(t, app.url, { query, lastEventId })
    await until(() => again.events.length > 0)
    assert.equal(shortOf(again.events[0]!), 'reset restored')
  })

  test('a user who loses a team receives nothing that the same transaction wrote afterwards', async (t) => {
    const { app, db, user, token, create } = await setUp(t, shared)
    const membership = await create('memberships', { user, team: 'a' })
    const stream = await follow(t, app.url, { token, query: { collection: 'tasks' } })
    await receives(stream, 'ready')
    const task = await create('tasks', { title: 'a', team: 'a' })
    await receives(stream, 'put a')
    const write = (title: string) => {
      const text = JSON.stringify({ ...task, title })
      return sql`
        update store_documents set ${storedColumn} = ${storedSql(text)}, version = version + 1
        where id = ${task._id}`
    }
    await db.batch([
      write('shown'),
      sql`delete from store_documents where id = ${membership._id}`,
      write('secret'),
    ])
    await stream.receives('ready', 'put a', 'reset changed')
    await create('tasks', { title: 'b', team: 'a' })
    await create('memberships', { user, team: 'b' })
    await stream.receives('ready', 'put a', 'reset changed', 'reset changed')
    await create('tasks', { title: 'c', team: 'b' })
    await stream.receives('ready', 'put a', 'reset changed', 'reset changed', 'put c')
  })

  test('a user who leaves and joins a team again in one transaction gets a reset', async (t) => {
    const { app, db, user, token, create } = await setUp(t, shared)
    const membership = await create('memberships', { user, team: 'a' })
    const query = { collection: 'tasks' }
    const stream = await follow(t, app.url, { token, query })
    await receives(stream, 'ready')
    const early = stream.lastId()
    // What was written in one transaction is read at once, as commits are that a longer one holds up: a client may list between
    // those, and then has nothing of its team.
    const change = (fields: object) => {
      const text = JSON.stringify({ ...membership, user, team: 'a', ...fields })
      return sql`
        update store_documents set ${storedColumn} = ${storedSql(text)}, version = version + 1
        where id = ${membership._id}`
    }
    await db.batch([change({ team: 'b' }), change({})])
    await stream.receives('ready', 'reset changed')
    await db.write(change({ note: 'of no meaning for the teams' }))
    await create('tasks', { title: 'a', team: 'a' })
    await stream.receives('ready', 'reset changed', 'put a')

    // Nor before its client comes back.
    const again = await follow(t, app.url, { token, query, lastEventId: early })
    await receives(again, 'reset changed')
  })

  test('an event is one line, however the document was written', async (t) => {
    const { app, db } = await setUp(t, shared)
    const stream = await follow(t, app.url, { query: { collection: 'books' } })
    await receives(stream, 'ready')
    await db.write(sql`
      insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
      values ('books', 'lines', 'nobody', 1, 0, ${storedSql('{\n"_id": "lines",\r\n"title":\r"a\\nb"}')})`)
    await receives(stream, 'put a\nb')
  })

  test('a page of the log is bounded by its bytes, and all pages together are the log', async () => {
    const { db } = shared
    const numbers = Array.from({ length: 9 }, (_, i) => i)
    for (const i of numbers) {
      const text = JSON.stringify({ n: i, text: i % 2 === 0 ? '' : Buffer.alloc(MIB, i).toString('base64') })
      await db.write(sql`
        insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
        values ('pages', ${String(i).padStart(2, '0')}, 'nobody', 1, 0, ${storedSql(text)})`)
    }
    const pages: ChangePage[] = []
    let page: ChangePage
    do pages.push((page = await readPage(db, pages.at(-1)?.next ?? LOG_START, ['pages'])))
    while (page.isFull || page.isHeld)
    assert.ok(pages.every(({ bytes }) => bytes < 6 * MIB))
    assert.deepEqual(
      pages.flatMap(({ rows }) => rows.map(({ id }) => Number(id))),
      numbers,
    )
  })

  test('missed changes are read by scans that count for their caller, each page once', async (t) => {
    const { app, db, user, token, create } = await setUp(t, shared)
    const poll = async (cursor?: string) =>
      (
        await app.request('GET', pathOf({ collection: 'books', ...(cursor !== undefined && { cursor }) }), {
          token,
          headers: { accept: 'application/json' },
        })
      ).body as { changes: { _id: string }[]; cursor: string }
    await create('books', { title: 'a' })
    let { cursor } = await poll()
    // Nobody follows, so what comes is not read before the next poll.
    await until(async () => (await app.request('GET', '/metrics')).text.includes('changes_followers 0'))
    app.clock.advance(31_000)
    await app.request('GET', '/ready')
    const titles = Array.from({ length: 100 }, (_, n) => String(n))
    await db.batch(titles.map((_id) => insertSql({ _id, text: 'x'.repeat(50_000) })))
    await readable(app)
    const all = t.mock.method(app.app.db, 'all')
    const scan = t.mock.method(app.app.db, 'scan')
    const received = new Set<string>()
    while (received.size < titles.length) {
      const page = await poll(cursor)
      for (const { _id } of page.changes) received.add(_id)
      cursor = page.cursor
    }
    assert.ok((await bytesOf(all.mock.calls)) <= 65_536)
    // A poll answers in the middle of a page.
    assert.ok((await bytesOf(scan.mock.calls)) < 4 * 50_000 * titles.length)
    const callers = scan.mock.calls.flatMap(({ arguments: [, options] }) => options?.caller ?? [])
    assert.deepEqual(new Set(callers), new Set([user]))
  })

  if (engine.name !== 'sqlite') return

  test('SQLite reads each document of a page once, and none of rows after it', async (t) => {
    const { db, databaseUrl } = await startServer(t, engine)
    const text = 'x'.repeat(100_000)
    const ids = Array.from({ length: 30 }, (_, n) => String(n))
    await db.batch([
      insertSql({ _id: 'a', text }),
      ...ids.map(() => sql`update store_documents set version = version + 1 where id = 'a'`),
      ...ids.map((_id) => insertSql({ _id, text })),
    ])
    let documents = 0
    const json = (stored: unknown): string | null => {
      if (stored === null) return null
      documents++
      return '{}'
    }
    const connection = new SqliteConnection(databaseUrl.replace('sqlite:', ''), 'reader', { json })
    t.after(() => connection.close())
    const read = (seq: number, bytes: number) => {
      documents = 0
      return connection.run(
        selectChangesSql('sqlite', { xid: 0, seq, at: 0 }, ['books'], { limit: 500, bytes }).render('sqlite'),
      ).length
    }
    assert.equal(read(0, 1_000_000), 9)
    assert.equal(documents, 9)
    assert.equal(read(31, 1_000_000), 9)
    assert.equal(documents, 9)
    assert.equal(read(31, 1), 1)
    assert.equal(documents, 1)
  })
})

/** The bytes of documents that reads of the log returned. */
async function bytesOf(
  calls: readonly { result?: Promise<readonly unknown[]> | undefined }[],
): Promise<number> {
  const pages = await Promise.all(calls.map(async ({ result }) => result))
  return pages
    .flatMap((rows) => (rows ?? []) as { old?: string | null; body?: string | null }[])
    .reduce((sum, { old, body }) => sum + (old?.length ?? 0) + (body?.length ?? 0), 0)
}

const insertSql = (document: { _id: string; text: string }) => sql`
  insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
  values ('books', ${document._id}, 'nobody', 1, 0, ${storedSql(JSON.stringify(document))})`
