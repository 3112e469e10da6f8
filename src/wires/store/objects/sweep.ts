import type { WireContext } from '../../../kernel/wire.ts'
import { sql } from '../../../db/sql.ts'
import type { StorageName, Storages } from './storage.ts'

const INTERVAL_MS = 60_000
const BATCH = 100
const AT_ONCE = 8
/** If an object is still there after this time, its removal failed or was cut off, and is repeated. */
export const REMOVING_MS = 300_000

type Due = { storage: StorageName; key: string }

/** Deletes objects that no record names. */
export type Sweep = {
  /** Deletes what is due when it is called. */
  run(): Promise<void>
  /** Likewise, in the background. */
  soon(): void
  /** Deletes one object whose row is marked. */
  remove(storage: StorageName, key: string): Promise<void>
  /** Waits for what runs; nothing begins after it. */
  close(): Promise<void>
}

export function createSweep(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  storages: Storages,
): Sweep {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let isClosed = false

  /**
   * Marks what is due, so that nothing claims it any more and no other replica deletes it as well. While a backup runs
   * nothing is: it reads the objects of its snapshot, in which records may name them still.
   */
  function markDue(): Promise<Due[]> {
    const now = clock.now()
    return db.write<Due>(sql`
      update store_unclaimed set state = 'deleting', due = ${now + REMOVING_MS}
      where (storage, key) in (
          select storage, key from store_unclaimed where due <= ${now} order by due limit ${BATCH} ${sql.skipLocked})
        and not exists (select 1 from store_backups where status = 'running' and lease_until > ${now})
      returning storage, key`)
  }

  async function remove(storage: StorageName, key: string): Promise<void> {
    await storages[storage].remove(key)
    await db.write(
      sql`delete from store_unclaimed where storage = ${storage} and key = ${key} and state = 'deleting'`,
    )
  }

  /** @returns what failed */
  async function removeAll(due: readonly Due[]): Promise<unknown[]> {
    const faults: unknown[] = []
    const objects = due.values()
    const removeNext = async (): Promise<void> => {
      for (const { storage, key } of objects)
        await remove(storage, key).catch((error: unknown) => void faults.push(error))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, removeNext))
    return faults
  }

  async function sweep(): Promise<void> {
    while (!isClosed) {
      const due = await markDue()
      const faults = await removeAll(due)
      if (faults.length > 0)
        log.warn(
          { err: faults[0], objects: faults.length },
          'unused objects could not be deleted, and are deleted later',
        )
      // With all of them failed the others would fail, too.
      if (due.length < BATCH || faults.length === due.length) return
    }
  }

  function run(): Promise<void> {
    if (isClosed) return Promise.resolve()
    if (running) {
      // The one that runs may have looked before the call.
      next ??= running.then(run, run)
      return next
    }
    next = undefined
    running = sweep().finally(() => (running = undefined))
    return running
  }

  jobs.every('store.sweep', INTERVAL_MS, run)

  return {
    run,
    soon() {
      run().catch((error: unknown) => log.warn({ err: error }, 'unused objects are deleted later'))
    },
    remove,
    async close() {
      isClosed = true
      await running?.catch(() => undefined)
    },
  }
}
