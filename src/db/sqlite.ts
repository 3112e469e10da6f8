import { chmodSync, closeSync, openSync, realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

import { errors } from '../base/errors.ts'
import { runBatch } from './batch.ts'
import type { BatchRows, Database, Migration, Steps, StepWith, Transaction } from './database.ts'
import { StartError } from '../base/start-error.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import type { Fault, Operation } from './sqlite-protocol.ts'
import { errorOf, SqliteWorker } from './sqlite-worker.ts'
import { isLarge, SqliteWriter } from './sqlite-writer.ts'
import { Sql, type Row } from './sql.ts'
import { refuseInside, runWork } from './transaction.ts'

// More would wait for longer than a query may take.
const WAITING_SCANS = 128
const SCAN_LIMIT_MS = 30_000
const SCANNERS = 2
const SCANNERS_WITH_STUCK_ONES = 8

/** What is known for the rest of a turn of the event loop: the revision, as of so many settled writes. */
type Turn = { settled: number; revision: number }

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
  readonly #writer: SqliteWriter
  #scanners: SqliteWorker[] = []
  readonly #stuck = new Set<SqliteWorker>()
  #turn: Turn | undefined
  #closing: Promise<void> | undefined

  private constructor(file: string) {
    this.#file = file
    this.#reader = new SqliteConnection(file, 'reader')
    this.#writer = new SqliteWriter(file)
  }

  /** @param file path of the database file; its folder is made where it is missing */
  static async open(file: string): Promise<SqliteDatabase> {
    try {
      // It holds password hashes: nobody else on the machine has to read it.
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      createPrivate(file)
      const database = new SqliteDatabase(file)
      makePrivate(file)
      return database
    } catch (error) {
      throw new StartError(
        `DATABASE_URL: the file ${file} can't be opened as a SQLite database: ${(error as Error).message}`,
      )
    }
  }

  async get<R = Row>(query: Sql<R>): Promise<R | undefined> {
    return this.#read((reader) => reader.get(query.render('sqlite'))) as R | undefined
  }

  async all<R = Row>(query: Sql<R>): Promise<R[]> {
    return this.#read((reader) => reader.run(query.render('sqlite'))) as R[]
  }

  revision(): number {
    this.#refuseWhenClosed()
    const turn = this.#inTurn()
    // What this process has committed since then is seen at once; what another has, from the next turn on.
    if (turn.settled !== this.#writer.settled) {
      turn.settled = this.#writer.settled
      turn.revision = this.#reader.revision()
    }
    return turn.revision
  }

  #read<T>(read: (reader: SqliteConnection) => T): T {
    this.#refuseWhenClosed()
    this.#inTurn()
    try {
      return read(this.#reader)
    } catch (error) {
      if ((error as Partial<Fault>).errcode === undefined) throw error
      throw errorOf(error as Error & Fault, 'reader')
    }
  }

  /**
   * Reads of one turn of the event loop share one view of the database, because to begin and to end a view costs
   * half of a point read. Not while something is being written: a view would hide it, and keep the log from being
   * emptied. What is to be written later in the turn waits for its end too, so it finds no view.
   */
  #inTurn(): Turn {
    if (this.#turn === undefined) {
      this.#turn = { settled: -1, revision: 0 }
      setImmediate(() => {
        this.#turn = undefined
        this.#reader.endView()
      })
    }
    if (!this.#writer.busy) this.#reader.beginView()
    return this.#turn
  }

  #refuseWhenClosed(): void {
    if (this.#closing) throw errors.unavailable({ cause: new Error('the database is closed') })
  }

  async scan<R = Row>(query: Sql<R>): Promise<R[]> {
    this.#refuseWhenClosed()
    const statement = query.render('sqlite')
    const scanner = this.#scanner()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#abandon(scanner)
        reject(errors.unavailable({ retryAfter: 30, message: 'The query took longer than 30 s: narrow it.' }))
      }, SCAN_LIMIT_MS)
    })
    try {
      return (await Promise.race([scanner.askOne({ kind: 'single', statement }), late])) as R[]
    } finally {
      clearTimeout(timer)
    }
  }

  /** The reader thread with the least to do. */
  #scanner(): SqliteWorker {
    this.#scanners = this.#scanners.filter((scanner) => !scanner.broken)
    const [least] = this.#scanners.toSorted((a, b) => a.waiting - b.waiting)
    const full =
      this.#scanners.length >= SCANNERS ||
      this.#scanners.length + this.#stuck.size >= SCANNERS_WITH_STUCK_ONES
    if (least && (least.waiting === 0 || full) && least.waiting < WAITING_SCANS) return least
    if (full)
      throw errors.unavailable({ retryAfter: 30, message: 'Too many long queries at once: try again later.' })
    const scanner = new SqliteWorker(this.#file, 'scanner')
    this.#scanners.push(scanner)
    return scanner
  }

  /** Nothing can interrupt SQLite from outside its thread: the thread ends when its query does, and others scan on. */
  #abandon(scanner: SqliteWorker): void {
    this.#scanners = this.#scanners.filter((one) => one !== scanner)
    this.#stuck.add(scanner)
    void scanner.close().then(() => this.#stuck.delete(scanner))
  }

  async write<R = Row>(query: Sql<R>): Promise<R[]> {
    refuseInside(this)
    const { fault, rows } = await this.#writer.write([query.render('sqlite')])
    if (fault) throw errorOf(fault)
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
    // More than the thread should hold at once.
    if (steps.length > 1 && isLarge(operation))
      return this.#transact(async (tx) => {
        const rows: Row[][] = []
        for (const { query, otherwise } of steps)
          rows.push(await tx.write(otherwise ? { query, otherwise } : query))
        return rows
      })
    const { fault, unmet, rows } = await this.#writer.write(operation)
    if (fault) throw errorOf(fault)
    if (unmet !== undefined) throw steps[unmet]!.otherwise!()
    return rows!
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    refuseInside(this)
    return this.#transact(work)
  }

  async #transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { result, committed } = await this.#writer.exclusively(async (worker) => {
      await worker.askOne({ kind: 'exec', text: 'begin immediate' })
      try {
        const run = (query: Sql<unknown>) =>
          worker.askOne({ kind: 'single', statement: query.render('sqlite') })
        const done = await runWork(this, run, work)
        await worker.askOne({ kind: 'exec', text: 'commit' })
        return done
      } catch (error) {
        // Some faults have ended the transaction already: then there is nothing to roll back, and that is as good.
        await worker.ask({ kind: 'exec', text: 'rollback' }).catch(() => undefined)
        throw error
      }
    })
    committed()
    return result
  }

  async ping(): Promise<void> {
    await this.get(new Sql(['select 1'], []))
  }

  async migrate(migrations: readonly Migration[]): Promise<void> {
    const [outcome] = await this.#writer.exclusively((worker) => worker.ask({ kind: 'migrate', migrations }))
    if (outcome?.fault) throw new StartError(outcome.fault.message)
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.all([this.#writer.close(), ...this.#scanners.map((scanner) => scanner.close())])
      this.#reader.close()
    })()
    return this.#closing
  }
}

const PRIVATE = 0o600

/**
 * SQLite itself would create the file as the umask has it. An existing file must not even be opened here: closing it
 * drops every lock that this process has on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', PRIVATE))
  } catch {
    // It exists, or SQLite says in a moment why it can't be created.
  }
}

/** Takes the others' rights to a file of an earlier start away. SQLite gives a new log the mode of the database. */
function makePrivate(file: string): void {
  const path = realpathSync(file)
  for (const suffix of ['', '-wal', '-shm'])
    try {
      chmodSync(path + suffix, PRIVATE)
    } catch {
      // No log yet, or the file is another user's or on a disk without modes: its owner decides who reads it.
    }
}
