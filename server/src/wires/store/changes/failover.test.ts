// What becomes of streams as a process, or the connection to PostgreSQL, is lost under load.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { startProxy } from '../../../db/postgres-proxy.fixture.ts'
import { sql } from '../../../db/sql.ts'
import { openDatabase } from '../../../db/open.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startScript, urlLiteral } from '../../../testing/program.ts'
import { until } from '../../../testing/until.ts'
import { follow } from './changes.fixture.ts'
import { agree, mirror } from './mirror.fixture.ts'
import { randomFrom, writeByTransactions, type Pool } from './random-writes.fixture.ts'

const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))
const LOAD_MS = 500
const SECRET = 'a secret of the tests that is long enough'

const store = { collections: { notes: { read: 'public', create: 'user' } } } as const
const watches = [
  { collection: 'notes', filter: { state: 'open' } },
  { collection: 'notes', fields: 'n' },
]

/** Writes until the answer is called. */
async function startWriting(t: TestContext, databaseUrl: string): Promise<() => Promise<void>> {
  t.diagnostic(`seed ${SEED}`)
  const db = await openDatabase(databaseUrl)
  t.after(() => db.close())
  let isOver = false
  const pool: Pool = new Map()
  const writing = { random: randomFrom(SEED), users: ['ada'] }
  const writers = [1, 2, 3].map(() =>
    writeByTransactions(db, pool, { writing, isOver: () => isOver, collection: 'notes' }),
  )
  return async () => {
    isOver = true
    await Promise.all(writers)
  }
}

const server = (databaseUrl: string, folder: string): string => `
  import { createApp } from ${urlLiteral('app.ts')}
  const folder = ${JSON.stringify(folder)}
  const app = await createApp({
    config: { store: ${JSON.stringify(store)} },
    environment: {
      PORT: '0', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder,
      SIXWIRE_SECRET: ${JSON.stringify(SECRET)}, DATABASE_URL: ${JSON.stringify(databaseUrl)},
    },
    folder,
    logTo: { write() {} },
  })
  console.log('url ' + (await app.listen()))`

eachEngine((engine) => {
  if (engine.name === 'sqlite') return

  test('a process is killed under load, and its clients go on with another one', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const other = await startApp(t, engine, { config: { store }, databaseUrl })
    const program = await startScript(t, server(databaseUrl, await temporaryFolder(t)))
    const [, first] = await program.until(/url (\S+)/)
    let url = first!
    const mirrors = [1, 2].map(() => mirror(t, { url: () => url, token: undefined, watches }))
    const stopWriting = await startWriting(t, databaseUrl)
    await until(() => mirrors.every(({ counts }) => counts.events > 20))
    await program.kill()
    url = other.url
    const before = mirrors.map(({ counts }) => counts.events)
    await until(() => mirrors.every(({ counts }, i) => counts.events > before[i]! + 20))
    await stopWriting()
    await agree(mirrors)
    assert.ok(mirrors.every(({ counts }) => counts.resets === 0))
  })

  test('all connections to PostgreSQL are cut under load, and no stream loses anything', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const proxy = await startProxy(databaseUrl)
    t.after(() => proxy.down())
    const app = await startApp(t, engine, { config: { store }, databaseUrl: proxy.url })
    const { url } = app
    const mirrors = [1, 2].map(() => mirror(t, { url: () => url, token: undefined, watches }))
    const stopWriting = await startWriting(t, databaseUrl)
    await until(() => mirrors.every(({ counts }) => counts.events > 20))
    await proxy.down()
    mirrors[0]!.cut()
    await delay(LOAD_MS)
    await proxy.up()
    const before = mirrors.map(({ counts }) => counts.events)
    await until(() => mirrors.every(({ counts }, i) => counts.events > before[i]! + 20))
    await stopWriting()
    await agree(mirrors)
    assert.ok(mirrors.every(({ counts }) => counts.resets === 0))
  })

  test('a server whose listening connection is cut delivers changes still, and listens again', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const one = await startApp(t, engine, { config: { store }, databaseUrl })
    const other = await startApp(t, engine, { config: { store }, databaseUrl })
    const { token } = await one.register()
    const create = (title: string) => one.request('POST', '/store/notes', { token, body: { title } })
    const stream = await follow(t, other.url, { query: { collection: 'notes' } })
    await create('a')
    await stream.receives('ready', 'put a')
    const listening = sql<{ pid: number }>`
      select pid from pg_stat_activity where datname = current_database() and query ilike 'listen %'`
    // The change may have been found without it, by the poll.
    await until(async () => (await one.app.db.all(listening)).length === 1)
    const [listener] = await one.app.db.all(listening)
    await one.app.db.all(sql`select pg_terminate_backend(${listener!.pid})`)
    await create('b')
    await stream.receives('ready', 'put a', 'put b')
    await until(async () => {
      const now = await one.app.db.all(listening)
      return now.length === 1 && now[0]!.pid !== listener!.pid
    })
    await create('c')
    await stream.receives('ready', 'put a', 'put b', 'put c')
  })
})
