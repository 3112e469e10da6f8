// The documented ways to put a database back have a state in common: rows of the log are gone, and others may have their numbers.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { DatabaseSync } from 'node:sqlite'

import { Client } from 'pg'

import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, type Engine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { follow, readable, shortOf } from './changes.fixture.ts'

const config = { store: { collections: { books: { read: 'public', create: 'user' } } } } as const
const query = { collection: 'books' }

/** A copy of a database that no server uses: as `vacuum into` makes it, and as `pg_dump` within the same cluster. */
async function copyOf(t: TestContext, engine: Engine, databaseUrl: string): Promise<string> {
  if (engine.name === 'sqlite') {
    const file = databaseUrl.replace('sqlite:', '')
    const original = new DatabaseSync(file)
    original.exec(`vacuum into '${file}.copy'`)
    original.close()
    return `${databaseUrl}.copy`
  }
  const url = new URL(databaseUrl)
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  const administrator = new Client({ connectionString: url.href })
  await administrator.connect()
  await administrator.query(`create database ${name}_copy template ${name}`)
  t.after(async () => {
    await administrator.query(`drop database ${name}_copy with (force)`)
    await administrator.end()
  })
  url.pathname = `/${name}_copy`
  return url.href
}

async function createAll(app: TestApp, ...titles: string[]): Promise<void> {
  const { token } = await app.register()
  for (const title of titles) await app.request('POST', '/store/books', { token, body: { title } })
  await readable(app)
}

eachEngine((engine) => {
  test('cursors newer than a restored copy of the database are reset, older ones continue', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await startApp(t, engine, { config, databaseUrl })
    await createAll(first, 'kept')
    const early = await follow(t, first.url, { query })
    await early.receives('ready')
    await first.stop()
    const copy = await copyOf(t, engine, databaseUrl)

    const lost = await startApp(t, engine, { config, databaseUrl })
    const stream = await follow(t, lost.url, { query, lastEventId: early.lastId() })
    await createAll(lost, 'a', 'b')
    await stream.receives('ready', 'put a', 'put b')
    const lostStream = await follow(t, lost.url, { query })
    await lostStream.receives('ready')
    await lost.stop()

    const app = await startApp(t, engine, { config, databaseUrl: copy })
    await createAll(app, 'c', 'd', 'e')
    const later = [stream.events[1]!.id, stream.events[2]!.id, lostStream.lastId()]
    for (const lastEventId of later) {
      const again = await follow(t, app.url, { query, lastEventId })
      await again.receives('reset restored')
    }
    const earlyStream = await follow(t, app.url, { query, lastEventId: early.lastId() })
    await earlyStream.receives('ready', 'put c', 'put d', 'put e')
  })

  test('streams of a server whose database has lost its latest changes are reset', async (t) => {
    const app = await startApp(t, engine, { config })
    const { db } = app.app
    await createAll(app, 'kept')
    const stream = await follow(t, app.url, { query })
    await stream.receives('ready')
    await createAll(app, 'a')
    await stream.receives('ready', 'put a')
    const lost = stream.lastId()
    // As after a failover to a server that did not have the last change: another one has its number.
    await db.write(sql`
      update store_changes set id = 'another', at = at + 1 where seq = (select max(seq) from store_changes)`)
    await createAll(app, 'b')
    await until(() => stream.events.length > 2)
    assert.equal(shortOf(stream.events[2]!), 'reset restored')
    const again = await follow(t, app.url, { query, lastEventId: lost })
    await until(() => again.events.length > 0)
    assert.equal(shortOf(again.events[0]!), 'reset restored')
  })
})
