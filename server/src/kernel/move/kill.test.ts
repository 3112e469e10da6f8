// A move whose process is killed at any step: nothing is lost, nothing is there twice, and the same command finishes it.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createApp, type App } from '../../app.ts'
import { systemClock } from '../../base/clock.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine, temporaryFolder, type Ending } from '../../testing/engines.ts'
import { startScript, urlLiteral } from '../../testing/program.ts'
import { TEST_SECRET } from '../../testing/templates.ts'
import { cancelMove, moveDatabase, type Moved, type MoveOptions } from './move.ts'

const NO_OPTIONS = { drainMs: 0, signal: new AbortController().signal, onProgress: () => undefined }
const DOCUMENTS = 2_000

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
  import { moveDatabase } from ${urlLiteral('kernel/move/move.ts')}
  const [step, to] = process.argv.slice(2)
  const die = () => process.kill(process.pid, 'SIGKILL')
  const app = await createApp({ standIns: false, logTo: { write() {} } })
  await app.migrate()
  const db = new Proxy(app.db, {
    get(target, name) {
      const value = target[name]
      if (name !== 'write') return typeof value === 'function' ? value.bind(target) : value
      return async (query) => {
        const rows = await target.write(query)
        if (step === 'marked') die()
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
  test('a move that was cut off can be cancelled: the database takes writes again', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await addDocuments(app, 1)
    const target = await engine.freshUrl()
    await move(app, { to: target })
    await assert.rejects(addDocuments(app, 1), { code: 'UNAVAILABLE' })
    await cancelMove(contextOf(app))
    await app.db.write(sql`delete from store_documents`)
    assert.equal(await countBooks(app), 0)
    await assert.rejects(cancelMove(contextOf(app)), {
      message: 'there is no move of this database to cancel',
    })
    await assert.rejects(move(app, { to: target }), {
      message: /holds data already: .*\. Nothing was changed$/,
    })
    await addDocuments(app, 1)
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

  test('a table that no wire has stays behind, and is named', async (t) => {
    const app = await openApplication(t, await engine.migratedUrl())
    await app.db.write(sql`create table notes_of_mine (id text)`)
    assert.deepEqual((await move(app, { to: await engine.freshUrl() })).stray, ['notes_of_mine'])
  })
})
