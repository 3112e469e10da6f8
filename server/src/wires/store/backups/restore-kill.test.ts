// A process that restores is killed between any two of its steps, beside a running server on the same database.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { someEngine, temporaryFolder, type Engine } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { startScript, urlLiteral } from '../../../testing/program.ts'
import { archiveOf, documentOf, entriesOf, sampleEntries } from './archive.fixture.ts'
import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { closeGateSql } from './restore-gate.ts'
import { insertSql } from './restore-rows.ts'
import { assertClean, fileOf, stateOf } from './restore.fixture.ts'

const SAMPLE = 2
const AT_ONCE = 4

/** A program that restores a file and stands still at its `step`th step; it prints how many it has taken. */
const program = (given: { url: string; dataDir: string; file: string; step: number }): string => `
  import { openDatabase } from ${urlLiteral('db/open.ts')}
  import { sql } from ${urlLiteral('db/sql.ts')}
  import { systemClock as clock } from ${urlLiteral('base/clock.ts')}
  import { createObjects } from ${urlLiteral('wires/store/objects/objects.ts')}
  import { openStorages } from ${urlLiteral('wires/store/objects/storages.ts')}
  import { createBackups } from ${urlLiteral('wires/store/backups/backups.ts')}
  import { createRestores } from ${urlLiteral('wires/store/backups/restore.ts')}
  import { createArchivedDefinitions } from ${urlLiteral('wires/store/documents/definition-changes/archived-definitions.ts')}
  import { createAudit } from ${urlLiteral('kernel/audit/audit.ts')}
  import { createIndexes } from ${urlLiteral('wires/store/documents/storage/indexes/indexes.ts')}
  const { url, dataDir, file, step } = ${JSON.stringify(given)}
  let steps = 0
  const pause = async () => {
    if (++steps !== step) return
    process.stdout.write('paused\\n')
    await new Promise((resolve) => process.stdin.resume().once('end', resolve))
  }
  const paused = (target, names) => new Proxy(target, {
    get(target, name) {
      const value = target[name]
      if (typeof value !== 'function') return value
      if (!names.includes(name)) return value.bind(target)
      return async (...given) => {
        await pause()
        if (name === 'transaction') given[0] = ((work) => (tx) => work(paused(tx, ['write', 'all'])))(given[0])
        const done = await value.apply(target, given)
        await pause()
        return done
      }
    },
  })
  const db = paused(await openDatabase(url), ['get', 'all', 'write', 'batch', 'transaction'])
  const log = { warn: console.error, error: console.error, info() {} }
  const storages = await openStorages({ clock, log, settings: { dataDir } }, { backups: {} })
  storages.uploads = paused(storages.uploads, ['write'])
  const context = { db, clock, log, audit: createAudit(clock), jobs: { every() {}, define: () => ({ enqueueSql: () => sql\`select 1\` }) }, processes: { id: 'p', onEnd() {} } }
  const objects = createObjects(context, { storages })
  const backups = createBackups(context, { objects })
  const indexes = createIndexes(context, { isByOwner: () => false, hasAutomatic: false })
  const definitions = createArchivedDefinitions(
    context,
    { stored: { refresh: async () => undefined }, versionJobs: { enqueueSql: () => sql\`select 1\` } },
    { configured: { policy: 'open', options: { collections: {}, user: {}, indexes: {} } } },
  )
  const restores = createRestores(context, { objects, backups, indexes, definitions })
  await restores.restore({ file })
  process.stdout.write('restored in ' + steps + ' steps\\n')
  process.exit(0)
`

const before = entriesOf({ books: [documentOf('"old":1'), documentOf('"old":2')], gone: [documentOf('')] }, [
  { id: newId(), owner: 'owner', name: 'old', bytes: Buffer.from('old bytes') },
])

/** Restores, killed at a step, or not at all (0). @returns how many steps there were */
async function restoreKilledAt(t: TestContext, engine: Engine, step: number): Promise<number> {
  const what = `killed at step ${step}`
  const dataDir = await temporaryFolder(t)
  const url = await engine.migratedUrl()
  const server = await startApp(t, engine, {
    databaseUrl: url,
    environment: { DATA_DIR: dataDir },
  })
  const { app, clock } = server
  const { token } = await server.register()
  const { restores } = app.service('store')
  await restores.restore({ file: await fileOf(t, await archiveOf(before)) })
  const old = await stateOf(app)
  const entries = sampleEntries()
  const file = await fileOf(t, await archiveOf(entries))

  const script = await startScript(t, program({ url, dataDir, file, step }))
  const [text, steps] = await script.until(/paused|restored in (\d+) steps/)
  // Reading goes on meanwhile.
  const list = await server.request('GET', '/store/books', { token })
  assert.equal(list.status, 200, what)
  await script.kill()

  const state = await stateOf(app)
  const isOld = state.documents.length === old.documents.length
  if (isOld) assert.deepEqual(state, old, what)
  else assert.equal(state.documents.length, 4, what)
  if (text !== 'paused') assert.ok(!isOld)

  // It can be written to again within the lease, and what was loaded is deleted.
  clock.advance(16_000)
  for (let tries = 0; ; tries++) {
    const { status } = await server.request('POST', '/store/books', { token, body: {} })
    if (status === 201) break
    assert.equal(status, 503, what)
    if (tries < 200) clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  // Objects that the process was writing belong to the garbage collector an hour later; so do those that a backup of it may read.
  clock.advance(7_200_000)
  await restores.recover()
  await assertClean(app, dataDir)
  // And the next restore works.
  await restores.restore({ file })
  assert.equal((await stateOf(app)).documents.length, 4, what)
  await assertClean(app, dataDir)
  await app.close()
  return Number(steps)
}

/** Restores, stopped at a step until others have taken it for dead and restored something else. */
async function restoreStoppedAt(t: TestContext, engine: Engine, step: number): Promise<string> {
  const what = `stopped at step ${step}`
  const dataDir = await temporaryFolder(t)
  const url = await engine.migratedUrl()
  const server = await startApp(t, engine, { databaseUrl: url, environment: { DATA_DIR: dataDir } })
  const { app, clock } = server
  const { token } = await server.register()
  const { restores } = app.service('store')
  await restores.restore({ file: await fileOf(t, await archiveOf(before)) })
  const file = await fileOf(t, await archiveOf(sampleEntries()))
  const later = await fileOf(t, await archiveOf(entriesOf({ later: [documentOf('"later":1')] })))
  const write = async () => (await server.request('POST', '/store/books', { token, body: {} })).status

  const script = await startScript(t, program({ url, dataDir, file, step }))
  const [text] = await script.until(/paused|restored in/)
  // How many steps there are differs, as some are taken at once.
  if (text !== 'paused') return `${step}: not reached`
  script.signal('SIGSTOP')
  clock.advance(16_000)
  let isLocked = true
  for (let tries = 0; isLocked && tries < 5; tries++) {
    const status = await Promise.race([
      restores.recover().then(write, () => 503),
      new Promise<number>((resolve) => setTimeout(resolve, 2_000, 503)),
    ])
    isLocked = status !== 201
    clock.advance(1_000)
  }
  if (!isLocked) await restores.restore({ file: later })
  const state = await stateOf(app)
  // The gate of a restore that began since is not its own.
  const next = newId()
  if (!isLocked) {
    await app.db.write(insertSql(next, 'a file', { now: clock.now(), process: 'p' }))
    await app.db.batch(closeGateSql[app.db.dialect])
  }
  script.signal('SIGCONT')
  script.endInput()
  const code = await script.ended
  if (isLocked) {
    const rows = await app.db.scan<{ collection: string }>(sql`
      select distinct collection from store_documents where collection in ('gone', 'Books')`)
    assert.equal(rows.length, 1, what)
  } else {
    assert.deepEqual(await stateOf(app), state, what)
    if (await app.db.get(sql`select id from store_restores where id = ${next} and status = 'running'`))
      assert.equal(await write(), 503, what)
  }
  clock.advance(16_000)
  for (let tries = 0; (await write()) !== 201; tries++) {
    assert.ok(tries < 200, what)
    clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  clock.advance(7_200_000)
  await restores.recover()
  await app.service('store').backups.failLapsed()
  await assertClean(app, dataDir)
  await app.close()
  return `${step}: ${isLocked ? 'locked' : 'recovered'}, ${String(code)}`
}

someEngine((engine) => {
  test('a restore that stands still and goes on later changes nothing', { skip: !isLongRun }, async (t) => {
    const steps = Array.from({ length: await restoreKilledAt(t, engine, 0) }, (_, at) => at + 1).values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const step of steps) t.diagnostic(await restoreStoppedAt(t, engine, step))
      }),
    )
  })

  test('a restore that is killed leaves the old state or the new one, and the store can be written', async (t) => {
    const count = await restoreKilledAt(t, engine, 0)
    assert.ok(count > 20, `${count} steps`)
    const all = Array.from({ length: count }, (_, at) => at + 1)
    const steps = isLongRun ? all : all.toSorted(() => Math.random() - 0.5).slice(0, SAMPLE)
    t.diagnostic(`killed at the steps ${steps.join()} of ${count}`)
    const next = steps.values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const step of next) await restoreKilledAt(t, engine, step)
      }),
    )
  })
})
