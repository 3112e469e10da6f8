import type { Json } from '../query/filter.ts'
import { DEAD, entriesOf, namesOf, UnindexableError, type Entry } from './entries.ts'
import type { Index } from './definition.ts'

/** A document as an index sees it. */
export type IndexedDocument = { readonly id: string; readonly owner: string; readonly document: Json }

/** The entries of a document in an index. */
export type DocumentEntries = {
  readonly index: Index
  readonly id: string
  readonly owner: string
  readonly entries: readonly Entry[]
}

/** The entries of documents in one index, and what the index has to know of them. */
export type EntriesOfDocuments = {
  readonly index: Index
  readonly documents: readonly DocumentEntries[]
  readonly hasArrays: boolean
  readonly hasCutKeys: boolean
}

/**
 * Makes the entries of documents in one index.
 *
 * @param refuse called for a document that the index cannot hold; if it returns, the document has no entries
 */
export function entriesOfDocuments(
  index: Index,
  documents: readonly IndexedDocument[],
  refuse: (id: string, error: UnindexableError) => void,
): EntriesOfDocuments {
  let [hasArrays, hasCutKeys] = [false, false]
  const made = documents.flatMap(({ id, owner, document }): DocumentEntries[] => {
    try {
      const { entries, ...noted } = entriesOf(document, index.fields)
      hasArrays ||= noted.hasArrays
      hasCutKeys ||= noted.hasCutKeys
      return [{ index, id, owner, entries }]
    } catch (error) {
      if (!(error instanceof UnindexableError)) throw error
      refuse(id, error)
      return []
    }
  })
  return { index, documents: made, hasArrays, hasCutKeys }
}

/** Entries that are gone, as an index that is built keeps them: a build with an older snapshot cannot bring them back. */
export const deadOf = (documents: readonly DocumentEntries[]): DocumentEntries[] =>
  documents.map((one) => ({ ...one, entries: one.entries.map(({ key }) => ({ key, ends: DEAD })) }))

/** Two documents of a write that have the same key in a unique index. */
export function duplicateIn(
  documents: readonly DocumentEntries[],
): { index: Index; id: string; other: string } | undefined {
  const seen = new Map<string, string>()
  for (const { index, id, entries } of documents) {
    if (!index.isUnique) continue
    for (const { key } of entries) {
      const place = `${index.id} ${key.toString('latin1')}`
      const first = seen.get(place)
      if (first !== undefined) return { index, id: first, other: id }
      seen.set(place, id)
    }
  }
  return undefined
}

/** Why a unique index cannot hold two documents. */
export const duplicateReason = ({ fields }: Index, { id, other }: { id: string; other: string }): string =>
  `the documents ${[id, other].toSorted().join(' and ')} have the same ${namesOf(fields)}`
