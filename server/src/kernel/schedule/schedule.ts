import type { Clock } from '../../base/clock.ts'
import { isoTime } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { Type } from '../../base/schema.ts'
import type { Static } from 'typebox'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { Job, JobKind, Jobs, Pool } from '../jobs/job.ts'
import type { Schedule } from './schedule-option.ts'

// What is later than this has been missed.
const LATE_MS = 60_000
// Of its own: the work of an application may take all places for long.
const POOL: Pool = { name: 'schedule', atOnce: 4 }
const TICK_RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }

/** Waits for the next time of a schedule. All times up to `since` are dealt with. */
const Tick = Type.Object({ cron: Type.String(), timeZone: Type.String(), since: Type.Integer() })
type Tick = Static<typeof Tick>
const Run = Type.Object({ due: Type.String({ format: 'date-time' }) })
type Run = Static<typeof Run>

type Context = { db: Database; clock: Clock; jobs: Jobs; log: Logger }
type Kinds = { tick: JobKind<Tick>; run: JobKind<Run> }

const tickId = (name: string): string => `every-cron:${name}`

/**
 * Defines the jobs of schedules; see docs/decisions/066-schedule.md.
 *
 * @param offered what the work gets beside its log and time
 * @returns what begins to wait for their next times, before the jobs start
 */
export function createSchedule(
  context: Context,
  { schedules, offered }: { schedules: readonly Schedule[]; offered: Readonly<Record<string, unknown>> },
): { start(): Promise<void> } {
  const all = schedules.map((schedule) => {
    const kinds: Kinds = {
      tick: context.jobs.define(
        `cron:${schedule.name}:next`,
        { payload: Tick, retry: TICK_RETRY, neededFor: 'it waits for the next time of a schedule' },
        async (job) => tick(context, schedule, kinds, job),
      ),
      run: defineRun(context, schedule, offered),
    }
    return { schedule, kinds }
  })
  return {
    async start() {
      for (const { schedule, kinds } of all) await begin(context, schedule, kinds.tick)
    },
  }
}

/** The lane keeps a run from beginning while an earlier one of its schedule is not done. */
function defineRun({ jobs, log }: Context, { name, run }: Schedule, offered: object): JobKind<Run> {
  const ownLog = log.child({ schedule: name })
  return jobs.define(
    `cron:${name}`,
    { payload: Run, pool: POOL, lane: () => name },
    async ({ payload: { due }, stopping }) => {
      await run({ ...offered, log: ownLog, due: new Date(due), signal: stopping })
    },
  )
}

/** Waits for the next time from now on, unless the same schedule is waited for since an earlier start. */
async function begin({ db, clock }: Context, schedule: Schedule, kind: JobKind<Tick>): Promise<void> {
  const { name, cron, timeZone, times } = schedule
  const [id, since] = [tickId(name), clock.now()]
  const row = await db.get<{ payload: string }>(sql`select payload from sixwire_jobs where id = ${id}`)
  const waiting = row && (parseJson(row.payload) as Tick)
  const isOther = waiting && (waiting.cron !== cron || waiting.timeZone !== timeZone)
  await db.batch([
    ...(isOther ? [sql`delete from sixwire_jobs where id = ${id} and payload = ${row.payload}`] : []),
    kind.enqueueSql({ cron, timeZone, since }, { id, runAt: times.next(since)! }),
  ])
}

/** Adds the run that is due, and waits for the next time, in one transaction. */
async function tick(
  { db, clock, log }: Context,
  { name, missed }: Schedule,
  kinds: Kinds,
  { payload, deleteSql }: Pick<Job<Tick>, 'payload' | 'deleteSql'>,
): Promise<void> {
  // Its own, not those of this process: a replica with another configuration may have begun to wait.
  const { cronTimes } = await import('./cron.ts')
  const times = cronTimes(payload.cron, payload.timeZone)
  const now = clock.now()
  const due = times.newest(now) ?? 0
  const isDue = due > payload.since
  const isRun = isDue && (missed === 'once' || now - due <= LATE_MS)
  const since = Math.max(due, payload.since)
  const runAt = times.next(Math.max(now, since))!
  await db.transaction(async (transaction) => {
    const [isMine] = await transaction.write(sql`${deleteSql} returning id`)
    if (!isMine) return
    if (isRun) {
      const id = `cron:${name}:${isoTime(due)}`
      await transaction.write(kinds.run.enqueueSql({ due: isoTime(due) }, { id }))
      // Behind a run that goes on, only the last time waits.
      await transaction.write(kinds.run.deleteWaitingSql(id))
    }
    await transaction.write(kinds.tick.enqueueSql({ ...payload, since }, { id: tickId(name), runAt }))
  })
  if (isDue && !isRun) log.warn({ schedule: name, due: isoTime(due) }, 'a scheduled time was missed')
}
