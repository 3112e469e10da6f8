import { resolve } from 'node:path'

import type { Database } from './database.ts'
import { StartError } from './migrations.ts'

/**
 * Opens the database that an address names.
 *
 * @param url `sqlite:path/to/file.db` or `postgres://user:password@host:port/name`
 * @throws StartError with the one line that says why it can't be opened
 */
export async function openDatabase(url: string): Promise<Database> {
  // Each engine is loaded only where it is used: it saves start time and memory.
  if (url.startsWith('sqlite:')) {
    const { SqliteDatabase } = await import('./sqlite.ts')
    return SqliteDatabase.open(resolve(url.slice('sqlite:'.length)))
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { PostgresDatabase } = await import('./postgres.ts')
    return PostgresDatabase.open(url)
  }
  throw new StartError(
    `DATABASE_URL: write sqlite:path/to/file.db or postgres://user:password@host:port/name`,
  )
}
