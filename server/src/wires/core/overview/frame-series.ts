import type { Clock } from '../../../base/clock.ts'
import type { TimeRange } from '../../../base/time-slots.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { slotsSql, unitsOf, type Series, type SlotValue } from '../../../kernel/wire/series.ts'
import { FAILED } from '../jobs/job-list.ts'
import { HOUR_MS } from '../request-log/hours.ts'

/** The series of the frame: requests, those that failed, and jobs. */
export const frameSeries = (
  { db, clock }: { db: Database; clock: Pick<Clock, 'now'> },
  { isLogged }: { isLogged: boolean },
): Series[] => [
  ...(isLogged ? requestSeries(db) : []),
  {
    name: 'jobs',
    title: 'Jobs',
    unit: 'count',
    kind: 'level',
    parts: ['waiting', 'failed'],
    opens: 'jobs',
    async sample() {
      // What runs at fixed times waits for its time only.
      const [row] = await db.all<{ waiting: number; failed: number }>(sql`
        select (select count(*) from sixwire_jobs where state = 'ready' and run_at <= ${clock.now()})
          + (select count(*) from sixwire_jobs where seq is not null and state = 'waiting') as waiting,
          (select count(*) from sixwire_jobs where ${FAILED}) as failed`)
      return [
        { part: 'waiting', value: row!.waiting },
        { part: 'failed', value: row!.failed },
      ]
    },
  },
]

const requestSeries = (db: Database): Series[] => [
  {
    name: 'requests',
    title: 'Requests',
    unit: 'count',
    kind: 'sum',
    parts: ['successful', 'refused', 'failed'],
    opens: 'logs',
    read: (slots) => readRequests(db, slots, ['successful', 'refused', 'failed']),
  },
  {
    name: 'errors',
    title: 'Failed requests',
    unit: 'count',
    kind: 'sum',
    parts: ['failed'],
    opens: 'logs?status=5xx',
    read: (slots) => readRequests(db, slots, ['failed']),
  },
]

async function readRequests(
  db: Database,
  slots: readonly TimeRange[],
  parts: readonly ('successful' | 'refused' | 'failed')[],
): Promise<SlotValue[]> {
  const rows = await db.scan<{ slot: number; successful: number; refused: number; failed: number }>(
    sql.once(sql`
      with ${slotsSql(slots, unitsOf(HOUR_MS))}
      select slot, cast(sum(requests - refusals - failures) as bigint) as successful,
        cast(sum(refusals) as bigint) as refused, cast(sum(failures) as bigint) as failed
      from slots join sixwire_log_hours on hour >= begins and hour < ends group by slot`),
  )
  return rows.flatMap((row) => parts.map((part) => ({ slot: row.slot, part, value: row[part] })))
}
