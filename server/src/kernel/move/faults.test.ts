// What goes wrong in a move: its process is killed at any step, others interfere, rows differ. Nothing is lost, nothing is there twice.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { createApp, type App } from '../../app.ts'
import { systemClock } from '../../base/clock.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine, temporaryFolder, type Ending } from '../../testing/engines.ts'
import { PROGRAM, startScript, urlLiteral } from '../../testing/program.ts'
import { TEST_SECRET } from '../../testing/templates.ts'
import { cancelMove, moveDatabase, type Moved, type MoveOptions } from './move.ts'

const NO_OPTIONS = { drainMs: 0, signal: new AbortController().signal, onProgress: () => undefined }
const DOCUMENTS = 2_000
const run = promisify(execFile)

async function openApplication(ending: Ending, databaseUrl: string): Promise<App> {
  const folder = await temporaryFolder(ending)
  const app = await createApp({
    environment: { DATABASE_URL: databaseUrl, DATA_DIR: folder, SIXWIRE_SECRET: TEST_SECRET },
    folder,
    standIns: false,
    logTo: { write: () => undefined },
  })
  ending.after(() => app.close())
  await app.migrate()
  return app
}

const contextOf = (app: App) => ({
  db: app.db,
  clock: systemClock,
  tablesOf: (dialect: App['db']['dialect']) => app.tablesOf(dialect),
})

const move = (app: App, options: Pick<MoveOptions, 'to'> & Partial<MoveOptions>): Promise<Moved> =>
  moveDatabase(contextOf(app), { ...NO_OPTIONS, ...options })

const addDocuments = (app: App, count: number): Promise<unknown> =>
  app.db.batch([
    Array.from(
      { length: count },
      (_document, n) => sql`
        insert into store_documents (collection, id, owner, version, ${sql.literal(
          app.db.dialect === 'sqlite' ? 'doc' : 'body',
        )})
        values ('books', ${`book-${n}`}, 'ada', 1, ${sql.either({
          sqlite: sql`jsonb(${`{"_id":"book-${n}"}`})`,
          postgres: sql`${`{"_id":"book-${n}"}`}`,
        })})`,
    ),
  ])

const countBooks = async ({ db }: Pick<App, 'db'>): Promise<number> =>
  (await db.get(sql<{ n: number }>`select count(*) as n from store_documents where collection = 'books'`))!.n

/** A program that begins a move, and kills itself at a step of it. */
const SCRIPT = `
  import { createApp } from ${urlLiteral('app.ts')}
  import { systemClock } from ${urlLiteral('base/clock.ts')}
  import { findMove } from ${urlLiteral('kernel/move/closed-source.ts')}
  import { moveDatabase } from ${urlLiteral('kernel/move/move.ts')}
  const [step, to] = process.argv.slice(2)
  const die = () => process.kill(process.pid, 'SIGKILL')
  const app = await createApp({ standIns: false, logTo: { write() {} } })
  await app.migrate()
  const db = new Proxy(app.db, {
    get(target, name) {
      if (name !== 'batch') return typeof target[name] === 'function' ? target[name].bind(target) : target[name]
      return async (steps) => {
        const rows = await target.batch(steps)
        if (step === 'marked' && (await findMove(target))?.moved_at) die()
        return rows
      }
    },
  })
  await moveDatabase({ db, clock: systemClock, tablesOf: (dialect) => app.tablesOf(dialect) }, {
    to, drainMs: 0, signal: new AbortController().signal,
    whenClosed: async () => { if (step === 'closed') die() },
    onProgress: ({ phase }) => { if (phase === step) die() },
  })
  if (step === 'committed') die()
`

eachEngine((from) =>
  eachEngine((to) => {
    if (from.name === to.name) return
    for (const step of ['closed', 'Copy', 'Check', 'marked', 'committed'])
      test(`from ${from.name} to ${to.name}, killed at the step "${step}", is finished by the same command`, async (t) => {
        const [source, target] = [await from.migratedUrl(), await to.freshUrl()]
        const app = await openApplication(t, source)
        await addDocuments(app, DOCUMENTS)
        const program = await startScript(t, SCRIPT, {
          words: [step, target],
          nodeOptions: ['--conditions=sixwire-source'],
          environment: { DATABASE_URL: source, SIXWIRE_SECRET: TEST_SECRET, SIXWIRE_SANDBOX: 'off' },
        })
        assert.equal(await program.ended, 'SIGKILL', program.errors())
        await assert.rejects(addDocuments(app, 1), { code: 'UNAVAILABLE' })
        assert.equal(await countBooks(app), DOCUMENTS)
        const { wasDone } = await move(app, { to: target })
        assert.equal(wasDone, step === 'committed')
        const db = await openDatabase(target)
        t.after(() => db.close())
        assert.equal(await countBooks({ db }), DOCUMENTS)
        await assert.rejects(addDocuments(app, 1), { code: 'UNAVAILABLE' })
      })
  }),
)

eachEngine((engine) => {
  test('a move that is finished is reopened only by those who say so, and one that was cut off is cancelled', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await addDocuments(app, 1)
    const target = await engine.freshUrl()
    await assert.rejects(cancelMove(app), { message: 'there is no move of this database to cancel' })
    await move(app, { to: target })
    await assert.rejects(app.migrate(), { message: /^DATABASE_URL: the data was moved to / })
    await assert.rejects(cancelMove(app), { message: /^the data was moved to .* sixwire move --reopen/ })
    await assert.rejects(move(app, { to: await engine.freshUrl() }), { message: /^the data was moved to / })
    // There is no Retry-After: another try cannot succeed.
    await assert.rejects(addDocuments(app, 1), {
      code: 'UNAVAILABLE',
      message: /^The data of this server was moved to another database: /,
      retryAfter: undefined,
    })
    await cancelMove(app, { isMoved: true })
    await app.db.write(sql`delete from store_documents`)
    assert.equal(await countBooks(app), 0)
    await assert.rejects(move(app, { to: target }), {
      message: /holds data already: .*\. Nothing was changed$/,
    })
    await addDocuments(app, 1)
  })

  test('of two moves of one database the later one wins, and the other changes nothing', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await addDocuments(app, 1)
    const [first, second] = [await engine.freshUrl(), await engine.freshUrl()]
    const early = move(app, {
      to: first,
      whenClosed: async () => void (await move(app, { to: second })),
    })
    await assert.rejects(early, {
      message: /^the move was cancelled, or another command has taken it over\. This one changed nothing/,
    })
    await assert.rejects(addDocuments(app, 1), { code: 'UNAVAILABLE' })
    const db = await openDatabase(second)
    t.after(() => db.close())
    assert.equal(await countBooks({ db }), 1)
  })

  test('a move that is cancelled by another command opens nothing and moves nothing', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await addDocuments(app, 1)
    const target = await engine.freshUrl()
    await assert.rejects(move(app, { to: target, whenClosed: () => cancelMove(app) }), { code: 'CONFLICT' })
    await app.db.write(sql`update store_documents set version = 2`)
    assert.equal((await move(app, { to: target })).wasDone, false)
  })

  test('a move that is stopped lets writes in while others read', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await addDocuments(app, 1)
    const stop = new AbortController()
    await app.db.snapshot(async (snapshot) => {
      await snapshot.all(sql`select id from store_documents`)
      const moving = move(app, {
        to: await engine.freshUrl(),
        signal: stop.signal,
        whenClosed: async () => stop.abort(new Error('enough')),
      })
      await assert.rejects(moving, { message: 'enough' })
      await app.db.write(sql`update store_documents set version = 2`)
    })
  })

  test('a move whose rows are not the same in the other database changes nothing, and names the table', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await addDocuments(app, 3)
    const target = await engine.freshUrl()
    for (const [statement, message] of [
      [
        `delete from store_documents where id = 'book-1'`,
        /^store_documents has 3 rows, and 2 in the other database$/,
      ],
      [
        `update store_documents set owner = 'eve' where id = 'book-1'`,
        /^the rows of store_documents are not the same/,
      ],
    ] as const) {
      const spoiled = { store_counts: { after: { [engine.name]: [statement] } } }
      const tablesOf = async (dialect: App['db']['dialect']) => {
        const { migrations, copies } = await app.tablesOf(dialect)
        return { migrations, copies: { ...copies, ...spoiled } }
      }
      await assert.rejects(moveDatabase({ ...contextOf(app), tablesOf }, { ...NO_OPTIONS, to: target }), {
        message,
      })
      await app.db.write(sql`update store_documents set version = version + 1`)
    }
    assert.equal((await move(app, { to: target })).wasDone, false)
  })

  test('a table with rows that no wire has is refused, and stays behind open if it may', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await app.db.write(sql`create table notes_of_mine (id text)`)
    await app.db.write(sql`insert into notes_of_mine values ('a')`)
    const target = await engine.freshUrl()
    await assert.rejects(move(app, { to: target }), {
      message: /^the table notes_of_mine has rows, .*--leave notes_of_mine$/,
    })
    assert.deepEqual((await move(app, { to: target, leave: ['notes_of_mine'] })).stray, ['notes_of_mine'])
    await app.db.write(sql`insert into notes_of_mine values ('b')`)
  })

  test('numbers that were given to rows are not given again', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    const add = (db: App['db']) =>
      db.write(sql<{ id: number }>`
        insert into store_indexes (collection, fields, is_unique, by_owner, source, state, format, created_at)
        values ('books', '[]', ${sql.literal(db.dialect === 'sqlite' ? '0, 0' : 'false, false')}, 'automatic', 'dropped', 1, 0)
        returning id`)
    await add(app.db)
    const [last] = await add(app.db)
    await app.db.write(sql`delete from store_indexes`)
    const target = await engine.freshUrl()
    await move(app, { to: target })
    const db = await openDatabase(target)
    t.after(() => db.close())
    const [next] = await add(db)
    assert.ok(next!.id > last!.id, `${next!.id} after ${last!.id}`)
  })
})

test('a SQLite file that another program creates during the move is not replaced', async (t) => {
  const [folder, file] = [await temporaryFolder(t), join(await temporaryFolder(t), 'other.db')]
  const app = await openApplication(t, `sqlite:${join(folder, 'own.db')}`)
  await addDocuments(app, 1)
  const moving = move(app, { to: `sqlite:${file}`, whenClosed: () => writeFile(file, 'another program') })
  await assert.rejects(moving, { message: /other\.db holds data already/ })
  assert.equal(await readFile(file, 'utf8'), 'another program')
  await app.db.write(sql`update store_documents set version = 2`)
})

eachEngine((engine) => {
  // Of a source in a file, the limit would be too.
  if (engine.name === 'sqlite') return
  test('a move whose disk is full changes nothing, and says so in one line', async (t) => {
    const [source, folder] = [await engine.migratedUrl(), await temporaryFolder(t)]
    const { PATH, HOME } = process.env
    const [command, file] = ['ulimit -f 150; exec "$0" "$1" move --to "$2"', join(folder, 'new.db')]
    const moving = run('sh', ['-c', command, process.execPath, PROGRAM, `sqlite:${file}`], {
      cwd: folder,
      env: { PATH, HOME, DATABASE_URL: source, DATA_DIR: folder, SIXWIRE_SECRET: TEST_SECRET },
    })
    await assert.rejects(moving, {
      code: 1,
      stderr: `sixwire: ${file}: its disk is full: make room, and run it again. Nothing was changed\n`,
    })
    assert.deepEqual(await readdir(folder), [])
    const app = await openApplication(t, source)
    await addDocuments(app, 1)
  })
})
