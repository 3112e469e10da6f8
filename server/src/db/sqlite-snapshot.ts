import type { SnapshotConnection } from './snapshot.ts'
import { SqliteWorker } from './sqlite-worker.ts'
import type { Row, Sql } from './sql.ts'

// One piece is encoded while the other is used.
const PIECES_AHEAD = 2

/**
 * A thread with a read transaction. While it is open SQLite can append to the log (WAL), but not restart it, so the
 * log grows by what is written meanwhile. https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files
 */
export class SqliteSnapshot implements SnapshotConnection {
  readonly #worker: SqliteWorker
  #closing: Promise<void> | undefined

  /** @param functions addresses of modules of functions */
  constructor(file: string, functions: readonly string[]) {
    this.#worker = new SqliteWorker(file, 'snapshot', functions)
  }

  async begin(): Promise<void> {
    await this.#worker.askOne({ kind: 'exec', text: 'begin' })
    // A transaction sees the moment of its first read.
    await this.#worker.askOne({ kind: 'exec', text: 'select 1 from sqlite_schema' })
  }

  rows(query: Sql<unknown>): Promise<Row[]> {
    return this.#worker.askOne({ kind: 'single', statement: query.render('sqlite') })
  }

  async *lines(query: Sql<{ line: string }>): AsyncGenerator<Buffer> {
    await this.#worker.askOne({ kind: 'lines', statement: query.render('sqlite') })
    const ahead = Array.from({ length: PIECES_AHEAD }, () => this.#nextPiece())
    for (;;) {
      const piece = await ahead.shift()!
      if (!piece) return
      ahead.push(this.#nextPiece())
      yield piece
    }
  }

  #nextPiece(): Promise<Buffer | undefined> {
    const piece = this.#worker.askPiece()
    piece.catch(() => undefined) // nobody waits for those that are ahead if the first one fails
    return piece
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    // Otherwise the next write would have to copy all of the grown log into the file. A thread that is broken has ended
    // its transaction, and a checkpoint that cannot be made now is made by the writer.
    await this.#worker.ask({ kind: 'exec', text: 'rollback' }).catch(() => undefined)
    await this.#worker.ask({ kind: 'exec', text: 'pragma wal_checkpoint(passive)' }).catch(() => undefined)
    await this.#worker.close()
  }
}
