import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'

import { errors } from '../base/errors.ts'
import { runBatch } from './batch.ts'
import type { BatchRows, Database, Migration, Steps, Transaction } from './database.ts'
import { StartError } from '../base/start-error.ts'
import {
  checksumOf,
  failedMigration,
  migrationsTable,
  pendingMigrations,
  type AppliedMigration,
} from './migrations.ts'
import type { Kind } from './postgres-faults.ts'
import { Session, StatementNames } from './postgres-session.ts'
import { Sql, type Row } from './sql.ts'
import { refuseInside, runWork, TransactionTimeout } from './transaction.ts'

const STATEMENT_LIMIT_MS = 30_000
// Longer than the server's own limit: only a server that is gone without a word answers nothing for so long.
const SILENCE_LIMIT_MS = 35_000
const CONNECT_LIMIT_MS = 5_000
const TRIES = 3
const CONFLICT_TRIES = 20
const CONFLICT_DELAY_MS = 5
const LOST_DELAY_MS = 50
const MIGRATION_LOCK = 6_946_173 // any number that nobody else takes in this database

const { BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, OID } = pg.types.builtins

/** As `node:sqlite` does it: a number that is not the one in the table is never answered. */
function number(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(text))
    throw new RangeError(`Value is too large to be represented as a JavaScript number: ${text}`)
  return value
}

// Columns come back as on SQLite: numbers, true and false as 1 and 0, and everything else as the text that it is.
const PARSERS: Record<number, (text: string) => unknown> = {
  [BOOL]: (text) => (text === 't' ? 1 : 0),
  [INT2]: Number,
  [INT4]: Number,
  [OID]: Number,
  [INT8]: number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  [NUMERIC]: number,
}
const asText = (text: string): string => text
const types = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText }

/** Whether to do it again after what happened to the session. */
type Again = (session: Session) => boolean

/** PostgreSQL, for many replicas. Connections are pooled, made anew when they are lost, and used again where that is safe. */
export class PostgresDatabase implements Database {
  readonly dialect = 'postgres'
  readonly #url: string
  readonly #pool: pg.Pool
  readonly #names = new StatementNames()
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  private constructor(url: string, pool: pg.Pool) {
    this.#url = url
    this.#pool = pool
  }

  /**
   * @param url `postgres://user:password@host:port/database`, with the options of libpq (`?sslmode=…`)
   * @param connections at most this many at a time
   */
  static async open(url: string, connections = 10): Promise<PostgresDatabase> {
    if (!URL.canParse(url))
      throw new StartError(
        'DATABASE_URL: this is not an address: write postgres://user:password@host:port/name, with special characters of the password in percent-encoding',
      )
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      statement_timeout: STATEMENT_LIMIT_MS,
      query_timeout: SILENCE_LIMIT_MS,
      idle_in_transaction_session_timeout: STATEMENT_LIMIT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'sixwire',
      types,
    })
    // A connection that the server closes is replaced at the next use; without a listener it would end the process.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => client.on('error', () => undefined))
    const database = new PostgresDatabase(url, pool)
    try {
      await database.ping()
    } catch (error) {
      await pool.end()
      const { hostname, port, pathname } = new URL(url)
      const cause = ((error as Error).cause ?? error) as { message?: string; code?: string }
      throw new StartError(
        `DATABASE_URL: no PostgreSQL answers at ${hostname}:${port || '5432'}${pathname}: ${cause.message || cause.code}`,
        { cause: error },
      )
    }
    return database
  }

  async get<R = Row>(query: Sql<R>): Promise<R | undefined> {
    return (await this.all<R>(query))[0]
  }

  async all<R = Row>(query: Sql<R>): Promise<R[]> {
    const statement = query.render('postgres')
    return this.#use((session) => session.run<R>(statement), again.read)
  }

  async scan<R = Row>(query: Sql<R>): Promise<R[]> {
    const statement = query.render('postgres')
    return this.#use((session) => session.runOnce<R>(statement), again.read)
  }

  async write<R = Row>(query: Sql<R>): Promise<R[]> {
    refuseInside(this)
    const statement = query.render('postgres')
    return this.#use((session) => session.run<R>(statement), again.write)
  }

  async batch<const S extends Steps>(steps: S): Promise<BatchRows<S>> {
    refuseInside(this)
    return runBatch(steps, (flat) => {
      const statements = flat.map(({ query }) => query.render('postgres'))
      return this.#inTransaction('begin', async (session) => {
        const rows: Row[][] = []
        for (const [at, statement] of statements.entries()) {
          const answer = await session.run<Row>(statement)
          const { otherwise } = flat[at]!
          if (otherwise && answer.length === 0) throw otherwise()
          rows.push(answer)
        }
        return rows
      })
    })
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    refuseInside(this)
    // What was read must still hold when it is written, as it does under SQLite's one writer.
    const { result, committed } = await this.#inTransaction('begin isolation level serializable', (session) =>
      runWork(this, (query) => session.run(query.render('postgres')), work),
    )
    committed()
    return result
  }

  #inTransaction<T>(begin: string, work: (session: Session) => Promise<T>): Promise<T> {
    let committing = false
    return this.#use(
      async (session) => {
        committing = false
        await session.control(begin)
        try {
          const result = await work(session)
          committing = true
          await session.control('commit')
          return result
        } catch (error) {
          // What is still under way there would hold up the rollback.
          if (error instanceof TransactionTimeout) session.spoil()
          if (session.usable) await session.control('rollback').catch(() => undefined)
          throw error
        }
      },
      (session) => AGAIN.has(session.fault) && !(committing && session.fault === 'lost'),
    )
  }

  /** Runs `work` on a connection, and again on another one where that is worth it and safe. */
  #use<T>(work: (session: Session) => Promise<T>, isAgain: Again): Promise<T> {
    if (this.#closing) throw errors.unavailable({ cause: new Error('the database is closed') })
    const whole = this.#attempt(work, isAgain)
    this.#running.add(whole)
    const end = () => this.#running.delete(whole)
    whole.then(end, end)
    return whole
  }

  async #attempt<T>(work: (session: Session) => Promise<T>, isAgain: Again): Promise<T> {
    for (let attempt = 1, pause = 0; ; attempt++) {
      const session = new Session(this.#pool, this.#names)
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

  revision(): undefined {
    return undefined
  }

  async ping(): Promise<void> {
    await this.get(new Sql(['select 1'], []))
  }

  async migrate(migrations: readonly Migration[]): Promise<void> {
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
      await client.query('begin; set local statement_timeout = 0; set local lock_timeout = 0')
      // Of several programs starting at once one migrates; the others wait here and find it done.
      await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
      await client.query(migrationsTable)
      const applied = await client.query('select wire, name, checksum from sixwire_migrations')
      for (const migration of pendingMigrations(applied.rows as AppliedMigration[], migrations)) {
        await client.query(migration.text).catch((error: unknown) => {
          throw failedMigration(migration, error)
        })
        await client.query(
          'insert into sixwire_migrations (wire, name, checksum, applied_at) values ($1, $2, $3, $4)',
          [migration.wire, migration.name, checksumOf(migration), Date.now()],
        )
      }
      await client.query('commit')
    } catch (error) {
      if (error instanceof StartError) throw error
      throw new StartError(
        `DATABASE_URL: the tables could not be brought up to date: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    } finally {
      await client.end() // undoes what was not committed
    }
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.allSettled(this.#running)
      await this.#pool.end()
    })()
    return this.#closing
  }
}

const AGAIN = new Set<Kind | undefined>(['lost', 'conflict', 'stale'])

const again: Record<'read' | 'write', Again> = {
  read: ({ fault }) => AGAIN.has(fault),
  // Once it was sent, a lost connection leaves open whether it happened.
  write: ({ fault, sent }) => AGAIN.has(fault) && !(sent && fault === 'lost'),
}
