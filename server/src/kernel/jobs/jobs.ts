import type { Static, TSchema } from 'typebox'

import type { Logger } from '../../base/logger.ts'
import type { Clock } from '../../base/clock.ts'
import type { ApiError, Issue } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import { Type } from '../../base/schema.ts'
import { afterCommit, type Database, type Step, type StepWith } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { createValidation, type Validation } from '../../http/validation.ts'
import type { EnqueueOptions, JobHandler, JobKind, JobOptions, JobRunner, Pool } from './job.ts'
import { failureSql, type Retry } from './job-failure.ts'
import {
  claimSql,
  doneSql,
  hastenAllSql,
  hastenSql,
  insertEachSql,
  insertSql,
  LEASE_MS,
  nextDueSql,
  releaseSql,
  renewSql,
  requeueSql,
  retryLaneSql,
  type ClaimedJob,
  type PoolRoom,
} from './job-rows.ts'

// Only for rows that another process has added: what this one adds wakes it.
const POLL_MS = 2_000
/** What is due is being claimed by another replica. */
const CONTENDED_MS = 25
const DEFAULT_POOL: Pool = { name: 'shared', atOnce: 8 }
const DEFAULT_RETRY: Retry = { firstMs: 1_000, maxMs: 3_600_000, attempts: 10 }

type Kind = {
  handler: JobHandler<unknown>
  /** Throws the sentence that says what does not fit. */
  check: (payload: unknown) => unknown
  retry: Retry
  atOnce: number
  pool: Pool
  neededFor: string | undefined
  /** Of a recurring job. */
  intervalMs?: number
}

type Running = { kind: string; leaseUntil: number; done: Promise<void> }

/** How a job ended: `done` ones are deleted by one statement. */
type Settlement = { job: ClaimedJob; query: Sql | 'done' }

/** What the jobs of one process share. */
type JobQueue = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly process: string | undefined
  readonly kinds: Map<string, Kind>
  readonly running: Map<string, Running>
  readonly stopping: AbortController
  readonly validate: Validation
  /** Written together with the next claim. */
  settlements: Settlement[]
  sleep: AbortController
  /** When something is due that was added since the last claim began. */
  addedDue: number
}

class PayloadError extends TypeError {
  override name = 'PayloadError'
}

/**
 * Runs jobs of the kinds that are defined before `start`; see docs/decisions/023-jobs.md.
 *
 * @param process the id of this process, which its claims carry; without one they end with their lease only
 */
export function createJobs(
  { db, clock, log }: { db: Database; clock: Clock; log: Logger },
  { process }: { process?: string | undefined } = {},
): JobRunner {
  const queue: JobQueue = {
    db,
    clock,
    log,
    process,
    kinds: new Map(),
    running: new Map(),
    stopping: new AbortController(),
    validate: createValidation(),
    settlements: [],
    sleep: new AbortController(),
    addedDue: Infinity,
  }
  let loop: Promise<void> = Promise.resolve()

  return {
    define: (kind, options, handler) => define(queue, kind, options, handler),
    kinds: queue.kinds,
    wake: () => wake(queue, clock.now()),
    releaseSql(ended) {
      const now = queue.clock.now()
      return afterCommit(releaseSql([...queue.kinds.keys()], ended, now), () => wake(queue, now))
    },
    every(kind, intervalMs, recurringWork) {
      const retry = { ...DEFAULT_RETRY, attempts: Number.MAX_SAFE_INTEGER }
      define(queue, kind, { payload: Type.Null(), retry, neededFor: 'it recurs' }, recurringWork)
      queue.kinds.get(kind)!.intervalMs = intervalMs
    },
    async start() {
      const now = queue.clock.now()
      for (const [kind, { intervalMs }] of queue.kinds) {
        if (intervalMs === undefined) continue
        const [id, runAt] = [`every-${kind}`, now + intervalMs]
        await queue.db.batch([
          insertSql({ id, kind, payload: 'null', lane: undefined, runAt, now }),
          hastenSql(id, runAt),
        ])
      }
      loop = claimLoop(queue)
    },
    async stop() {
      queue.stopping.abort()
      wake(queue)
      await Promise.all([...queue.running.values()].map(({ done }) => done))
      await loop
    },
  }
}

function wake(queue: JobQueue, due = Infinity): void {
  queue.addedDue = Math.min(queue.addedDue, due)
  queue.sleep.abort()
}

function checkerOf(queue: JobQueue, kind: string, schema: TSchema): Kind['check'] {
  const check = queue.validate('body', schema)
  return (payload) => {
    const result = check(payload)
    if (!('error' in result)) return result.value
    const [{ path, message }] = (result.error as ApiError).details!['issues'] as [Issue]
    throw new PayloadError(
      `the payload of a job ${kind} does not fit its schema: ${path.replace(/^\/body/, '') || 'it'} ${message}`,
    )
  }
}

function define<S extends TSchema>(
  queue: JobQueue,
  kind: string,
  options: JobOptions<S>,
  handler: JobHandler<Static<S>>,
): JobKind<Static<S>> {
  const { payload: schema, lane, retry = DEFAULT_RETRY, neededFor } = options
  const { pool = DEFAULT_POOL, atOnce = pool.atOnce } = options
  if (queue.kinds.has(kind)) throw new Error(`the kind of job ${kind} is defined twice`)
  const other = [...queue.kinds.values()].find((one) => one.pool.name === pool.name)
  if (other && other.pool.atOnce !== pool.atOnce)
    throw new Error(
      `the pool of jobs ${pool.name} has ${other.pool.atOnce} places already, not ${pool.atOnce}`,
    )
  const check = checkerOf(queue, kind, schema)
  queue.kinds.set(kind, { handler: handler as JobHandler<unknown>, check, retry, atOnce, pool, neededFor })

  function enqueueSql(payload: Static<S>, options: EnqueueOptions = {}): StepWith {
    const now = queue.clock.now()
    const text = JSON.stringify(payload) ?? 'null'
    const value = check(parseJson(text)) as Static<S>
    const { id = newId(now), runAt = now, isBegun = false } = options
    const row = { id, kind, payload: text, lane: lane?.(value), runAt, now }
    return afterCommit(insertSql({ ...row, process: isBegun ? queue.process : undefined }), () =>
      wake(queue, runAt),
    )
  }
  return {
    enqueueSql,
    async enqueue(payload, options) {
      await queue.db.batch([enqueueSql(payload, options)])
    },
    enqueueEachSql(rows) {
      const now = queue.clock.now()
      return afterCommit(insertEachSql(kind, rows, now), () => wake(queue, now))
    },
    retryLaneSql: (lane) => afterCommit(retryLaneSql(kind, lane, queue.clock.now()), () => wake(queue, 0)),
    hastenSql(id) {
      const now = queue.clock.now()
      return afterCommit(hastenSql(id, now), () => wake(queue, now))
    },
    hastenAllSql() {
      const now = queue.clock.now()
      return afterCommit(hastenAllSql(kind, now), () => wake(queue, now))
    },
    deleteSql: (id) =>
      sql`delete from sixwire_jobs where id = ${id} and kind = ${kind} and claimed_by is null`,
    deleteWaitingSql: (except) => sql`
      delete from sixwire_jobs
      where kind = ${kind} and seq is not null and state = 'waiting' and id <> ${except}`,
    deleteAllSql: () => sql`delete from sixwire_jobs where kind = ${kind}`,
    lanesSql: sql`select lane from sixwire_jobs where kind = ${kind} and lane is not null and seq is not null`,
    async count() {
      const [row] = await queue.db.scan<{ count: number }>(sql`
        select (select count(*) from sixwire_jobs where kind = ${kind} and state = 'ready')
          + (select count(*) from sixwire_jobs where kind = ${kind} and seq is not null and state = 'waiting') as count`)
      return row!.count
    },
  }
}

/** The free places, by pool; only kinds that may begin another job. */
function freeRooms(queue: JobQueue): PoolRoom[] {
  const pools = Map.groupBy(queue.kinds, ([, { pool }]) => pool.name)
  return [...pools.values()].flatMap((members) => {
    const counts = members.map(([kind, { atOnce }]) => {
      const count = [...queue.running.values()].filter((one) => one.kind === kind).length
      return { kind, running: count, room: atOnce - count }
    })
    const room = members[0]![1].pool.atOnce - counts.reduce((sum, one) => sum + one.running, 0)
    const free = counts
      .filter((one) => one.room > 0)
      .map((one) => ({ ...one, room: Math.min(one.room, room) }))
    return room > 0 && free.length > 0 ? [{ room, kinds: free }] : []
  })
}

/** A lease can be over while the job runs, if the machine slept or its clock jumped. */
function lapsed(queue: JobQueue, now: number): string[] {
  const unwritten = queue.settlements.map(({ job }) => job.id)
  const over = [...queue.running].filter(([, { leaseUntil }]) => leaseUntil <= now).map(([id]) => id)
  return [...over, ...unwritten]
}

const nextDueIn = (rooms: readonly PoolRoom[], except: readonly string[]): Sql<{ due: number | null }> =>
  nextDueSql(
    rooms.flatMap(({ kinds }) => kinds.map(({ kind }) => kind)),
    except,
  )

/** When the next job is due that there is room for. */
async function nextDue(queue: JobQueue, rooms: readonly PoolRoom[]): Promise<number> {
  if (rooms.length === 0) return Infinity
  const row = await queue.db.get(nextDueIn(rooms, lapsed(queue, queue.clock.now())))
  return row?.due ?? Infinity
}

/**
 * Writes down how jobs ended, claims others, and asks when the next one is due, in one batch.
 *
 * @returns how many were claimed, and when the next one of the same kinds is due
 */
async function exchange(
  queue: JobQueue,
  rooms: readonly PoolRoom[],
): Promise<{ count: number; due: number }> {
  const [settlements, now] = [queue.settlements, queue.clock.now()]
  const claim = newId(now)
  queue.settlements = []
  const doneJobs = settlements.filter(({ query }) => query === 'done').map(({ job }) => job)
  const steps: Step[] = [
    ...(doneJobs.length > 0 ? [doneSql(doneJobs)] : []),
    ...settlements.flatMap(({ query }) => (query === 'done' ? [] : [query])),
  ]
  const except = lapsed(queue, now)
  try {
    const [, [jobs = []], [next = []]] = await queue.db.batch([
      steps,
      rooms.length > 0 ? [claimSql(rooms, { now, claim, process: queue.process, except })] : [],
      rooms.length > 0 ? [nextDueIn(rooms, except)] : [],
    ])
    for (const row of jobs) begin(queue, { ...row, claim }, now + LEASE_MS)
    return { count: jobs.length, due: next[0]?.due ?? Infinity }
  } catch (error) {
    queue.settlements.push(...settlements)
    throw error
  }
}

function begin(queue: JobQueue, job: ClaimedJob, leaseUntil: number): void {
  const one: Running = { kind: job.kind, leaseUntil, done: Promise.resolve() }
  queue.running.set(job.id, one)
  one.done = run(queue, job, one)
}

/** Does a job and sees to it that its end is written. Never rejects. */
async function run(queue: JobQueue, job: ClaimedJob, one: Running): Promise<void> {
  // Renewed while the work goes on, so that a lease is over only if the process died.
  const renewal = setInterval(() => void renew(queue, job, one), LEASE_MS / 3)
  const query = await work(queue, job)
  clearInterval(renewal)
  const isWritten = job.lane !== null && (await settleAlone(queue, job, query))
  queue.running.delete(job.id)
  if (!isWritten) queue.settlements.push({ job, query })
  // Its place is free, and the next one of its lane ready.
  wake(queue, queue.clock.now())
}

/**
 * Writes how a job of a lane ended, in a statement of its own. In one statement with others it could lock one lane while
 * it waits for a transaction that adds to another, and a slow transaction that adds to its lane would delay the others.
 */
async function settleAlone(queue: JobQueue, job: ClaimedJob, query: Settlement['query']): Promise<boolean> {
  try {
    await queue.db.write(query === 'done' ? doneSql([job]) : query)
    return true
  } catch (error) {
    queue.log.warn({ err: error, job: job.id }, 'the end of a job could not be written, and is written later')
    return false
  }
}

async function renew(queue: JobQueue, job: ClaimedJob, one: Running): Promise<void> {
  const now = queue.clock.now()
  try {
    const [renewed] = await queue.db.write(renewSql(job, now))
    // Claimed by another replica since: never begun again here while it runs.
    one.leaseUntil = renewed ? now + LEASE_MS : 0
  } catch (error) {
    queue.log.warn({ err: error, job: job.id }, 'the lease of a job could not be renewed')
  }
}

/** A time that both engines store: one that they refuse would keep the ends of all other jobs from being written. */
function timeIn(queue: JobQueue, ms: number): number {
  const time = Math.round(queue.clock.now() + ms)
  if (!Number.isSafeInteger(time)) throw new TypeError(`a job can't be done again in ${ms} ms`)
  return time
}

/** Does the job, and answers what is to be written of its end. Never rejects. */
async function work(queue: JobQueue, job: ClaimedJob): Promise<Settlement['query']> {
  const { id, attempts } = job
  const { handler, check, retry, intervalMs } = queue.kinds.get(job.kind)!
  if (attempts > retry.attempts)
    return failureSql(queue, job, {
      error: new Error('The process that did it ended before it did, at the last attempt.'),
    })
  try {
    const answer = await handler({
      id,
      payload: check(parseJson(job.payload)),
      attempt: attempts,
      isLastAttempt: attempts >= retry.attempts,
      stopping: queue.stopping.signal,
      deleteSql: doneSql([job]),
    })
    if (answer) return requeueSql(job, timeIn(queue, answer.againInMs))
    return intervalMs === undefined ? 'done' : requeueSql(job, timeIn(queue, intervalMs), 0)
  } catch (error) {
    if (queue.stopping.signal.aborted) return requeueSql(job, queue.clock.now())
    const isLast = error instanceof PayloadError || attempts >= retry.attempts
    return failureSql(queue, job, { error, ...(!isLast && { retry }) })
  }
}

/** Claims what is due, whenever something is and there is room for it. Never rejects. */
async function claimLoop(queue: JobQueue): Promise<void> {
  const isOver = (): boolean =>
    queue.stopping.signal.aborted && queue.running.size === 0 && queue.settlements.length === 0
  let due = Infinity
  let isPoll = true
  while (!isOver()) {
    queue.sleep = new AbortController()
    let pauseMs = POLL_MS
    try {
      const rooms = queue.stopping.signal.aborted ? [] : freeRooms(queue)
      if (isPoll) due = await nextDue(queue, rooms)
      isPoll = false
      due = Math.min(due, queue.addedDue)
      const isDue = rooms.length > 0 && due <= queue.clock.now()
      if (isDue || queue.settlements.length > 0) {
        queue.addedDue = Infinity
        const next = await exchange(queue, rooms)
        // What is due already is of a kind that is full by now, or another replica is about to claim it.
        due = next.due > queue.clock.now() ? next.due : await nextDue(queue, freeRooms(queue))
        if (next.count > 0 || due > queue.clock.now()) continue
        pauseMs = CONTENDED_MS
      } else if (rooms.length > 0) pauseMs = Math.min(POLL_MS, due - queue.clock.now())
    } catch (error) {
      queue.log.warn({ err: error }, 'the queue of jobs could not be read')
      // The work is done all the same; the end of the lease brings it back.
      if (queue.stopping.signal.aborted) queue.settlements = []
    }
    await queue.clock.sleep(pauseMs, { signal: queue.sleep.signal, idle: true })
    isPoll = !queue.sleep.signal.aborted
  }
}
