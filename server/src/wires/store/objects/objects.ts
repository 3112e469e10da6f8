import type { Readable } from 'node:stream'

import { errors, type ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { afterCommit, requireRow, type Step, type StepWith } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { createGarbageCollector, REMOVING_MS } from './object-garbage.ts'
import { createKeys, WRITING_MS } from './object-keys.ts'
import type { ByteRange, StorageName, Storages, StoredBytes, WriteOptions } from './storage.ts'

export type { StorageName, Storages } from './storage.ts'

/** An object whose bytes are safe, and that no record names yet. */
export type NewObject = StoredBytes & {
  key: string
  /** The step for the batch that inserts the record which names it. @throws UNAVAILABLE if it was deleted as garbage */
  claimSql: StepWith
  /**
   * Deletes it now, unless it was claimed: after a commit whose outcome is unknown this is safe. Never rejects: the
   * garbage collector deletes what this could not.
   */
  discard(): Promise<void>
}

/** Objects, and the rows of those that no record names: nothing is left behind by a crash at any step. */
export type Objects = {
  readonly storages: Storages
  /**
   * Writes an object. Its row is in `store_unclaimed` before the first byte is written; until it is claimed the
   * garbage collector deletes it once its time is over, which is an hour after the last bytes arrived.
   *
   * @param options.key default: a new one
   * @throws CONFLICT if the object of that key is being written or deleted; UNAVAILABLE; the error of `bytes` as it is
   */
  write(
    storage: StorageName,
    bytes: AsyncIterable<Buffer>,
    options?: WriteOptions & { key?: string },
  ): Promise<NewObject>
  /**
   * Allocates a key for bytes that a client writes to the storage itself. Unless they are claimed, they are deleted from then on.
   *
   * @param due milliseconds since 1970
   */
  allocate(storage: StorageName, due: number): { key: string; insertSql: Sql }
  /** The step that claims what has an allocated key. @throws UNAVAILABLE if it was deleted as garbage */
  claimSql(storage: StorageName, key: string): StepWith
  /** @throws NoSuchObject; UNAVAILABLE */
  read(storage: StorageName, key: string, range?: ByteRange): Promise<Readable>
  /** The steps for the batch that deletes the last records naming these objects; they are deleted after its commit. */
  discardSql(storage: StorageName, keysSql: Sql<{ key: string }>): Step[]
  /** The statement that gives objects which wait to be claimed another hour. */
  extendSql(storage: StorageName, keysSql: Sql<{ key: string }>): Sql
  /** Deletes what no record names and is due, unless a backup or an archive is being made: it may be reading them. */
  collectGarbage(): Promise<void>
  /** Gives back keys that were not used, and waits for what is being deleted. */
  close(): Promise<void>
}

export function createObjects(
  context: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { storages }: { storages: Storages },
): Objects {
  const { db, clock, log } = context
  const keys = createKeys({ db, clock })
  const garbage = createGarbageCollector(context, { storages })

  const writingTimeout = (): ApiError =>
    errors.unavailable({ message: 'Writing took too long: what was written is deleted. Try again.' })

  const claimSql = (storage: StorageName, key: string): StepWith =>
    requireRow(
      sql`
        delete from store_unclaimed where storage = ${storage} and key = ${key} and state = 'writing'
        returning key`,
      writingTimeout,
    )

  /** The bytes; the time of their object is extended while they arrive. */
  function extending(
    storage: StorageName,
    key: string,
    due: number,
    bytes: AsyncIterable<Buffer>,
  ): AsyncIterable<Buffer> {
    async function extend(): Promise<void> {
      due = clock.now() + WRITING_MS
      const [extended] = await db.write(sql`
        update store_unclaimed set due = ${due}
        where storage = ${storage} and key = ${key} and state = 'writing'
        returning key`)
      if (!extended) throw writingTimeout()
    }
    return {
      [Symbol.asyncIterator]() {
        const iterator = bytes[Symbol.asyncIterator]()
        return {
          async next() {
            const result = await iterator.next()
            if (due - clock.now() < WRITING_MS / 2) await extend()
            return result
          },
          return: () => iterator.return?.() ?? Promise.resolve({ done: true, value: undefined }),
        }
      },
    }
  }

  /**
   * Deletes an object whose row is still there for writing. Never rejects.
   *
   * @param isLater whether the garbage collector does it
   */
  async function discard(storage: StorageName, key: string, isLater = false): Promise<void> {
    try {
      // First, because what was claimed since is named by a record.
      const [row] = await db.write(sql`
        update store_unclaimed set state = 'deleting', due = ${clock.now() + REMOVING_MS}
        where storage = ${storage} and key = ${key} and state = 'writing'
        returning key`)
      if (row && !isLater) await garbage.remove(storage, key)
    } catch (error) {
      log.warn({ err: error, storage, key }, 'an unused object could not be deleted, and is deleted later')
    }
  }

  return {
    storages,

    async write(storage, bytes, { key: fixedKey, ...options } = {}) {
      const { key, due } = await (fixedKey === undefined ? keys.next(storage) : keys.take(storage, fixedKey))
      let stored: StoredBytes
      try {
        stored = await storages[storage].write(key, extending(storage, key, due, bytes), options)
      } catch (error) {
        // The storage has removed what it could, but a bucket may carry out a call after the one that removes its object.
        await discard(storage, key, storages[storage].name === 's3')
        throw error
      }
      let isClaimed = false
      return {
        key,
        ...stored,
        claimSql: afterCommit(claimSql(storage, key), () => (isClaimed = true)),
        discard: async () => (isClaimed ? undefined : discard(storage, key)),
      }
    },

    allocate(storage, due) {
      const key = newId(clock.now())
      return {
        key,
        insertSql: sql.insert('store_unclaimed', { storage, key, state: 'writing', due }, ['storage', 'key']),
      }
    },
    claimSql,

    read: (storage, key, range) => storages[storage].read(key, range),

    discardSql: (storage, keysSql) => [
      afterCommit(
        sql`
          insert into store_unclaimed (storage, key, state, due)
          select cast(${storage} as text), key, 'deleting', cast(${clock.now()} as bigint)
          from (${keysSql}) as discarded where true
          on conflict (storage, key) do update set state = 'deleting', due = excluded.due`,
        () => garbage.collectSoon(),
      ),
    ],

    extendSql: (storage, keysSql) => sql`
      update store_unclaimed set due = ${clock.now() + WRITING_MS}
      where storage = ${storage} and state = 'writing' and key in (${keysSql})`,

    collectGarbage: () => garbage.collect(),

    async close() {
      await garbage.close()
      await keys.close()
      for (const storage of Object.values(storages)) storage.close()
    },
  }
}
