import type { Database } from '../../../../db/database.ts'
import type { CollectionSet } from '../definition/collections.ts'
import { hasAll } from '../storage/entries/index-definition.ts'
import { findDuplicates, type Duplicates } from '../storage/indexes/find-duplicates.ts'

/** What keeps the fields of a collection from becoming unique that a set of collections makes unique. */
export async function checkUnique(
  db: Database,
  collection: string,
  { now, next }: { now: CollectionSet; next: CollectionSet },
  stopping: AbortSignal,
): Promise<Duplicates[]> {
  const found: Duplicates[] = []
  for (const index of next.indexes)
    if (index.collection === collection && index.isUnique && !hasAll(now.indexes, [index])) {
      const duplicates = await findDuplicates(db, index, stopping)
      if (duplicates.documents > 0 || duplicates.reason !== undefined) found.push(duplicates)
    }
  return found
}
