import { ApiError } from '../../../base/errors.ts'
import type { Jobs } from '../../../kernel/jobs/job.ts'
import type { Backups } from './backups.ts'

const LAPSED_MS = 15_000
const SURPLUS_MS = 3_600_000
const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * Makes backups at intervals, by one replica each, and deletes those that are too many.
 *
 * @param options.every like `30m`, `12h`, `1d`; undefined: none are made
 * @param options.keep how many scheduled and how many safety backups are kept
 */
export function scheduleBackups(
  jobs: Jobs,
  backups: Backups,
  { every, keep }: { every?: string; keep: number },
): void {
  jobs.every('store.lapsed-backups', LAPSED_MS, () => backups.failLapsed())
  jobs.every('store.surplus-backups', SURPLUS_MS, async () => {
    await backups.removeSurplus('scheduled', keep)
    await backups.removeSurplus('safety', keep)
  })
  if (every === undefined) return
  jobs.every('store.backup', millisecondsOf(every), async ({ stopping }) => {
    try {
      const { done } = await backups.create('scheduled', { signal: stopping })
      await done
    } catch (error) {
      // One is being made at this moment: it serves as well.
      if (error instanceof ApiError && error.status === 409) return
      throw error
    }
    await backups.removeSurplus('scheduled', keep)
  })
}

/** Of `30m`, `12h` or `1d`. */
export const millisecondsOf = (every: string): number =>
  Number.parseInt(every, 10) * UNITS[every.at(-1) as keyof typeof UNITS]
