import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { requireRow, type Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'
import type { JobRunner } from '../../../kernel/jobs/job.ts'
import {
  countByState,
  countJobs,
  FAILED,
  findJob,
  listJobs,
  matchesSql,
  type JobCount,
  type JobFilter,
  type JobPage,
  type ListedJob,
} from './job-list.ts'

/** Which failed jobs: all conditions that are given apply. */
export type FailedJobFilter = Pick<JobFilter, 'kind' | 'error'>

/** A job, and what can be done with it now. */
export type OperatedJob = ListedJob & {
  /** How many attempts it has before it fails for good; null: it is tried until it succeeds, or its kind is unknown here. */
  attemptsMax: number | null
  canRetry: boolean
  canDiscard: boolean
}

/** What operators do with background jobs. */
export type JobOperations = {
  /** Lists jobs, those that failed first, then those that are due first. @throws VALIDATION_ERROR for a wrong cursor */
  list(filter: JobFilter, page: JobPage): Promise<{ jobs: OperatedJob[]; nextCursor?: string }>
  count(filter: JobFilter): Promise<number>
  /** How many jobs of each kind are in each state. */
  counts(): Promise<JobCount[]>
  /** @throws NOT_FOUND */
  find(id: string): Promise<OperatedJob>
  /**
   * Makes a failed job ready again, with all its attempts. In its lane it comes last.
   *
   * @throws NOT_FOUND; CONFLICT if it has not failed, or if no wire of this server does jobs of its kind
   */
  retry(id: string, actor?: Actor): Promise<OperatedJob>
  /**
   * Makes all failed jobs ready again that match, except those of kinds that no wire of this server does.
   *
   * @returns how many
   * @throws NOT_FOUND if none matches
   */
  retryAll(filter: FailedJobFilter, actor?: Actor): Promise<number>
  /**
   * Deletes a job; its work is never done.
   *
   * @throws NOT_FOUND; CONFLICT if it is running, or if the server needs it
   */
  discard(id: string, actor?: Actor): Promise<void>
}

type Kinds = JobRunner['kinds']

type JobOperationsContext = {
  db: Database
  clock: Clock
  audit: Audit
  jobs: Pick<JobRunner, 'kinds' | 'wake'>
}

export const createJobOperations = (context: JobOperationsContext): JobOperations => ({
  async list(filter, page) {
    const { jobs, ...rest } = await listJobs(context.db, filter, page)
    return { jobs: jobs.map((job) => operated(context.jobs.kinds, job)), ...rest }
  },
  count: (filter) => countJobs(context.db, filter),
  counts: () => countByState(context.db, context.clock.now()),
  find: (id) => requireJob(context, id),
  retry: (id, actor = COMMAND_LINE) => retry(context, id, actor),
  retryAll: (filter, actor = COMMAND_LINE) => retryAll(context, filter, actor),
  discard: (id, actor = COMMAND_LINE) => discard(context, id, actor),
})

/** Makes those failed jobs ready again that meet a condition, and returns their ids. */
export const retrySql = (where: Sql, now: number): Sql<{ id: string }> => sql`
  update sixwire_jobs set state = 'ready', attempts = 0, run_at = ${now} where ${FAILED} and ${where} returning id`

/** Deletes a job that does not run, if it meets a condition, and returns its id. */
export const discardSql = (id: string, now: number, where = ANY): Sql<{ id: string }> => sql`
  delete from sixwire_jobs where id = ${id} and (claimed_by is null or run_at <= ${now}) and ${where} returning id`

const ANY = sql.literal('1 = 1')

async function retry(
  { db, clock, audit, jobs }: JobOperationsContext,
  id: string,
  actor: Actor,
): Promise<OperatedJob> {
  const job = await requireJob({ db, jobs }, id)
  const { kind } = job
  if (!isDoneHere(jobs.kinds, kind))
    throw errors.conflict({
      message: `The job ${id} can't be retried: no wire of this server does jobs of the kind ${kind}. Load the wire, or discard the job.`,
    })
  const hasNotFailed = () =>
    errors.conflict({ message: `The job ${id} has not failed: only a failed job can be retried.` })
  await db.batch([
    requireRow(retrySql(sql`id = ${id}`, clock.now()), hasNotFailed),
    audit.entrySql(actor, { action: 'job.retried', target: `job:${id}`, before: outlineOf(job) }),
  ])
  jobs.wake()
  return requireJob({ db, jobs }, id)
}

async function retryAll(
  { db, clock, audit, jobs }: JobOperationsContext,
  filter: FailedJobFilter,
  actor: Actor,
): Promise<number> {
  const doneHere = sql`(kind in (${sql.join([...jobs.kinds.keys()])}) or kind like ${`${SANDBOX}%`})`
  const noneMatches = () =>
    errors.not_found({ message: 'No failed job matches, of a kind that a wire of this server does.' })
  const [rows] = await db.batch([
    requireRow(retrySql(sql`${matchesSql(filter)} and ${doneHere}`, clock.now()), noneMatches),
    audit.entrySql(actor, { action: 'jobs.retried', before: filter }),
  ])
  jobs.wake()
  return rows.length
}

async function discard(
  { db, clock, audit, jobs }: JobOperationsContext,
  id: string,
  actor: Actor,
): Promise<void> {
  const job = await requireJob({ db, jobs }, id)
  const neededFor = jobs.kinds.get(job.kind)?.neededFor
  if (!job.canDiscard && job.state !== 'running')
    throw errors.conflict({ message: `The job ${id} can't be discarded: ${neededFor}.` })
  const isRunning = () => errors.conflict({ message: `The job ${id} is running: discard it when it is not.` })
  await db.batch([
    requireRow(discardSql(id, clock.now(), neededFor === undefined ? ANY : FAILED), isRunning),
    audit.entrySql(actor, { action: 'job.discarded', target: `job:${id}`, before: outlineOf(job) }),
  ])
}

/** @throws NOT_FOUND */
async function requireJob(
  { db, jobs }: Pick<JobOperationsContext, 'db' | 'jobs'>,
  id: string,
): Promise<OperatedJob> {
  const job = await findJob(db, id)
  if (job) return operated(jobs.kinds, job)
  throw errors.not_found({ message: `There is no job ${JSON.stringify(id)}: it is done, or was discarded.` })
}

function operated(kinds: Kinds, job: ListedJob): OperatedJob {
  const kind = kinds.get(job.kind)
  const attempts = kind?.retry.attempts ?? Infinity
  const isFailed = job.state === 'failed'
  return {
    ...job,
    attemptsMax: attempts < Number.MAX_SAFE_INTEGER ? attempts : null,
    canRetry: isFailed && isDoneHere(kinds, job.kind),
    canDiscard: isFailed || (job.state !== 'running' && kind?.neededFor === undefined),
  }
}

/** A job in the audit log: without its payload, which may hold content of a document. */
const outlineOf = ({ kind, state, attempts, error }: ListedJob): object => ({ kind, state, attempts, error })

const SANDBOX = 'sandbox.'

/** Whether a wire of this server does jobs of a kind. The command line runs without the sandbox. */
const isDoneHere = (kinds: Kinds, kind: string): boolean => kinds.has(kind) || kind.startsWith(SANDBOX)
