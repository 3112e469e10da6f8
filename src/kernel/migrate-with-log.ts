import type { FastifyBaseLogger } from 'fastify'

import type { Clock } from '../base/clock.ts'
import type { Database, Migration, MigrationProgress } from '../db/database.ts'

const INTERVAL_MS = 5_000

/**
 * Runs the migrations that the database does not have. Unless it is new, the log names them, and every five seconds the one
 * that is running: a large table takes minutes, in which the operator must not take the start for one that hangs.
 */
export async function migrateWithLog(
  { db, clock, log }: { db: Database; clock: Clock; log: Pick<FastifyBaseLogger, 'info'> },
  migrations: readonly Migration[],
): Promise<void> {
  const begun = clock.elapsed()
  const seconds = (): string => `${Math.round((clock.elapsed() - begun) / 1000)} s`
  let current: MigrationProgress | undefined
  let clearTimer = (): void => undefined

  function logLater(): void {
    clearTimer = clock.timer(INTERVAL_MS, () => {
      const { migration, percent } = current!
      const share = percent === undefined ? '' : `, ${percent} % of the rows`
      log.info(`the migration ${migration} is running${share} (${seconds()} so far)`)
      logLater()
    })
  }

  try {
    await db.migrate(migrations, (progress) => {
      if (current === undefined) {
        log.info('bringing the tables up to date; with much data this takes minutes: do not end the start')
        logLater()
      }
      current = progress
    })
    if (current) log.info(`the tables are up to date (${seconds()})`)
  } finally {
    clearTimer()
  }
}
