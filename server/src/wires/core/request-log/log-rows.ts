import type { Step } from '../../../db/database.ts'
import { sql, type Dialect, type Sql, type SqlScalar } from '../../../db/sql.ts'
import type { UnexpectedError } from './problem.ts'

/** An entry of the log as it is stored. */
export type EntryRow = {
  id: string
  kind: 'request' | 'problem'
  process: string
  request_id: string | null
  method: string | null
  route: string | null
  path: string | null
  status: number | null
  us: number | null
  /** `user`, `key`, or `console` for a user in a session of the console. */
  caller_kind: string | null
  caller: string | null
  ip: string | null
  code: string | null
  level: string | null
  message: string | null
  fields: string | null
  fault: string | null
}

const COLUMNS: readonly (keyof EntryRow)[] = [
  'id',
  'kind',
  'process',
  'request_id',
  'method',
  'route',
  'path',
  'status',
  'us',
  'caller_kind',
  'caller',
  'ip',
  'code',
  'level',
  'message',
  'fields',
  'fault',
]
const NUMBERS: ReadonlySet<keyof EntryRow> = new Set(['status', 'us'])
const NAMES = COLUMNS.join(', ')

export const LOG_COLUMNS = sql.literal(NAMES)

/** Columns that an entry of the other kind has. */
export const NO_REQUEST = {
  method: null,
  route: null,
  path: null,
  status: null,
  us: null,
  caller_kind: null,
  caller: null,
  ip: null,
  code: null,
}
export const NO_PROBLEM = { level: null, message: null, fields: null, fault: null }

const SQLITE_INSERT = `insert into sixwire_log (${NAMES}) values (${COLUMNS.map((_, at) => `?${at + 1}`).join(', ')}) on conflict (id) do nothing`
const POSTGRES_TYPES = COLUMNS.map((name) => `${name} ${NUMBERS.has(name) ? 'bigint' : 'text'}`).join(', ')

/** Inserts entries; those that are there stay as they are. */
export function insertRowsSql(dialect: Dialect, rows: readonly EntryRow[]): Sql {
  if (dialect === 'sqlite')
    return sql.forEach(
      SQLITE_INSERT,
      rows.map((row) => COLUMNS.map((name): SqlScalar => row[name])),
    )
  return sql`
    insert into sixwire_log (${LOG_COLUMNS})
    select ${LOG_COLUMNS} from json_to_recordset(${JSON.stringify(rows)}::json) as row (${sql.literal(POSTGRES_TYPES)})
    on conflict (id) do nothing`
}

/** What one process has answered in an hour. */
export type HourTotals = {
  requests: number
  refusals: number
  failures: number
  us: number
  omitted: number
}

/** Writes the totals of a process, which are its latest: writing them again changes nothing. */
export const putHourSql = (
  hour: number,
  process: string,
  { requests, refusals, failures, us, omitted }: HourTotals,
): Sql => sql`
  insert into sixwire_log_hours (hour, process, requests, refusals, failures, us, omitted)
  values (${hour}, ${process}, ${requests}, ${refusals}, ${failures}, ${us}, ${omitted})
  on conflict (hour, process) do update set requests = excluded.requests, refusals = excluded.refusals,
    failures = excluded.failures, us = excluded.us, omitted = excluded.omitted`

/** How often a fault came up since the last batch, and its last occurrence. */
export type FaultCount = {
  error: UnexpectedError
  count: number
  firstAt: number
  lastAt: number
  requestId: string | undefined
}

// Another process may have written a later one already.
const OF_LAST_OCCURRENCE = ['message', 'place', 'stack', 'last_request_id', 'last_process', 'last_at']
  .map(
    (name) =>
      `${name} = case when excluded.last_at < known.last_at then known.${name} else excluded.${name} end`,
  )
  .join(', ')

/** Adds to a fault. One that an operator resolved is open again. */
export const countFaultSql = (
  process: string,
  { error, count, firstAt, lastAt, requestId }: FaultCount,
): Step => sql`
  insert into sixwire_faults as known
    (fingerprint, name, message, place, stack, count, first_at, last_at, last_request_id, last_process)
  values (${error.fingerprint}, ${error.name}, ${error.message}, ${error.place ?? null}, ${error.stack ?? null}, ${count},
    ${firstAt}, ${lastAt}, ${requestId ?? null}, ${process})
  on conflict (fingerprint) do update set
    count = known.count + excluded.count,
    first_at = case when excluded.first_at < known.first_at then excluded.first_at else known.first_at end,
    resolved_at = case when known.resolved_at < excluded.last_at then null else known.resolved_at end,
    resolved_by = case when known.resolved_at < excluded.last_at then null else known.resolved_by end,
    ${sql.literal(OF_LAST_OCCURRENCE)}`
