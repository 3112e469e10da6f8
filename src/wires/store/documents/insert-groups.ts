import { Coalescer } from '../../../base/coalesce.ts'
import { ApiError } from '../../../base/errors.ts'
import type { NewDocument } from './sql/document-rows.ts'

// Groups of a collection under way, beyond which documents wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 100
const GROUP_CHARACTERS = 1_000_000

/** Each is false if a document was not inserted because one of its id is there. */
type Inserts = {
  readonly one: (document: NewDocument) => Promise<boolean>
  /** All of them or none. */
  readonly all: (
    collection: string,
    documents: readonly Omit<NewDocument, 'collection'>[],
  ) => Promise<boolean>
}

/**
 * Inserts documents that arrive together by one write, which costs PostgreSQL half as much where they have index entries. One
 * that is refused takes no other with it.
 */
export function createInsertGroups({ one, all }: Inserts): Inserts['one'] {
  const inserts = new Coalescer<NewDocument, boolean>({
    laneOf: ({ collection }) => collection,
    groups: GROUPS,
    largest: LARGEST_GROUP,
    heaviest: GROUP_CHARACTERS,
    weightOf: ({ body }) => body.length,
    keyOf: ({ id }) => id,
    async answer(group) {
      if (group.length === 1) return group.map(one)
      try {
        const documents = group.map(({ id, owner, body }) => ({ id, owner, body }))
        return (await all(group[0]!.collection, documents)) ? group.map(() => true) : group.map(one)
      } catch (error) {
        // Nothing was written: it is wrong with one of them, and may be right for the others.
        if (error instanceof ApiError && error.status < 500) return group.map(one)
        throw error
      }
    },
  })
  return (document) => inserts.call(document)
}
