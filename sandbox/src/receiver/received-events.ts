import { isoTime } from '../../../server/src/base/clock.ts'
import { newId } from '../../../server/src/base/ids.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import { sql, type Sql } from '../../../server/src/db/sql.ts'
import type { StandInContext } from '../stand-in.ts'

/** Events that are kept; the oldest are deleted. */
const KEPT = 1_000

/** An event as the page shows it. */
export type ListedEvent = {
  id: string
  /** The `webhook-id`, the same at each attempt. */
  eventId: string
  type: string
  isVerified: boolean
  /** The HTTP status that was answered; null: none. */
  status: number | null
  headers: Record<string, string>
  body: string
  /** ISO 8601. */
  receivedAt: string
}

type Row = {
  id: string
  event_id: string
  type: string
  body: string
  headers: string
  is_verified: number
  status: number | null
  received_at: number
}

export type ReceivedEvents = {
  /** @returns the id of the row */
  add(event: Pick<ListedEvent, 'eventId' | 'type' | 'isVerified' | 'headers' | 'body'>): Promise<string>
  answered(id: string, status: number): Promise<void>
  /** Newest first. */
  list(filter: { type?: string; limit: number }): Promise<ListedEvent[]>
  count(): Promise<number>
  /** Differs whenever the list does. */
  version(): Promise<unknown>
  deleteSql(): Sql
}

export function createReceivedEvents({ db, clock }: Pick<StandInContext, 'db' | 'clock'>): ReceivedEvents {
  return {
    async add({ eventId, type, isVerified, headers, body }) {
      const now = clock.now()
      const id = newId(now)
      await db.batch([
        sql`insert into sandbox_events (id, event_id, type, body, headers, is_verified, received_at)
            values (${id}, ${eventId}, ${type}, ${body}, ${JSON.stringify(headers)}, ${isVerified ? 1 : 0}, ${now})`,
        sql`delete from sandbox_events where id <= (
              select id from sandbox_events order by id desc limit 1 offset ${KEPT})`,
      ])
      return id
    },
    async answered(id, status) {
      await db.write(sql`update sandbox_events set status = ${status} where id = ${id}`)
    },
    async list({ type, limit }) {
      const rows = await db.scan<Row>(sql`
        select id, event_id, type, body, headers, is_verified, status, received_at from sandbox_events
        where ${type === undefined ? sql.literal('1 = 1') : sql`type = ${type}`} order by id desc limit ${limit}`)
      return rows.map((row) => ({
        id: row.id,
        eventId: row.event_id,
        type: row.type,
        isVerified: row.is_verified === 1,
        status: row.status,
        headers: parseJson(row.headers) as Record<string, string>,
        body: row.body,
        receivedAt: isoTime(row.received_at),
      }))
    },
    async count() {
      const row = await db.get<{ count: number }>(sql`select count(*) as count from sandbox_events`)
      return row!.count
    },
    version: () =>
      db.get(sql`select max(id) as newest, count(status) as answered, count(*) as count from sandbox_events`),
    deleteSql: () => sql`delete from sandbox_events`,
  }
}
