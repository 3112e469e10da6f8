import type { Sql, SqlScalar } from '../../../../db/sql.ts'
import type { Path } from '../language/query/path.ts'
import type { ZoneOffsets } from '../../../../base/zone-offsets.ts'

/** Columns of rows that are made one after the other: those of a stage are made of those of the stages before it. */
export type Stages = readonly (readonly (readonly [name: string, value: Sql])[])[]

/** How an engine reads the values of documents, rows `d` of store_documents, and computes with them. */
export type AggregateEngine = {
  /**
   * The value at a path, which is equal to another one, smaller or larger, as MongoDB has it for values of all types; null for
   * null and for a missing one. Objects and arrays compare by their JSON. A path leads through objects only.
   */
  readonly key: (path: Path) => Sql
  /** A key as it is answered, see `valueOf`. */
  readonly shownKey: (key: Sql) => Sql
  /** Ends a query of one stage, of which the next one is made, so that a value is computed once. */
  readonly fence: Sql
  /** What is needed to add up the numbers of a field, from row `d` on. @param n tells the columns from those of other fields */
  readonly numberStages: (path: Path, n: number) => Stages
  /** The number of numbers. */
  readonly numbers: (n: number) => Sql
  /** The sum of the numbers, as text: see `sumOf`. */
  readonly sum: (n: number) => Sql
  readonly sumOf: (text: SqlScalar | undefined) => number
  /** The text at a path; null for all other values. */
  readonly text: (path: Path) => Sql
  /**
   * The moment that a text names, a day or a time with its offset, in seconds since the first of March of the year 0; null for
   * any other text. A day that its month does not have is one of the next month, as for `Date.parse`.
   */
  readonly moment: (text: Sql) => Sql
  /** The offset of a zone at a moment. */
  readonly offset: (moment: Sql, zone: ZoneOffsets) => Sql
  /** The month of a day, as `202605`. */
  readonly month: (day: Sql) => Sql
}
