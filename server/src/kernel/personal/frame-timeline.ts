import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { newestIdsSql, type TimelinePart } from '../wire/timeline.ts'

/** What the audit log has about an account, and by it. */
export const frameTimeline = (db: Database): TimelinePart => ({
  name: 'audit',
  async read(person, page) {
    const target = `user:${person.id}`
    const ids = newestIdsSql('sixwire_audit', [sql`target = ${target}`, sql`actor_id = ${person.id}`], page)
    const rows = await db.scan<{
      id: string
      created_at: number
      action: string
      target: string | null
      outcome: string
      actor_id: string | null
      reason: string | null
    }>(sql`
      select id, created_at, action, target, outcome, actor_id, reason from sixwire_audit where id in (${ids})
      order by id desc limit ${page.limit}`)
    return rows.map((row) => ({
      key: row.id,
      at: row.created_at,
      text: row.action,
      ...(row.outcome === 'denied' && { state: 'denied' }),
      ...(row.reason !== null && { detail: row.reason }),
      ...(row.actor_id !== null && row.actor_id !== person.id && { by: row.actor_id }),
      opens: row.target === target ? `audit?target=${target}` : `audit?actor=${person.id}`,
    }))
  },
})
