import type { ColumnKind } from '../../db/catalogue.ts'
import type { Dialect } from '../../db/sql.ts'

/**
 * How `sixwire move` copies a table that it can't copy column by column, because the engines keep it in other forms, or because
 * it concerns one process or one engine only. Of all other tables it copies every row and every column.
 */
export type TableCopy = {
  /** Whether no row is copied: the rows concern a process, or come from others. */
  isLeftOut?: true
  /** Whether servers go on writing it during a move. What they write then stays behind. */
  isOpen?: true
  /** The columns that are copied, with what they hold. Default: all that are not computed. */
  columns?: Readonly<Record<string, ColumnKind>>
  /** A query of those columns on each engine, whose rows are alike. Default: the table. */
  rows?: Readonly<Record<Dialect, string>>
  /** The insert of SQLite that takes the columns as `?1`, `?2` and so on. */
  sqliteInsert?: string
  /** Statements that an engine needs once all tables are filled, before its triggers and indexes are back. */
  after?: Readonly<Partial<Record<Dialect, readonly string[]>>>
}

/** How tables are copied, by their names. */
export type TableCopies = Readonly<Record<string, TableCopy>>
