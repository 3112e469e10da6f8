import { DatabaseSync, type StatementSync } from 'node:sqlite'

import type { Row } from './database.ts'
import type { Statement } from './sql.ts'

const STATEMENTS_KEPT = 256

type Prepared = { statement: StatementSync; returnsRows: boolean }

/** One connection to the file, with its prepared statements. Lives in one thread; everything in it is synchronous. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #prepared = new Map<string, Prepared>()

  /** @param use a reader refuses every statement that would change something */
  constructor(file: string, use: 'reader' | 'writer') {
    this.#db = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true })
    // WAL lets readers and the writer work side by side; FULL makes every commit survive a power cut.
    this.#db.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma cache_size = -8000;
      pragma journal_size_limit = 67108864;
    `)
    if (use === 'reader') this.#db.exec('pragma query_only = 1')
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  /** Runs SQL of the program's own, without values. */
  exec(text: string): void {
    this.#db.exec(text)
  }

  /** Rows that the statement returns; of one that returns none, a row each for what it changed, empty. */
  run(query: Statement): Row[] {
    const { statement, returnsRows } = this.#prepare(query.text)
    if (returnsRows) return statement.all(...query.params) as Row[]
    const changes = Number(statement.run(...query.params).changes)
    return changes === 0 ? NO_ROWS : Array.from({ length: Math.min(changes, 1) }, () => ({}))
  }

  get(query: Statement): Row | undefined {
    return this.#prepare(query.text).statement.get(...query.params) as Row | undefined
  }

  #prepare(text: string): Prepared {
    let prepared = this.#prepared.get(text)
    if (prepared === undefined) {
      const statement = this.#db.prepare(text)
      prepared = { statement, returnsRows: statement.columns().length > 0 }
      if (this.#prepared.size >= STATEMENTS_KEPT) {
        const [oldest] = this.#prepared.keys()
        this.#prepared.delete(oldest!)
      }
      this.#prepared.set(text, prepared)
    }
    return prepared
  }

  close(): void {
    this.#prepared.clear()
    this.#db.close()
  }
}

const NO_ROWS: Row[] = []
