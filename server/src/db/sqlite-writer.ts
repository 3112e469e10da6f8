import { Coalescer } from '../base/coalesce.ts'
import { errors } from '../base/errors.ts'
import { pack, type Operation, type RequestOutcome } from './sqlite-protocol.ts'
import { SqliteWorker } from './sqlite-worker.ts'
import type { SqlScalar } from './sql.ts'

/** Statements that may be committed with others, or work that needs the connection alone. */
type WriterTask = Operation | ((worker: SqliteWorker) => Promise<unknown>)

// A group stays far below the memory limit of the thread.
const GROUP_CHARACTERS = 2_000_000

/** The length of the text in the values of an operation. */
function lengthOf(operation: Operation): number {
  let characters = 0
  for (const { params, rows } of operation) {
    characters += lengthOfTexts(params)
    if (rows) for (const values of rows) characters += lengthOfTexts(values)
  }
  return characters
}

function lengthOfTexts(values: readonly SqlScalar[]): number {
  let characters = 0
  for (const value of values) if (typeof value === 'string') characters += value.length
  return characters
}

/** Whether an operation must be sent to the thread statement by statement. */
export const isLarge = (operation: Operation): boolean => lengthOf(operation) > GROUP_CHARACTERS

/**
 * The only writer of the file, in order of arrival: consecutive writes are committed together, with one flush to the
 * disk, and a transaction uses the connection alone.
 */
export class SqliteWriter {
  readonly #file: string
  #worker: SqliteWorker
  readonly #tasks = new Coalescer<WriterTask, unknown>({
    answer: (tasks) => this.#run(tasks),
    isEager: true,
    heaviest: GROUP_CHARACTERS,
    weightOf: (task) => (typeof task === 'function' ? Infinity : lengthOf(task)),
  })
  #closed = false
  /** The number of groups and transactions that have ended. */
  finished = 0

  constructor(file: string) {
    this.#file = file
    this.#worker = new SqliteWorker(file, 'writer')
  }

  /** Commits all statements or none. Resolves once they are on the disk. */
  write(operation: Operation): Promise<RequestOutcome> {
    return this.#call(operation) as Promise<RequestOutcome>
  }

  /** Gives `use` the connection alone; later writes wait until it settles. */
  exclusively<T>(use: (worker: SqliteWorker) => Promise<T>): Promise<T> {
    return this.#call(use) as Promise<T>
  }

  /** Waits for all writes that were accepted, then closes the file. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#tasks.idle()
    await this.#worker.close()
  }

  /** Whether a write is running or waiting. */
  get busy(): boolean {
    return this.#tasks.isBusy
  }

  /** How many writes and transactions wait. */
  get waiting(): number {
    return this.#tasks.waiting
  }

  #call(task: WriterTask): Promise<unknown> {
    if (this.#closed) throw errors.unavailable({ cause: new Error('the database is closed') })
    return this.#tasks.call(task)
  }

  async #run(tasks: readonly WriterTask[]): Promise<readonly unknown[]> {
    // If a thread ended for lack of memory, SQLite has rolled back its transaction.
    if (this.#worker.brokenBy) this.#worker = new SqliteWorker(this.#file, 'writer')
    try {
      const [task] = tasks
      if (typeof task === 'function') return [await task(this.#worker)]
      const outcomes = await this.#worker.ask({ kind: 'group', group: pack(tasks as readonly Operation[]) })
      return tasks.map((_, at) => outcomes[at] ?? outcomes[0]!)
    } finally {
      // If it failed, it may have been committed.
      this.finished++
    }
  }
}
