import type { Sql, SqlScalar } from '../../db/sql.ts'

/** Columns of rows that are made one after the other: those of a stage are made of those of the stages before it. */
export type Stages = readonly (readonly (readonly [name: string, value: Sql])[])[]

/** How the values of fields are read and computed with, `F` being a field. Most answer text, which is read in the process. */
export type AggregateEngine<F> = {
  /** A value that is equal to another one, smaller or larger; null for a missing one. */
  readonly key: (field: F) => Sql
  /** A key as it is answered, or the least or greatest of several. */
  readonly shownKey: (key: Sql, field: F) => Sql
  /** What is needed to add up the numbers of a field. @param n tells the columns from those of other fields */
  readonly numberStages: (field: F, n: number) => Stages
  /** The number of numbers. */
  readonly numbers: (n: number, field: F) => Sql
  /** The sum of the numbers, as text. */
  readonly sum: (n: number, field: F) => Sql
  /**
   * The moment of a time, in seconds since the first of March of the year 0, in the column `x` and `n` of the last stage; null
   * for what is no time.
   */
  readonly momentStages: (field: F, n: number) => Stages
}

/** How the values that an engine answers are read. */
export type AggregateReader<F, V> = {
  /** The value of a key. */
  readonly valueOf: (key: SqlScalar | undefined, field: F) => V
  readonly sumOf: (sum: SqlScalar | undefined, field: F) => V
  readonly averageOf: (sum: SqlScalar | undefined, numbers: number, field: F) => V
}
