import { parseJson } from '../../../../../base/json.ts'
import type { Step, Transaction } from '../../../../../db/database.ts'
import type { Sql } from '../../../../../db/sql.ts'
import type { Json } from '../../language/query/filter.ts'
import {
  deadOf,
  duplicateIn,
  duplicateReason,
  entriesOfDocuments,
  type DocumentEntries,
} from '../entries/document-entries.ts'
import { deleteEntriesSql, putEntriesSql, selectTakenSql } from '../sql/entry-rows.ts'
import { wordsOf } from '../../language/search/words.ts'
import { deleteWordsSql, putWordsSql } from '../sql/search-rows.ts'
import type { Index, IndexSet } from '../entries/index-definition.ts'
import {
  changedSql,
  failSql,
  lockBuildsSql,
  noteSql,
  selectCollectionsSql,
  selectSetSql,
  setOf,
} from '../sql/index-rows.ts'

// A document is at most 1 MiB.
const DOCUMENTS_A_STEP = 64

type Line = { id: string; owner: string; body: string }

/** Some documents of a collection, after an id and in order. */
type PageSql = (collection: string, after: string, limit: number) => Sql<Line>

/** The documents of all collections that go, and those that come in their place. */
export type Replacement = {
  readonly goneSql: PageSql
  readonly freshSql: PageSql
  /** The collections in which documents come whose `createdAt` is not the time of their ids. */
  readonly unordered: ReadonlySet<string>
}

/**
 * Changes the entries of all indexes, in the transaction that replaces documents and before it does; nothing else may write
 * documents meanwhile. An index that cannot hold the new documents fails: they are what the operator wants back.
 *
 * @param leaveIdOrder the steps that have lists of a collection read in the order of `createdAt`
 * @param deleteEntries the step that has the entries of a failed index deleted later
 * @returns the indexes that have failed, with the reasons
 */
export async function replaceEntries(
  tx: Transaction,
  { goneSql, freshSql, unordered }: Replacement,
  {
    now,
    leaveIdOrder,
    deleteEntries,
  }: {
    now: number
    leaveIdOrder: (collection: string) => readonly Step[]
    deleteEntries: (collection: string) => Step
  },
): Promise<Map<Index, string>> {
  const failed = new Map<Index, string>()
  // This writes entries in the order of documents, and a build in that of keys: they would wait for each other in a circle.
  for (const lockSql of lockBuildsSql(tx.dialect, 'exclusive')) await tx.write(lockSql)

  /** Fails the indexes in which two documents would have the same key. */
  async function withoutDuplicates(documents: readonly DocumentEntries[]): Promise<DocumentEntries[]> {
    const kept = documents.filter(({ index }) => !failed.has(index))
    const unique = kept.filter(({ index }) => index.isUnique)
    if (unique.length === 0) return kept
    const [takenRow] = await tx.all(selectTakenSql(unique))
    const twice = duplicateIn(unique) ?? takenRow
    if (!twice) return kept
    const index =
      'index' in twice ? twice.index : unique.find((one) => one.index.id === twice.index_id)!.index
    failed.set(index, duplicateReason(index, twice))
    return withoutDuplicates(kept)
  }

  async function replaceIn({ collection, indexes, searches }: IndexSet): Promise<void> {
    for await (const lines of pages(tx, (after) => goneSql(collection, after, DOCUMENTS_A_STEP))) {
      const oldEntries = indexes.flatMap((index) => entriesOfDocuments(index, lines, () => undefined))
      const isBuilt = ({ index }: DocumentEntries): boolean => index.state === 'building'
      await tx.write(deleteEntriesSql(oldEntries.filter((one) => !isBuilt(one))))
      await tx.write(putEntriesSql(tx.dialect, deadOf(oldEntries.filter(isBuilt))))
      const words = searches.flatMap(({ id: indexId }) => lines.map(({ id }) => ({ indexId, id })))
      for (const step of deleteWordsSql(words)) await tx.write(step)
    }
    for await (const lines of pages(tx, (after) => freshSql(collection, after, DOCUMENTS_A_STEP))) {
      const fresh = indexes.map((index) =>
        entriesOfDocuments(index, lines, (id, { message }) =>
          failed.set(index, `in the document ${id} ${message}`),
        ),
      )
      const words = searches.flatMap(({ id: indexId, fields }) =>
        lines.map(({ id, document }) => ({ indexId, id, words: wordsOf(document, fields) })),
      )
      for (const step of putWordsSql(tx.dialect, words)) await tx.write(step)
      const kept = await withoutDuplicates(fresh.flat())
      await tx.write(putEntriesSql(tx.dialect, kept))
      for (const [i, index] of indexes.entries())
        for (const note of noteSql(index, fresh[i]!)) await tx.write(note)
    }
  }

  for (const collection of unordered) {
    const { isIdOrdered } = setOf(collection, await tx.all(selectSetSql(collection)))
    if (isIdOrdered)
      for (const step of [changedSql(collection), ...leaveIdOrder(collection)]) await tx.write(step)
  }
  for (const { collection } of await tx.all(selectCollectionsSql))
    await replaceIn(setOf(collection, await tx.all(selectSetSql(collection))))
  for (const [index, reason] of failed) {
    await tx.write(changedSql(index.collection))
    await tx.write(failSql(index.id, reason, now))
    await tx.write(deleteEntries(index.collection))
  }
  return failed
}

async function* pages(tx: Transaction, pageSql: (after: string) => Sql<Line>) {
  for (let after = ''; ;) {
    const lines = await tx.all(pageSql(after))
    if (lines.length === 0) return
    yield lines.map(({ id, owner, body }) => ({ id, owner, document: parseJson(body) as Json }))
    after = lines.at(-1)!.id
  }
}
