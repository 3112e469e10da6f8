import { after, before, type TestContext } from 'node:test'
import { pino } from 'pino'
import type { Database } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { openFrame } from '../frame.fixture.ts'
import { stillClock } from '../../testing/clock.ts'
import { createJobs } from './jobs.ts'
import type { JobRunner } from './job.ts'
import type { Engine } from '../../testing/engines.ts'

/** A row of the queue. */
export type Stored = {
  id: string
  state: string
  run_at: number
  attempts: number
  last_error: string | null
  claimed_by: string | null
  payload: string
}

type Frame = Awaited<ReturnType<typeof openFrame>>
export type Queue = Awaited<ReturnType<typeof queueOn>>

/** A queue on a database of its own. */
export async function setUp(t: TestContext, engine: Engine): Promise<Queue> {
  const frame = await openFrame(engine)
  const queue = await queueOn(t, frame)
  t.after(() => frame.db.close())
  return queue
}

/**
 * One database for all tests of a suite; call it where the suite is described.
 *
 * @returns what a test calls for a queue that is empty
 */
export function queueForAll(engine: Engine): (t: TestContext) => Promise<Queue> {
  let frame: Frame
  before(async () => {
    frame = await openFrame(engine)
  })
  after(() => frame.db.close())
  return async (t) => {
    await frame.db.write(sql`delete from sixwire_jobs`)
    return queueOn(t, frame)
  }
}

/** A queue, a clock that stands still, and replicas that work on it. */
async function queueOn(t: TestContext, { db, url }: Frame) {
  const clock = stillClock()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const runners: JobRunner[] = []
  const databases: Database[] = []
  t.after(async () => {
    await Promise.all(runners.map((one) => one.stop()))
    for (const one of databases) await one.close()
  })
  return {
    db,
    url,
    clock,
    lines,
    /** A replica: a runner, on a connection of its own where it is not the first. */
    replica: async (): Promise<JobRunner> => {
      let own: Database = db
      if (runners.length > 0) databases.push((own = await openDatabase(url)))
      const runner = createJobs({ db: own, clock, log })
      runners.push(runner)
      return runner
    },
    stored: () =>
      db.all<Stored>(
        sql`select id, state, run_at, attempts, last_error, claimed_by, payload from sixwire_jobs order by id`,
      ),
  }
}
