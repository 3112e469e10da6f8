import { inspect } from 'node:util'

import type { FastifyBaseLogger } from 'fastify'

import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Database } from '../db/database.ts'
import { sql, type Sql } from '../db/sql.ts'

const POLL_MS = 1_000
const AT_ONCE = 8
const LEASE_MS = 60_000
const ATTEMPTS = 10
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 3_600_000
const REASON_CHARACTERS = 1_000

export type Job<P = unknown> = { id: string; payload: P; attempt: number }

/**
 * Does the work of one kind. It may run again after a crash or a fault, so repeating it must be harmless.
 * What it throws is logged and tried again later.
 */
export type JobHandler<P> = (job: Job<P>) => Promise<void>

export type JobOptions = {
  /** How often it is tried before it is set aside as failed. Default 10. */
  attempts?: number
  /** How many are done at once, of eight in all. Fewer where each may wait long, so that the rest stays for others. */
  atOnce?: number
}

/** Work that must survive a crash: a row first, done by whichever replica claims it. */
export type Jobs = {
  /** Says how work of one kind is done. Answers what puts such work into the queue. */
  define<P>(kind: string, handler: JobHandler<P>, options?: JobOptions): JobKind<P>
  /** Work that comes again, once for all replicas together. The first time is one interval after the first start. */
  every(kind: string, intervalMs: number, work: () => Promise<void>): void
}

export type JobKind<P> = {
  /** The statement that puts work into the queue, to stand in the transaction that decides it. Call `wake` after it. */
  insertion(payload: P, options?: { id?: string; runAt?: number }): Sql
  /** Puts work into the queue on its own. The same `id` again changes nothing until that work is done. */
  enqueue(payload: P, options?: { id?: string; runAt?: number }): Promise<void>
  /** Looks for work now instead of at the next poll. */
  wake(): void
}

export type JobRunner = Jobs & {
  start(): Promise<void>
  /** Claims nothing more and waits for what runs. */
  stop(): Promise<void>
}

type Claimed = { id: string; kind: string; payload: string; attempts: number }
type Known = { handler: JobHandler<unknown>; attempts: number; atOnce: number }

/** Exponential, with jitter, so that what failed together is not tried together. */
const retryAfter = (attempt: number): number =>
  Math.round(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempt - 1)) * (0.5 + Math.random()))

/** Whatever was thrown, as text that a database keeps. */
function reasonOf(thrown: unknown): string {
  const text =
    thrown instanceof Error
      ? thrown.message || thrown.name
      : typeof thrown === 'string'
        ? thrown
        : inspect(thrown)
  return text.slice(0, REASON_CHARACTERS).toWellFormed().replaceAll('\0', '\ufffd')
}

export function createJobs(db: Database, clock: Clock, log: FastifyBaseLogger): JobRunner {
  const kinds = new Map<string, Known>()
  const recurring: { id: string; kind: string; intervalMs: number }[] = []
  const running = new Map<string, { kind: string; done: Promise<void> }>()
  const me = newId()
  let stopped = false
  let looking: Promise<void> = Promise.resolve()
  let sleep = new AbortController()

  const wake = (): void => sleep.abort()

  const insertion = (kind: string, payload: unknown, id: string, runAt: number): Sql => sql`
    insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
    values (${id}, ${kind}, ${JSON.stringify(payload) ?? 'null'}, 'ready', ${runAt}, 0, ${clock.now()})
    on conflict (id) do nothing`

  function define<P>(kind: string, handler: JobHandler<P>, options: JobOptions = {}): JobKind<P> {
    if (kinds.has(kind)) throw new Error(`the kind of job ${kind} is defined twice`)
    const { attempts = ATTEMPTS, atOnce = AT_ONCE } = options
    kinds.set(kind, { handler: handler as JobHandler<unknown>, attempts, atOnce })
    const statement: JobKind<P>['insertion'] = (payload, { id = newId(), runAt = clock.now() } = {}) =>
      insertion(kind, payload, id, runAt)
    return {
      insertion: statement,
      async enqueue(payload, given) {
        await db.write(statement(payload, given))
        wake()
      },
      wake,
    }
  }

  /** How many more of a kind may be begun. */
  function roomOf(kind: string): number {
    const ofKind = [...running.values()].filter((one) => one.kind === kind).length
    return Math.min(AT_ONCE - running.size, kinds.get(kind)!.atOnce - ofKind)
  }

  /** Takes due work under a lease: where this process dies, another takes it once the lease is over. */
  async function claim(): Promise<Claimed[]> {
    const open = [...kinds.keys()].filter((kind) => roomOf(kind) > 0)
    if (open.length === 0) return []
    // So few that there is room whichever kind they are of; whoever calls this comes again for more.
    const count = Math.min(...open.map(roomOf))
    const now = clock.now()
    // A lease can run out while the work goes on, where the machine slept or its clock jumped.
    const notMine =
      running.size === 0 ? sql.literal('') : sql`and id not in (${sql.join([...running.keys()])})`
    // Materialized: PostgreSQL may otherwise run the inner query, with its limit, more than once.
    return db.write<Claimed>(sql`
      with due as materialized (
        select id from sixwire_jobs
        where state = 'ready' and run_at <= ${now} and kind in (${sql.join(open)}) ${notMine}
        order by run_at limit ${count} ${sql.skipLocked})
      update sixwire_jobs set run_at = ${now + LEASE_MS}, attempts = attempts + 1, claimed_by = ${me}
      where id in (select id from due)
      returning id, kind, payload, attempts`)
  }

  /** The job, as long as nobody else has claimed it since. */
  const stillMine = ({ id, attempts }: Claimed): Sql =>
    sql`id = ${id} and claimed_by = ${me} and attempts = ${attempts}`

  async function work(job: Claimed): Promise<void> {
    const { id, kind, payload, attempts } = job
    const known = kinds.get(kind)!
    if (attempts > known.attempts)
      return setBack(job, true, new Error('the process that did it ended before it did, at the last attempt'))
    // Renewed while the work goes on, so that a lease only runs out where the process died.
    const renewal = setInterval(() => void renew(job), LEASE_MS / 3)
    try {
      await known.handler({ id, payload: parseJson(payload), attempt: attempts })
    } catch (error) {
      return await setBack(job, attempts >= known.attempts, error)
    } finally {
      clearInterval(renewal)
    }
    // Where this fails the work was done all the same; the end of the lease brings it back.
    await settle(job)
  }

  async function renew(job: Claimed): Promise<void> {
    try {
      await db.write(sql`update sixwire_jobs set run_at = ${clock.now() + LEASE_MS} where ${stillMine(job)}`)
    } catch (error) {
      log.warn({ err: error, job: job.id }, 'the lease of a job could not be renewed')
    }
  }

  async function settle(job: Claimed): Promise<void> {
    const again = recurring.find(({ kind }) => kind === job.kind)
    await db.write(
      again
        ? sql`update sixwire_jobs set run_at = ${clock.now() + again.intervalMs}, attempts = 0, claimed_by = null
              where ${stillMine(job)}`
        : sql`delete from sixwire_jobs where ${stillMine(job)}`,
    )
  }

  async function setBack(job: Claimed, isLast: boolean, error: unknown): Promise<void> {
    const { id, kind, attempts } = job
    log[isLast ? 'error' : 'warn'](
      { err: error, job: id, kind, attempts },
      isLast ? 'a job failed for good' : 'a job failed',
    )
    await db.write(sql`
      update sixwire_jobs set
        state = ${isLast ? 'failed' : 'ready'},
        run_at = ${clock.now() + retryAfter(attempts)},
        claimed_by = null,
        last_error = ${reasonOf(error)}
      where ${stillMine(job)}`)
  }

  async function look(): Promise<void> {
    while (!stopped) {
      sleep = new AbortController()
      try {
        const claimed = await claim()
        for (const job of claimed) {
          const done = work(job)
            .catch((error: unknown) =>
              log.error({ err: error, job: job.id }, 'the end of a job could not be written'),
            )
            .finally(() => {
              const wasFull = roomOf(job.kind) === 0
              running.delete(job.id)
              if (wasFull) wake()
            })
          running.set(job.id, { kind: job.kind, done })
        }
        if (claimed.length > 0) continue
      } catch (error) {
        log.warn({ err: error }, 'the queue of jobs could not be read')
      }
      await clock.sleep(POLL_MS, { signal: sleep.signal, idle: true })
    }
  }

  return {
    define,
    every(kind, intervalMs, recurringWork) {
      define(kind, recurringWork, { attempts: Number.MAX_SAFE_INTEGER })
      recurring.push({ id: `every-${kind}`, kind, intervalMs })
    },
    async start() {
      for (const { id, kind, intervalMs } of recurring) {
        const first = clock.now() + intervalMs
        const sooner = sql`update sixwire_jobs set run_at = ${first} where id = ${id} and claimed_by is null and run_at > ${first}`
        await db.batch([insertion(kind, null, id, first), sooner])
      }
      looking = look()
    },
    async stop() {
      stopped = true
      wake()
      await looking
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
