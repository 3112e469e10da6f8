import type { Clock } from '../../../../../base/clock.ts'
import { parseJson } from '../../../../../base/json.ts'
import type { Database } from '../../../../../db/database.ts'
import type { Index } from '../entries/index-definition.ts'
import { lockBuildsSql, progressSql, requireIndex } from '../sql/index-rows.ts'
import type { Json } from '../../language/query/filter.ts'
import { lockMissingSql, putWordsSql, selectMissingSql } from '../sql/search-rows.ts'
import { wordsOf } from '../../language/search/words.ts'

// A document is at most 1 MiB, and its words are found in the event loop.
const DOCUMENTS_A_STEP = 32
const LOCKED_MS = 50

type BuildContext = { readonly db: Database; readonly clock: Clock; readonly stopping: AbortSignal }

/**
 * Adds the words of all documents that a search index does not have yet. What is written meanwhile has its words already, and
 * what an earlier build has added stays: so it goes on where that one ended.
 *
 * @throws CONFLICT if another build has begun, or if the index was dropped
 */
export async function buildWords(context: BuildContext, index: Index, build: number): Promise<void> {
  const { db, clock, stopping } = context
  for (;;) {
    for (let after: string | undefined = ''; after !== undefined;) {
      stopping.throwIfAborted()
      after = await addSome(db, index, build, after)
    }
    const missing = await db.scan(selectMissingSql(index))
    if (missing.length === 0) return
    // Another transaction has a lock on it.
    await clock.sleep(LOCKED_MS, { signal: stopping })
  }
}

/** @returns the last document; undefined at their end */
const addSome = (db: Database, index: Index, build: number, after: string): Promise<string | undefined> =>
  db.transaction(
    async (tx) => {
      // A restore replaces all documents with their words.
      for (const lockSql of lockBuildsSql(tx.dialect, 'shared')) await tx.write(lockSql)
      const lockedRows = await tx.write(lockMissingSql(index, after, DOCUMENTS_A_STEP))
      const documents = lockedRows.map(({ id, document }) => ({
        indexId: index.id,
        id,
        words: wordsOf(parseJson(document) as Json, index.fields),
      }))
      for (const step of putWordsSql(tx.dialect, documents)) await tx.write(step)
      await tx.write(requireIndex(progressSql(index.id, build, lockedRows.length)))
      return lockedRows.at(-1)?.id
    },
    { isolation: 'read committed' },
  )
