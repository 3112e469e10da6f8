import type { ColumnKind } from '../../db/catalogue.ts'
import type { Row, Snapshot } from '../../db/database.ts'
import type { Dialect } from '../../db/sql.ts'
import type { Progress } from '../../base/progress.ts'

/** A table whose rows `sixwire export --all` writes, each as a line of JSON. */
export type RowExport = {
  readonly table: string
  /** The file, without its ending. Default: by the name of the table: `pay/ledger` for `pay_ledger`. */
  readonly file?: string
  /** What a line is, for the README of the export. */
  readonly about: string
  /** Columns with hashes and keys: they are written with `--secrets` only. Sealed ones need not be named. */
  readonly secrets?: readonly string[]
  /** Columns that are never written, because they say nothing outside of this program. */
  readonly without?: readonly string[]
  /** Columns that hold JSON. */
  readonly json?: readonly string[]
  /** Columns whose fields have other names than theirs in camel case. */
  readonly names?: Readonly<Record<string, string>>
  /** More columns, each by an expression of SQL. */
  readonly also?: Readonly<
    Record<string, { readonly kind: ColumnKind; readonly sql: string | Readonly<Record<Dialect, string>> }>
  >
  /**
   * Makes the line of a row. Default: `plain`.
   *
   * @param row as a query reads it, its secrets too
   * @param plain its columns by their names in camel case: times in ISO 8601, flags as booleans, without nulls
   * @param hasSecrets whether hashes and keys are written
   */
  lineOf?(row: Row, plain: Row, hasSecrets: boolean): object | Promise<object>
}

/** A table whose rows are not written, and why. */
export type LeftOutTable = { readonly table: string; readonly isLeftOut: string }

export type TableExport = RowExport | LeftOutTable

/** Tables that are not written, for one reason. */
export const leftOut = (reason: string, tables: readonly string[]): readonly LeftOutTable[] =>
  tables.map((table) => ({ table, isLeftOut: reason }))

/** Where an export is written. */
export type ExportFolder = {
  /**
   * Writes a file.
   *
   * @param path with slashes
   * @param options.modifiedAt its time, in milliseconds since 1970
   */
  write(
    path: string,
    pieces: AsyncIterable<Buffer | string> | readonly string[],
    options?: { modifiedAt?: number },
  ): Promise<void>
}

/** What is written in another form than a file of rows. */
export type ExportForm = {
  /** The tables that it is made from. */
  readonly tables: readonly string[]
  /** What is written, for the README: each path, and what it is. */
  readonly about: Readonly<Record<string, string>>
  /** @returns a line for the operator for each record of which something is missing */
  write(
    folder: ExportFolder,
    snapshot: Snapshot,
    report: (progress: Progress) => void,
  ): Promise<readonly string[]>
}

/** What `sixwire export --all` writes of a wire. */
export type WireExport = {
  readonly tables: readonly TableExport[]
  readonly forms?: readonly ExportForm[]
}
