import type { ApiError } from '../base/errors.ts'
import { Sql, type Dialect, type Row } from './sql.ts'

export type { Row }

/** A statement of a batch with a condition or a callback: see `requireRow` and `afterCommit`. */
export type StepWith<R = Row> = {
  readonly query: Sql<R>
  /** Makes the error to throw if the statement changes and returns no row; the batch is then rolled back. */
  readonly otherwise?: () => ApiError
  /** Called after the commit of the batch or transaction, never after a rollback. Must not throw. */
  readonly committed?: () => void
}

/** A statement of a batch. */
export type Step<R = Row> = Sql<R> | StepWith<R>

/** The steps of a batch; the rows of a nested list of steps are a list of lists. */
export type Steps = readonly (Step | readonly Step[])[]

/** The rows of each step of a batch, in the shape of the batch. */
export type BatchRows<S extends Steps> = {
  -readonly [K in keyof S]: S[K] extends readonly Step<infer R>[]
    ? R[][]
    : S[K] extends Step<infer R>
      ? R[]
      : never
}

/**
 * Makes a step that must change or return at least one row.
 *
 * @param otherwise makes the error to throw if it does not; the batch is then rolled back
 * @example
 * await db.batch([
 *   requireRow(
 *     sql`update accounts set points = points - ${points} where id = ${id} and points >= ${points} returning points`,
 *     () => errors.not_enough_points(),
 *   ),
 *   sql`insert into bookings (id, account_id, points) values (${recordId}, ${id}, ${points})`,
 * ])
 */
export const requireRow = <R>(step: Step<R>, otherwise: () => ApiError): StepWith<R> => ({
  ...withParts(step),
  otherwise,
})

/**
 * Makes a step with a callback for the commit of its batch or transaction. After a rollback it is not called.
 *
 * @param committed must not throw
 * @example
 * await db.batch([afterCommit(sql`delete from carts where id = ${id}`, () => cache.delete(id))])
 */
export const afterCommit = <R>(step: Step<R>, committed: () => void): StepWith<R> => ({
  ...withParts(step),
  committed,
})

/** A step as an object. */
export const withParts = <R>(step: Step<R>): StepWith<R> => (step instanceof Sql ? { query: step } : step)

/**
 * Thrown if a statement violates a constraint of a table, or if a trigger refuses it. A trigger refuses with
 * `raise(abort, 'text')` on SQLite and `raise exception 'text' using errcode = 'SX001'` on PostgreSQL; its text is the
 * message.
 */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'foreign_key' | 'check' | 'not_null' | 'trigger'
  /** Which statement of a batch it was, counted from 0 through nested lists; undefined outside of one, or at its commit. */
  step: number | undefined
  constructor(kind: ConstraintError['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConstraintError'
    this.kind = kind
  }
}

/** The statements of an interactive transaction. See `Database` for each of them. */
export type Transaction = {
  readonly dialect: Dialect
  get<R = Row>(query: Sql<R>): Promise<Readonly<R> | undefined>
  all<R = Row>(query: Sql<R>): Promise<readonly Readonly<R>[]>
  write<R = Row>(step: Step<R>): Promise<R[]>
}

export type TransactionOptions = {
  /**
   * The isolation level on PostgreSQL. SQLite runs one transaction at a time, which is `serializable`.
   * https://www.postgresql.org/docs/current/transaction-iso.html
   */
  readonly isolation?: 'serializable' | 'repeatable read' | 'read committed'
  /** How long the transaction, and any statement in it, may take, instead of 10 s. */
  readonly limitMs?: number
}

export type ScanOptions = {
  /**
   * For whom it runs, such as an account's id or a client's address: a caller that has scans running waits behind others.
   * Default: a caller of its own.
   */
  readonly caller?: string
  /** How long it may run before it is stopped, instead of 10 s. */
  readonly limitMs?: number
  /**
   * Stops it, for example because the client has disconnected; the scan then throws the signal's reason. Or a function that makes
   * it for a scan, where a signal costs something and others read without one.
   */
  readonly signal?: AbortSignal | (() => AbortSignal)
}

/** What a process has under way in its database. */
export type DatabaseLoad = {
  /** How many calls wait, by what for. */
  readonly waiting: Readonly<Record<string, number>>
  /** To a server, beside those of scans. */
  readonly connections?: { readonly used: number; readonly idle: number }
}

/** The reads of a snapshot, one after the other. */
export type Snapshot = {
  /** Reads one row; undefined if there is none. */
  get<R = Row>(query: Sql<R>): Promise<Readonly<R> | undefined>

  /** Reads rows, all of which are in memory at once. */
  all<R = Row>(query: Sql<R>): Promise<readonly Readonly<R>[]>

  /**
   * Reads the only column of a query, which must be text: the value of each row, followed by a line break, in UTF-8. The
   * bytes come in pieces of up to 128 KiB, of one larger line on SQLite in one piece, and are read no further ahead than a few
   * pieces. If not all of them are read, the snapshot ends.
   */
  lines(query: Sql<{ line: string }>): AsyncIterable<Buffer>
}

/**
 * The database, with the same behaviour on both engines. `get`, `all` and `scan` only read.
 *
 * All statements may throw UNAVAILABLE (503) if the engine cannot be reached, VALIDATION_ERROR (400) for text that
 * cannot be stored (U+0000, a lone surrogate), and `ConstraintError`. If the connection was lost during a write, it may
 * have been committed although it throws UNAVAILABLE; it is never repeated automatically.
 */
export type Database = {
  readonly dialect: Dialect

  /** What this process has under way. */
  load(): DatabaseLoad

  /** Whether a statement of this process has found a part of the file of SQLite damaged. */
  readonly isDamaged?: boolean

  /** Reads one row by an index; undefined if there is none. */
  get<R = Row>(query: Sql<R>): Promise<Readonly<R> | undefined>

  /** Reads a few rows by an index. Readers of the same rows may have the same objects. */
  all<R = Row>(query: Sql<R>): Promise<readonly Readonly<R>[]>

  /**
   * Reads rows with a query that may scan a whole table. It blocks no other work: scans have connections of their own and a
   * queue that is fair to callers. On SQLite only a query with `sql.stoppable` can be stopped; another one is answered at its
   * limit and runs to its end.
   *
   * @throws UNAVAILABLE also if too many scans wait, if it waited for 10 s, or if it was stopped at its limit
   */
  scan<R = Row>(query: Sql<R>, options?: ScanOptions): Promise<R[]>

  /**
   * Scans with two queries at once, which see the same moment, if no other scan runs or waits. Only on SQLite: PostgreSQL has
   * workers of its own.
   *
   * @returns undefined if they can't run at once: then scan in another way
   * @throws as `scan`
   */
  scanTogether?<R = Row>(
    queries: readonly [Sql<R>, Sql<R>],
    options?: ScanOptions,
  ): Promise<R[][] | undefined>

  /** Runs one statement and returns the rows of its `returning`. Once this resolves, the write survives a power cut. */
  write<R = Row>(query: Sql<R>): Promise<R[]>

  /**
   * Runs several statements, all or nothing, durably, and returns the rows of each in the shape of the batch. On
   * PostgreSQL each statement sees what others have committed until then, so a rule that must hold is a condition of
   * the statement that depends on it.
   *
   * @throws the error of a `requireRow` whose statement changed and returned no row
   * @example
   * const [[order]] = await db.batch([insertOrderSql, receipt.enqueueSql({ orderId })])
   */
  batch<const S extends Steps>(steps: S): Promise<BatchRows<S>>

  /**
   * Runs statements with code between them, isolated from others. Use `write` or `batch` if they are enough. On SQLite
   * it blocks all other writes, so it must be short (10 s at most, or `limitMs`) and must not wait for anything outside of the
   * database. On PostgreSQL `work` may run more than once (serialisation failures, lost connections), so it must change
   * nothing but the transaction. If a statement fails, the transaction is rolled back, even if `work` catches the error.
   *
   * @param options.isolation default `serializable`; with the others a rule that must hold is one statement, or needs
   *   locked rows (`sql.forUpdate`)
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>

  /**
   * Reads all tables as they are at one moment, while writes go on. It may take hours and blocks no other work, but the
   * engine keeps what is changed or deleted meanwhile: on SQLite the log (WAL) grows by all that is written, on PostgreSQL
   * `vacuum` removes nothing. A snapshot whose connection is lost fails.
   *
   * @example
   * await db.snapshot(async (snapshot) => {
   *   for await (const bytes of snapshot.lines(sql`select body as line from documents order by id`)) await send(bytes)
   * })
   */
  snapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T>

  /**
   * A number that changes with each commit, to invalidate caches of earlier reads. A commit of this process changes it
   * at once; one of another process changes it from the next turn of the event loop on. Undefined on engines that
   * would need a query for it.
   */
  revision(): number | undefined

  /**
   * Calls `heard` soon after each `notify` of the channel, of this process or another one, and now and then without: what is
   * announced must be in the database, where `heard` looks for it. On SQLite any commit of another process is heard.
   *
   * @param channel a constant of small letters and `_`
   * @param heard must not throw
   * @returns stops it
   */
  listen(channel: string, heard: () => void): () => void

  /** Announces on a channel what has been committed. Several calls in a few milliseconds are one announcement. */
  notify(channel: string): void

  /** Resolves when the engine answers. */
  ping(): Promise<void>

  /**
   * Runs the migrations that have not been applied; see `migrations.ts`.
   *
   * @param report called when one begins, unless the database is new, and as it goes on if that is known
   */
  migrate(migrations: readonly Migration[], report?: (progress: MigrationProgress) => void): Promise<void>

  /** Waits for running statements, then closes files and connections. */
  close(): Promise<void>
}

/** A migration of a wire, in the SQL of one engine. */
export type Migration = { wire: string; name: string; text: string }

/** A migration that is running. */
export type MigrationProgress = {
  /** Wire and name. */
  migration: string
  /** Of its rows, if it counts them: on SQLite by `where sixwire_progress(total)`. */
  percent?: number
}
