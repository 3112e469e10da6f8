import type pg from 'pg'

import { errors } from '../base/errors.ts'
import { errorOf, kindOf, type Kind } from './postgres-faults.ts'
import type { Statement } from './sql.ts'

const NAMED_STATEMENTS = 500

/** Statements that come again keep a name, under which the server remembers their plan. */
export class StatementNames {
  readonly #names = new Map<string, string>()
  #made = 0

  of({ text, params }: Statement): pg.QueryConfig {
    let name = this.#names.get(text)
    if (name === undefined && this.#names.size < NAMED_STATEMENTS) {
      name = `s${this.#made++}`
      this.#names.set(text, name)
    }
    return name === undefined ? { text, values: params } : { name, text, values: params }
  }

  /** The next time the statement is planned anew, on every connection. */
  forget(text: string): void {
    this.#names.delete(text)
  }
}

/** A connection out of the pool for one use, which remembers what went wrong with it. */
export class Session {
  readonly #pool: pg.Pool
  readonly #names: StatementNames
  #client: pg.PoolClient | undefined
  #spoilt = false
  /** What the first fault means; undefined where there was none. */
  fault: Kind | undefined
  /** Whether anything was sent that could have had an effect without a `commit`. */
  sent = false

  constructor(pool: pg.Pool, names: StatementNames) {
    this.#pool = pool
    this.#names = names
  }

  async open(): Promise<void> {
    try {
      this.#client = await this.#pool.connect()
    } catch (error) {
      this.fault = kindOf(error)
      throw errors.unavailable({ retryAfter: 1, cause: error })
    }
  }

  /** Rows of the statement; of one that returns none an empty row where it changed something. */
  async run<R>(statement: Statement): Promise<R[]> {
    const { rows, rowCount, fields } = await this.#query(this.#names.of(statement))
    if (fields.length > 0) return rows as R[]
    return rowCount ? [{} as R] : []
  }

  /** A statement that is not worth a name. */
  async runOnce<R>({ text, params }: Statement): Promise<R[]> {
    return (await this.#query({ text, values: params })).rows as R[]
  }

  /** `begin`, `commit` or `rollback`. */
  async control(text: string): Promise<void> {
    await this.#query({ text })
  }

  async #query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    this.sent = true
    try {
      return await this.#client!.query(query)
    } catch (error) {
      const kind = kindOf(error)
      this.fault ??= kind
      if (kind === 'lost' || kind === 'silent' || kind === 'stale') this.#spoilt = true
      if (kind === 'stale') this.#names.forget(query.text)
      throw errorOf(error)
    }
  }

  /** Whether the connection can still be asked something. */
  get usable(): boolean {
    return this.#client !== undefined && !this.#spoilt
  }

  /** Takes the connection out of use, with whatever the server still does on it. */
  spoil(): void {
    this.#spoilt = true
  }

  /** Gives the connection back, unless it is lost. */
  release(): void {
    this.#client?.release(this.#spoilt)
  }
}
