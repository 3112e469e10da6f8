import pg from 'pg'

import { StartError } from '../base/start-error.ts'
import { identifier } from './catalogue.ts'
import { withChecksum } from './migrations.ts'
import { failedMigration, migrationsTable } from './pending-migrations.ts'
import { connectLimitOf } from './postgres-connection.ts'
import { CopyIn } from './postgres-copy-in.ts'
import { FORMS, readLines, readRows } from './postgres-snapshot.ts'
import { types } from './postgres-values.ts'
import type { Row, Sql } from './sql.ts'
import { NotEmptyError, type LoadedRow, type LoadedTable, type TableLoader } from './table-loader.ts'

const PIECE_CHARACTERS = 65_536
const SYNTAX = /[\\\t\n\r]/g
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

// The whole load is one transaction, which may take long.
const BEGIN = `begin;
set local statement_timeout = 0;
set local lock_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
set local standard_conforming_strings = on;
set local synchronous_commit = on;
${FORMS}`

type TriggerRow = { table: string; name: string; mode: 'O' | 'A' }
type IndexRow = { name: string; definition: string }

/** Fills a database in one transaction: PostgreSQL undoes all of it if the process or the connection ends. */
export async function openPostgresLoader(url: string): Promise<TableLoader> {
  if (!URL.canParse(url) || new URL(url).hash !== '')
    throw new StartError(
      'this is not an address: write postgres://user:password@host:port/name, with special characters of the password in percent-encoding',
    )
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectLimitOf(url),
    application_name: 'sixwire move',
    keepAlive: true,
    types,
  })
  client.on('error', () => undefined) // what runs on it fails by itself
  const { hostname, port, pathname } = new URL(url)
  const place = `the database ${pathname.slice(1)} at ${hostname}:${port || '5432'}`
  try {
    await client.connect()
    await client.query(BEGIN)
    const { rows } = await client.query<{ encoding: string; found: string | null }>(
      "select current_setting('server_encoding') as encoding, to_regclass('sixwire_migrations')::text as found",
    )
    if (rows[0]!.encoding !== 'UTF8')
      throw new StartError(
        `${place} must be UTF8, and is ${rows[0]!.encoding}: create it with encoding 'UTF8' template template0`,
      )
    if (rows[0]!.found !== null) throw new NotEmptyError(place, 'name one without tables of Sixwire')
  } catch (error) {
    await client.end().catch(() => undefined)
    if (error instanceof StartError) throw error
    throw new StartError(
      `${place} can't be opened: ${(error as Error).message || (error as { code?: string }).code}`,
      {
        cause: error,
      },
    )
  }
  return createPostgresLoader(client, place)
}

function createPostgresLoader(client: pg.Client, place: string): TableLoader {
  let triggers: TriggerRow[] = []
  let indexes: IndexRow[] = []
  let isStripped = false

  async function run(statements: readonly string[]): Promise<void> {
    for (const text of statements) await client.query(text).catch(refused)
  }

  /** Nothing is committed whenever this is thrown. */
  function refused(error: unknown): never {
    throw new StartError(`${place} refused it: ${(error as Error).message}. Nothing was changed`, {
      cause: error,
    })
  }

  /** Takes triggers and indexes away. */
  async function strip(): Promise<void> {
    // Not those that are switched off already.
    triggers = (
      await client.query<TriggerRow>(`
        select c.relname as "table", t.tgname as name, t.tgenabled as mode from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = (select oid from pg_namespace where nspname = current_schema())
          and not t.tgisinternal and t.tgenabled in ('O', 'A') order by c.relname, t.tgname`)
    ).rows
    // What is indexed afterwards takes a fraction of the time.
    indexes = (
      await client.query<IndexRow>(`
        select i.relname as name, pg_get_indexdef(x.indexrelid) as definition
        from pg_index x join pg_class i on i.oid = x.indexrelid
        where i.relnamespace = (select oid from pg_namespace where nspname = current_schema())
          and not exists (select from pg_constraint c where c.conindid = x.indexrelid) order by i.relname`)
    ).rows
    await run([
      ...triggers.map(
        ({ table, name }) => `alter table ${identifier(table)} disable trigger ${identifier(name)}`,
      ),
      ...indexes.map(({ name }) => `drop index ${identifier(name)}`),
    ])
    isStripped = true
  }

  return {
    dialect: 'postgres',

    async migrate(migrations) {
      await run([migrationsTable])
      for (const migration of migrations.map(withChecksum)) {
        await client.query(migration.text).catch((error: unknown) => {
          throw failedMigration(migration, error)
        })
        await client.query(
          'insert into sixwire_migrations (wire, name, checksum, applied_at) values ($1, $2, $3, $4)',
          [migration.wire, migration.name, migration.checksum, Date.now()],
        )
      }
    },

    async load(table, rows) {
      if (!isStripped) await strip()
      await run([`delete from ${identifier(table.name)}`])
      const copy = new CopyIn(
        `copy ${identifier(table.name)} (${table.columns.map(identifier).join(', ')}) from stdin`,
        copyText(table, rows),
      )
      client.query(copy as unknown as pg.Submittable)
      await copy.done.catch((error: unknown) => {
        if (error instanceof pg.DatabaseError) refused(error)
        throw error
      })
    },

    run,

    all: async <R = Row>(query: Sql<R>) => (await readRows(client, query)) as R[],

    lines: (query) => readLines(client, query),

    async complete() {
      const { rows: views } = await client.query<{ name: string }>(
        'select matviewname as name from pg_matviews where schemaname = current_schema()',
      )
      await run([
        'set constraints all immediate', // else no later migration could alter a table
        ...indexes.map(({ definition }) => definition),
        ...triggers.map(
          ({ table, name, mode }) =>
            `alter table ${identifier(table)} enable ${mode === 'A' ? 'always' : ''} trigger ${identifier(name)}`,
        ),
        ...views.map(({ name }) => `refresh materialized view ${identifier(name)}`),
        'analyze',
      ])
    },

    // Whether it was done is open if the connection is lost.
    async commit() {
      await client.query('commit')
    },

    async close() {
      await client.end().catch(() => undefined) // undoes what is not committed
    },
  }
}

/** Rows in the text format of `copy`: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS */
async function* copyText(
  { columns, bytes }: LoadedTable,
  rows: AsyncIterable<readonly LoadedRow[]>,
): AsyncGenerator<Buffer> {
  const prefixes = columns.map((name) => (bytes.has(name) ? String.raw`\\x` : ''))
  let text = ''
  for await (const some of rows)
    for (const row of some) {
      for (let at = 0; at < row.length; at++) {
        if (at > 0) text += '\t'
        const value = row[at]!
        if (value === null) text += String.raw`\N`
        else if (typeof value === 'number') text += String(value)
        else text += prefixes[at]! + escaped(value)
      }
      text += '\n'
      if (text.length < PIECE_CHARACTERS) continue
      yield Buffer.from(text)
      text = ''
    }
  if (text !== '') yield Buffer.from(text)
}

const escaped = (value: string): string => value.replace(SYNTAX, (one) => ESCAPES[one]!)
