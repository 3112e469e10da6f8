import { errors } from '../base/errors.ts'
import { pack, type Operation, type Outcome } from './sqlite-protocol.ts'
import { SqliteWorker } from './sqlite-worker.ts'

type Write = { operation: Operation; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }
type Turn = Write | { run: () => Promise<void> }

// What the thread is handed at a time stays far below the memory it is allowed.
const GROUP_CHARACTERS = 2_000_000

/** How much text an operation carries. */
function lengthOf(operation: Operation): number {
  let characters = 0
  for (const { params } of operation)
    for (const param of params) if (typeof param === 'string') characters += param.length
  return characters
}

/** Whether an operation is better handed to the thread statement by statement. */
export const isLarge = (operation: Operation): boolean => lengthOf(operation) > GROUP_CHARACTERS

/**
 * The one writer of the file. Everything takes its turn in order of arrival: writes that stand together
 * are committed together, with one flush to the disk, and a transaction has the connection to itself.
 */
export class SqliteWriter {
  readonly #file: string
  #worker: SqliteWorker
  #turns: Turn[] = []
  #working: Promise<void> | undefined
  #closed = false
  /** How many turns have come to their end. */
  settled = 0

  constructor(file: string) {
    this.#file = file
    this.#worker = new SqliteWorker(file, 'writer')
  }

  /** Statements that happen whole or not at all. Resolves once they are on the disk. */
  write(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => this.#enqueue({ operation, resolve, reject }))
  }

  /** Lends the connection out; what comes after this waits until `use` is through. */
  exclusively<T>(use: (worker: SqliteWorker) => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      try {
        return await use(this.#connection())
      } finally {
        this.settled++
      }
    }
    return new Promise((resolve, reject) => this.#enqueue({ run: () => run().then(resolve, reject) }))
  }

  /** Waits for everything that was begun, then lets go of the file. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#working
    await this.#worker.close()
  }

  /** Whether something is being written, or waits for it. */
  get busy(): boolean {
    return this.#working !== undefined
  }

  #enqueue(turn: Turn): void {
    if (this.#closed) throw errors.unavailable({ cause: new Error('the database is closed') })
    this.#turns.push(turn)
    this.#working ??= this.#work()
  }

  #connection(): SqliteWorker {
    // A thread that ended for want of memory left nothing half-written: SQLite undid what it had begun.
    if (this.#worker.broken) this.#worker = new SqliteWorker(this.#file, 'writer')
    return this.#worker
  }

  async #work(): Promise<void> {
    // Waits for the end of this turn of the event loop, so that requests read together are committed together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#turns.length > 0) {
      const group = this.#takeWrites()
      if (group.length > 0) {
        await this.#commit(group)
        continue
      }
      const turn = this.#turns.shift()
      if (turn && 'run' in turn) await turn.run()
    }
    this.#working = undefined
  }

  #takeWrites(): Write[] {
    const group: Write[] = []
    let characters = 0
    for (const turn of this.#turns) {
      if (!('operation' in turn) || characters > GROUP_CHARACTERS) break
      characters += lengthOf(turn.operation)
      group.push(turn)
    }
    this.#turns.splice(0, group.length)
    return group
  }

  async #commit(group: readonly Write[]): Promise<void> {
    try {
      const outcomes = await this.#connection().ask({
        kind: 'group',
        group: pack(group.map(({ operation }) => operation)),
      })
      this.settled++
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at] ?? outcomes[0]!)
    } catch (error) {
      // It may have been written all the same.
      this.settled++
      for (const { reject } of group) reject(error as Error)
    }
  }
}
