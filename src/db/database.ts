import type { ApiError } from '../base/errors.ts'
import type { Dialect, Sql, SqlScalar } from './sql.ts'

/**
 * Columns come back as text, numbers or null, true and false as 1 and 0, and anything else as the text that the
 * engine writes. Reading an integer beyond 2^53 throws: cast it to text.
 */
export type Row = Record<string, SqlScalar>

/** A statement that must change or return at least one row; where it does not, nothing of its batch happens. */
export type RequiredRow = { readonly query: Sql; readonly otherwise: () => ApiError }

export type Step = Sql | RequiredRow

/** `query`, or nothing of the batch at all: then `otherwise` makes the error that is thrown. */
export const requireRow = (query: Sql, otherwise: () => ApiError): RequiredRow => ({ query, otherwise })

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
  get<R = Row>(query: Sql): Promise<R | undefined>
  all<R = Row>(query: Sql): Promise<R[]>
  write<R = Row>(query: Sql): Promise<R[]>
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
  get<R = Row>(query: Sql): Promise<R | undefined>

  /** A few rows, found by an index. */
  all<R = Row>(query: Sql): Promise<R[]>

  /** Rows of a query that may look at a whole table: runs where it stalls nobody, 30 s at most. */
  scan<R = Row>(query: Sql): Promise<R[]>

  /** One durable statement; answers the rows of its `returning`. Durable means: it survives a power cut once this resolves. */
  write<R = Row>(query: Sql): Promise<R[]>

  /**
   * Several statements, all or nothing, durable; answers the rows of each. On PostgreSQL each statement sees what
   * others have committed until then, so a rule that must hold stands in the statement that depends on it.
   */
  batch(steps: readonly Step[]): Promise<Row[][]>

  /**
   * Statements that need a program between them, as if no other ran at the same time. Holds the writer of SQLite,
   * so it must be short (10 s at most) and must never wait for anything outside; `write` and `batch` are better
   * wherever they do. On PostgreSQL it may run more than once (serialisation failures, lost connections),
   * so `work` must only touch the transaction. A refused statement dooms it, also where `work` catches the error.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>

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
