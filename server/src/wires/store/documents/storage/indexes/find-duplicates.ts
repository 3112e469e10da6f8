import type { Database } from '../../../../../db/database.ts'
import type { Definition } from '../entries/index-definition.ts'
import { sortEntries, type NextEntries } from './sort-entries.ts'

const COUNTED_MAX = 10_000
const EXAMPLES_MAX = 10

/** What keeps fields from becoming unique. */
export type Duplicates = {
  readonly fields: string[]
  /** How many documents have values that another one has; counted up to 10,000. */
  readonly documents: number
  /** The first ten, each with one that has the same values. */
  readonly examples: { readonly _id: string; readonly sameAs: string }[]
  /** Why the fields of a document cannot be compared. */
  readonly reason?: string
}

/** Finds the documents of a collection that have the same values in the fields of an index. */
export const findDuplicates = (db: Database, index: Definition, stopping: AbortSignal): Promise<Duplicates> =>
  sortEntries(db, index, stopping, async ({ refused }, next) => ({
    fields: index.fields.map(({ path }) => path.join('.')),
    ...(await countEqual(next, stopping)),
    ...(refused !== undefined && { reason: refused }),
  }))

/** Entries with the same key are neighbours. */
async function countEqual(
  next: NextEntries,
  stopping: AbortSignal,
): Promise<Pick<Duplicates, 'documents' | 'examples'>> {
  const ids = new Set<string>()
  const examples: Duplicates['examples'] = []
  let before: [key: string, id: string] = ['', '']
  for (let batch; (batch = await next());) {
    stopping.throwIfAborted()
    for (const [key, id] of JSON.parse(batch.lines) as (typeof before)[]) {
      if (key !== before[0]) before = [key, id]
      else {
        if (examples.length < EXAMPLES_MAX) examples.push({ _id: id, sameAs: before[1] })
        ids.add(before[1]).add(id)
        if (ids.size >= COUNTED_MAX) return { documents: COUNTED_MAX, examples }
      }
    }
  }
  return { documents: ids.size, examples }
}
