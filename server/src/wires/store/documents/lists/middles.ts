import { BoundedMap } from '../../../../base/bounded-map.ts'
import type { Database, ScanOptions } from '../../../../db/database.ts'
import { middleSql } from '../storage/sql/document-rows.ts'

// By so much of its size a collection may grow or shrink before its middle is looked for again.
const DRIFT = 0.25
const COLLECTIONS_MAX = 1000

/** About the middle of the ids of collections, and of how many documents it was. */
export type Middles = Map<string, { readonly id: string; readonly documents: number }>

export const createMiddles = (): Middles => new BoundedMap(COLLECTIONS_MAX)

/**
 * An id about in the middle of a collection.
 *
 * @param documents how many it has
 * @returns undefined if it has none any more
 */
export async function middleOf(
  { db, middles, options }: { db: Database; middles: Middles; options: ScanOptions },
  collection: string,
  documents: number,
): Promise<string | undefined> {
  const known = middles.get(collection)
  if (known && Math.abs(known.documents - documents) <= known.documents * DRIFT) return known.id
  const [row] = await db.scan(middleSql(collection, Math.floor(documents / 2)), options)
  if (row) middles.set(collection, { id: row.id, documents })
  return row?.id
}
