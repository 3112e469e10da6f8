import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { testClock } from '../../testing/clock.ts'
import { eachEngine, type Engine } from '../../testing/engines.ts'
import { fill, openApplication, OWN, rowsOf } from './every-table.fixture.ts'
import { moveDatabase } from './move.ts'

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
