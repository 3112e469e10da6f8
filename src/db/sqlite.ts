import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'

import { errors } from '../base/errors.ts'
import {
  ConstraintError,
  type Database,
  type Migration,
  type Row,
  type Step,
  type Transaction,
} from './database.ts'
import { StartError } from './migrations.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import type { Answer, Operation, Outcome, Request } from './sqlite-protocol.ts'
import { Sql } from './sql.ts'

const SCAN_LIMIT_MS = 30_000
const TRANSACTION_LIMIT_MS = 10_000
const SCANNERS = 2

// SQLite's extended result codes, https://www.sqlite.org/rescode.html
const CONSTRAINTS: Record<number, ConstraintError['kind']> = {
  275: 'check',
  787: 'foreign_key',
  1299: 'not_null',
  1555: 'unique',
  2067: 'unique',
}
const TEMPORARY = new Set([5, 6, 10, 13]) // busy, locked, I/O error, disk full

function errorOf(fault: NonNullable<Outcome['fault']>): Error {
  const kind = CONSTRAINTS[fault.errcode]
  if (kind) return new ConstraintError(kind, fault.message)
  const cause = new Error(fault.message)
  if (TEMPORARY.has(fault.errcode & 0xff)) return errors.unavailable({ retryAfter: 1, cause })
  return cause
}

type Asked = { resolve: (outcomes: Outcome[]) => void; reject: (error: Error) => void }
type Ask = Request extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never

/** A thread with a connection, spoken to by messages. */
class Thread {
  readonly #worker: Worker
  readonly #asked = new Map<number, Asked>()
  #nextId = 1
  #broken: Error | undefined
  #closing = false

  constructor(file: string, use: 'reader' | 'writer') {
    // Run from source it is .ts, from the published package .js.
    const script = new URL(import.meta.url.replace(/sqlite(\.[jt]s)$/, 'sqlite-thread$1'))
    this.#worker = new Worker(script, {
      workerData: { file, use },
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    })
    this.#worker.on('message', ({ id, outcomes }: Answer) => {
      const asked = this.#asked.get(id)
      this.#asked.delete(id)
      asked?.resolve(outcomes)
      if (this.#asked.size === 0 && !this.#closing) this.#worker.unref()
    })
    this.#worker.on('error', (error) => this.#break(error as Error))
    this.#worker.on('exit', () => this.#break(new Error('the database thread has ended')))
    this.#worker.unref()
  }

  #break(error: Error): void {
    this.#broken ??= error
    for (const { reject } of this.#asked.values()) reject(errors.unavailable({ retryAfter: 5, cause: error }))
    this.#asked.clear()
  }

  get waiting(): number {
    return this.#asked.size
  }

  /** Throws where the thread is gone. */
  check(): void {
    if (this.#broken) throw errors.unavailable({ retryAfter: 5, cause: this.#broken })
  }

  ask(request: Ask): Promise<Outcome[]> {
    return new Promise((resolve, reject) => {
      this.check()
      const id = this.#nextId++
      if (this.#asked.size === 0) this.#worker.ref()
      this.#asked.set(id, { resolve, reject })
      this.#worker.postMessage({ id, ...request } satisfies Request)
    })
  }

  async askOne(request: Ask): Promise<Row[]> {
    const [outcome] = await this.ask(request)
    if (outcome?.fault) throw errorOf(outcome.fault)
    return outcome?.rows?.[0] ?? []
  }

  async close(): Promise<void> {
    if (this.#broken) return
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#closing = true
    await this.ask({ kind: 'close' })
    await ended
  }
}

type Waiting = { operation: Operation; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }

/**
 * The embedded engine. Three kinds of connection to one file:
 * point reads run on the main thread (microseconds each), scans in reader threads,
 * and every write in one writer thread that commits together what arrived together
 * while the main thread reads the next requests.
 */
export class SqliteDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly #file: string
  readonly #reader: SqliteConnection
  readonly #writer: Thread
  readonly #scanners: Thread[] = []

  #queue: Waiting[] = []
  #flushing = false
  #flushPlanned = false
  #exclusive: Promise<unknown> = Promise.resolve()
  #held = 0
  #drained: (() => void) | undefined

  private constructor(file: string) {
    this.#file = file
    this.#reader = new SqliteConnection(file, 'reader')
    this.#writer = new Thread(file, 'writer')
  }

  /** @param file path of the database file; its folder is made where it is missing */
  static async open(file: string): Promise<SqliteDatabase> {
    try {
      await mkdir(dirname(file), { recursive: true })
      return new SqliteDatabase(file)
    } catch (error) {
      throw new StartError(
        `DATABASE_URL: the file ${file} can't be opened as a SQLite database: ${(error as Error).message}`,
      )
    }
  }

  async get<R = Row>(query: Sql): Promise<R | undefined> {
    const row = this.#reader.get(query.render('sqlite'))
    return row && ({ ...row } as R) // the engine's own rows have no prototype
  }

  async all<R = Row>(query: Sql): Promise<R[]> {
    return this.#reader.run(query.render('sqlite')).map((row) => ({ ...row }) as R)
  }

  async scan<R = Row>(query: Sql): Promise<R[]> {
    let thread = this.#scanners.find((t) => t.waiting === 0)
    if (thread === undefined && this.#scanners.length < SCANNERS) {
      thread = new Thread(this.#file, 'reader')
      this.#scanners.push(thread)
    }
    thread ??= this.#scanners.reduce((a, b) => (b.waiting < a.waiting ? b : a))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () =>
          reject(
            errors.unavailable({ retryAfter: 30, message: 'The query took longer than 30 s: narrow it.' }),
          ),
        SCAN_LIMIT_MS,
      )
    })
    try {
      return (await Promise.race([
        thread.askOne({ kind: 'single', statement: query.render('sqlite') }),
        late,
      ])) as R[]
    } finally {
      clearTimeout(timer)
    }
  }

  async write<R = Row>(query: Sql): Promise<R[]> {
    const outcome = await this.#enqueue([query.render('sqlite')])
    if (outcome.fault) throw errorOf(outcome.fault)
    return outcome.rows![0] as R[]
  }

  async batch(steps: readonly Step[]): Promise<Row[][]> {
    if (steps.length === 0) return []
    const operation = steps.map((step) =>
      step instanceof Sql ? step.render('sqlite') : { ...step.query.render('sqlite'), must: true },
    )
    const outcome = await this.#enqueue(operation)
    if (outcome.fault) throw errorOf(outcome.fault)
    if (outcome.unmet !== undefined) {
      const step = steps[outcome.unmet]!
      throw step instanceof Sql ? new Error('a plain step cannot be unmet') : step.otherwise()
    }
    return outcome.rows!
  }

  #enqueue(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#writer.check()
      this.#queue.push({ operation, resolve, reject })
      this.#planFlush()
    })
  }

  /** Waits for the end of this turn of the event loop, so that requests read together are committed together. */
  #planFlush(): void {
    if (this.#flushPlanned || this.#flushing || this.#held > 0) return
    this.#flushPlanned = true
    setImmediate(() => {
      this.#flushPlanned = false
      if (!this.#flushing && this.#held === 0) void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    if (this.#queue.length === 0) return
    const group = this.#queue
    this.#queue = []
    this.#flushing = true
    try {
      const outcomes = await this.#writer.ask({ kind: 'group', operations: group.map((w) => w.operation) })
      for (const [at, waiting] of group.entries()) waiting.resolve(outcomes[at] ?? outcomes[0]!)
    } catch (error) {
      for (const waiting of group) waiting.reject(error as Error)
    }
    this.#flushing = false
    this.#drained?.()
    if (this.#held === 0) void this.#flush()
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const turn = this.#exclusive.then(() => this.#runExclusively(work))
    this.#exclusive = turn.catch(() => undefined)
    return turn
  }

  async #runExclusively<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#held++
    try {
      if (this.#flushing) await new Promise<void>((resolve) => (this.#drained = resolve))
      this.#drained = undefined
      return await this.#interactive(work)
    } finally {
      this.#held--
      this.#planFlush()
    }
  }

  async #interactive<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let over = false
    const run = <R>(query: Sql): Promise<R[]> => {
      if (over) throw new Error('this transaction has ended')
      return this.#writer.askOne({ kind: 'single', statement: query.render('sqlite') }) as Promise<R[]>
    }
    const tx: Transaction = {
      dialect: 'sqlite',
      all: run,
      write: run,
      get: async (query) => (await run(query))[0] as never,
    }
    await this.#writer.askOne({ kind: 'exec', text: 'begin immediate' })
    let timer: NodeJS.Timeout | undefined
    try {
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(
          () => reject(new Error('the transaction was open for more than 10 s')),
          TRANSACTION_LIMIT_MS,
        )
      })
      const result = await Promise.race([work(tx), late])
      over = true
      await this.#writer.askOne({ kind: 'exec', text: 'commit' })
      return result
    } catch (error) {
      over = true
      // The commit itself may have failed and left nothing to roll back.
      await this.#writer.ask({ kind: 'exec', text: 'rollback' })
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async ping(): Promise<void> {
    this.#writer.check()
    this.#reader.get({ text: 'select 1', params: [] })
  }

  async migrate(migrations: readonly Migration[]): Promise<void> {
    const [outcome] = await this.#writer.ask({ kind: 'migrate', migrations })
    if (outcome?.fault) throw new StartError(outcome.fault.message)
  }

  async close(): Promise<void> {
    await this.#exclusive
    while (this.#queue.length > 0 || this.#flushing) await new Promise((resolve) => setTimeout(resolve, 5))
    await Promise.all(this.#scanners.map((scanner) => scanner.close()))
    this.#reader.close()
    await this.#writer.close()
  }
}
