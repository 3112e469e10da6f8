import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { pino } from 'pino'

import { systemClock } from '../src/base/clock.ts'
import { Type } from '../src/base/schema.ts'
import type { Database } from '../src/db/database.ts'
import { readMigrations } from '../src/db/migrations.ts'
import { openDatabase } from '../src/db/open.ts'
import { sql } from '../src/db/sql.ts'
import { createJobs } from '../src/kernel/jobs/jobs.ts'
import type { Options } from './options.ts'
import { median } from './statistics.ts'

/** Jobs done a second, the median of the rounds. */
export type JobsResult = { rows: { name: string; perSecond: number; rounds: number[] }[] }

const WAITING = 100_000
const PIECE = 5_000
/** Between two looks at whether the time is over. */
const LOOK_MS = 20

const Payload = Type.Object({ n: Type.Integer() })

type Scenario = {
  name: string
  /** Due when the round begins, in so many lanes; 0: in none. */
  waiting: number
  lanes: number
  /** What the measured jobs wait beside: a kind with a single place, which hangs. */
  isBlocked?: boolean
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'one at a time', waiting: 0, lanes: 0 },
  {
    name: 'one at a time, beside 100,000 of a kind whose place is taken',
    waiting: 0,
    lanes: 0,
    isBlocked: true,
  },
  { name: '100,000 waiting', waiting: WAITING, lanes: 0 },
  { name: '100,000 waiting in 10 lanes', waiting: WAITING, lanes: 10 },
  { name: '100,000 waiting in 10,000 lanes', waiting: WAITING, lanes: 10_000 },
]

/** Adds many jobs, as if each had been enqueued. */
async function fill(db: Database, kind: string, count: number, lanes: number): Promise<void> {
  const lane = lanes > 0 ? sql`'lane' || (i % ${lanes})` : sql.literal('null')
  // In pieces, so that each is short.
  for (let from = 0; from < count; from += PIECE)
    await db.write(sql`
      insert into sixwire_jobs (id, kind, payload, lane, state, run_at, attempts, created_at)
      with recursive numbers (i) as (
        select cast(${from + 1} as bigint) union all select i + 1 from numbers where i < ${from + PIECE})
      select ${`${kind}-`} || i, ${kind}, '{"n":1}', ${lane}, 'ready', i, 0, 0 from numbers`)
}

async function runRound(url: string, scenario: Scenario, seconds: number): Promise<number> {
  const db = await openDatabase(url)
  try {
    const folder = new URL('../src/kernel/migrations/', import.meta.url)
    await db.migrate(await readMigrations('sixwire', folder, db.dialect))
    await db.write(sql`delete from sixwire_jobs`)
    if (scenario.waiting > 0) await fill(db, 'measured', scenario.waiting, scenario.lanes)
    if (scenario.isBlocked) await fill(db, 'blocked', WAITING, 0)
    // As PostgreSQL does by itself within a minute.
    if (db.dialect === 'postgres') await db.write(sql`analyze sixwire_jobs`)
    const jobs = createJobs(db, systemClock, pino({ level: 'silent' }))
    let done = 0
    let isOver = false
    const measured = jobs.define(
      'measured',
      { payload: Payload, lane: () => undefined },
      async ({ payload }) => {
        done++
        if (scenario.waiting === 0 && !isOver) await measured.enqueue(payload)
      },
    )
    const blocked = Promise.withResolvers<void>()
    jobs.define('blocked', { payload: Payload, atOnce: 1 }, () => blocked.promise)
    await jobs.start()
    if (scenario.waiting === 0) await measured.enqueue({ n: 1 })
    while (done === 0) await delay(1)
    const [before, begin] = [done, performance.now()]
    while (performance.now() - begin < seconds * 1000 && (scenario.waiting === 0 || done < scenario.waiting))
      await delay(LOOK_MS)
    const rate = ((done - before) / (performance.now() - begin)) * 1000
    isOver = true
    blocked.resolve()
    await jobs.stop()
    return rate
  } finally {
    await db.close()
  }
}

/**
 * How many jobs one process does a second: one after the other, from a long queue, and in lanes.
 *
 * @param createDatabase of PostgreSQL; undefined for SQLite
 */
export async function runJobs(
  { rounds, seconds }: Pick<Options, 'rounds' | 'seconds'>,
  folder: string,
  createDatabase: ((name: string) => Promise<string>) | undefined,
  note: (text: string) => void,
): Promise<JobsResult> {
  const home = join(folder, 'jobs')
  mkdirSync(home, { recursive: true })
  const rates = new Map(SCENARIOS.map(({ name }) => [name, [] as number[]]))
  for (let round = 1; round <= rounds; round++)
    for (const [at, scenario] of SCENARIOS.entries()) {
      note(`jobs: ${scenario.name}, round ${round} of ${rounds}`)
      const name = `jobs_${round}_${at}`
      const url = createDatabase ? await createDatabase(name) : `sqlite:${join(home, `${name}.db`)}`
      rates.get(scenario.name)!.push(await runRound(url, scenario, seconds))
    }
  return {
    rows: [...rates].map(([name, list]) => ({ name, perSecond: median(list), rounds: list })),
  }
}
