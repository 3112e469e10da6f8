import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { identifier } from '../../db/catalogue.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { testClock } from '../../testing/clock.ts'
import { eachEngine, type Engine } from '../../testing/engines.ts'
import { fill, openApplication, tablesOf } from './every-table.fixture.ts'
import { moveDatabase } from './move.ts'

// What concerns one process, one engine, or one database: its own log of changes, with a name of its own.
const OWN = [
  'sixwire_migrations',
  'sixwire_moves',
  'sixwire_processes',
  'sixwire_write_probe',
  'store_change_readers',
  'store_feed',
  'store_restored_documents',
  'store_restored_files',
  'store_search',
]

/** All rows of SQLite, by table: what is in the file, and not how a move reads it. */
async function rowsOf(db: Database): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {}
  for (const { name, columns } of (await tablesOf(db)).values()) {
    const texts = columns.map((one) => `quote(${identifier(one.name)}) as ${identifier(one.name)}`)
    const rows = await db.all(
      sql`select ${sql.literal(texts.join(', '))} from ${sql.literal(identifier(name))}`,
    )
    tables[name] = rows.map((row) => Object.values(row).join(' | ')).toSorted()
  }
  return tables
}

describe('a move', () => {
  const engines = {} as Record<Engine['name'], Engine>
  eachEngine((engine) => {
    engines[engine.name] = engine
    if (engine.name === 'sqlite') return
    test('from SQLite to PostgreSQL, from there to another one and back keeps a row in every table', async (t) => {
      const { sqlite, postgres } = engines
      let app = await openApplication(t, await sqlite.freshUrl())
      await fill(app.db)
      const before = await rowsOf(app.db)
      // A release that adds a table makes this fail until the table has a row here.
      assert.deepEqual(
        Object.entries(before).filter(([name, rows]) => rows.length === 0 && name !== 'sixwire_moves'),
        [],
      )
      for (const to of [sqlite, postgres, postgres, sqlite]) {
        const url = await to.freshUrl()
        const { stray, tables } = await moveDatabase(
          { db: app.db, clock: testClock(), tablesOf: (dialect) => app.tablesOf(dialect) },
          { to: url, drainMs: 0, signal: new AbortController().signal, onProgress: () => undefined },
        )
        assert.deepEqual(stray, [])
        assert.deepEqual(
          tables.filter(({ rows }) => rows === 0),
          [],
        )
        app = await openApplication(t, url)
      }
      const after = await rowsOf(app.db)
      for (const [name, rows] of Object.entries(before))
        if (!OWN.includes(name)) assert.deepEqual({ [name]: after[name] }, { [name]: rows })
    })
  })
})
