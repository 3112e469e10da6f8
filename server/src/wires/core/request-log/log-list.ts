import type { Static } from 'typebox'

import { isoTime } from '../../../base/clock.ts'
import { leastIdOf, timeOfId } from '../../../base/ids.ts'
import { parseJson } from '../../../base/json.ts'
import { Type } from '../../../base/schema.ts'
import { timeOf } from '../../../base/time-text.ts'
import { containsSql } from '../../../db/contains.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { HOUR_MS } from './hours.ts'
import { LOG_COLUMNS, type EntryRow } from './log-rows.ts'

const TEXT_MAX = 200

/** Which entries of the log; as parameters of an address. */
export const LogFilterQuery = {
  kind: Type.Optional(
    Type.Enum(['request', 'problem'], { description: 'problem: a warning or an error of the server’s log.' }),
  ),
  status: Type.Optional(
    Type.String({
      pattern: '^[1-5](xx|\\d\\d)$',
      description: 'A status, or a class of them.',
      examples: ['5xx'],
    }),
  ),
  method: Type.Optional(Type.String({ maxLength: 20, examples: ['GET'] })),
  route: Type.Optional(Type.String({ maxLength: TEXT_MAX, examples: ['/store/:collection'] })),
  caller: Type.Optional(
    Type.String({
      maxLength: TEXT_MAX,
      description: 'The id or the email address of a user, or the id of a service key.',
    }),
  ),
  requestId: Type.Optional(Type.String({ maxLength: TEXT_MAX })),
  fault: Type.Optional(Type.String({ maxLength: TEXT_MAX, description: 'The _id of a fault.' })),
  since: Type.Optional(Type.String({ format: 'date-time', examples: ['2026-01-01T00:00:00.000Z'] })),
  until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Before this time.',
      examples: ['2027-01-01T00:00:00.000Z'],
    }),
  ),
  console: Type.Optional(
    Type.Boolean({ description: 'false: without the requests of the console. Default: with them.' }),
  ),
  q: Type.Optional(
    Type.String({ maxLength: TEXT_MAX, description: 'A part of the path, the error code or the message.' }),
  ),
}

export type LogFilter = Static<ReturnType<typeof Type.Object<typeof LogFilterQuery>>>

/** An entry as operators see it. */
export type ShownLogEntry = {
  _id: string
  kind: EntryRow['kind']
  at: string
  process: string
  requestId?: string
  method?: string
  route?: string
  path?: string
  status?: number
  ms?: number
  caller?: { kind: 'user' | 'key'; id: string }
  ip?: string
  code?: string
  level?: 'warn' | 'error' | 'fatal'
  message?: string
  fields?: Record<string, unknown>
  fault?: string
}

export type EntryPage = {
  entries: ShownLogEntry[]
  nextCursor?: string
  /** Requests and problems of the time that is asked for which were counted, and not written. */
  omitted: number
}

/** Reads a page of entries, newest first. What was answered in the last second may not be there yet. */
export async function listEntries(db: Database, filter: LogFilter, page: Page): Promise<EntryPage> {
  const { limit, before } = page
  const place = before === undefined ? [] : [sql`id < ${before}`]
  const [rows, omitted] = await Promise.all([
    db.scan<EntryRow>(selectEntriesSql([...place, ...conditionsOf(filter)], limit + 1)),
    countOmitted(db, filter),
  ])
  const { rows: shown, ...rest } = cutPage(rows, page, ({ id }) => id)
  return { entries: shown.map(shownEntry), ...rest, omitted }
}

/** Reads the newest entries from an id on, newest first. */
export const newestEntries = async (
  db: Database,
  filter: LogFilter,
  { from, limit }: { from: string; limit: number },
): Promise<ShownLogEntry[]> => {
  const rows = await db.all<EntryRow>(selectEntriesSql([sql`id >= ${from}`, ...conditionsOf(filter)], limit))
  return rows.map(shownEntry)
}

const selectEntriesSql = (conditions: readonly Sql[], limit: number): Sql<EntryRow> => sql<EntryRow>`
  select ${LOG_COLUMNS} from sixwire_log where ${sql.join([sql.literal('1 = 1'), ...conditions], ' and ')}
  order by id desc limit ${limit}`

function conditionsOf({
  kind,
  status,
  method,
  route,
  caller,
  requestId,
  fault,
  since,
  until,
  console,
  q,
}: LogFilter): Sql[] {
  return [
    ...(since === undefined ? [] : [sql`id >= ${leastIdOf(timeOf(since, '/query/since'))}`]),
    ...(until === undefined ? [] : [sql`id < ${leastIdOf(timeOf(until, '/query/until'))}`]),
    ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
    ...(caller === undefined ? [] : [sql`caller = ${caller}`]),
    ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
    ...(status === undefined ? [] : [statusSql(status)]),
    ...(method === undefined ? [] : [sql`method = ${method.toUpperCase()}`]),
    ...(route === undefined ? [] : [sql`route = ${route}`]),
    ...(fault === undefined ? [] : [sql`fault = ${fault}`]),
    ...(console === false ? [sql`coalesce(caller_kind, '') <> 'console'`] : []),
    ...(q === undefined ? [] : [containsSql(SEARCHED, q.toLowerCase())]),
  ]
}

function statusSql(status: string): Sql {
  const isClass = status.endsWith('xx')
  const least = Number(isClass ? `${status[0]}00` : status)
  return sql`status between ${least} and ${isClass ? least + 99 : least}`
}

const SEARCHED = sql.literal(
  `lower(coalesce(path, '') || ' ' || coalesce(code, '') || ' ' || coalesce(message, ''))`,
)

async function countOmitted(db: Database, { since, until }: LogFilter): Promise<number> {
  const from = since === undefined ? 0 : Math.floor(timeOf(since, '/query/since') / HOUR_MS)
  const to =
    until === undefined ? Number.MAX_SAFE_INTEGER : Math.floor(timeOf(until, '/query/until') / HOUR_MS)
  const row = await db.get<{ omitted: number }>(sql`
    select cast(coalesce(sum(omitted), 0) as bigint) as omitted from sixwire_log_hours
    where hour >= ${from} and hour <= ${to}`)
  return row!.omitted
}

function shownEntry(row: EntryRow): ShownLogEntry {
  const { caller_kind: callerKind, caller } = row
  return {
    _id: row.id,
    kind: row.kind,
    at: isoTime(timeOfId(row.id)),
    process: row.process,
    ...(row.request_id !== null && { requestId: row.request_id }),
    ...(row.method !== null && { method: row.method }),
    ...(row.route !== null && { route: row.route }),
    ...(row.path !== null && { path: row.path }),
    ...(row.status !== null && { status: row.status }),
    ...(row.us !== null && { ms: row.us / 1000 }),
    ...(caller !== null && { caller: { kind: callerKind === 'key' ? 'key' : 'user', id: caller } }),
    ...(row.ip !== null && { ip: row.ip }),
    ...(row.code !== null && { code: row.code }),
    ...(row.level !== null && { level: row.level as NonNullable<ShownLogEntry['level']> }),
    ...(row.message !== null && { message: row.message }),
    ...(row.fields !== null && { fields: parseJson(row.fields) as Record<string, unknown> }),
    ...(row.fault !== null && { fault: row.fault }),
  }
}
