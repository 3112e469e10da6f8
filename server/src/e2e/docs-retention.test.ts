import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { startApp } from '../testing/app.ts'
import { eachEngine } from '../testing/engines.ts'

const SECTION = /^## What grows, and what is deleted when\n(.*?)^## /ms

eachEngine((engine) => {
  test('docs/operations.md says of every table what it holds and when that is deleted', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    await startApp(t, engine, { databaseUrl, sandbox: true })
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const rows = await db.all<{ name: string }>(
      engine.name === 'sqlite'
        ? // Without SQLite's own tables and those that it makes for a virtual one.
          sql`select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual') and name not like 'sqlite%'`
        : sql`select tablename as name from pg_tables where schemaname = current_schema()`,
    )
    const names = new Set(rows.map(({ name }) => name))
    assert.ok(names.has('sandbox_mail') && names.has('store_documents'))
    const page = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
    const listed = new Set(
      Array.from(SECTION.exec(page)![1]!.matchAll(/`([a-z]+_\w+)`/g), ([, name]) => name!),
    )
    assert.deepEqual(
      [...names].filter((name) => !listed.has(name)),
      [],
      'add these tables to docs/operations.md',
    )
  })
})
