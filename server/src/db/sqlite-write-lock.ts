import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

const BUSY = 5
/** Between two attempts. */
const STEP_MS = 0.2
/** Longer than a step, so that another process that waits comes first. */
const GIVE_WAY_MS = 0.3
/** Another process counts as writing for so long after this one had to wait for it. */
const SHARED_MS = 100
// Above the 4,000 pages of `wal_autocheckpoint` each commit copies the log into the file. The log is reused from its beginning
// only if no other process has written since.
const LOG_BYTES_MAX = 20_971_520
/** How long nobody writes at most because readers still need the log. */
const READERS_WAIT_MS = 100

const sleeping = new Int32Array(new SharedArrayBuffer(4))

/** Makes this thread wait. */
export const sleep = (ms: number): void => void Atomics.wait(sleeping, 0, 0, ms)

/** Whether `node:sqlite` threw because another connection has a lock. */
export const isBusy = (error: unknown): boolean =>
  ((error as { errcode?: number }).errcode ?? 0) % 256 === BUSY

/**
 * The lock under which one process at a time writes to the file. SQLite's own wait sleeps for up to 100 ms between two attempts,
 * so a process that writes without a pause keeps the others out. Here the attempts are short steps apart, and a process that had
 * to wait lately gives way after each of its commits: docs/decisions/136-one-file-many-writers.md.
 */
export class SqliteWriteLock {
  readonly #db: DatabaseSync
  readonly #log: string
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #truncate: StatementSync
  readonly #busyTimeout: StatementSync
  #sharedUntil = 0
  #committedAt = 0
  #truncateAt = LOG_BYTES_MAX

  constructor(db: DatabaseSync, file: string) {
    this.#db = db
    this.#log = `${file}-wal`
    this.#begin = db.prepare('begin immediate')
    this.#commit = db.prepare('commit')
    this.#truncate = db.prepare('pragma wal_checkpoint(truncate)')
    this.#busyTimeout = db.prepare('pragma busy_timeout')
  }

  /**
   * Begins a transaction that writes.
   *
   * @throws SQLITE_BUSY if the lock is not free within the busy timeout of the connection
   */
  begin(): void {
    const begun = performance.now()
    const pauseMs = this.#committedAt + GIVE_WAY_MS - begun
    if (begun < this.#sharedUntil && pauseMs > 0) sleep(pauseMs)
    const limitMs = this.#setTimeout(0)
    try {
      while (!this.#tryBegin(begun + limitMs)) sleep(STEP_MS)
    } finally {
      this.#setTimeout(limitMs)
    }
  }

  #tryBegin(until: number): boolean {
    try {
      this.#begin.run()
      return true
    } catch (error) {
      const now = performance.now()
      if (!isBusy(error) || now >= until) throw error
      this.#sharedUntil = now + SHARED_MS
      return false
    }
  }

  /** Commits the transaction. Truncates the log if other processes write too, and keep it from beginning anew. */
  commit(): void {
    this.#commit.run()
    this.#committedAt = performance.now()
    if (this.#committedAt < this.#sharedUntil) this.#limitLog()
  }

  #limitLog(): void {
    const size = statSync(this.#log, { throwIfNoEntry: false })?.size ?? 0
    if (size < this.#truncateAt) return
    const limitMs = this.#setTimeout(READERS_WAIT_MS)
    try {
      const { busy, log } = this.#truncate.get() as { busy: number; log: number }
      const isDoneByAnother = log === -1
      // A backup may need the log for minutes: then not at each commit.
      if (!isDoneByAnother) this.#truncateAt = busy ? size + LOG_BYTES_MAX : LOG_BYTES_MAX
    } catch {
      // The commit has succeeded; the next one tells of a fault of the disk.
    } finally {
      this.#setTimeout(limitMs)
    }
  }

  /** @returns the busy timeout before, in milliseconds */
  #setTimeout(ms: number): number {
    const { timeout } = this.#busyTimeout.get() as { timeout: number }
    this.#db.exec(`pragma busy_timeout = ${ms}`)
    return timeout
  }
}
