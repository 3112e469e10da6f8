import type { Clock } from '../../../../base/clock.ts'
import { BoundedMap } from '../../../../base/bounded-map.ts'
import { cachedUntilWrite } from '../../../../db/cached-until-write.ts'
import type { Database } from '../../../../db/database.ts'
import type { IndexSet } from './definition.ts'

const COLLECTIONS_MAX = 10_000
const LIFETIME_MS = 1_000

/** Answers the indexes of a collection as they were a second ago at most, mostly without a read. */
export function createRecentSets(
  db: Database,
  clock: Clock,
  read: (collection: string) => Promise<IndexSet>,
): (collection: string) => IndexSet | Promise<IndexSet> {
  const sets = new BoundedMap<string, { readonly set: Promise<IndexSet>; readonly until: number }>(
    COLLECTIONS_MAX,
  )

  function recent(collection: string): Promise<IndexSet> {
    const known = sets.get(collection)
    if (known && known.until > clock.elapsed()) return known.set
    const set = read(collection)
    sets.set(collection, { set, until: clock.elapsed() + LIFETIME_MS })
    // The caller gets the error.
    set.catch(() => sets.delete(collection))
    return set
  }

  return db.revision() === undefined ? recent : cachedUntilWrite(db, read)
}
