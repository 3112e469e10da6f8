import { errors } from '../base/errors.ts'
import { pack, type Operation, type RequestOutcome } from './sqlite-protocol.ts'
import { SqliteWorker } from './sqlite-worker.ts'

type Write = {
  operation: Operation
  resolve: (outcome: RequestOutcome) => void
  reject: (error: Error) => void
}
type Task = Write | { run: () => Promise<void> }

// A group stays far below the memory limit of the thread.
const GROUP_CHARACTERS = 2_000_000

/** The length of the text in the values of an operation. */
function lengthOf(operation: Operation): number {
  let characters = 0
  for (const { params, rows = [] } of operation)
    for (const values of [params, ...rows])
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
  #queue: Task[] = []
  #running: Promise<void> | undefined
  #closed = false
  /** The number of groups and transactions that have ended. */
  finished = 0

  constructor(file: string) {
    this.#file = file
    this.#worker = new SqliteWorker(file, 'writer')
  }

  /** Commits all statements or none. Resolves once they are on the disk. */
  write(operation: Operation): Promise<RequestOutcome> {
    return new Promise((resolve, reject) => this.#enqueue({ operation, resolve, reject }))
  }

  /** Gives `use` the connection alone; later writes wait until it settles. */
  exclusively<T>(use: (worker: SqliteWorker) => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      try {
        return await use(this.#connection())
      } finally {
        this.finished++
      }
    }
    return new Promise((resolve, reject) => this.#enqueue({ run: () => run().then(resolve, reject) }))
  }

  /** Waits for all writes that were accepted, then closes the file. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
    await this.#worker.close()
  }

  /** Whether a write is running or waiting. */
  get busy(): boolean {
    return this.#running !== undefined
  }

  #enqueue(task: Task): void {
    if (this.#closed) throw errors.unavailable({ cause: new Error('the database is closed') })
    this.#queue.push(task)
    this.#running ??= this.#run()
  }

  #connection(): SqliteWorker {
    // If a thread ended for lack of memory, SQLite has rolled back its transaction.
    if (this.#worker.broken) this.#worker = new SqliteWorker(this.#file, 'writer')
    return this.#worker
  }

  async #run(): Promise<void> {
    // Waits for the end of this iteration of the event loop, so that requests that are read together are committed together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#queue.length > 0) {
      const group = this.#takeWrites()
      if (group.length > 0) {
        await this.#commit(group)
        continue
      }
      const task = this.#queue.shift()
      if (task && 'run' in task) await task.run()
    }
    this.#running = undefined
  }

  #takeWrites(): Write[] {
    const group: Write[] = []
    let characters = 0
    for (const task of this.#queue) {
      if (!('operation' in task) || characters > GROUP_CHARACTERS) break
      characters += lengthOf(task.operation)
      group.push(task)
    }
    this.#queue.splice(0, group.length)
    return group
  }

  async #commit(group: readonly Write[]): Promise<void> {
    try {
      const outcomes = await this.#connection().ask({
        kind: 'group',
        group: pack(group.map(({ operation }) => operation)),
      })
      this.finished++
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at] ?? outcomes[0]!)
    } catch (error) {
      // It may have been committed.
      this.finished++
      for (const { reject } of group) reject(error as Error)
    }
  }
}
