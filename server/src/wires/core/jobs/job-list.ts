import { isoTime } from '../../../base/clock.ts'
import { invalid } from '../../../base/errors.ts'
import { timeOfId } from '../../../base/ids.ts'
import { parseJson } from '../../../base/json.ts'
import { containsPattern } from '../../../db/contains.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'

export const JOB_STATES = ['ready', 'running', 'waiting', 'failed'] as const

/**
 * `ready`: it runs as soon as it is due and there is a place; `waiting`: an earlier job of its lane is not done;
 * `failed`: for good, until it is retried or discarded.
 */
export type JobState = (typeof JOB_STATES)[number]

/** A job as operators see it. */
export type ListedJob = {
  id: string
  kind: string
  lane: string | null
  state: JobState
  attempts: number
  /** ISO 8601: when it is due; of a running job the end of its lease, of a failed one when it failed. */
  runAt: string
  createdAt: string
  /** ISO 8601: since when it runs. */
  startedAt: string | null
  /** Why the last attempt failed. */
  error: string | null
  payload: unknown
}

/** Which jobs: all conditions that are given apply. */
export type JobFilter = {
  kind?: string | undefined
  state?: JobState | undefined
  /** A part of the error, in any case. */
  error?: string | undefined
}

/** `cursor` is the `nextCursor` of the page before. */
export type JobPage = { limit: number; offset?: number; cursor?: string | undefined }

/** How many jobs of a kind are in a state. */
export type JobCount = { kind: string; state: JobState; count: number }

type Row = {
  id: string
  kind: string
  lane: string | null
  state: JobState
  attempts: number
  run_at: number
  created_at: number
  claimed_by: string | null
  last_error: string | null
  payload: string
}

// Literals: an index of one state only is not found with a parameter.
export const FAILED = sql.literal(`state = 'failed'`)

const STATE_CONDITIONS: Readonly<Record<JobState, Sql>> = {
  ready: sql.literal(`state = 'ready' and claimed_by is null`),
  running: sql.literal(`state = 'ready' and claimed_by is not null`),
  waiting: sql.literal(`state = 'waiting'`),
  failed: FAILED,
}

const COLUMNS = sql.literal(`
  id, kind, lane, case when state = 'ready' and claimed_by is not null then 'running' else state end as state,
  attempts, run_at, created_at, claimed_by, last_error, payload`)
// Failed ones first, then those that are due first.
const PLACE = sql.literal(`case when state = 'failed' then 0 else 1 end, run_at, id`)

/** The condition of a filter, of the rows of `sixwire_jobs`. */
export const matchesSql = ({ kind, state, error }: JobFilter): Sql =>
  sql.join(
    [
      sql.literal('1 = 1'),
      ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
      ...(state === undefined ? [] : [STATE_CONDITIONS[state]]),
      ...(error === undefined
        ? []
        : [sql`lower(last_error) like lower(${containsPattern(error)}) escape '!'`]),
    ],
    ' and ',
  )

/**
 * Lists jobs, those that failed first, then those that are due first.
 *
 * @throws VALIDATION_ERROR for a cursor that is none
 */
export async function listJobs(
  db: Database,
  filter: JobFilter,
  { limit, offset = 0, cursor }: JobPage,
): Promise<{ jobs: ListedJob[]; nextCursor?: string }> {
  const after = cursor === undefined ? undefined : placeIn(cursor)
  const rows = await db.scan<Row>(sql`
    select ${COLUMNS} from sixwire_jobs
    where ${matchesSql(filter)} ${after ? sql`and (${PLACE}) > (${sql.join(after)})` : sql.literal('')}
    order by ${PLACE} limit ${limit + 1} offset ${offset}`)
  const jobs = rows.slice(0, limit).map(jobOf)
  return { jobs, ...(rows.length > limit && { nextCursor: cursorOf(rows[limit - 1]!) }) }
}

/** How many jobs match a filter. */
export async function countJobs(db: Database, filter: JobFilter): Promise<number> {
  const [row] = await db.scan<{ count: number }>(
    sql`select count(*) as count from sixwire_jobs where ${matchesSql(filter)}`,
  )
  return row!.count
}

export async function findJob(db: Database, id: string): Promise<ListedJob | undefined> {
  const row = await db.get<Row>(sql`select ${COLUMNS} from sixwire_jobs where id = ${id}`)
  return row && jobOf(row)
}

/** Each kind and state that has jobs. Ready ones include those that run, so that they are counted by their index alone. */
export const countSql = (now: number): Sql<JobCount> => sql`
  select kind, 'ready' as state, count(*) as count from sixwire_jobs where state = 'ready' group by kind
  union all
  select kind, 'running', count(*) from sixwire_jobs
  where state = 'ready' and run_at > ${now} and claimed_by is not null group by kind
  union all
  select kind, 'waiting', count(*) from sixwire_jobs where seq is not null and state = 'waiting' group by kind
  union all
  select kind, 'failed', count(*) from sixwire_jobs where ${FAILED} group by kind`

/** How many jobs of each kind are in each state; each job is counted once. */
export async function countByState(db: Database, now: number): Promise<JobCount[]> {
  const counts = await db.scan(countSql(now))
  const runningOf = new Map(
    counts.flatMap(({ kind, state, count }) => (state === 'running' ? [[kind, count]] : [])),
  )
  return counts
    .map((one) =>
      one.state === 'ready' ? { ...one, count: one.count - (runningOf.get(one.kind) ?? 0) } : one,
    )
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0))
}

const jobOf = (row: Row): ListedJob => ({
  id: row.id,
  kind: row.kind,
  lane: row.lane,
  state: row.state,
  attempts: row.attempts,
  runAt: isoTime(row.run_at),
  createdAt: isoTime(row.created_at),
  // A claim is a new id.
  startedAt: row.claimed_by === null ? null : isoTime(timeOfId(row.claimed_by)),
  error: row.last_error,
  payload: parseJson(row.payload),
})

const cursorOf = ({ state, run_at, id }: Row): string =>
  Buffer.from(JSON.stringify([state === 'failed' ? 0 : 1, run_at, id])).toString('base64url')

function placeIn(cursor: string): [rank: number, runAt: number, id: string] {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(place) && place.length === 3) {
      const [rank, runAt, id] = place as unknown[]
      if (Number.isSafeInteger(rank) && Number.isSafeInteger(runAt) && typeof id === 'string')
        return [rank as number, runAt as number, id]
    }
  } catch {
    // Not JSON: refused below.
  }
  throw invalid({
    path: '/query/cursor',
    message: 'This is not a cursor: send the nextCursor of the previous page.',
  })
}
