import type { Clock } from '../../base/clock.ts'
import type { Database, Migration, MigrationProgress } from '../../db/database.ts'

const INTERVAL_MS = 5_000

/**
 * Runs the migrations that the database does not have. Unless it is new, the log names them, and every five seconds the one
 * that is running: a large table takes minutes, in which the operator must not take the start for one that hangs. Likewise
 * while another process runs them.
 *
 * @returns whether this process has changed tables that were there
 */
export async function migrateWithLog(
  { db, clock, log }: { db: Pick<Database, 'migrate'>; clock: Clock; log: { info(line: string): void } },
  migrations: readonly Migration[],
): Promise<boolean> {
  const startedAt = clock.elapsed()
  const seconds = (): string => `${Math.round((clock.elapsed() - startedAt) / 1000)} s`
  let current: MigrationProgress | undefined
  let hasLogged = false
  let clearTimer = (): void => undefined

  function write(line: string): void {
    hasLogged = true
    log.info(line)
  }

  function logLater(): void {
    clearTimer = clock.timer(INTERVAL_MS, () => {
      write(`${stepOf(current)} (${seconds()} so far)`)
      logLater()
    })
  }

  logLater()
  try {
    await db.migrate(migrations, (progress) => {
      if (current === undefined)
        write('bringing the tables up to date; with much data this takes minutes: do not end the start')
      current = progress
    })
    if (hasLogged) write(`the tables are up to date (${seconds()})`)
    return current !== undefined
  } finally {
    clearTimer()
  }
}

function stepOf(current: MigrationProgress | undefined): string {
  if (!current) return 'waiting for the tables, which another process may be bringing up to date'
  const share = current.percent === undefined ? '' : `, ${current.percent} % of the rows`
  return `the migration ${current.migration} is running${share}`
}
