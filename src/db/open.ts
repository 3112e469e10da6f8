import { resolve } from 'node:path'

import type { Database } from './database.ts'
import { StartError } from '../base/start-error.ts'

/**
 * Opens the database that an address names.
 *
 * @param url `sqlite:path/to/file.db` or `postgres://user:password@host:port/name`
 * @throws StartError with the reason why it can't be opened
 */
export async function openDatabase(url: string): Promise<Database> {
  // Each engine is loaded only if it is used: this saves start time and memory.
  // `:memory:` is refused: each of the engine's connections would have its own database.
  const [, file] = /^sqlite:([^:].*)$/s.exec(url) ?? []
  if (file !== undefined) {
    const { SqliteDatabase } = await import('./sqlite.ts')
    return SqliteDatabase.open(resolve(file))
  }
  if (/^postgres(ql)?:\/\/./.test(url)) {
    const { PostgresDatabase } = await import('./postgres.ts')
    return PostgresDatabase.open(url)
  }
  throw new StartError(
    `DATABASE_URL: write sqlite:path/to/file.db or postgres://user:password@host:port/name`,
  )
}
