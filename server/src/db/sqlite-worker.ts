import { Worker } from 'node:worker_threads'

import { moduleAddress } from '../base/asset.ts'
import { errors, type ErrorKind } from '../base/errors.ts'
import { closedError } from './closed-tables.ts'
import { ConstraintError, type MigrationProgress, type Row } from './database.ts'
import type {
  ThreadAnswer,
  EngineFault,
  Opening,
  RequestOutcome,
  Report,
  Request,
  ThreadData,
  Use,
} from './sqlite-protocol.ts'

// SQLite's extended result codes, https://www.sqlite.org/rescode.html
const CONSTRAINTS: Record<number, ConstraintError['kind']> = {
  275: 'check',
  787: 'foreign_key',
  1299: 'not_null',
  1555: 'unique', // of a primary key
  2067: 'unique',
  1811: 'trigger',
  2579: 'unique', // of a row id
}
const TRIGGER = 1811
const READ_ONLY = 8
const PRIMARY: Record<number, ErrorKind> = {
  5: errors.unavailable, // busy
  6: errors.unavailable, // locked
  7: errors.unavailable, // no memory
  [READ_ONLY]: errors.storage_read_only,
  10: errors.unavailable, // I/O error
  11: errors.storage_damaged,
  13: errors.storage_full,
  14: errors.unavailable, // the file can't be opened
  15: errors.unavailable, // locking protocol
  26: errors.storage_damaged, // not a database
}

/** The error for callers, from an error of `node:sqlite`. */
export function errorOf({ message, errcode }: EngineFault, use: Use = 'writer'): Error {
  if (use !== 'writer' && (errcode & 0xff) === READ_ONLY)
    return new Error(
      `get, all and scan only read: use write for statements that change something (${message})`,
    )
  // `on delete restrict` is a trigger inside SQLite.
  const isRestrict = errcode === TRIGGER && message.startsWith('FOREIGN KEY')
  const kind = isRestrict ? 'foreign_key' : CONSTRAINTS[errcode]
  if (kind) return (kind === 'trigger' && closedError(message)) || new ConstraintError(kind, message)
  const cause = new Error(message)
  const error = PRIMARY[errcode & 0xff]?.({ cause })
  return error ?? cause
}

// V8 lets a heap grow in proportion to its limit. A scanner may hold a page of 4 MiB of documents several times.
const LARGEST_HEAP_MB = { writer: 32, scanner: 64, snapshot: 64 }

const TOO_LARGE = 'The query took more memory than a query may have and was stopped: narrow it.'

/** Point reads run on the main thread. */
type ThreadUse = keyof typeof LARGEST_HEAP_MB

type PendingRequest = {
  resolve: (outcomes: RequestOutcome[]) => void
  reject: (error: Error) => void
  report: ((progress: MigrationProgress) => void) | undefined
}
type RequestBody = Request extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never

// As long as an idle scanner is kept.
const IDLE_MS = 30_000

/** The thread of the writer that was closed last. */
let idleWriter: Worker | undefined

/**
 * Keeps the thread of a closed writer, so that the next database of this process need not start one: a new thread takes a third
 * of the processor time of a start. A thread that nobody takes ends after `IDLE_MS`; only one is kept.
 */
async function keepForNext(thread: Worker): Promise<void> {
  if (idleWriter) return void (await thread.terminate())
  idleWriter = thread
  setTimeout(() => {
    if (idleWriter !== thread) return
    idleWriter = undefined
    void thread.terminate()
  }, IDLE_MS).unref()
}

function takeIdleWriter(): Worker | undefined {
  const thread = idleWriter
  idleWriter = undefined
  return thread
}

const startThread = (use: ThreadUse, functions: readonly string[]): Worker =>
  new Worker(moduleAddress('db/sqlite-thread'), {
    workerData: { use, functions } satisfies ThreadData,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 3, maxOldGenerationSizeMb: LARGEST_HEAP_MB[use] },
  })

/** A connection in its own thread, which is used by messages. Keeps the process running only while a request is pending. */
export class SqliteWorker {
  readonly #worker: Worker
  readonly #use: ThreadUse
  readonly #pending = new Map<number, PendingRequest>()
  readonly #stopFlag = new Int32Array(new SharedArrayBuffer(4))
  #nextId = 1
  /** Why the thread has ended, so that a new one is needed. */
  brokenBy: Error | undefined

  /** @param functions addresses of modules of functions that statements may call */
  constructor(file: string, use: ThreadUse, functions: readonly string[] = []) {
    this.#use = use
    this.#worker = (use === 'writer' ? takeIdleWriter() : undefined) ?? startThread(use, functions)
    this.#worker.on('message', this.#receive).on('error', this.#break).on('exit', this.#end)
    this.#worker.postMessage({ file, stopFlag: this.#stopFlag } satisfies Opening)
    this.#worker.unref()
  }

  readonly #receive = (message: ThreadAnswer | Report): void => {
    const request = this.#pending.get(message.id)
    if ('progress' in message) return request?.report?.(message.progress)
    this.#pending.delete(message.id)
    request?.resolve(message.outcomes)
    if (this.#pending.size === 0) this.#worker.unref()
  }

  readonly #end = (): void => this.#break(new Error('the database thread has ended'))

  readonly #break = (error: Error): void => {
    this.brokenBy ??= error
    const isTooLarge = (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    for (const { reject } of this.#pending.values())
      reject(
        isTooLarge && this.#use === 'scanner'
          ? errors.unavailable({ retryAfter: 30, cause: error, message: TOO_LARGE })
          : errors.unavailable({ retryAfter: 5, cause: error }),
      )
    this.#pending.clear()
  }

  /** Makes the statement that runs fail at the next row of its `sql.stoppable`. */
  stop(): void {
    if (this.#pending.size > 0) Atomics.store(this.#stopFlag, 0, 1)
  }

  /** @throws UNAVAILABLE if the thread has ended, or ends before it answers */
  ask(request: RequestBody, report?: (progress: MigrationProgress) => void): Promise<RequestOutcome[]> {
    return new Promise((resolve, reject) => {
      if (this.brokenBy) throw errors.unavailable({ retryAfter: 5, cause: this.brokenBy })
      const id = this.#nextId++
      if (this.#pending.size === 0) Atomics.store(this.#stopFlag, 0, 0)
      if (this.#pending.size === 0) this.#worker.ref()
      this.#pending.set(id, { resolve, reject, report })
      this.#worker.postMessage({ id, ...request } satisfies Request)
    })
  }

  async askOne(request: RequestBody): Promise<Row[]> {
    const [outcome] = await this.ask(request)
    if (outcome?.fault) throw errorOf(outcome.fault, this.#use)
    return outcome?.rows?.[0] ?? []
  }

  /** The next piece of the lines that `lines` began; undefined at their end. */
  async askPiece(): Promise<Buffer | undefined> {
    const [outcome] = await this.ask({ kind: 'piece' })
    if (outcome?.fault) throw errorOf(outcome.fault, this.#use)
    const piece = outcome?.piece
    return piece && Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
  }

  /** Waits for the pending requests, then closes the connection. */
  async close(): Promise<void> {
    if (this.brokenBy) return
    await this.ask({ kind: 'close' }).catch(() => undefined) // the thread may end before it answers
    if (this.brokenBy) return
    if (this.#use !== 'writer') return void (await this.#worker.terminate())
    this.#worker.off('message', this.#receive).off('error', this.#break).off('exit', this.#end)
    this.#end()
    await keepForNext(this.#worker)
  }
}
