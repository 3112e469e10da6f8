import { isoTime, type Clock } from '../../../base/clock.ts'
import { errors, invalid } from '../../../base/errors.ts'
import { containsSql } from '../../../db/contains.ts'
import { requireRow, type Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Actor } from '../../../http/actor.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'

export const FAULT_STATES = ['open', 'resolved'] as const

/** Unexpected errors of one name that were thrown at one place, as operators see them. */
export type ShownFault = {
  /** The fingerprint. */
  _id: string
  name: string
  /** Of the last occurrence. */
  message: string
  place?: string
  stack?: string
  count: number
  state: (typeof FAULT_STATES)[number]
  firstAt: string
  lastAt: string
  lastRequestId?: string
  lastProcess: string
  resolvedAt?: string
  resolvedBy?: string
}

type FaultRow = {
  fingerprint: string
  name: string
  message: string
  place: string | null
  stack: string | null
  count: number
  first_at: number
  last_at: number
  last_request_id: string | null
  last_process: string
  resolved_at: number | null
  resolved_by: string | null
}

export type FaultQuery = {
  state?: (typeof FAULT_STATES)[number] | undefined
  q?: string | undefined
  limit: number
  cursor?: string | undefined
}

const COLUMNS = sql.literal(
  'fingerprint, name, message, place, stack, count, first_at, last_at, last_request_id, last_process, resolved_at, resolved_by',
)

/** Reads a page of faults, the latest first. */
export async function listFaults(
  db: Database,
  { state, q, limit, cursor }: FaultQuery,
): Promise<{ faults: ShownFault[]; nextCursor?: string }> {
  const conditions: Sql[] = [
    sql.literal('1 = 1'),
    ...(state === undefined ? [] : [sql.literal(`resolved_at is ${state === 'open' ? '' : 'not '}null`)]),
    ...(cursor === undefined ? [] : [afterSql(cursor)]),
    ...(q === undefined ? [] : [containsSql(SEARCHED, q.toLowerCase())]),
  ]
  const rows = await db.scan<FaultRow>(sql`
    select ${COLUMNS} from sixwire_faults where ${sql.join(conditions, ' and ')}
    order by last_at desc, fingerprint desc limit ${limit + 1}`)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    faults: page.map(shownFault),
    ...(rows.length > limit && last && { nextCursor: cursorOf(last) }),
  }
}

/** How many faults are open. */
export async function countOpenFaults(db: Database): Promise<number> {
  const row = await db.get<{ count: number }>(
    sql`select count(*) as count from sixwire_faults where resolved_at is null`,
  )
  return row!.count
}

const cursorOf = ({ last_at, fingerprint }: FaultRow): string =>
  Buffer.from(`${last_at} ${fingerprint}`).toString('base64url')

/** @throws VALIDATION_ERROR at `/query/cursor` */
function afterSql(cursor: string): Sql {
  const [, at, fingerprint] =
    /^(\d{1,15}) ([\da-f]{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  if (at === undefined || fingerprint === undefined)
    throw invalid({
      path: '/query/cursor',
      message: 'This is not a cursor: send the nextCursor of the previous page.',
    })
  return sql`(last_at, fingerprint) < (${Number(at)}, ${fingerprint})`
}

const SEARCHED = sql.literal(`lower(name || ' ' || message || ' ' || coalesce(place, ''))`)

/** Marks a fault as resolved, until it happens again. @throws NOT_FOUND */
export async function resolveFault(
  { db, clock, audit }: { db: Database; clock: Clock; audit: Audit },
  fingerprint: string,
  actor: Actor,
): Promise<ShownFault> {
  const [[row]] = await db.batch([
    requireRow(
      sql<FaultRow>`
        update sixwire_faults set resolved_at = ${clock.now()}, resolved_by = ${actor.id ?? actor.kind}
        where fingerprint = ${fingerprint} returning ${COLUMNS}`,
      () => errors.not_found({ message: `There is no fault ${JSON.stringify(fingerprint)}.` }),
    ),
    audit.entrySql(actor, { action: 'fault.resolved', target: `fault:${fingerprint}` }),
  ])
  return shownFault(row!)
}

const shownFault = (row: FaultRow): ShownFault => ({
  _id: row.fingerprint,
  name: row.name,
  message: row.message,
  ...(row.place !== null && { place: row.place }),
  ...(row.stack !== null && { stack: row.stack }),
  count: row.count,
  state: row.resolved_at === null ? 'open' : 'resolved',
  firstAt: isoTime(row.first_at),
  lastAt: isoTime(row.last_at),
  ...(row.last_request_id !== null && { lastRequestId: row.last_request_id }),
  lastProcess: row.last_process,
  ...(row.resolved_at !== null && { resolvedAt: isoTime(row.resolved_at) }),
  ...(row.resolved_by !== null && { resolvedBy: row.resolved_by }),
})
