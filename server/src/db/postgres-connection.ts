import pg from 'pg'

import { StartError } from '../base/start-error.ts'
import type { Statement } from './sql.ts'
import { types } from './postgres-values.ts'

export const STATEMENT_LIMIT_MS = 30_000
const CONNECT_LIMIT_MS = 5_000
// Longer than the server's own limit: only a server that is gone without a word answers nothing for so long.
const SILENCE_LIMIT_MS = 35_000
// `pg` and the tables hold any character; SQL_ASCII keeps the bytes as they are.
const ENCODINGS = ['UTF8', 'SQL_ASCII']

// The parts of `pg` that @types/pg does not have.
type Inner = { processID: number | null; connectionParameters: { statement_timeout: string | false } }

/** What every session needs, whatever its server, database and role have as their defaults. */
const settings = (isLocal: boolean, limitMs = STATEMENT_LIMIT_MS): string =>
  Object.entries({
    statement_timeout: limitMs,
    idle_in_transaction_session_timeout: STATEMENT_LIMIT_MS,
    standard_conforming_strings: 'on',
  })
    .map(([name, value]) => `set_config('${name}', '${value}', ${isLocal})`)
    .join(' || ')

/** Makes the settings, to the end of a transaction, where a session keeps none. */
export const localSettings: Statement = { text: `select ${settings(true)}`, params: [] }

/** How long a statement of a connection may take: what `?statement_timeout=` of its address says, or our own limit. */
export const statementLimitOf = (client: pg.ClientBase): number =>
  Number((client as unknown as Inner).connectionParameters.statement_timeout) || STATEMENT_LIMIT_MS

/** How long it may take to connect: what `?connect_timeout=` of an address says, in seconds as for libpq, or our own limit. */
export const connectLimitOf = (url: string): number =>
  Number(new URL(url).searchParams.get('connect_timeout')) * 1000 || CONNECT_LIMIT_MS

const pooled = new WeakSet<pg.ClientBase>()

/**
 * Whether a pooler such as PgBouncer is between this process and the server: then two transactions of a connection may be of
 * different sessions, so nothing that a session keeps may be used beyond one (settings, prepared statements, LISTEN).
 */
export const isPooled = (client: pg.ClientBase): boolean => pooled.has(client)

/**
 * Makes the settings of a new connection. They are no startup parameters, because PgBouncer refuses those that it does not know.
 * A pooler gives each client a key of its own to cancel by, which does not name the process that answers.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BACKENDKEYDATA
 */
export async function prepareConnection(client: pg.ClientBase): Promise<void> {
  const { processID } = client as unknown as Inner
  const isDirect = `pg_backend_pid() = ${processID ?? 0}`
  const {
    rows: [row],
  } = await client.query<{ is_direct: boolean; encoding: string }>({
    text: `select ${isDirect} as is_direct, current_setting('server_encoding') as encoding,
      case when ${isDirect} then ${settings(false, statementLimitOf(client))} end`,
    query_timeout: CONNECT_LIMIT_MS,
  } as pg.QueryConfig)
  if (!ENCODINGS.includes(row!.encoding))
    throw new StartError(
      `DATABASE_URL: the database must be UTF8, and this one is ${row!.encoding}: create it with encoding 'UTF8' template template0`,
    )
  if (!row!.is_direct) pooled.add(client)
}

/** Connections to one database, each replaced when it is lost. */
export function openPool({ url, connections }: { url: string; connections: number }): pg.Pool {
  const options = {
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectLimitOf(url),
    query_timeout: SILENCE_LIMIT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'sixwire',
    types,
    onConnect: prepareConnection, // awaited, which @types/pg does not say
  }
  const pool = new pg.Pool(options)
  // A connection that the server closes is replaced at the next use; without a listener it would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
