import type { ApiError } from '../base/errors.ts'
import { Sql, type Dialect, type Row } from './sql.ts'

export type { Row }

/** A statement of a batch with what else belongs to it. */
export type StepWith<R = Row> = {
  readonly query: Sql<R>
  /** Makes the error that is thrown if the statement changes and returns no row; nothing of the batch is kept then. */
  readonly otherwise?: () => ApiError
  /** Called once the batch or transaction is committed, and not at all if it is rolled back. Must not throw. */
  readonly committed?: () => void
}

export type Step<R = Row> = Sql<R> | StepWith<R>

/** Steps, and lists of steps, whose rows are answered as a list of lists. */
export type Steps = readonly (Step | readonly Step[])[]

/** The rows of each step of a batch, in the batch's own shape. */
export type BatchRows<S extends Steps> = {
  -readonly [K in keyof S]: S[K] extends readonly Step<infer R>[]
    ? R[][]
    : S[K] extends Step<infer R>
      ? R[]
      : never
}

/**
 * A statement that must change or return at least one row.
 *
 * @param otherwise makes the error that is thrown if it does not; nothing of its batch is kept then
 */
export const requireRow = <R>(step: Step<R>, otherwise: () => ApiError): StepWith<R> => ({
  ...withParts(step),
  otherwise,
})

/** Calls `committed` once the statement's batch or transaction is committed; `committed` must not throw. */
export const afterCommit = <R>(step: Step<R>, committed: () => void): StepWith<R> => ({
  ...withParts(step),
  committed,
})

/** A step in its long form. */
export const withParts = <R>(step: Step<R>): StepWith<R> => (step instanceof Sql ? { query: step } : step)

/** A statement broke a rule that the tables keep. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'foreign_key' | 'check' | 'not_null'
  constructor(kind: ConstraintError['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConstraintError'
    this.kind = kind
  }
}

/** What can be done inside an interactive transaction. */
export type Transaction = {
  readonly dialect: Dialect
  get<R = Row>(query: Sql<R>): Promise<R | undefined>
  all<R = Row>(query: Sql<R>): Promise<R[]>
  write<R = Row>(step: Step<R>): Promise<R[]>
}

export type TransactionOptions = {
  /**
   * What of others' commits a transaction sees on PostgreSQL; SQLite always runs one at a time, as `serializable` does.
   * https://www.postgresql.org/docs/current/transaction-iso.html
   */
  readonly isolation?: 'serializable' | 'repeatable read' | 'read committed'
}

/**
 * The database, the same whichever engine is behind it.
 * Anything may throw `unavailable` (503) while the engine is out of reach, `validation_error` (400) for text that
 * can't be kept (U+0000, half of a surrogate pair), and `ConstraintError`.
 * After `unavailable` a write may have happened where the connection was lost; it is never repeated by itself then.
 * `get`, `all` and `scan` only read.
 */
export type Database = {
  readonly dialect: Dialect

  /** One row, found by an index. */
  get<R = Row>(query: Sql<R>): Promise<R | undefined>

  /** A few rows, found by an index. */
  all<R = Row>(query: Sql<R>): Promise<R[]>

  /** Rows of a query that may look at a whole table: runs where it stalls nobody, 30 s at most. */
  scan<R = Row>(query: Sql<R>): Promise<R[]>

  /** One durable statement; answers the rows of its `returning`. Durable means: it survives a power cut once this resolves. */
  write<R = Row>(query: Sql<R>): Promise<R[]>

  /**
   * Several statements, all or nothing, durable; answers the rows of each, in the shape in which they are given:
   * `const [users, [], rest] = await db.batch([insertUser, [], steps])`. On PostgreSQL each statement sees what
   * others have committed until then, so a rule that must hold stands in the statement that depends on it.
   */
  batch<const S extends Steps>(steps: S): Promise<BatchRows<S>>

  /**
   * Statements that need a program between them, as if no other ran at the same time. Holds the writer of SQLite,
   * so it must be short (10 s at most) and must never wait for anything outside; `write` and `batch` are better
   * wherever they do. On PostgreSQL it may run more than once (serialisation failures, lost connections),
   * so `work` must only touch the transaction. A refused statement dooms it, also where `work` catches the error.
   *
   * @param options.isolation `serializable` unless it says otherwise; under the others a rule that must hold stands
   *   in one statement, or in rows that are locked (`sql.forUpdate`)
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>

  /**
   * A number that is another one whenever something was committed, for what is remembered of earlier reads:
   * what this process has committed shows at once, what another has shows from the next turn of the event loop on.
   * Undefined where only a query could tell.
   */
  revision(): number | undefined

  /** Resolves when the engine answers. */
  ping(): Promise<void>

  /** Brings the tables up to what the program needs; see `migrations.ts`. */
  migrate(migrations: readonly Migration[]): Promise<void>

  /** Waits for what runs, then lets go of files and connections. */
  close(): Promise<void>
}

/** A step of a wire's tables, in the words of one engine. */
export type Migration = { wire: string; name: string; text: string }
