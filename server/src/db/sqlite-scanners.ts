import { PendingPromises } from '../base/pending-promises.ts'
import type { Row } from './database.ts'
import { SCAN_PLACES } from './scan-queue.ts'
import type { SqliteWorker } from './sqlite-worker.ts'
import type { Statement } from './sql.ts'

// A thread holds 10 to 15 MB (docs/decisions/013-memory.md).
const UNUSED_MS = 30_000

/** The threads that scan. As many run as are needed at once; those that are not needed any more end, but for one. */
export class SqliteScanners {
  readonly #start: () => SqliteWorker
  readonly #unusedMs: number
  /** The one that was used last is at the end, and is used first. */
  readonly #idle: SqliteWorker[] = []
  /** How many at the beginning of `#idle` were not used since the timer began. */
  #unused = 0
  #busy = 0
  #timer: NodeJS.Timeout | undefined
  readonly #closing = new PendingPromises()

  constructor(start: () => SqliteWorker, unusedMs = UNUSED_MS) {
    this.#start = start
    this.#unusedMs = unusedMs
  }

  /** The number of threads. */
  get size(): number {
    return this.#idle.length + this.#busy
  }

  /** @param stop ends the statement at its next row of `sql.stoppable` */
  async run(statement: Statement, stop: AbortSignal): Promise<Row[]> {
    let scanner = this.#idle.pop()
    while (scanner?.brokenBy) scanner = this.#idle.pop()
    scanner ??= this.#start()
    this.#busy++
    // Where the machine is busy a start takes long: the last place, which is left to other callers, has its thread by then.
    if (this.#busy === SCAN_PLACES - 1 && this.#idle.length === 0) this.#idle.push(this.#start())
    this.#unused = Math.min(this.#unused, this.#idle.length)
    this.#timer ??= setInterval(() => this.#endUnused(), this.#unusedMs).unref()
    stop.addEventListener('abort', () => scanner.stop())
    try {
      return await scanner.askOne({ kind: 'single', statement })
    } finally {
      this.#busy--
      if (!scanner.brokenBy) this.#idle.push(scanner)
    }
  }

  #endUnused(): void {
    const surplus = Math.min(this.#unused, this.size - 1)
    for (const scanner of this.#idle.splice(0, surplus)) void this.#closing.add(scanner.close())
    this.#unused = this.#idle.length
    if (this.size > 1) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Ends the threads, of which none may be busy. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([this.#closing.idle(), ...this.#idle.map((scanner) => scanner.close())])
  }
}
