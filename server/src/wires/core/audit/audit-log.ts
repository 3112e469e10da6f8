import { isoTime } from '../../../base/clock.ts'
import { leastIdOf } from '../../../base/ids.ts'
import { parseJson } from '../../../base/json.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { AccountRole } from '../../../http/access.ts'
import type { Actor } from '../../../http/actor.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { BY_ID, orderOf } from '../../../kernel/requests/list-order.ts'

export const ACTOR_KINDS = ['user', 'key', 'command', 'system', 'stranger'] as const

/** An entry of the audit log. */
export type LoggedEntry = {
  _id: string
  /** ISO 8601. */
  createdAt: string
  action: string
  target?: string
  outcome: 'done' | 'denied'
  actor: { kind: Actor['kind']; id?: string; role?: AccountRole }
  /** The id of the administrator who acted as the user. */
  impersonatorId?: string
  sessionId?: string
  ip?: string
  userAgent?: string
  requestId?: string
  route?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
  reason?: string
}

/** Which entries: all conditions that are given apply. */
export type AuditFilter = {
  /** The action, or all of a noun: `user.*`. */
  action?: string | undefined
  /** The id of a user or a service key, or a kind of actor that has no id: `command`. */
  actor?: string | undefined
  target?: string | undefined
  /** Milliseconds since 1970: at this time or later. */
  since?: number | undefined
  /** Milliseconds since 1970: before this time. */
  until?: number | undefined
}

/** Reads the audit log. */
export type AuditLog = {
  /** Lists entries, newest first. */
  list(filter: AuditFilter, page: Page): Promise<{ entries: LoggedEntry[]; nextCursor?: string }>
  count(filter: AuditFilter): Promise<number>
}

type EntryRow = {
  id: string
  created_at: number
  action: string
  target: string | null
  outcome: 'done' | 'denied'
  actor_kind: Actor['kind']
  actor_id: string | null
  actor_role: AccountRole | null
  impersonator_id: string | null
  session_id: string | null
  ip: string | null
  user_agent: string | null
  request_id: string | null
  route: string | null
  old_value: string | null
  new_value: string | null
  reason: string | null
}

export const createAuditLog = (db: Database): AuditLog => ({
  async list(filter, page) {
    const { limit, offset } = page
    const { by, behind, positionOf } = orderOf<EntryRow>({ createdAt: BY_ID }, page)
    const rows = await db.scan<EntryRow>(sql`
      select * from sixwire_audit where ${sql.join([conditionsOf(filter), ...behind], ' and ')}
      order by ${by} limit ${limit + 1} offset ${offset}`)
    const { rows: cut, ...rest } = cutPage(rows, page, positionOf)
    return { entries: cut.map(entryOf), ...rest }
  },
  async count(filter) {
    const [row] = await db.scan<{ total: number }>(
      sql`select count(*) as total from sixwire_audit where ${conditionsOf(filter)}`,
    )
    return row!.total
  },
})

function conditionsOf({ action, actor, target, since, until }: AuditFilter): Sql {
  const conditions = [sql.literal('1 = 1')]
  if (action !== undefined) conditions.push(actionSql(action))
  if (actor !== undefined) conditions.push(actorSql(actor))
  if (target !== undefined) conditions.push(sql`target = ${target}`)
  // Ids sort by time.
  if (since !== undefined) conditions.push(sql`id >= ${leastIdOf(since)}`)
  if (until !== undefined) conditions.push(sql`id < ${leastIdOf(until)}`)
  return sql.join(conditions, ' and ')
}

/** `user.*` is a range: `/` follows the dot. */
const actionSql = (action: string): Sql =>
  action.endsWith('.*')
    ? sql`action >= ${action.slice(0, -1)} and action < ${`${action.slice(0, -2)}/`}`
    : sql`action = ${action}`

const actorSql = (actor: string): Sql =>
  (ACTOR_KINDS as readonly string[]).includes(actor)
    ? sql`actor_kind = ${actor}`
    : sql`(actor_id = ${actor} or impersonator_id = ${actor})`

const entryOf = (row: EntryRow): LoggedEntry => ({
  _id: row.id,
  createdAt: isoTime(row.created_at),
  action: row.action,
  outcome: row.outcome,
  actor: {
    kind: row.actor_kind,
    ...(row.actor_id !== null && { id: row.actor_id }),
    ...(row.actor_role !== null && { role: row.actor_role }),
  },
  ...(row.target !== null && { target: row.target }),
  ...(row.impersonator_id !== null && { impersonatorId: row.impersonator_id }),
  ...(row.session_id !== null && { sessionId: row.session_id }),
  ...(row.ip !== null && { ip: row.ip }),
  ...(row.user_agent !== null && { userAgent: row.user_agent }),
  ...(row.request_id !== null && { requestId: row.request_id }),
  ...(row.route !== null && { route: row.route }),
  ...(row.old_value !== null && { before: objectOf(row.old_value) }),
  ...(row.new_value !== null && { after: objectOf(row.new_value) }),
  ...(row.reason !== null && { reason: row.reason }),
})

const objectOf = (text: string): Record<string, unknown> => parseJson(text) as Record<string, unknown>
