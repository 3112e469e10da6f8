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
    const scanner = this.#take(stop)
    try {
      return await scanner.askOne({ kind: 'single', statement })
    } finally {
      this.#give(scanner)
    }
  }

  /**
   * Runs statements at once, each in a thread, which see the same moment.
   *
   * @param stop as of `run`
   * @returns undefined if a thread has to be started first, which it is for the next time, or if something was committed while
   *   the snapshots of the threads began
   */
  async runTogether(statements: readonly Statement[], stop: AbortSignal): Promise<Row[][] | undefined> {
    if (this.#idle.length < statements.length) {
      this.#idle.push(this.#start())
      return undefined
    }
    const scanners = statements.map(() => this.#take(stop))
    try {
      const isOneMoment = await beginTogether(scanners)
      stop.throwIfAborted()
      if (!isOneMoment) return undefined
      return await Promise.all(
        scanners.map((scanner, i) => scanner.askOne({ kind: 'single', statement: statements[i]! })),
      )
    } finally {
      await Promise.all(scanners.map(endSnapshot))
      for (const scanner of scanners) this.#give(scanner)
    }
  }

  #take(stop: AbortSignal): SqliteWorker {
    let scanner = this.#idle.pop()
    while (scanner?.brokenBy) scanner = this.#idle.pop()
    scanner ??= this.#start()
    this.#busy++
    // Where the machine is busy a start takes long: the last place, which is left to other callers, has its thread by then.
    if (this.#busy === SCAN_PLACES - 1 && this.#idle.length === 0) this.#idle.push(this.#start())
    this.#unused = Math.min(this.#unused, this.#idle.length)
    this.#timer ??= setInterval(() => this.#endUnused(), this.#unusedMs).unref()
    stop.addEventListener('abort', () => scanner.stop())
    return scanner
  }

  #give(scanner: SqliteWorker): void {
    this.#busy--
    if (!scanner.brokenBy) this.#idle.push(scanner)
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

/**
 * Begins a snapshot in each thread. The revision of a connection changes when another one commits, so if that of the first
 * thread is the same before and after the others began, all of them see the same.
 *
 * @returns whether they see the same moment
 */
async function beginTogether([first, ...others]: readonly SqliteWorker[]): Promise<boolean> {
  const before = await revisionOf(first!)
  await Promise.all(others.map(beginSnapshot))
  return (await beginSnapshot(first!)) === before
}

/** @returns the revision that it sees */
async function beginSnapshot(scanner: SqliteWorker): Promise<unknown> {
  // A transaction sees what is committed when it reads first.
  const [, revision] = await Promise.all([
    scanner.askOne({ kind: 'exec', text: 'begin' }),
    revisionOf(scanner),
  ])
  return revision
}

/** https://www.sqlite.org/pragma.html#pragma_data_version */
async function revisionOf(scanner: SqliteWorker): Promise<unknown> {
  const [row] = await scanner.askOne({
    kind: 'single',
    statement: { text: 'pragma data_version', params: [] },
  })
  return row!['data_version']
}

/** There may be none, after a fault; a thread that has ended has none either. */
const endSnapshot = (scanner: SqliteWorker): Promise<unknown> =>
  scanner.ask({ kind: 'exec', text: 'commit' }).catch(() => undefined)
