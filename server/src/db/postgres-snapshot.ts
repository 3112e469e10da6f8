import pg from 'pg'

import { errors } from '../base/errors.ts'
import { CopyOut } from './postgres-copy-out.ts'
import { errorOf } from './postgres-faults.ts'
import { Pipeline, type PipelineAnswer } from './postgres-pipeline.ts'
import { types } from './postgres-values.ts'
import type { SnapshotConnection } from './snapshot.ts'
import type { Row, Sql, SqlScalar } from './sql.ts'

/** Whatever the server, the database and the role have as their defaults: forms of text that another one reads alike, and no limit. */
export const FORMS = `set local datestyle = 'ISO, YMD';
set local timezone = 'UTC';
set local intervalstyle = 'iso_8601';
set local extra_float_digits = 1;
select set_config(name, '0', true) from pg_settings where name = 'transaction_timeout'`

// The first read, behind the settings, takes the snapshot. Limits may come from the server or the role as well.
const BEGIN = `begin isolation level repeatable read read only;
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
set local standard_conforming_strings = on;
${FORMS};
select 1`

/** A connection of its own with a transaction, because it may be open for hours. */
export class PostgresSnapshot implements SnapshotConnection {
  readonly #client: pg.Client
  #closing: Promise<void> | undefined

  /** @param connectLimitMs how long it may take to connect */
  constructor(url: string, connectLimitMs: number) {
    this.#client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectLimitMs,
      application_name: 'sixwire snapshot',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types,
    })
    // What runs on a connection that is lost fails by itself.
    this.#client.on('error', () => undefined)
  }

  async begin(): Promise<void> {
    try {
      await this.#client.connect()
      await this.#client.query(BEGIN)
    } catch (error) {
      throw errors.unavailable({ retryAfter: 1, cause: error })
    }
  }

  rows(query: Sql<unknown>): Promise<Row[]> {
    return readRows(this.#client, query)
  }

  lines(query: Sql<{ line: string }>): AsyncGenerator<Buffer> {
    return readLines(this.#client, query)
  }

  close(): Promise<void> {
    // If rows are still being sent, it breaks the connection.
    this.#closing ??= this.#client.end()
    return this.#closing
  }
}

/** The rows of a query on a connection that nobody else uses. */
export async function readRows(client: pg.Client, query: Sql<unknown>): Promise<Row[]> {
  const statement = { ...query.render('postgres'), name: undefined }
  const [answer] = await new Promise<PipelineAnswer[]>((resolve, reject) => {
    const pipeline = new Pipeline([statement], (error, answers) => {
      if (error) reject(errorOf(error))
      else resolve(answers!)
    })
    client.query(pipeline)
  })
  return answer!.rows()
}

/** The lines of a query likewise; see `Snapshot`. */
export async function* readLines(client: pg.Client, query: Sql<{ line: string }>): AsyncGenerator<Buffer> {
  try {
    const copy = new CopyOut(`copy (${withLiterals(query)}) to stdout (format binary)`)
    client.query(copy)
    yield* copy.pieces()
  } catch (error) {
    throw errorOf(error)
  }
}

/** The text of a statement with its values in it: `copy` takes no parameters. */
function withLiterals(query: Sql<unknown>): string {
  const { params } = query.render('postgres')
  return query.renderWith((n) => literalOf(params[n - 1]!))
}

function literalOf(value: SqlScalar): string {
  if (value === null) return 'null'
  // In parentheses, because a minus behind another one would begin a comment.
  return typeof value === 'string' ? pg.escapeLiteral(value) : `(${value})`
}
