import { leastIdOf } from '../../../base/ids.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Jobs } from '../../../kernel/jobs/job.ts'

const DAY_MS = 86_400_000
const INTERVAL_MS = 3_600_000
const STEP = 500

/** Deletes entries of the audit log once they are so many days old, in the background. */
export function defineAuditRetention(
  { db, clock, jobs }: { db: Database; clock: Clock; jobs: Jobs },
  days: number,
): void {
  jobs.every('sixwire.audit-clean', INTERVAL_MS, ({ stopping }) =>
    deleteBefore(db, clock.now() - days * DAY_MS, stopping),
  )
}

/** In small steps, so that no write waits long. What refuses to delete entries is open within each step only. */
async function deleteBefore(db: Database, time: number, stopping: AbortSignal): Promise<void> {
  const oldSql = sql<{ id: string }>`
    select id from sixwire_audit where id < ${leastIdOf(time)} and created_at < ${time} order by id limit ${STEP}`
  while (!stopping.aborted) {
    const rows = await db.all(oldSql)
    if (rows.length === 0) return
    await db.batch([
      sql`update sixwire_audit_retention set deletes_before = ${time}`,
      sql`delete from sixwire_audit where id in (${sql.join(rows.map(({ id }) => id))})`,
      sql`update sixwire_audit_retention set deletes_before = 0`,
    ])
  }
}
