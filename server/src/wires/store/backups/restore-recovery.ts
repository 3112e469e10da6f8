import { ApiError } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Objects } from '../objects/objects.ts'
import { failSteps, selectLapsedSql, selectSql, type RestoreRow } from './restore-rows.ts'
import { deleteStaged, leftBehind } from './restore-staging.ts'

const INTERVAL_MS = 5_000
const LAPSED = 'The process that ran it ended before it was finished: nothing was changed.'

/** Ends restores that have failed, or whose process has died. */
export type Recovery = {
  /** Fails restores whose lease is over, so that writes go through again, and deletes what any that is over has loaded. */
  recover(): Promise<void>
  /** Fails a restore, unless it is over. Never rejects: what this cannot do is done once its lease is over. */
  fail(id: string, error: unknown): Promise<RestoreRow['status'] | undefined>
  /** Deletes what a restore that is over has loaded. Never rejects. */
  deleteStaged(id: string): Promise<void>
}

export function createRecovery(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { objects }: { objects: Objects },
): Recovery {
  async function removeStaged(id: string): Promise<void> {
    try {
      await deleteStaged(db, id)
    } catch (error) {
      log.warn({ err: error, restore: id }, 'what a restore has loaded is deleted later')
    }
  }

  async function failLapsed(): Promise<void> {
    const now = clock.now()
    for (const { id } of await db.all(selectLapsedSql(now)))
      try {
        await db.batch(
          failSteps({ dialect: db.dialect, objects }, { id, reason: LAPSED, now, lapsedAt: now }),
        )
        log.error({ restore: id }, `restore failed: ${LAPSED}`)
        await removeStaged(id)
      } catch (error) {
        // Another replica has ended it.
        if (!(error instanceof ApiError && error.status === 409)) throw error
      }
  }

  jobs.every('store.restores', INTERVAL_MS, failLapsed)

  return {
    async recover() {
      await failLapsed()
      for (const id of await leftBehind(db)) await removeStaged(id)
    },
    deleteStaged: removeStaged,

    async fail(id, error) {
      const isExpected = error instanceof ApiError
      const reason = isExpected ? error.message : 'Internal error. The log has the details.'
      log[isExpected ? 'warn' : 'error']({ err: error, restore: id }, `restore failed: ${reason}`)
      try {
        await db.batch(failSteps({ dialect: db.dialect, objects }, { id, reason, now: clock.now() }))
        await removeStaged(id)
        return 'failed'
      } catch (failure) {
        if (failure instanceof ApiError && failure.status === 409)
          return (await db.get(selectSql(id)).catch(() => undefined))?.status
        log.warn(
          { err: failure, restore: id },
          'the end of a restore could not be written: its lease ends it',
        )
        return undefined
      }
    },
  }
}
