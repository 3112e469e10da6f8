import { resolve } from 'node:path'

import type { Database } from './database.ts'
import { StartError } from '../base/start-error.ts'
import type { TableLoader } from './table-loader.ts'

export type DatabaseOptions = {
  /**
   * Modules of functions for SQL on SQLite, which `get`, `all`, `scan` and snapshots may call, and writes may not. Each
   * exports `functions`: an object of deterministic functions by their names. Every thread that reads loads them.
   */
  readonly sqliteFunctions?: readonly URL[]
}

/** The file that an address of SQLite names; undefined for PostgreSQL. */
export function sqliteFileOf(url: string): string | undefined {
  // `:memory:` is refused: each of the engine's connections would have its own database.
  const [, file] = /^sqlite:([^:].*)$/s.exec(url) ?? []
  return file === undefined ? undefined : resolve(file)
}

/**
 * Opens the database that an address names.
 *
 * @param url `sqlite:path/to/file.db` or `postgres://user:password@host:port/name`
 * @throws StartError with the reason why it can't be opened
 */
export async function openDatabase(
  url: string,
  { sqliteFunctions = [] }: DatabaseOptions = {},
): Promise<Database> {
  // Each engine is loaded only if it is used: this saves start time and memory.
  const file = sqliteFileOf(url)
  if (file !== undefined) {
    const { SqliteDatabase } = await import('./sqlite.ts')
    return SqliteDatabase.open(
      file,
      sqliteFunctions.map(({ href }) => href),
    )
  }
  if (/^postgres(ql)?:\/\/./.test(url)) {
    const { PostgresDatabase } = await import('./postgres.ts')
    return PostgresDatabase.open(url)
  }
  throw new StartError(
    `DATABASE_URL: write sqlite:path/to/file.db or postgres://user:password@host:port/name`,
  )
}

/**
 * Begins a new database.
 *
 * @param url as `openDatabase` takes it
 * @throws StartError if there is a database with tables of Sixwire already, or none can be made there
 */
export async function openTableLoader(url: string): Promise<TableLoader> {
  const file = sqliteFileOf(url)
  if (file !== undefined) return (await import('./sqlite-loader.ts')).openSqliteLoader(file)
  if (/^postgres(ql)?:\/\/./.test(url)) return (await import('./postgres-loader.ts')).openPostgresLoader(url)
  throw new StartError(`--to: write sqlite:path/to/file.db or postgres://user:password@host:port/name`)
}
