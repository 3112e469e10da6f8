import type { Clock } from '../../../base/clock.ts'
import { leastIdOf } from '../../../base/ids.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Jobs } from '../../../kernel/jobs/job.ts'
import { HOUR_MS } from './hours.ts'
import { SERIES_DAYS } from '../../../kernel/wire/series.ts'
import type { RequestLogSettings } from '../../../kernel/config/request-log-option.ts'

const DAY_MS = 86_400_000
const INTERVAL_MS = 60_000
/** Rows of one statement, so that no other write waits for long. */
const CHUNK = 1_000
const FAULTS_MAX = 1_000

/** Deletes what is older or more than is kept, in the background. */
export function defineLogRetention(
  { db, clock, jobs }: { db: Database; clock: Clock; jobs: Jobs },
  keeps: RequestLogSettings,
): void {
  jobs.every('sixwire.clean-log', INTERVAL_MS, ({ stopping }) =>
    deleteOldEntries(db, keeps, clock.now(), stopping),
  )
}

/** Deletes what is older or more than is kept. */
async function deleteOldEntries(
  db: Database,
  { days, rows }: RequestLogSettings,
  now: number,
  stopping: AbortSignal,
): Promise<void> {
  const [row] = await db.scan<{ id: string }>(
    sql`select id from sixwire_log order by id desc limit 1 offset ${rows}`,
  )
  const oldest = leastIdOf(now - days * DAY_MS)
  // The row itself is one too many.
  const before = row && row.id >= oldest ? `${row.id}~` : oldest
  for (let deleted = CHUNK; deleted === CHUNK && !stopping.aborted;)
    deleted = (
      await db.write(sql`
        delete from sixwire_log where id in (select id from sixwire_log where id < ${before} order by id limit ${sql.literal(String(CHUNK))})
        returning id`)
    ).length
  await db.batch([
    sql`delete from sixwire_log_hours where hour < ${Math.floor((now - Math.max(days, SERIES_DAYS) * DAY_MS) / HOUR_MS)}`,
    sql`delete from sixwire_faults where last_at < ${now - days * DAY_MS}
          or last_at < (select last_at from sixwire_faults order by last_at desc limit 1 offset ${FAULTS_MAX})`,
  ])
}
