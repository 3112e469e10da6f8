import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { Database } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { openFrame } from '../frame.fixture.ts'
import { stillClock } from '../../testing/clock.ts'
import { createJobs, type JobRunner } from './jobs.ts'
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

/** A queue, a clock that stands still, and replicas that work on it. */
export async function setUp(t: TestContext, engine: Engine) {
  const { db, url } = await openFrame(engine)
  const clock = stillClock()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const runners: JobRunner[] = []
  const databases = [db]
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
      const runner = createJobs(own, clock, log)
      runners.push(runner)
      return runner
    },
    stored: () =>
      db.all<Stored>(
        sql`select id, state, run_at, attempts, last_error, claimed_by, payload from sixwire_jobs order by id`,
      ),
  }
}
