import { isoTime } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'

export const HOUR_MS = 3_600_000

/** What all processes answered in an hour. */
export type ShownHour = {
  /** When it begins. */
  at: string
  requests: number
  /** Of the requests: with a status of 4xx. */
  refusals: number
  /** Of the requests: with a status of 5xx. */
  failures: number
  /** The mean time of a request. */
  meanMs: number
}

/** Reads the last hours, oldest first, those without requests as well; the last one has not ended. */
export async function readHours(db: Database, now: number, hours: number): Promise<ShownHour[]> {
  const last = Math.floor(now / HOUR_MS)
  const rows = await db.all<{
    hour: number
    requests: number
    refusals: number
    failures: number
    us: number
  }>(sql`
    select hour, cast(sum(requests) as bigint) as requests, cast(sum(refusals) as bigint) as refusals,
      cast(sum(failures) as bigint) as failures, cast(sum(us) as bigint) as us
    from sixwire_log_hours where hour > ${last - hours} and hour <= ${last} group by hour`)
  const byHour = new Map(rows.map((row) => [row.hour, row]))
  return Array.from({ length: hours }, (_, at) => {
    const hour = last - hours + 1 + at
    const { requests = 0, refusals = 0, failures = 0, us = 0 } = byHour.get(hour) ?? {}
    const meanMs = requests === 0 ? 0 : Math.round(us / requests / 100) / 10
    return { at: isoTime(hour * HOUR_MS), requests, refusals, failures, meanMs }
  })
}
