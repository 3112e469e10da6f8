import { StartError } from '../base/start-error.ts'
import type { Migration, Snapshot } from './database.ts'
import type { Dialect } from './sql.ts'

/** A table that is filled. Bytes come as hexadecimal text, integers as text. */
export type LoadedTable = {
  readonly name: string
  readonly columns: readonly string[]
  /** Those that hold bytes. */
  readonly bytes: ReadonlySet<string>
  /** The statement of SQLite that takes the columns as `?1`, `?2` and so on, where a plain insert does not do it. */
  readonly sqliteInsert?: string | undefined
}

/** The values of a row, in the order of the columns. */
export type LoadedRow = readonly (string | number | null)[]

/**
 * A new database that is filled with the rows of another one, and is there once all of it is: nobody sees it before
 * `commit`, and nothing is left of it if the process ends before. Triggers do not run for what is loaded, and foreign keys
 * are checked at the end at the latest.
 */
export type TableLoader = Pick<Snapshot, 'all' | 'lines'> & {
  readonly dialect: Dialect

  /** Creates the tables. To be called first, and again for later migrations once all is complete. */
  migrate(migrations: readonly Migration[]): Promise<void>

  /** Replaces what is in a table. Triggers and indexes are away from the first one on. */
  load(table: LoadedTable, rows: AsyncIterable<readonly LoadedRow[]>): Promise<void>

  /** Runs statements of this program. */
  run(statements: readonly string[]): Promise<void>

  /** Puts triggers and indexes back, and checks the foreign keys. To be called once all is loaded. */
  complete(): Promise<void>

  /** Makes the database what its address names, durably. */
  commit(): Promise<void>

  /** Ends it; what is not committed is gone. */
  close(): Promise<void>
}

/** The error for a database that is not empty. */
export class NotEmptyError extends StartError {
  constructor(place: string, remedy: string) {
    super(`${place} holds data already: ${remedy}. Nothing was changed`)
  }
}
