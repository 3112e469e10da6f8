import type { Step } from '../../../../../db/database.ts'
import type { Dialect } from '../../../../../db/sql.ts'
import type { IndexedChanges } from '../entries/indexed-changes.ts'
import { deleteWordsSql, putWordsSql, type DocumentWords } from '../sql/search-rows.ts'
import { haveSameTexts, wordsOf } from '../../language/search/words.ts'

/** The statements behind that of the documents which keep their words up. */
export function wordSteps(dialect: Dialect, writes: readonly IndexedChanges[]): Step[] {
  if (writes.every(({ set }) => set.searches.length === 0)) return []
  const [put, gone]: [DocumentWords[], { indexId: number; id: string }[]] = [[], []]
  for (const { set, changes } of writes)
    for (const { id: indexId, fields, state } of set.searches)
      for (const { id, before, after } of changes) {
        if (after === undefined) gone.push({ indexId, id })
        // A document whose words the build has not come to has none that could stay.
        else if (before === undefined || state === 'building' || !haveSameTexts(before, after, fields))
          put.push({ indexId, id, words: wordsOf(after, fields) })
      }
  return [...putWordsSql(dialect, put), ...deleteWordsSql(gone)]
}
