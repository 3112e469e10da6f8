import { bytesOf } from '../../../base/byte-size.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import type { Jobs } from '../../../kernel/jobs/job.ts'
import { deleteFirstSql, raiseFloorSql, selectExcessSql, selectOlderSql } from './keep-rows.ts'
import { readLogEnd } from './log.ts'
import { isBefore, type LogPosition } from './position.ts'

const EVERY_MS = 60_000
const HOUR_MS = 3_600_000
const ROWS_A_DELETE = 2000
const SCAN_LIMIT_MS = 60_000

/** How much of the log is kept. */
export type KeepOptions = { readonly keepHours: number; readonly keepBytes: string }

/** Deletes changes that are too old, or too many, once a minute over all replicas. */
export function scheduleKeeping(
  { db, clock, jobs }: { db: Database; clock: Clock; jobs: Jobs },
  { keepHours, keepBytes }: KeepOptions,
): void {
  let measured: LogPosition | undefined
  jobs.every('store.changes.keep', EVERY_MS, async ({ stopping }) => {
    await deleteUpTo(db, selectOlderSql(db.dialect, clock.now() - keepHours * HOUR_MS), stopping)
    // All of the log is added up for it, if there is anything new in it.
    const { position } = await readLogEnd(db)
    if (measured && !isBefore(measured, position)) return
    await deleteUpTo(db, selectExcessSql(db.dialect, bytesOf(keepBytes)), stopping)
    measured = position
  })
}

async function deleteUpTo(
  db: Database,
  lastSql: ReturnType<typeof selectOlderSql>,
  stopping: AbortSignal,
): Promise<void> {
  const [last] = await db.scan(lastSql, { limitMs: SCAN_LIMIT_MS })
  if (!last) return
  // Before the rows are deleted: a follower that is behind the floor then receives `reset`, and misses nothing.
  await db.write(raiseFloorSql(last))
  while (!stopping.aborted) {
    const deleted = await db.write(deleteFirstSql(db.dialect, last, ROWS_A_DELETE))
    if (deleted.length < ROWS_A_DELETE) return
  }
}
