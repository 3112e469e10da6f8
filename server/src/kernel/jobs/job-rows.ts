import { sql, type Sql } from '../../db/sql.ts'

/** After it a claim is void, and another replica does the job. */
export const LEASE_MS = 60_000

/** A claimed job. `claim` is another one at each claim. */
export type ClaimedJob = {
  id: string
  kind: string
  lane: string | null
  payload: string
  attempts: number
  claim: string
}

/** How many more jobs of a kind may be claimed, and how many run already. */
export type KindRoom = { kind: string; room: number; running: number }

/** Kinds that share places, and how many of these are free. */
export type PoolRoom = { room: number; kinds: readonly KindRoom[] }

/** Adds a job. A job of the same id that is not done is left as it is; one that failed starts again. */
export const insertSql = (job: {
  id: string
  kind: string
  payload: string
  lane: string | undefined
  runAt: number
  now: number
  /** The process that does the work itself before the job is due. */
  process?: string | undefined
}): Sql => sql`
  insert into sixwire_jobs (id, kind, payload, lane, state, run_at, attempts, process, created_at)
  values (${job.id}, ${job.kind}, ${job.payload}, ${job.lane ?? null}, 'ready', ${job.runAt}, 0,
    ${job.process ?? null}, ${job.now})
  on conflict (id) do update set
    kind = excluded.kind, payload = excluded.payload, lane = excluded.lane, state = 'ready',
    run_at = excluded.run_at, attempts = 0, claimed_by = null, process = excluded.process, last_error = null,
    created_at = excluded.created_at
  where sixwire_jobs.state = 'failed'`

/** Adds a job for each row of a query, in its order. A job of the same id is left as it is. */
export const insertEachSql = (
  kind: string,
  rows: Sql<{ id: string; payload: string; lane: string | null }>,
  now: number,
): Sql => sql`
  insert into sixwire_jobs (id, kind, payload, lane, state, run_at, attempts, process, created_at)
  select id, cast(${kind} as text), payload, lane, 'ready', cast(${now} as bigint), 0, null, cast(${now} as bigint)
  from (${rows}) added where true
  on conflict (id) do nothing`

/** Ready jobs of one kind, without those that run here although their lease is over. */
const readySql = (kind: string, except: readonly string[]): Sql => sql`
  state = 'ready' and kind = ${kind}
  ${except.length > 0 ? sql`and id not in (${sql.join(except)})` : sql.literal('')}`

/**
 * Claims jobs that are due: of each kind no more than it has room, of the kinds of a pool together no more than the pool
 * has. The kind of which the fewest run comes first, so a long queue of one kind does not keep others waiting.
 * Each kind is read from its own place in the index, so its cost does not depend on how many jobs wait.
 */
export function claimSql(
  pools: readonly PoolRoom[],
  {
    now,
    claim,
    process,
    except,
  }: { now: number; claim: string; process: string | undefined; except: readonly string[] },
): Sql<Omit<ClaimedJob, 'claim'>> {
  const dueOf = ({ kind, room, running }: KindRoom): Sql => sql`
    select id, run_at, ${running} + row_number() over (order by run_at) as place
    from (select id, run_at from sixwire_jobs where ${readySql(kind, except)} and run_at <= ${now}
          order by run_at limit ${room} ${sql.skipLocked}) of_kind`
  const dueIn = ({ kinds, room }: PoolRoom): Sql => sql`
    select id from (
      select id from (${sql.join(kinds.map(dueOf), ' union all ')}) of_kinds
      order by place, run_at limit ${room}) of_pool`
  // Materialized: PostgreSQL may otherwise run the inner query, with its limit, more than once.
  return sql`
    with due as materialized (${sql.join(pools.map(dueIn), ' union all ')})
    update sixwire_jobs set run_at = ${now + LEASE_MS}, attempts = attempts + 1, claimed_by = ${claim},
      process = ${process ?? null}
    where id in (select id from due)
    returning id, kind, lane, payload, attempts`
}

/** When the next job of these kinds is due; null if there is none. */
export const nextDueSql = (
  kinds: readonly string[],
  except: readonly string[],
): Sql<{ due: number | null }> =>
  sql`select min(due) as due from (${sql.join(
    kinds.map((kind) => sql`select min(run_at) as due from sixwire_jobs where ${readySql(kind, except)}`),
    ' union all ',
  )}) of_kinds`

/** The job, unless another replica has claimed it since. */
const stillClaimed = ({ id, claim }: ClaimedJob): Sql => sql`id = ${id} and claimed_by = ${claim}`

export const renewSql = (job: ClaimedJob, now: number): Sql =>
  sql`update sixwire_jobs set run_at = ${now + LEASE_MS} where ${stillClaimed(job)} returning id`

/** Deletes jobs that are done. */
export const doneSql = (jobs: readonly ClaimedJob[]): Sql => sql`
  delete from sixwire_jobs
  where id in (${sql.join(jobs.map(({ id }) => id))}) and claimed_by in (${sql.join([...new Set(jobs.map(({ claim }) => claim))])})`

/** Gives a job back that is to be done again, as if it was never claimed. */
export const requeueSql = (job: ClaimedJob, runAt: number, attempts = job.attempts - 1): Sql => sql`
  update sixwire_jobs set run_at = ${runAt}, attempts = ${attempts}, claimed_by = null, process = null
  where ${stillClaimed(job)}`

/** Gives a job back that failed and is tried again. */
export const retrySql = (job: ClaimedJob, runAt: number, error: string): Sql => sql`
  update sixwire_jobs set run_at = ${runAt}, claimed_by = null, process = null, last_error = ${error}
  where ${stillClaimed(job)}`

/** Sets a job aside that failed for good. It leaves its lane, which goes on. */
export const failSql = (job: ClaimedJob, error: string, now: number): Sql => sql`
  update sixwire_jobs set
    state = 'failed', seq = null, run_at = ${now}, claimed_by = null, process = null, last_error = ${error}
  where ${stillClaimed(job)}`

/**
 * Makes those jobs due now that an ended process had claimed, or was doing the work of. What waits longer than a lease was not
 * claimed, and what is due is claimed anyway, so few rows of the index are read.
 */
export const releaseSql = (kinds: readonly string[], process: string, now: number): Sql => sql`
  update sixwire_jobs set run_at = ${now}, claimed_by = null, process = null
  where state = 'ready' and kind in (${sql.join(kinds)}) and run_at > ${now} and run_at <= ${now + LEASE_MS}
    and process = ${process}`

/** Makes the first job of a lane due now if it waits for its retry. */
export const retryLaneSql = (kind: string, lane: string, now: number): Sql => sql`
  update sixwire_jobs set run_at = ${now}
  where kind = ${kind} and lane = ${lane} and seq is not null and state = 'ready'
    and claimed_by is null and attempts > 0 and run_at > ${now}`

/** Makes all jobs of a kind due now that wait for their time or their retry. */
export const hastenAllSql = (kind: string, now: number): Sql => sql`
  update sixwire_jobs set run_at = ${now}
  where kind = ${kind} and state = 'ready' and claimed_by is null and run_at > ${now}`

/** Makes a job due sooner that nobody has claimed. */
export const hastenSql = (id: string, runAt: number): Sql => sql`
  update sixwire_jobs set run_at = ${runAt} where id = ${id} and claimed_by is null and run_at > ${runAt}`
