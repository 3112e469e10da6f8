import { BoundedMap } from '../base/bounded-map.ts'
import type { Database } from './database.ts'

const KEPT = 10_000

/**
 * What `read` found under a key, remembered for as long as nothing at all was committed to the database.
 * Where the engine can't tell cheaply whether something was, it reads each time. So an answer is never older than
 * one that was read again; what depends on the time of day has to be judged by the caller.
 */
export function cachedUntilWrite<T>(
  db: Database,
  read: (key: string) => Promise<T>,
): (key: string) => T | Promise<T> {
  const known = new BoundedMap<string, { revision: number; found: T }>(KEPT)

  async function readAndKeep(key: string, revision: number): Promise<T> {
    const found = await read(key)
    known.set(key, { revision, found })
    return found
  }

  return (key) => {
    const revision = db.revision()
    if (revision === undefined) return read(key)
    const kept = known.get(key)
    return kept?.revision === revision ? kept.found : readAndKeep(key, revision)
  }
}
