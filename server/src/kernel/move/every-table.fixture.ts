// An installation with a row in every table: a release that adds one has its row here, or a test that asks for all fails.
import { createApp, type App, type Config } from '../../app.ts'
import { deriveKey } from '../../base/crypto.ts'
import { identifier, readCatalogue, type CatalogueColumn, type CatalogueTable } from '../../db/catalogue.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { temporaryFolder, type Ending } from '../../testing/engines.ts'
import { TEST_SECRET } from '../../testing/templates.ts'

/** An application with every wire, the sandbox among them, whose tables exist. */
export async function openApplication(
  ending: Ending,
  databaseUrl: string,
  config: Config = {},
): Promise<App> {
  const folder = await temporaryFolder(ending)
  const app = await createApp({
    config,
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
export const VALUES: Record<string, Record<string, Sql>> = {
  auth_mail_tokens: { purpose: sql`'reset'` },
  auth_text_codes: { purpose: sql`'phone'` },
  auth_users: { role: sql`'admin'`, metadata: sql`'{"n":1}'` },
  messaging_messages: {
    call_state: sql`'over'`,
    history: sql`'{"at":1,"event":"sent"}' || char(10)`,
    status: sql`'queued'`,
  },
  onchain_transactions: { fee: sql`'1'`, status: sql`'pending'`, value: sql`'1'` },
  pay_calls: { amount: sql`'1'`, kind: sql`'create'`, status: sql`'running'` },
  pay_events: { state: sql`'pending'` },
  pay_ledger: { amount: sql`'1'`, kind: sql`'charge'` },
  pay_receipts: {
    amount: sql`'115792089237316195423570985008687907853269984665640564039457584007913129639935'`,
  },
  pay_sweeps: { status: sql`'waiting'` },
  pay_sums: { kind: sql`'revenue'` },
  pay_transactions: {
    ...Object.fromEntries(
      ['amount', 'captured', 'refunded', 'reserved', 'disputed', 'lost', 'fee', 'net'].map((name) => [
        name,
        sql`'1'`,
      ]),
    ),
    metadata: sql`'{}'`,
    items: sql`'[]'`,
    buyer: sql`'{}'`,
    status: sql`'pending'`,
  },
  sandbox_mail: { verified: sql`1` },
  sandbox_phone_messages: { channel: sql`'sms'`, outcome: sql`'delivered'` },
  sandbox_webhooks: { status: sql`'held'` },
  // It is read at each start.
  sixwire_settings: { options: sql`${deriveKey(TEST_SECRET, 'settings').seal('{}')}`, changed: sql`'[]'` },
  sixwire_audit: { outcome: sql`'done'`, actor_kind: sql`'system'`, created_at: sql`9007199254740993` },
  sixwire_deliveries: { state: sql`'waiting'` },
  sixwire_exports: { state: sql`'running'` },
  sixwire_jobs: { state: sql`'ready'` },
  sixwire_log: { kind: sql`'request'` },
  store_backups: { kind: sql`'manual'`, status: sql`'completed'` },
  store_changes: { old: sql`jsonb('{"_id":"one","n":1.50}')` },
  store_collection_versions: { state: sql`'active'`, definition: sql`'{"read":"owner"}'` },
  store_document_changes: { state: sql`'failed'` },
  store_documents: {
    doc: sql`jsonb('{"_id":"one","n":1.50,"big":12345678901234567890,"text":"\\t\\n \\u0001 \\\\ 😀 ''"}')`,
    index_set: sql`0`,
  },
  store_entries: { key: sql`x'00ff105c'` },
  store_files: {
    metadata: sql`'{"b":1.0}'`,
    object: sql`'one'`,
    access: sql`'public'`,
    status: sql`'ready'`,
  },
  store_indexes: { source: sql`'declared'`, state: sql`'ready'`, is_search: sql`0` },
  store_restores: { status: sql`'failed'` },
  store_upload_links: {
    access: sql`'private'`,
    metadata: sql`'{}'`,
    owner_kind: sql`'user'`,
    types: sql`'["image/*"]'`,
  },
  store_uploads: { owner_kind: sql`'user'` },
  store_unclaimed: { storage: sql`'uploads'`, state: sql`'writing'` },
}

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
export const tablesOf = async (db: Database): Promise<Map<string, CatalogueTable>> =>
  new Map([...(await readCatalogue(db, 'sqlite'))].filter(([, { isVirtual }]) => !isVirtual))

/** Puts a row into each table of SQLite that is empty. */
export async function fill(db: Database): Promise<void> {
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

// What concerns one process, one engine, or one database: its own log of changes, with a name of its own.
export const OWN = [
  'sixwire_migrations',
  'sixwire_moves',
  'sixwire_processes',
  'sixwire_write_probe',
  'store_change_readers',
  'store_feed',
  'store_object_readers',
  'store_reservations',
  'store_restored_documents',
  'store_restored_files',
  'store_search',
  'store_upload_pieces',
  'store_uploads',
]

/** All rows of SQLite, by table: what is in the file, and not how a move reads it. */
export async function rowsOf(db: Database): Promise<Record<string, string[]>> {
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
