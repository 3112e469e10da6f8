import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createApp, type App } from '../../app.ts'
import { identifier, readCatalogue, type CatalogueColumn, type CatalogueTable } from '../../db/catalogue.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { testClock } from '../../testing/clock.ts'
import { eachEngine, temporaryFolder, type Ending, type Engine } from '../../testing/engines.ts'
import { TEST_SECRET } from '../../testing/templates.ts'
import { moveDatabase } from './move.ts'

/** An application with every wire, the sandbox among them, whose tables exist. */
async function openApplication(ending: Ending, databaseUrl: string): Promise<App> {
  const folder = await temporaryFolder(ending)
  const app = await createApp({
    environment: {
      DATABASE_URL: databaseUrl,
      DATA_DIR: folder,
      SIXWIRE_SECRET: TEST_SECRET,
      SIXWIRE_SANDBOX: 'on',
    },
    folder,
    logTo: { write: () => undefined },
  })
  ending.after(() => app.close())
  await app.migrate()
  return app
}

// Every other column is 1 or `one`, so that all keys that refer to another table find a row there.
const VALUES: Record<string, Record<string, Sql>> = {
  auth_mail_tokens: { purpose: sql`'reset'` },
  auth_text_codes: { purpose: sql`'phone'` },
  auth_users: { role: sql`'admin'` },
  messaging_messages: { call_state: sql`'over'`, status: sql`'queued'` },
  onchain_transactions: { status: sql`'pending'` },
  pay_calls: { kind: sql`'create'`, status: sql`'running'` },
  pay_events: { state: sql`'pending'` },
  pay_ledger: { kind: sql`'charge'` },
  pay_receipts: {
    amount: sql`'115792089237316195423570985008687907853269984665640564039457584007913129639935'`,
  },
  pay_sweeps: { status: sql`'waiting'` },
  pay_transactions: { status: sql`'pending'` },
  sandbox_mail: { verified: sql`1` },
  sandbox_phone_messages: { channel: sql`'sms'`, outcome: sql`'delivered'` },
  sandbox_webhooks: { status: sql`'held'` },
  sixwire_audit: { outcome: sql`'done'`, actor_kind: sql`'system'`, created_at: sql`9007199254740993` },
  sixwire_deliveries: { state: sql`'waiting'` },
  sixwire_jobs: { state: sql`'ready'` },
  sixwire_log: { kind: sql`'request'` },
  store_backups: { kind: sql`'manual'`, status: sql`'completed'` },
  store_changes: { old: sql`jsonb('{"_id":"one","n":1.50}')` },
  store_documents: {
    doc: sql`jsonb('{"_id":"one","n":1.50,"big":12345678901234567890,"text":"\\t\\n \\u0001 \\\\ 😀 ''"}')`,
    index_set: sql`0`,
  },
  store_entries: { key: sql`x'00ff105c'` },
  store_files: { metadata: sql`'{"b":1.0}'` },
  store_indexes: { source: sql`'declared'`, state: sql`'ready'`, is_search: sql`0` },
  store_restores: { status: sql`'failed'` },
  store_unclaimed: { storage: sql`'uploads'`, state: sql`'writing'` },
}

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

// Triggers fill the others.
const NOT_FILLED = [
  'sixwire_migrations',
  'sixwire_moves',
  'auth_user_places',
  'sixwire_facet_counts',
  'sixwire_counts',
  'store_counts',
  'store_usage',
]

/** Those of SQLite that hold rows of their own. */
const tablesOf = async (db: Database): Promise<Map<string, CatalogueTable>> =>
  new Map([...(await readCatalogue(db, 'sqlite'))].filter(([, { isVirtual }]) => !isVirtual))

/** Puts a row into each table of SQLite that is empty. */
async function fill(db: Database): Promise<void> {
  const waiting = await tablesOf(db)
  while (waiting.size > 0)
    for (const { name, columns, references } of waiting.values()) {
      if (references.some((other) => waiting.has(other))) continue
      waiting.delete(name)
      if (NOT_FILLED.includes(name)) continue
      const written = columns.filter(({ isGenerated }) => !isGenerated)
      const valueOf = (column: CatalogueColumn): Sql =>
        VALUES[name]?.[column.name] ?? (column.kind === 'text' ? sql`'one'` : sql`1`)
      await db.write(sql`
        insert into ${sql.literal(identifier(name))}
          (${sql.literal(written.map((one) => identifier(one.name)).join(', '))})
        values (${sql.join(written.map(valueOf))}) on conflict do nothing`)
    }
}

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
