import { BoundedMap } from '../base/bounded-map.ts'
import type { Database } from './database.ts'

const ENTRIES_MAX = 10_000

/**
 * Caches the results of `read` by key until anything is committed to the database. If the engine can't tell cheaply
 * whether something was committed, each call reads. So a result is never older than a new read would be; the caller must
 * check what depends on the time itself.
 */
export function cachedUntilWrite<T>(
  db: Database,
  read: (key: string) => Promise<T>,
): (key: string) => T | Promise<T> {
  const cache = new BoundedMap<string, { revision: number; value: T }>(ENTRIES_MAX)

  async function readAndCache(key: string, revision: number): Promise<T> {
    const value = await read(key)
    cache.set(key, { revision, value })
    return value
  }

  return (key) => {
    const revision = db.revision()
    if (revision === undefined) return read(key)
    const entry = cache.get(key)
    return entry?.revision === revision ? entry.value : readAndCache(key, revision)
  }
}
