import { DatabaseSync, type StatementSync } from 'node:sqlite'

import { BoundedMap } from '../base/bounded-map.ts'
import type { Row } from './database.ts'
import type { Use } from './sqlite-protocol.ts'
import type { SqlScalar, Statement } from './sql.ts'

/** How long a statement waits for another program that writes to the file. */
export const BUSY_WAIT_MS = 5_000

const BUSY = 5
const BUSY_PAUSE_MS = 5

const STATEMENTS_KEPT = 256
const CHANGES_ROWS = /^\s*(?:insert|update|delete|replace|with)\b/i

// Scans and writes pass over most pages once; the system keeps the file in memory besides.
const CACHE_KIB: Record<Use, number> = { reader: 4000, scanner: 1000, writer: 2000 }
const BEGIN: Statement = { text: 'begin', params: [] }
const COMMIT: Statement = { text: 'commit', params: [] }
// https://www.sqlite.org/pragma.html#pragma_data_version
const REVISION: Statement = { text: 'pragma data_version', params: [] }

type Prepared = { statement: StatementSync; columns: readonly string[]; changesRows: boolean }

const columnsOf = (statement: StatementSync): string[] => statement.columns().map(({ name }) => name)

/** The names of the columns of a row; a migration may have added some since the statement was prepared. */
function namesOf(prepared: Prepared, row: readonly SqlScalar[] | undefined): readonly string[] {
  if (row && row.length !== prepared.columns.length) prepared.columns = columnsOf(prepared.statement)
  return prepared.columns
}

// node:sqlite binds every number as a double, which a column of text would keep as `1.0` and `/` would divide otherwise.
const bindable = (value: SqlScalar): SqlScalar => (Number.isSafeInteger(value) ? BigInt(value!) : value)

const listsOf = (rows: unknown): SqlScalar[][] => rows as SqlScalar[][]

// The engine's own objects have no prototype and take twice as long to make.
function rowOf(columns: readonly string[], values: readonly SqlScalar[]): Row {
  const row: Row = {}
  for (let i = 0; i < columns.length; i++) row[columns[i]!] = values[i]!
  return row
}

/**
 * SQLite's own waiting does not reach this: of several that open a new file at the same moment, it answers some at once
 * that the file is locked (https://www.sqlite.org/c3ref/busy_handler.html, "might deadlock").
 */
function goOverToWal(db: DatabaseSync): void {
  const until = performance.now() + BUSY_WAIT_MS
  for (;;)
    try {
      return db.exec('pragma journal_mode = wal')
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === BUSY
      if (!isBusy || performance.now() > until) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS)
    }
}

/** One connection to the file, with its prepared statements. Lives in one thread; everything in it is synchronous. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #prepared = new BoundedMap<string, Prepared>(STATEMENTS_KEPT)
  #viewing = false

  constructor(file: string, use: Use) {
    this.#db = new DatabaseSync(file, { timeout: BUSY_WAIT_MS, enableForeignKeyConstraints: true })
    // WAL lets readers and the writer work side by side; FULL makes every commit survive a power cut.
    goOverToWal(this.#db)
    this.#db.exec(`
      pragma synchronous = full;
      pragma cache_size = -${CACHE_KIB[use]};
      pragma journal_size_limit = 67108864;
    `)
    if (use !== 'writer') this.#db.exec('pragma query_only = 1')
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  /** Runs SQL of the program's own, without values. */
  exec(text: string): void {
    this.#db.exec(text)
  }

  /** Rows that the statement returns; of one that returns none an empty row where it changed something. */
  run({ text, params }: Statement): Row[] {
    const prepared = this.#prepare(text)
    const { statement } = prepared
    const values = params.map(bindable)
    if (prepared.columns.length > 0) {
      const rows = listsOf(statement.all(...values))
      const columns = namesOf(prepared, rows[0])
      return rows.map((row) => rowOf(columns, row))
    }
    const { changes } = statement.run(...values)
    return prepared.changesRows && changes !== 0 ? [{}] : []
  }

  get({ text, params }: Statement): Row | undefined {
    const prepared = this.#prepare(text)
    const row = prepared.statement.get(...params.map(bindable)) as SqlScalar[] | undefined
    return row && rowOf(namesOf(prepared, row), row)
  }

  /** Holds every read from now on to what is committed now. */
  beginView(): void {
    if (this.#viewing) return
    this.run(BEGIN)
    this.#viewing = true
  }

  endView(): void {
    if (!this.#viewing) return
    this.#viewing = false
    // An error of the disk may have ended it already.
    if (this.inTransaction) this.run(COMMIT)
  }

  /** Another number whenever another connection, of this or any process, has committed something. */
  revision(): number {
    return this.get(REVISION)!['data_version'] as number
  }

  #prepare(text: string): Prepared {
    let prepared = this.#prepared.get(text)
    if (prepared === undefined) {
      const statement = this.#db.prepare(text)
      statement.setReturnArrays(true)
      prepared = {
        statement,
        columns: columnsOf(statement),
        changesRows: CHANGES_ROWS.test(text),
      }
      this.#prepared.set(text, prepared)
    }
    return prepared
  }

  close(): void {
    this.endView()
    this.#prepared.clear()
    this.#db.close()
  }
}
