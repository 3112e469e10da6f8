import type { WireContext } from '../../../kernel/wire/wire.ts'
import { sql } from '../../../db/sql.ts'
import type { StorageName, Storages } from './storage.ts'

const INTERVAL_MS = 60_000
const BATCH = 100
const AT_ONCE = 8
/** If an object is still there after this time, its removal failed or was cut off, and is repeated. */
export const REMOVING_MS = 300_000

type DueObject = { storage: StorageName; key: string }

/** Deletes objects that no record names. */
export type GarbageCollector = {
  /** Deletes what is due when it is called. */
  collect(): Promise<void>
  /** Likewise, in the background. */
  collectSoon(): void
  /** Deletes one object whose row is marked. */
  remove(storage: StorageName, key: string): Promise<void>
  /** Waits for what runs; nothing begins after it. */
  close(): Promise<void>
}

type Context = Pick<WireContext, 'db' | 'clock' | 'log'> & { storages: Storages }

/** Deletes the unused objects of these storages every minute, on one of the replicas, and on request. */
export function createGarbageCollector(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { storages }: { storages: Storages },
): GarbageCollector {
  const context = { db, clock, log, storages }
  const closing = new AbortController()
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  function collect(): Promise<void> {
    if (closing.signal.aborted) return Promise.resolve()
    if (running) {
      // The one that runs may have looked before the call.
      next ??= running.then(collect, collect)
      return next
    }
    next = undefined
    running = collectGarbage(context, closing.signal).finally(() => (running = undefined))
    return running
  }

  jobs.every('store.garbage', INTERVAL_MS, collect)

  return {
    collect,
    collectSoon() {
      collect().catch((error: unknown) => log.warn({ err: error }, 'unused objects are deleted later'))
    },
    remove: (storage, key) => removeObject(context, { storage, key }),
    async close() {
      closing.abort()
      await running?.catch(() => undefined)
    },
  }
}

async function collectGarbage(context: Context, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    const due = await markDue(context)
    const faults = await removeAll(context, due)
    if (faults.length > 0)
      context.log.warn(
        { err: faults[0], objects: faults.length },
        'unused objects could not be deleted, and are deleted later',
      )
    // With all of them failed the others would fail, too.
    if (due.length < BATCH || faults.length === due.length) return
  }
}

/**
 * Marks what is due, so that nothing claims it any more and no other replica deletes it as well. While a backup or an archive of the
 * installation is made, nothing is: it reads the objects of its snapshot, in which records may name them still.
 */
function markDue({ db, clock }: Context): Promise<DueObject[]> {
  const now = clock.now()
  return db.write<DueObject>(sql`
    update store_unclaimed set state = 'deleting', due = ${now + REMOVING_MS}
    where (storage, key) in (
        select storage, key from store_unclaimed where due <= ${now} order by due limit ${BATCH} ${sql.skipLocked})
      and not exists (select 1 from store_backups where status = 'running' and lease_until > ${now})
      and not exists (select 1 from store_object_readers where lease_until > ${now})
    returning storage, key`)
}

/** @returns what failed */
async function removeAll(context: Context, due: readonly DueObject[]): Promise<unknown[]> {
  const faults: unknown[] = []
  const objects = due.values()
  const removeNext = async (): Promise<void> => {
    for (const object of objects)
      await removeObject(context, object).catch((error: unknown) => void faults.push(error))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, removeNext))
  return faults
}

async function removeObject({ db, storages }: Context, { storage, key }: DueObject): Promise<void> {
  await storages[storage].remove(key)
  await db.write(
    sql`delete from store_unclaimed where storage = ${storage} and key = ${key} and state = 'deleting'`,
  )
}
