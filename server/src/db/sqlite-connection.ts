import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'

import { BoundedMap } from '../base/bounded-map.ts'
import type { Row } from './database.ts'
import type { SqliteFunctions } from './sqlite-functions.ts'
import type { Use } from './sqlite-protocol.ts'
import { isBusy, sleep, SqliteWriteLock } from './sqlite-write-lock.ts'
import type { SqlScalar, Statement } from './sql.ts'

/** How long a statement waits for another program that writes to the file. */
export const BUSY_WAIT_MS = 5_000

const BUSY_PAUSE_MS = 5

const STATEMENTS_MAX = 256
// A statement of 120 KB takes 2 MB when it is prepared, and 15 ms to prepare.
const LONG_STATEMENT = 8_192
const LONG_STATEMENTS_MAX = 4
// SQLite plans with the value of a limit that is bound alone, so it prepares the statement again for each call.
const BOUND_LIMIT = /\blimit \?(?!\d)/g
const CHANGES_ROWS = /^\s*(?:insert|update|delete|replace|with)\b/i

// Beyond so many pages the log is copied into the file: a page of an index that changes many times meanwhile, only once.
const LOG_PAGES = 4000
// Scans and writes read most pages once; the operating system also caches the file.
const CACHE_KIB: Record<Use, number> = { reader: 4000, scanner: 1000, snapshot: 1000, writer: 2000 }
// Characters of the arguments that functions have had: a fraction of the heap of a thread.
const ARGUMENTS_MAX = 2_000_000
// What a call costs besides.
const CALL_LENGTH = 100

type PreparedStatement = { statement: StatementSync; columns: readonly string[]; changesRows: boolean }

const columnsOf = (statement: StatementSync): string[] => statement.columns().map(({ name }) => name)

// node:sqlite binds every number as a double: a text column would store it as `1.0`, and `/` would divide differently.
const bindable = (value: SqlScalar): SqlScalar => (Number.isSafeInteger(value) ? BigInt(value!) : value)

const listsOf = (rows: unknown): SqlScalar[][] => rows as SqlScalar[][]

// The engine's own objects have no prototype and take twice as long to make.
function rowOf(prepared: PreparedStatement, values: readonly SqlScalar[]): Row {
  // A migration may have added some since the statement was prepared.
  if (values.length !== prepared.columns.length) prepared.columns = columnsOf(prepared.statement)
  const { columns } = prepared
  const row: Row = {}
  for (let i = 0; i < columns.length; i++) row[columns[i]!] = values[i]!
  return row
}

/**
 * SQLite's own timeout does not cover this: if several processes open a new file at the same time, some get "locked" at
 * once (https://www.sqlite.org/c3ref/busy_handler.html, "might deadlock").
 */
function switchToWal(db: DatabaseSync): void {
  const until = performance.now() + BUSY_WAIT_MS
  for (;;)
    try {
      return db.exec('pragma journal_mode = wal')
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error
      sleep(BUSY_PAUSE_MS)
    }
}

/** One connection to the file, with its prepared statements. Lives in one thread; everything in it is synchronous. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #writeLock: SqliteWriteLock
  /** https://www.sqlite.org/pragma.html#pragma_data_version */
  readonly #revision: StatementSync
  readonly #prepared = new BoundedMap<string, PreparedStatement>(STATEMENTS_MAX)
  readonly #preparedLong = new BoundedMap<string, PreparedStatement>(LONG_STATEMENTS_MAX)
  #hasSnapshot = false
  /** Characters of arguments that Node keeps for the statement that runs. */
  #argumentsLength = 0
  #isGathering = false

  /** @param isStopped asked at every row of `sql.stoppable` */
  constructor(
    file: string,
    use: Use,
    functions: SqliteFunctions = {},
    isStopped: () => boolean = () => false,
  ) {
    this.#db = new DatabaseSync(file, { timeout: BUSY_WAIT_MS, enableForeignKeyConstraints: true })
    // WAL lets readers and the writer work at the same time; FULL makes every commit survive a power cut.
    switchToWal(this.#db)
    this.#db.exec(`
      pragma synchronous = full;
      pragma secure_delete = on;
      pragma cache_size = -${CACHE_KIB[use]};
      pragma journal_size_limit = 67108864;
      pragma wal_autocheckpoint = ${LOG_PAGES};
    `)
    if (use !== 'writer') this.#db.exec('pragma query_only = 1')
    this.#begin = this.#db.prepare('begin')
    this.#commit = this.#db.prepare('commit')
    this.#writeLock = new SqliteWriteLock(this.#db, file)
    this.#revision = this.#db.prepare('pragma data_version')
    // SQLite can't be interrupted from another thread, but an error of a function ends its statement.
    const refuseIfStopped = (): void => {
      if (isStopped()) throw new Error('this statement was stopped')
    }
    this.addFunction('sixwire_tick', () => {
      refuseIfStopped()
      return 1
    })
    this.addFunction('sixwire_pass', (matches) =>
      this.#isGathering && this.#argumentsLength > ARGUMENTS_MAX ? 1 : matches,
    )
    for (const [name, call] of Object.entries(functions)) {
      const own = call as (...values: SQLOutputValue[]) => SQLInputValue
      // One row may take many calls.
      const stoppable = (...values: SQLOutputValue[]): SQLInputValue => {
        refuseIfStopped()
        this.#argumentsLength += CALL_LENGTH
        for (const value of values) if (typeof value === 'string') this.#argumentsLength += value.length
        return own(...values)
      }
      // SQLite takes it as the number of arguments.
      Object.defineProperty(stoppable, 'length', { value: call.length })
      this.#db.function(name, { deterministic: true }, stoppable)
    }
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  /** Adds a function that SQLite calls for each row, and that no view or trigger may call. */
  addFunction(name: string, call: (...values: SQLOutputValue[]) => SQLInputValue): void {
    this.#db.function(name, { directOnly: true }, call)
  }

  /** Begins a transaction that writes, once no other process writes. */
  beginWrite(): void {
    this.#writeLock.begin()
  }

  commitWrite(): void {
    this.#writeLock.commit()
  }

  /** Runs SQL text of this program, without values. */
  exec(text: string): void {
    this.#db.exec(text)
  }

  /** The rows that the statement returns. If it has no columns: one empty row if it changed something. */
  run({ text, params, rows: each, gathered }: Statement): Row[] {
    if (gathered) return this.#runGathering(gathered, { text, params })
    const prepared = this.#prepare(text)
    const { statement } = prepared
    if (each) return this.#runEach(statement, each)
    const values = params.map(bindable)
    if (prepared.columns.length > 0)
      return listsOf(statement.all(...values)).map((row) => rowOf(prepared, row))
    const { changes } = statement.run(...values)
    return prepared.changesRows && changes !== 0 ? [{}] : []
  }

  #runGathering({ text, params, most }: NonNullable<Statement['gathered']>, statement: Statement): Row[] {
    const rows = this.#db.prepare(text)
    rows.setReturnArrays(true)
    // As numbers, those beyond 2^53 could not be read.
    rows.setReadBigInts(true)
    const columns = columnsOf(rows).slice(0, -1)
    const isSnapshot = this.inTransaction
    try {
      // One transaction, so that both statements see the same moment; its end also drops the table.
      if (!isSnapshot) this.#db.exec('begin')
      this.#db.exec(`pragma query_only = 0; create temp table gathered (${columns.join(', ')})`)
      this.#isGathering = true
      const insert = this.#db.prepare(`insert into gathered values (${columns.map(() => '?').join(', ')})`)
      let count = 0
      for (const row of rows.iterate(...params.map(bindable)) as Iterable<unknown> as Iterable<SqlScalar[]>) {
        this.#argumentsLength = 0
        if (row.pop()) {
          insert.run(...row)
          if (++count >= most) break
        }
      }
      return this.run(statement)
    } finally {
      this.#isGathering = false
      if (this.inTransaction && !isSnapshot) this.#db.exec('rollback')
      this.#db.exec('pragma query_only = 1')
    }
  }

  #runEach(statement: StatementSync, each: readonly SqlScalar[][]): Row[] {
    let changed = 0n
    for (const params of each) changed += BigInt(statement.run(...params.map(bindable)).changes)
    return changed > 0 ? [{}] : []
  }

  get({ text, params }: Statement): Row | undefined {
    const prepared = this.#prepare(text)
    const row = prepared.statement.get(...params.map(bindable)) as SqlScalar[] | undefined
    return row && rowOf(prepared, row)
  }

  /** Reads rows one by one, however many there are. */
  *iterate({ text, params }: Statement): Generator<SqlScalar[]> {
    // Not one of the prepared statements: to run that meanwhile would restart it.
    const statement = this.#db.prepare(text)
    statement.setReturnArrays(true)
    yield* statement.iterate(...params.map(bindable)) as Iterable<unknown> as Iterable<SqlScalar[]>
  }

  /** From now on every read sees what is committed now. */
  beginSnapshot(): void {
    if (this.#hasSnapshot) return
    this.#begin.run()
    this.#hasSnapshot = true
  }

  endSnapshot(): void {
    if (!this.#hasSnapshot) return
    this.#hasSnapshot = false
    // An error of the disk may have ended it already, and `commit` reports the fault of an earlier read once more.
    try {
      if (this.#db.isTransaction) this.#commit.run()
    } catch {
      if (this.inTransaction) this.exec('rollback')
    }
  }

  /** A number that changes when another connection, of this or any process, commits something. */
  revision(): number {
    return this.#revision.get()!['data_version'] as number
  }

  #prepare(text: string): PreparedStatement {
    const kept = text.length > LONG_STATEMENT ? this.#preparedLong : this.#prepared
    let prepared = kept.get(text)
    if (prepared === undefined) {
      const statement = this.#db.prepare(text.replaceAll(BOUND_LIMIT, 'limit cast(? as integer)'))
      statement.setReturnArrays(true)
      prepared = {
        statement,
        columns: columnsOf(statement),
        changesRows: CHANGES_ROWS.test(text),
      }
      kept.set(text, prepared)
    }
    return prepared
  }

  close(): void {
    this.endSnapshot()
    this.#prepared.clear()
    this.#preparedLong.clear()
    this.#db.close()
  }
}
