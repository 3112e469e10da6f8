import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'

import { errors } from '../base/errors.ts'
import {
  ConstraintError,
  type Database,
  type Migration,
  type Row,
  type Step,
  type Transaction,
} from './database.ts'
import {
  checksumOf,
  migrationsTable,
  pendingMigrations,
  StartError,
  type AppliedMigration,
} from './migrations.ts'
import { Sql, type Statement } from './sql.ts'

const STATEMENT_LIMIT_MS = 30_000
const CONNECT_LIMIT_MS = 5_000
const TRIES = 3
const NAMED_STATEMENTS = 500
const MIGRATION_LOCK = 6_946_173 // any number that nobody else takes in this database

// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONSTRAINTS: Record<string, ConstraintError['kind']> = {
  '23502': 'not_null',
  '23503': 'foreign_key',
  '23505': 'unique',
  '23514': 'check',
}
const CANCELLED = '57014'
const RAN_INTO_ANOTHER = new Set(['40001', '40P01']) // serialisation failure, deadlock
const SOCKET_FAULTS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

function lostConnection(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return (
    SOCKET_FAULTS.has(code) ||
    code.startsWith('08') || // connection exceptions
    code.startsWith('57P0') || // shut down, crashed, starting up
    code === '53300' || // too many connections
    /connection (terminated|error|timeout)|timeout exceeded when trying to connect|client has encountered/i.test(
      message,
    )
  )
}

function errorOf(error: unknown): Error {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const kind = CONSTRAINTS[code]
  if (kind) return new ConstraintError(kind, message, { cause: error })
  if (code === CANCELLED)
    return errors.unavailable({
      retryAfter: 30,
      message: 'The query took longer than 30 s: narrow it.',
      cause: error,
    })
  if (lostConnection(error) || RAN_INTO_ANOTHER.has(code))
    return errors.unavailable({ retryAfter: 1, cause: error })
  return error as Error
}

// Integers are numbers (the tables keep them within 2^53), JSON stays the text that it is.
const { INT8, JSON: JSON_TYPE, JSONB } = pg.types.builtins
const asText = (text: string): string => text
function getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === INT8) return Number
  if (oid === JSON_TYPE || oid === JSONB) return asText
  return pg.types.getTypeParser(oid, format as 'text') as (text: string) => unknown
}

/** PostgreSQL, for many replicas. Connections are pooled, made anew when they are lost, and used again where that is safe. */
export class PostgresDatabase implements Database {
  readonly dialect = 'postgres'
  readonly #pool: pg.Pool
  readonly #names = new Map<string, string>()

  private constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /**
   * @param url `postgres://user:password@host:port/database`, with the options of libpq (`?sslmode=…`)
   * @param connections at most this many at a time
   */
  static async open(url: string, connections = 10): Promise<PostgresDatabase> {
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      statement_timeout: STATEMENT_LIMIT_MS,
      idle_in_transaction_session_timeout: STATEMENT_LIMIT_MS,
      keepAlive: true,
      application_name: 'sixwire',
      types: { getTypeParser } as pg.CustomTypesConfig,
    })
    // An idle connection that the server closes is replaced by the pool at the next use.
    pool.on('error', () => undefined)
    const database = new PostgresDatabase(pool)
    try {
      await database.ping()
    } catch (error) {
      await pool.end()
      const { hostname, port, pathname } = new URL(url)
      const cause = (error as Error).cause ?? error
      throw new StartError(
        `DATABASE_URL: no PostgreSQL answers at ${hostname}:${port || '5432'}${pathname}: ${(cause as Error).message || (cause as { code?: string }).code}`,
      )
    }
    return database
  }

  /** Statements that come again keep a name, under which the server remembers their plan. */
  #named({ text, params }: Statement): pg.QueryConfig {
    let name = this.#names.get(text)
    if (name === undefined && this.#names.size < NAMED_STATEMENTS) {
      name = `s${this.#names.size}`
      this.#names.set(text, name)
    }
    return name === undefined ? { text, values: params } : { name, text, values: params }
  }

  /** Borrows a connection; one that turned out lost is not given back to the pool. */
  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    let broken: boolean = true
    try {
      const result = await work(client)
      broken = false
      return result
    } catch (error) {
      broken = lostConnection(error)
      throw error
    } finally {
      client.release(broken)
    }
  }

  /** @param safe whether, after this fault, the work can't have had an effect */
  async #retrying<T>(work: () => Promise<T>, safe: (error: unknown) => boolean): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt >= TRIES || !safe(error)) throw errorOf(error)
        await delay(50 * attempt * (1 + Math.random()))
      }
    }
  }

  #read<R>(query: pg.QueryConfig): Promise<R[]> {
    return this.#retrying(() => this.#withClient((client) => rowsOf<R>(client, query)), lostConnection)
  }

  async get<R = Row>(query: Sql): Promise<R | undefined> {
    return (await this.all<R>(query))[0]
  }

  all<R = Row>(query: Sql): Promise<R[]> {
    return this.#read<R>(this.#named(query.render('postgres')))
  }

  scan<R = Row>(query: Sql): Promise<R[]> {
    const { text, params } = query.render('postgres')
    return this.#read<R>({ text, values: params })
  }

  async write<R = Row>(query: Sql): Promise<R[]> {
    const statement = this.#named(query.render('postgres'))
    let sent = false
    return this.#retrying(
      () =>
        this.#withClient((client) => {
          sent = true
          return rowsOf<R>(client, statement)
        }),
      // Once it was sent, a lost connection leaves open whether it happened; a deadlock's victim did not.
      (error) =>
        (!sent && lostConnection(error)) || RAN_INTO_ANOTHER.has((error as { code?: string }).code ?? ''),
    )
  }

  async batch(steps: readonly Step[]): Promise<Row[][]> {
    if (steps.length === 0) return []
    return this.#inTransaction(async (client) => {
      const rows: Row[][] = []
      for (const step of steps) {
        const query = step instanceof Sql ? step : step.query
        const answer = await rowsOf<Row>(client, this.#named(query.render('postgres')))
        if (!(step instanceof Sql) && answer.length === 0) throw step.otherwise()
        rows.push(answer)
      }
      return rows
    })
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#inTransaction((client) => {
      const run = <R>(query: Sql): Promise<R[]> =>
        rowsOf<R>(client, this.#named(query.render('postgres'))).catch((error: unknown) => {
          // Faults that make the whole transaction worth another try keep their own form until then.
          throw retryable(error) ? error : errorOf(error)
        })
      return work({
        dialect: 'postgres',
        all: run,
        write: run,
        get: async (query) => (await run(query))[0] as never,
      })
    })
  }

  async #inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    let committing = false
    return this.#retrying(
      () =>
        this.#withClient(async (client) => {
          committing = false
          await client.query('begin')
          try {
            const result = await work(client)
            committing = true
            await client.query('commit')
            return result
          } catch (error) {
            if (!lostConnection(error)) await client.query('rollback')
            throw error
          }
        }),
      (error) => retryable(error) && !(committing && lostConnection(error)),
    )
  }

  async ping(): Promise<void> {
    await this.#read({ text: 'select 1' })
  }

  async migrate(migrations: readonly Migration[]): Promise<void> {
    await this.#withClient(async (client) => {
      await client.query('set statement_timeout = 0')
      // Of several programs starting at once one migrates; the others wait here and find it done.
      await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
      try {
        await client.query(migrationsTable)
        const applied = await client.query('select wire, name, checksum from sixwire_migrations')
        for (const migration of pendingMigrations(applied.rows as AppliedMigration[], migrations)) {
          await client.query('begin')
          await client.query(migration.text)
          await client.query(
            'insert into sixwire_migrations (wire, name, checksum, applied_at) values ($1, $2, $3, $4)',
            [migration.wire, migration.name, checksumOf(migration), Date.now()],
          )
          await client.query('commit')
        }
      } catch (error) {
        await client.query('rollback')
        throw error instanceof StartError ? error : new StartError((error as Error).message, { cause: error })
      } finally {
        await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
        await client.query(`set statement_timeout = ${STATEMENT_LIMIT_MS}`)
      }
    })
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

const retryable = (error: unknown): boolean =>
  lostConnection(error) || RAN_INTO_ANOTHER.has((error as { code?: string }).code ?? '')

/** The rows, or an empty one where a statement without `returning` changed something. */
async function rowsOf<R>(client: pg.PoolClient, query: pg.QueryConfig): Promise<R[]> {
  const { rows, rowCount, fields } = await client.query(query)
  if (fields.length > 0) return rows as R[]
  return rowCount ? [{} as R] : []
}
