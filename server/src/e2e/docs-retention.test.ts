import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readCatalogue } from '../db/catalogue.ts'
import { openDatabase } from '../db/open.ts'
import { startApp } from '../testing/app.ts'
import { eachEngine } from '../testing/engines.ts'
import { documentedTables } from './documented-tables.fixture.ts'

/** What only one engine has. */
const OF_AN_ENGINE = {
  sqlite: ['auth_user_places', 'auth_user_search', 'store_search_words'],
  postgres: ['sixwire_lanes'],
}

eachEngine((engine) => {
  test('docs/operations.md says of every table, once, what writes it and when that is deleted', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    await startApp(t, engine, { databaseUrl, sandbox: true })
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const others = OF_AN_ENGINE[engine.name === 'sqlite' ? 'postgres' : 'sqlite']
    const rows = await documentedTables()
    const listed = rows.flatMap(({ tables }) => tables).filter((name) => !others.includes(name))
    assert.deepEqual(
      listed.toSorted(),
      [...(await readCatalogue(db, db.dialect)).keys()].toSorted(),
      'compare the tables of docs/operations.md',
    )
    for (const { tables, writtenBy, deleted } of rows)
      assert.ok(writtenBy !== '' && deleted !== '', `${tables.join()}: a cell is empty`)
  })
})
