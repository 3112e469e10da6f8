import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openDatabase } from '../../db/open.ts'
import { stillClock } from '../../testing/clock.ts'
import { eachEngine } from '../../testing/engines.ts'
import { migrateWithLog } from './migrate-with-log.ts'

const TABLES = { wire: 'shop', name: '001-things', text: 'create table things (id text primary key)' }

// Both take some 200 ms.
const SLOW = {
  sqlite: `create table numbers as
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 200000)
    select i from n where sixwire_progress(1000000)`,
  postgres: 'select pg_sleep(0.2)',
}

eachEngine((engine) => {
  test('the log names a migration that takes long', async (t) => {
    const db = await openDatabase(await engine.freshUrl())
    t.after(() => db.close())
    const clock = stillClock()
    const lines: string[] = []
    const log = { info: (line: string) => void lines.push(line) }
    await migrateWithLog({ db, clock, log }, [TABLES])
    assert.deepEqual(lines, [], 'a new database is no news')

    const slow = { wire: 'shop', name: '002-slow', text: SLOW[engine.name] }
    // Once the migration runs, five seconds pass.
    let isRunning = false
    const passing: typeof db.migrate = (all, report) =>
      db.migrate(all, (progress) => {
        report?.(progress)
        if (isRunning || (engine.name === 'sqlite' && progress.percent === undefined)) return
        isRunning = true
        clock.advance(5_000)
      })
    await migrateWithLog({ db: { migrate: passing }, clock, log }, [TABLES, slow])
    const share = engine.name === 'sqlite' ? String.raw`, 1?\d % of the rows` : ''
    assert.equal(lines.length, 3, lines.join('\n'))
    assert.match(lines[0]!, /^bringing the tables up to date/)
    assert.match(
      lines[1]!,
      new RegExp(String.raw`^the migration shop/002-slow is running${share} \(5 s so far\)$`),
    )
    assert.match(lines[2]!, /^the tables are up to date \(5 s\)$/)

    await migrateWithLog({ db, clock, log }, [TABLES, slow])
    assert.equal(lines.length, 3, 'what is up to date is no news')
  })

  test('the log says that another process is migrating', async (t) => {
    const url = await engine.freshUrl()
    const [db, other] = [await openDatabase(url), await openDatabase(url)]
    t.after(() => Promise.all([db.close(), other.close()]))
    const clock = stillClock()
    const lines: string[] = []
    const log = { info: (line: string) => void lines.push(line) }
    const migrations = [TABLES, { wire: 'shop', name: '002-slow', text: SLOW[engine.name] }]
    await db.migrate([TABLES])
    const begun = Promise.withResolvers<void>()
    const migrated = other.migrate(migrations, () => begun.resolve())
    await begun.promise
    const waited = migrateWithLog({ db, clock, log }, migrations)
    clock.advance(5_000)
    await Promise.all([migrated, waited])
    assert.deepEqual(lines, [
      'waiting for the tables, which another process may be bringing up to date (5 s so far)',
      'the tables are up to date (5 s)',
    ])
  })
})
