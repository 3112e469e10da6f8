// What jobs are to those that define and enqueue them.
import type { Static, TSchema } from 'typebox'

import type { StepWith } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import type { Retry } from './job-failure.ts'

export type { Retry }

export type Job<P = unknown> = {
  id: string
  payload: P
  /** 1 for the first. */
  attempt: number
  /** Whether the job fails for good if this attempt fails. */
  isLastAttempt: boolean
  /** Aborts when the server ends. What the handler throws after that is no attempt: the job is done after the next start. */
  stopping: AbortSignal
  /**
   * The statement that deletes this job, for the batch that finishes its work. Work of the same id that is added after
   * that batch is kept.
   */
  deleteSql: Sql
}

/** The work is not finished yet and nothing is wrong: it is done again after this many milliseconds, and no attempt is counted. */
export type NotYet = { againInMs: number }

/**
 * Does the work of one kind. It may run again after a crash or a fault, so repeating it must be harmless.
 * What it throws is logged, and the job is retried.
 */
export type JobHandler<P> = (job: Job<P>) => Promise<NotYet | void>

/** Places for jobs of several kinds: kinds that name the same pool run `atOnce` jobs together in each process. */
export type Pool = { name: string; atOnce: number }

export type JobOptions<S extends TSchema> = {
  /** What every payload must fit; it is checked when a job is added and when it is claimed. */
  payload: S
  /**
   * Jobs of the same lane run in the order in which they were added, one at a time, across all replicas. A job that waits
   * for a retry holds its lane; one that failed for good leaves it. Undefined: this job is in no lane.
   */
  lane?: (payload: Static<S>) => string | undefined
  /** Default: 10 attempts, the pauses from 1 s to 1 h. */
  retry?: Retry
  /** How many run at once in each process. Default: as many as the pool has places. */
  atOnce?: number
  /** Where jobs of this kind run. Default: eight places that all kinds without a pool share. */
  pool?: Pool
  /**
   * Why an operator may not discard a job of this kind before it has failed for good, such as `signed transactions wait
   * for it`. Default: it may be discarded.
   */
  neededFor?: string
}

/** Work that must survive a crash: a row first, done by whichever replica claims it. */
export type Jobs = {
  /**
   * Defines how jobs of one kind are done, and answers what adds such jobs.
   *
   * @example
   * const receipt = jobs.define(
   *   'shop.receipt',
   *   { payload: Type.Object({ orderId: Type.String() }), lane: ({ orderId }) => orderId },
   *   async ({ payload }) => sendReceipt(payload.orderId),
   * )
   * await db.batch([insertOrderSql(order), receipt.enqueueSql({ orderId: order.id })])
   */
  define<S extends TSchema>(
    kind: string,
    options: JobOptions<S>,
    handler: JobHandler<Static<S>>,
  ): JobKind<Static<S>>
  /** Runs work once in each interval, by all replicas together. The first time is one interval after the first start. */
  every(kind: string, intervalMs: number, work: (job: Pick<Job, 'stopping'>) => Promise<void>): void
}

export type EnqueueOptions = {
  /** The same `id` again changes nothing while that job is not done; one that failed for good starts again. Default: a new id. */
  id?: string
  /** Milliseconds since 1970; the job does not run before. Default: now. */
  runAt?: number
  /**
   * Whether this process does the work itself, and deletes the job when it is done: then the job is for the case that it does
   * not, and is due earlier if this process ends. `runAt` must be within a minute.
   */
  isBegun?: boolean
}

export type JobKind<P> = {
  /**
   * The step that adds a job, for the batch or transaction that decides it. The job runs as soon as that is committed.
   *
   * @throws TypeError if the payload does not fit its schema
   */
  enqueueSql(payload: P, options?: EnqueueOptions): StepWith
  /** Adds a job on its own. */
  enqueue(payload: P, options?: EnqueueOptions): Promise<void>
  /**
   * The step that adds a job for each row of a query, in its order: `id`, `payload` as JSON text, which is checked when the job
   * is claimed, and `lane`. The job of an id that is there is left as it is.
   */
  enqueueEachSql(rows: Sql<{ id: string; payload: string; lane: string | null }>): StepWith
  /** The statement that makes a job due now that waits for its retry at the head of a lane, as a step before `enqueueSql`. */
  retryLaneSql(lane: string): StepWith
  /** The statement that makes a job due now which waits, for its time or its retry, as a step before `enqueueSql`. */
  hastenSql(id: string): StepWith
  /** The statement that makes all jobs due now which wait for their time or their retry. */
  hastenAllSql(): StepWith
  /** The statement that deletes a job which no runner has claimed. */
  deleteSql(id: string): Sql
  /**
   * The statement that deletes the jobs which wait behind another one of their lane, but for one: after it was added, so that
   * its lane is locked first.
   */
  deleteWaitingSql(except: string): Sql
  /** The statement that deletes all jobs of the kind, those that run as well. */
  deleteAllSql(): Sql
  /** A query for the lanes that have jobs which are not done. */
  readonly lanesSql: Sql<{ lane: string }>
  /** How many jobs are not done. */
  count(): Promise<number>
}

/** What is known of the jobs of a kind. */
export type KindOfJob = {
  retry: { attempts: number }
  /** Why a job of the kind that has not failed can't be discarded. */
  neededFor?: string | undefined
}

export type JobRunner = Jobs & {
  /** The kinds that are defined in this process. */
  readonly kinds: ReadonlyMap<string, KindOfJob>
  /** Has this process claim the jobs that are due. */
  wake(): void
  /** The step that makes the jobs of a process that has ended due now. */
  releaseSql(ended: string): StepWith
  start(): Promise<void>
  /** Claims nothing more and waits for what runs. */
  stop(): Promise<void>
}
