import { PendingPromises } from '../base/pending-promises.ts'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'

import { errors } from '../base/errors.ts'
import { isLoopback } from '../base/loopback.ts'
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
import {
  failedMigration,
  migrationsTable,
  pendingMigrations,
  type AppliedMigration,
} from './pending-migrations.ts'
import { withChecksum } from './migrations.ts'
import { connectLimitOf, openPool, STATEMENT_LIMIT_MS } from './postgres-connection.ts'
import { isReadOnly, kindOf, type Kind } from './postgres-faults.ts'
import { InsertGroups } from './postgres-inserts.ts'
import { ReadGroups } from './postgres-reads.ts'
import { isUnmet, requiringRow, rowsOfRequired } from './postgres-required.ts'
import { PostgresSession, StatementNames } from './postgres-session.ts'
import { PostgresWatchdog } from './postgres-watchdog.ts'
import { PostgresSignals } from './postgres-signals.ts'
import { PostgresSnapshot } from './postgres-snapshot.ts'
import { types } from './postgres-values.ts'
import { SCAN_PLACES, ScanQueue } from './scan-queue.ts'
import { runSnapshot } from './snapshot.ts'
import { Insert, Sql, type Row } from './sql.ts'
import { refuseInside, runWork, TransactionTimeout } from './transaction.ts'

const NO_TLS = 'The server does not support SSL connections' // of `pg`, without a code
const SCAN_MARGIN_MS = 1_000
const TRIES = 3
const CONFLICT_TRIES = 20
const CONFLICT_DELAY_MS = 5
const LOST_DELAY_MS = 50
const MIGRATION_LOCK = 6_946_173 // any number that nobody else takes in this database

// A long statement whose process has died would run to its end, and the next start would wait for it. Only servers on
// Windows can't look whether it has.
const BEGIN_MIGRATION = `begin;
set local statement_timeout = 0;
set local lock_timeout = 0;
set local standard_conforming_strings = on;
do $$
begin
  perform set_config('client_connection_check_interval', '1s', true);
exception when invalid_parameter_value then null;
end
$$`

/** Whether to do it again after what happened to the session. */
type Again = (session: PostgresSession) => boolean

/** PostgreSQL, for many replicas. Connections are pooled, replaced when they are lost, and used again where that is safe. */
export class PostgresDatabase implements Database {
  readonly dialect = 'postgres'
  readonly #url: string
  readonly #pool: pg.Pool
  readonly #scanPool: pg.Pool
  readonly #scans: ScanQueue
  /** Whether scans could take all processors, which other requests need on both sides. */
  readonly #isSparing: boolean
  readonly #names = new StatementNames()
  readonly #watchdog: PostgresWatchdog
  readonly #running = new PendingPromises()
  readonly #snapshots = new Set<PostgresSnapshot>()
  readonly #reads = new ReadGroups(
    (statements) => this.#use((session) => session.run(statements), again.read),
    isRolledBack,
  )
  readonly #inserts = new InsertGroups(
    (statement) => this.#use(async (session) => (await session.run([statement]))[0]!, again.write),
    isRolledBack,
  )
  readonly #signals: PostgresSignals
  #closing: Promise<void> | undefined

  private constructor(url: string, pool: pg.Pool, scanPool: pg.Pool) {
    this.#url = url
    this.#pool = pool
    this.#scanPool = scanPool
    this.#watchdog = new PostgresWatchdog(url)
    this.#signals = new PostgresSignals(url, (query) => this.write(query))
    this.#isSparing = isLoopback(new URL(url).hostname) && availableParallelism() < SCAN_PLACES
    this.#scans = new ScanQueue(undefined, this.#isSparing ? 1 : undefined)
  }

  /**
   * @param url `postgres://user:password@host:port/database`, with the options of libpq (`?sslmode=…`)
   * @param connections at most this many at a time, beside those of scans
   */
  static async open(url: string, connections = 10): Promise<PostgresDatabase> {
    if (/^[^/]+:\/\/(?:[^/?]*@)?[^@/?]*,[^@/?]*(?:[/?]|$)|[?&]host=[^&]*,/.test(url))
      throw new StartError(
        'DATABASE_URL: several hosts are not supported: name the one that always leads to the primary, such as the writer endpoint of your provider or a virtual address',
      )
    if (!URL.canParse(url))
      throw new StartError(
        'DATABASE_URL: this is not an address: write postgres://user:password@host:port/name, with special characters of the password in percent-encoding',
      )
    const pool = openPool({ url, connections })
    const database = new PostgresDatabase(url, pool, openPool({ url, connections: SCAN_PLACES }))
    try {
      await database.ping()
    } catch (error) {
      await pool.end()
      const { hostname, port, pathname, searchParams } = new URL(url)
      const cause = ((error as Error).cause ?? error) as { message?: string; code?: string }
      if (cause instanceof StartError) throw cause
      // As libpq; `pg` takes it for `require`.
      if (searchParams.get('sslmode') === 'prefer' && cause.message === NO_TLS)
        return PostgresDatabase.open(url.replace('sslmode=prefer', 'sslmode=disable'), connections)
      throw new StartError(
        `DATABASE_URL: no PostgreSQL answers at ${hostname}:${port || '5432'}${pathname}: ${cause.message || cause.code}`,
        { cause: error },
      )
    }
    return database
  }

  async get<R = Row>(query: Sql<R>): Promise<R | undefined> {
    this.#refuseWhenClosed()
    return (await this.#reads.read(query, true))[0] as R | undefined
  }

  async all<R = Row>(query: Sql<R>): Promise<R[]> {
    this.#refuseWhenClosed()
    return (await this.#reads.read(query, false)) as R[]
  }

  async scan<R = Row>(query: Sql<R>, options: ScanOptions = {}): Promise<R[]> {
    this.#refuseWhenClosed()
    // Only if this process can't, the server ends a scan at its limit.
    const { limitMs = 0 } = options
    const serverLimitMs = limitMs < STATEMENT_LIMIT_MS ? undefined : limitMs + SCAN_MARGIN_MS
    return this.#scans.run(options, async (stop) => {
      // Not before it has a place: those that wait would fill memory with texts.
      const statement = query.render('postgres')
      const hasWorkers = !(this.#isSparing && this.#scans.isCrowded)
      return this.#use(
        async (session) =>
          (await session.runUntil(stop, statement, { limitMs: serverLimitMs, hasWorkers })).rows() as R[],
        (session) => !stop.aborted && again.read(session),
        this.#scanPool,
      )
    })
  }

  async write<R = Row>(query: Sql<R>): Promise<R[]> {
    refuseInside(this)
    this.#refuseWhenClosed()
    if (query instanceof Insert) return (await this.#inserts.write(query)) as R[]
    const statement = query.render('postgres')
    return this.#use(async (session) => (await session.run([statement]))[0]!.rows() as R[], again.write)
  }

  async batch<const S extends Steps>(steps: S): Promise<BatchRows<S>> {
    refuseInside(this)
    this.#refuseWhenClosed()
    return runBatch(steps, (flat) => this.#runSteps(flat))
  }

  async #runSteps(steps: readonly StepWith[]): Promise<Row[][]> {
    const required = steps.map((step) =>
      step.otherwise ? requiringRow(step.query.render('postgres')) : undefined,
    )
    // A form that can't be made to fail at the server is looked at here, between the steps.
    if (steps.some(({ otherwise }, at) => otherwise && !required[at])) return this.#runStepByStep(steps)
    const statements = steps.map(({ query }, at) => required[at]?.statement ?? query.render('postgres'))
    return this.#use(async (session) => {
      try {
        const answers = await session.run(statements)
        return answers.map((answer, at) => {
          const one = required[at]
          return one ? rowsOfRequired(answer, one) : answer.rows()
        })
      } catch (error) {
        const otherwise = isUnmet(error) ? steps[session.failedAt!]?.otherwise : undefined
        throw otherwise ? otherwise() : withStep(error, session.failedAt)
      }
    }, again.write)
  }

  async #runStepByStep(steps: readonly StepWith[]): Promise<Row[][]> {
    return this.#inTransaction('begin', async (session) => {
      const rows: Row[][] = []
      for (const [at, { query, otherwise }] of steps.entries()) {
        const [answer] = await session.run([query.render('postgres')]).catch(atStep(at))
        const answered = answer!.rows()
        if (otherwise && answered.length === 0) throw otherwise()
        rows.push(answered)
      }
      return rows
    })
  }

  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    // What was read must still hold when it is written, as it does under SQLite's one writer.
    { isolation = 'serializable', limitMs }: TransactionOptions = {},
  ): Promise<T> {
    refuseInside(this)
    this.#refuseWhenClosed()
    const run = async (session: PostgresSession, query: Sql<unknown>): Promise<Row[]> =>
      (await session.run([query.render('postgres')]))[0]!.rows()
    const { result, committed } = await this.#inTransaction(
      `begin isolation level ${isolation}`,
      (session) => runWork(this, (query) => run(session, query), work, limitMs),
      limitMs,
    )
    committed()
    return result
  }

  #inTransaction<T>(
    begin: string,
    work: (session: PostgresSession) => Promise<T>,
    limitMs?: number,
  ): Promise<T> {
    return this.#use(async (session) => {
      session.begin(begin, limitMs)
      try {
        const result = await work(session)
        await session.end('commit')
        return result
      } catch (error) {
        // What is still under way there would hold up the rollback.
        if (error instanceof TransactionTimeout) session.spoil()
        if (session.usable) await session.end('rollback').catch(() => undefined)
        throw error
      }
    }, again.write)
  }

  async snapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    this.#refuseWhenClosed()
    const snapshot = new PostgresSnapshot(this.#url, connectLimitOf(this.#url))
    this.#snapshots.add(snapshot)
    try {
      return await runSnapshot(snapshot, work)
    } finally {
      this.#snapshots.delete(snapshot)
    }
  }

  #refuseWhenClosed(): void {
    if (this.#closing) throw errors.unavailable({ cause: new Error('the database is closed') })
  }

  /** Runs `work` on a connection, and again on another one if that is worth it and safe. */
  #use<T>(work: (session: PostgresSession) => Promise<T>, isAgain: Again, pool = this.#pool): Promise<T> {
    return this.#running.add(this.#attempt(work, isAgain, pool))
  }

  async #attempt<T>(
    work: (session: PostgresSession) => Promise<T>,
    isAgain: Again,
    pool: pg.Pool,
  ): Promise<T> {
    for (let attempt = 1, pause = 0; ; attempt++) {
      const session = new PostgresSession(pool, this.#names, this.#watchdog)
      try {
        await session.open()
        return await work(session)
      } catch (error) {
        const conflict = session.fault === 'conflict'
        if (!isAgain(session) || attempt >= (conflict ? CONFLICT_TRIES : TRIES)) throw error
        pause = (conflict ? CONFLICT_DELAY_MS : LOST_DELAY_MS) * attempt * (0.5 + Math.random())
      } finally {
        session.release()
      }
      await delay(pause)
    }
  }

  load(): DatabaseLoad {
    const { waitingCount, totalCount, idleCount } = this.#pool
    return {
      waiting: { connection: waitingCount, scan: this.#scans.waiting },
      connections: { used: totalCount - idleCount, idle: idleCount },
    }
  }

  revision(): undefined {
    return undefined
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
    report: (progress: MigrationProgress) => void = () => undefined,
  ): Promise<void> {
    // A connection of its own, because a large table may take long.
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'sixwire',
      keepAlive: true,
      types,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(BEGIN_MIGRATION)
      // Of several programs starting at once one migrates; the others wait here and find it done.
      await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
      await client.query(migrationsTable)
      const applied = await client.query('select wire, name, checksum from sixwire_migrations')
      for (const migration of pendingMigrations(
        applied.rows as AppliedMigration[],
        migrations.map(withChecksum),
      )) {
        if (applied.rows.length > 0) report({ migration: `${migration.wire}/${migration.name}` })
        await client.query(migration.text).catch((error: unknown) => {
          throw failedMigration(migration, error)
        })
        await client.query(
          'insert into sixwire_migrations (wire, name, checksum, applied_at) values ($1, $2, $3, $4)',
          [migration.wire, migration.name, migration.checksum, Date.now()],
        )
      }
      await client.query('commit')
    } catch (error) {
      if (error instanceof StartError) throw error
      const reason = isReadOnly(error)
        ? 'it takes no writes, as a standby does; name the primary, also for a server that only reads'
        : (error as Error).message
      throw new StartError(`DATABASE_URL: the tables could not be brought up to date: ${reason}`, {
        cause: error,
      })
    } finally {
      await client.end() // undoes what was not committed
    }
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.#signals.close()
      await Promise.all([...this.#snapshots].map((snapshot) => snapshot.close()))
      await Promise.all([this.#reads.idle(), this.#inserts.idle(), this.#scans.idle()])
      await this.#running.idle()
      await Promise.all([this.#pool.end(), this.#scanPool.end()])
    })()
    return this.#closing
  }
}

const AGAIN = new Set<Kind | undefined>(['lost', 'conflict', 'stale'])

const again: Record<'read' | 'write', Again> = {
  read: ({ fault }) => AGAIN.has(fault),
  // A connection that is lost after the commit was sent leaves open whether it happened.
  write: ({ fault, mayHaveCommitted }) => AGAIN.has(fault) && !(mayHaveCommitted && fault === 'lost'),
}

/** Whether the server undid a statement because of the statement itself, so that others of its group may succeed. */
const isRolledBack = (error: unknown): boolean => kindOf((error as Error).cause ?? error) === 'refused'
