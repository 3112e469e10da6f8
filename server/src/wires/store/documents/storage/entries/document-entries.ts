import type { Json } from '../../language/query/filter.ts'
import { DEAD, entriesOf, namesOf, UnindexableError, type Entries } from './entries.ts'
import type { Index } from './index-definition.ts'

/** A document as an index sees it. */
export type IndexedDocument = { readonly id: string; readonly owner: string; readonly document: Json }

/** The entries of a document in an index. */
export type DocumentEntries = Entries & {
  readonly index: Index
  readonly id: string
  readonly owner: string
}

/**
 * Makes the entries of documents in one index.
 *
 * @param refuse called for a document that the index cannot hold; if it returns, the document has no entries
 */
export const entriesOfDocuments = (
  index: Index,
  documents: readonly IndexedDocument[],
  refuse: (id: string, error: UnindexableError) => void,
): DocumentEntries[] =>
  documents.flatMap(({ id, owner, document }) => {
    try {
      return [{ index, id, owner, ...entriesOf(document, index) }]
    } catch (error) {
      if (!(error instanceof UnindexableError)) throw error
      refuse(id, error)
      return []
    }
  })

/** Entries that are gone, as an index that is built keeps them: a build with an older snapshot cannot bring them back. */
export const deadOf = (documents: readonly DocumentEntries[]): DocumentEntries[] =>
  documents.map((one) => ({ ...one, entries: one.entries.map(({ key }) => ({ key, ends: DEAD })) }))

const placeOf = ({ id }: Index, key: Buffer): string => `${id} ${key.toString('latin1')}`

/** Keys in unique indexes, with the ids of the documents that have them; undefined of one that was freed. */
export type Places = Map<string, string | undefined>

/** The keys that writes one after the other take and free. */
export function placesOf(
  writes: readonly {
    readonly alive: readonly DocumentEntries[]
    readonly gone: readonly DocumentEntries[]
  }[],
): Places {
  const places: Places = new Map()
  const eachKey = (
    documents: readonly DocumentEntries[],
    note: (place: string, id: string) => void,
  ): void => {
    for (const { index, id, entries } of documents)
      if (index.isUnique) for (const { key } of entries) note(placeOf(index, key), id)
  }
  for (const { alive, gone } of writes) {
    eachKey(gone, (place) => places.set(place, undefined))
    eachKey(alive, (place, id) => places.set(place, id))
  }
  return places
}

/** Documents with those of their entries whose keys are not among the places. */
export const entriesBeside = (documents: readonly DocumentEntries[], places: Places): DocumentEntries[] =>
  documents.flatMap((one) => {
    const entries = one.entries.filter(({ key }) => !places.has(placeOf(one.index, key)))
    return entries.length > 0 ? [{ ...one, entries }] : []
  })

/**
 * Two documents of a write that have the same key in a unique index.
 *
 * @param seen keys that others have
 */
export function duplicateIn(
  documents: readonly DocumentEntries[],
  seen: Places = new Map(),
): { index: Index; id: string; other: string } | undefined {
  for (const { index, id, entries } of documents) {
    if (!index.isUnique) continue
    for (const { key } of entries) {
      const place = placeOf(index, key)
      const first = seen.get(place)
      if (first !== undefined && first !== id) return { index, id: first, other: id }
      seen.set(place, id)
    }
  }
  return undefined
}

/** Why a unique index cannot hold two documents. */
export const duplicateReason = ({ fields }: Index, { id, other }: { id: string; other: string }): string =>
  `the documents ${[id, other].toSorted().join(' and ')} have the same ${namesOf(fields)}`
