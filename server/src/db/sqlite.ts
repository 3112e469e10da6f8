import { chmodSync, realpathSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'

import { ApiError, errors } from '../base/errors.ts'
import { atStep, runBatch, withStep } from './batch.ts'
import type {
  BatchRows,
  Database,
  DatabaseLoad,
  Migration,
  MigrationProgress,
  ScanOptions,
  Snapshot,
  Steps,
  StepWith,
  Transaction,
  TransactionOptions,
} from './database.ts'
import { StartError } from '../base/start-error.ts'
import { withChecksum } from './migrations.ts'
import { createPrivate, PRIVATE } from './private-file.ts'
import { ScanQueue } from './scan-queue.ts'
import { runSnapshot } from './snapshot.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { faultOf } from './sqlite-faults.ts'
import { loadSqliteFunctions, type SqliteFunctions } from './sqlite-functions.ts'
import type { EngineFault, Operation } from './sqlite-protocol.ts'
import { SqliteScanners } from './sqlite-scanners.ts'
import { SqliteSnapshot } from './sqlite-snapshot.ts'
import { SqliteSignals } from './sqlite-signals.ts'
import { errorOf, SqliteWorker } from './sqlite-worker.ts'
import { isLarge, SqliteWriter } from './sqlite-writer.ts'
import { Sql, type Row } from './sql.ts'
import { refuseInside, runWork } from './transaction.ts'

const PROCESSORS = availableParallelism()

/** The revision in this iteration of the event loop, after a number of finished writes. */
type Iteration = { finished: number; revision: number }

/**
 * The embedded engine. It has three kinds of connections to one file:
 * point reads run on the main thread (microseconds each), scans in reader threads,
 * and writes in one writer thread, which commits those that arrived together in one group
 * while the main thread reads the next requests.
 */
export class SqliteDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly #file: string
  /** Addresses of the modules, for the threads. */
  readonly #functionModules: readonly string[]
  readonly #reader: SqliteConnection
  readonly #writer: SqliteWriter
  readonly #scans = new ScanQueue()
  readonly #scanners: SqliteScanners
  readonly #snapshots = new Set<SqliteSnapshot>()
  readonly #signals = new SqliteSignals(() => this.revision())
  #iteration: Iteration | undefined
  isDamaged = false
  #closing: Promise<void> | undefined

  private constructor(file: string, functionModules: readonly string[], functions: SqliteFunctions) {
    this.#file = file
    this.#functionModules = functionModules
    this.#reader = new SqliteConnection(file, 'reader', functions)
    this.#writer = new SqliteWriter(file)
    this.#scanners = new SqliteScanners(() => new SqliteWorker(file, 'scanner', functionModules))
  }

  /**
   * @param file path of the database file; its folder is created if it is missing
   * @param functionModules addresses of modules of functions that reads may call
   */
  static async open(file: string, functionModules: readonly string[] = []): Promise<SqliteDatabase> {
    const functions = await loadSqliteFunctions(functionModules)
    try {
      // It contains password hashes: other users of the machine must not read it.
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      refuseOrphanedLog(file)
      createPrivate(file)
      const database = new SqliteDatabase(file, functionModules, functions)
      makePrivate(file)
      return database
    } catch (error) {
      const fault = errorOf(faultOf(error, file))
      if (fault instanceof ApiError && fault.code !== errors.unavailable.code) throw fault
      throw new StartError(
        `DATABASE_URL: the file ${file} can't be opened as a SQLite database: ${(error as Error).message}`,
      )
    }
  }

  async get<R = Row>(query: Sql<R>): Promise<R | undefined> {
    try {
      this.#currentIteration()
      return this.#reader.get(query.render('sqlite')) as R | undefined
    } catch (error) {
      return this.#failRead(error)
    }
  }

  async all<R = Row>(query: Sql<R>): Promise<R[]> {
    try {
      this.#currentIteration()
      return this.#reader.run(query.render('sqlite')) as R[]
    } catch (error) {
      return this.#failRead(error)
    }
  }

  load(): DatabaseLoad {
    return { waiting: { write: this.#writer.waiting, scan: this.#scans.waiting } }
  }

  revision(): number {
    const iteration = this.#currentIteration()
    // Commits of this process show at once; those of others from the next iteration on.
    if (iteration.finished !== this.#writer.finished) {
      iteration.finished = this.#writer.finished
      iteration.revision = this.#reader.revision()
    }
    return iteration.revision
  }

  #failRead(error: unknown): never {
    if ((error as Partial<EngineFault>).errcode === undefined) throw error
    return this.#fail(errorOf(error as Error & EngineFault, 'reader'))
  }

  /** Throws the error, and notes what it tells of the file. */
  readonly #fail = (error: unknown): never => {
    this.isDamaged ||= error instanceof ApiError && error.code === errors.storage_damaged.code
    throw error
  }

  /**
   * Reads of one iteration of the event loop share one snapshot of the database, because beginning and ending one costs
   * half of a point read. There is none while the writer is busy: it would hide the new rows, and keep the log from being
   * truncated. Writes that are asked for later in the iteration start after its end, when the snapshot has ended.
   */
  #currentIteration(): Iteration {
    if (this.#closing) this.#refuseWhenClosed()
    if (this.#iteration === undefined) {
      this.#iteration = { finished: -1, revision: 0 }
      setImmediate(() => {
        this.#iteration = undefined
        this.#reader.endSnapshot()
      })
    }
    if (!this.#writer.busy) this.#reader.beginSnapshot()
    return this.#iteration
  }

  #refuseWhenClosed(): void {
    if (this.#closing) throw errors.unavailable({ cause: new Error('the database is closed') })
  }

  async scan<R = Row>(query: Sql<R>, options: ScanOptions = {}): Promise<R[]> {
    this.#refuseWhenClosed()
    // Written when it has a place: those that wait would fill memory with texts.
    const rows = this.#scans.run(options, async (stop) => this.#scanners.run(query.render('sqlite'), stop))
    return (await rows.catch(this.#fail)) as R[]
  }

  async scanTogether<R = Row>(
    queries: readonly [Sql<R>, Sql<R>],
    options: ScanOptions = {},
  ): Promise<R[][] | undefined> {
    this.#refuseWhenClosed()
    if (PROCESSORS < queries.length) return undefined
    const statements = queries.map((query) => query.render('sqlite'))
    const rows = this.#scans.runIfIdle(options, (stop) => this.#scanners.runTogether(statements, stop))
    return (await rows?.catch(this.#fail)) as R[][] | undefined
  }

  async write<R = Row>(query: Sql<R>): Promise<R[]> {
    refuseInside(this)
    const { fault, rows } = await this.#writer.write([query.render('sqlite')])
    if (fault) this.#fail(errorOf(fault))
    return rows![0] as R[]
  }

  async batch<const S extends Steps>(steps: S): Promise<BatchRows<S>> {
    refuseInside(this)
    return runBatch(steps, (flat) => this.#runSteps(flat))
  }

  async #runSteps(steps: readonly StepWith[]): Promise<Row[][]> {
    const operation: Operation = steps.map(({ query, otherwise }) => ({
      ...query.render('sqlite'),
      requiresRow: otherwise !== undefined,
    }))
    // Too large to be sent to the thread at once.
    if (steps.length > 1 && isLarge(operation))
      return this.#transact(async (tx) => {
        const rows: Row[][] = []
        for (const [at, { query, otherwise }] of steps.entries())
          rows.push(await tx.write(otherwise ? { query, otherwise } : query).catch(atStep(at)))
        return rows
      })
    const { fault, failedAt, stepWithoutRow, rows } = await this.#writer.write(operation)
    if (fault) this.#fail(withStep(errorOf(fault), failedAt))
    if (stepWithoutRow !== undefined) throw steps[stepWithoutRow]!.otherwise!()
    return rows!
  }

  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    { limitMs }: TransactionOptions = {},
  ): Promise<T> {
    refuseInside(this)
    return this.#transact(work, limitMs)
  }

  async snapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    this.#refuseWhenClosed()
    const snapshot = new SqliteSnapshot(this.#file, this.#functionModules)
    this.#snapshots.add(snapshot)
    try {
      return await runSnapshot(snapshot, work).catch(this.#fail)
    } finally {
      this.#snapshots.delete(snapshot)
    }
  }

  async #transact<T>(work: (tx: Transaction) => Promise<T>, limitMs?: number): Promise<T> {
    const { result, committed } = await this.#writer.exclusively(async (worker) => {
      await worker.askOne({ kind: 'begin' })
      try {
        const run = (query: Sql<unknown>) =>
          worker.askOne({ kind: 'single', statement: query.render('sqlite') })
        const outcome = await runWork(this, run, work, limitMs)
        await worker.askOne({ kind: 'commit' })
        return outcome
      } catch (error) {
        // Some faults have ended the transaction already: then there is nothing to roll back.
        await worker.ask({ kind: 'exec', text: 'rollback' }).catch(() => undefined)
        return this.#fail(error)
      }
    })
    committed()
    return result
  }

  listen(channel: string, heard: () => void): () => void {
    this.#refuseWhenClosed()
    return this.#signals.listen(channel, heard)
  }

  notify(channel: string): void {
    this.#signals.notify(channel)
  }

  async ping(): Promise<void> {
    await this.get(new Sql(['select 1'], []))
  }

  async migrate(
    migrations: readonly Migration[],
    report?: (progress: MigrationProgress) => void,
  ): Promise<void> {
    const [outcome] = await this.#writer.exclusively((worker) =>
      worker.ask({ kind: 'migrate', migrations: migrations.map(withChecksum) }, report),
    )
    if (!outcome?.fault) return
    const error = errorOf(outcome.fault)
    throw error instanceof ApiError && error.code !== errors.unavailable.code
      ? error
      : new StartError(outcome.fault.message)
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#signals.close()
      await this.#scans.idle()
      const readers = [this.#scanners, ...this.#snapshots]
      await Promise.all([this.#writer.close(), ...readers.map((reader) => reader.close())])
      this.#reader.close()
    })()
    return this.#closing
  }
}

/** SQLite would delete a log whose database is missing or empty, and with it all that was not yet copied into the database. */
function refuseOrphanedLog(file: string): void {
  // In this order: a process that creates the database writes its log after it.
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  const database = statSync(file, { throwIfNoEntry: false })
  if (log && log.size > 0 && !database?.size)
    throw new Error(`it is missing or empty beside its write-ahead log ${file}-wal: put both back`)
}

/** Removes access for other users from an existing file. SQLite gives a new log the mode of the database. */
function makePrivate(file: string): void {
  const path = realpathSync(file)
  for (const suffix of ['', '-wal', '-shm'])
    try {
      chmodSync(path + suffix, PRIVATE)
    } catch {
      // No log yet, or the file belongs to another user or is on a disk without modes: its owner decides who reads it.
    }
}
