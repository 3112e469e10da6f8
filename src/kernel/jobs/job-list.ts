import { isoTime } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'

/**
 * `ready`: it runs as soon as it is due and there is a place; `waiting`: an earlier job of its lane is not done;
 * `failed`: for good, until it is retried or dropped.
 */
export type JobState = 'ready' | 'running' | 'waiting' | 'failed'

/** A job as the command line shows it. */
export type ListedJob = {
  id: string
  kind: string
  lane: string | null
  state: JobState
  attempts: number
  /** ISO 8601: when it is due; of a running job the end of its lease, of a failed one when it failed. */
  runAt: string
  createdAt: string
  /** Why the last attempt failed. */
  error: string | null
  payload: unknown
}

export type JobFilter = { kind?: string | undefined; failed?: boolean; limit: number }

type Row = {
  id: string
  kind: string
  lane: string | null
  state: JobState
  attempts: number
  run_at: number
  created_at: number
  last_error: string | null
  payload: string
}

// Literals: an index of one state only is not found with a parameter.
export const FAILED = sql.literal(`state = 'failed'`)
const EVERY = 'every-'

/** Lists jobs, those that failed first, then those that are due first. */
export async function listJobs(db: Database, { kind, failed, limit }: JobFilter): Promise<ListedJob[]> {
  const conditions: Sql[] = [
    sql.literal('1 = 1'),
    ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
    ...(failed ? [FAILED] : []),
  ]
  const rows = await db.scan<Row>(sql`
    select id, kind, lane, case when state = 'ready' and claimed_by is not null then 'running' else state end as state,
      attempts, run_at, created_at, last_error, payload
    from sixwire_jobs where ${sql.join(conditions, ' and ')}
    order by case when state = 'failed' then 0 else 1 end, run_at, id limit ${limit}`)
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    lane: row.lane,
    state: row.state,
    attempts: row.attempts,
    runAt: isoTime(row.run_at),
    createdAt: isoTime(row.created_at),
    error: row.last_error,
    payload: parseJson(row.payload),
  }))
}

/**
 * Makes failed jobs ready again, with all their attempts. In its lane such a job comes last.
 *
 * @returns the ids
 */
export async function retryJobs(
  db: Database,
  which: { id: string } | { kind: string },
  now: number,
): Promise<string[]> {
  const condition = 'id' in which ? sql`id = ${which.id}` : sql`kind = ${which.kind}`
  const rows = await db.write<{ id: string }>(sql`
    update sixwire_jobs set state = 'ready', attempts = 0, run_at = ${now}
    where ${FAILED} and ${condition} returning id`)
  return rows.map(({ id }) => id)
}

/** Deletes a job that does not run. Recurring jobs stay. */
export async function dropJob(
  db: Database,
  id: string,
  now: number,
): Promise<'dropped' | 'running' | 'recurring' | 'unknown'> {
  if (id.startsWith(EVERY)) return 'recurring'
  const dropped = await db.write(sql`
    delete from sixwire_jobs where id = ${id} and (claimed_by is null or run_at <= ${now}) returning id`)
  if (dropped.length > 0) return 'dropped'
  return (await db.get(sql`select id from sixwire_jobs where id = ${id}`)) ? 'running' : 'unknown'
}
