import { invalid } from '../../../../../base/errors.ts'
import { boundedPointer } from '../../../../../base/json-pointer.ts'
import { requireRow, type Step } from '../../../../../db/database.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import type { Collections } from '../../definition/collections.ts'
import type { Viewer } from '../../definition/viewer.ts'
import type { Documents } from '../../storage/documents.ts'
import { rowFilterOf } from '../../language/rules/rule.ts'
import { isReadable } from '../shown-documents.ts'
import { lockAllSql } from '../../storage/sql/document-rows.ts'
import { referencesIn, type ReferenceAt, type Relation } from '../../definition/relation.ts'

/** A reference that a write adds. */
type NewReference = { readonly collection: string; readonly id: string; readonly at: string }

const REFERENCES_MAX = 1000

/**
 * Checks the references that a write adds: each leads to a document that the caller may read. Those that are there already
 * are not asked again.
 *
 * @returns the steps in front of the write, which keep those documents until its commit
 * @throws VALIDATION_ERROR where there is no such document, or none for the caller
 */
export async function checkReferences(
  { collections, documents }: { collections: Collections; documents: Pick<Documents, 'findMany'> },
  { relations }: CollectionDefinition,
  viewer: Viewer,
  fields: unknown,
  before?: unknown,
  at = '/body',
): Promise<Step[]> {
  if (relations.length === 0) return []
  const added = relations.flatMap((relation) => newReferences(relation, before, fields, at))
  if (added.length === 0) return []
  if (added.length > REFERENCES_MAX)
    throw invalid({
      path: at,
      message: `it has more than ${REFERENCES_MAX} new references: write fewer at once`,
    })
  const targets = await documents.findMany(added)
  const readable = new Set<string>()
  for (const document of targets) {
    const target = collections.get(document.collection)
    const rowFilter = rowFilterOf(target.read, await viewer.subjectFor(target))
    if (isReadable(rowFilter, document)) readable.add(`${document.collection}/${document.id}`)
  }
  const faults = added.filter(({ collection, id }) => !readable.has(`${collection}/${id}`))
  if (faults.length > 0) throw invalid(...faults.map(faultOf))
  return [requireRow(lockAllSql(added), () => invalid(faultOf(added[0]!)))]
}

function newReferences(relation: Relation, before: unknown, after: unknown, at: string): NewReference[] {
  const old = new Set([...referencesIn(before, relation)].map(({ value }) => value))
  const references = [...referencesIn(after, relation)]
  // Also of what the document had: it may have been moved.
  refuseNested(references, at)
  return references
    .filter(({ value }) => !old.has(value))
    .map(({ keys, value }) => {
      const here = boundedPointer(at, keys)
      if (typeof value !== 'string')
        throw invalid({ path: here, message: `must be the _id of a document of ${relation.to}` })
      return { collection: relation.to, id: value, at: here }
    })
}

/** Indexes look into arrays, but not into arrays in arrays: what they lack, a deletion would not find. */
function refuseNested(references: readonly ReferenceAt[], at: string): void {
  const nested = references.find(({ keys }) =>
    keys.some((key, i) => typeof key === 'number' && typeof keys[i + 1] === 'number'),
  )
  if (nested)
    throw invalid({
      path: boundedPointer(at, nested.keys),
      message: 'a reference cannot be in an array in an array',
    })
}

/** Of a document that is not there the same as of one that the caller may not read. */
const faultOf = ({ collection, at }: NewReference) => ({
  path: at,
  message: `there is no document of ${collection} with this _id`,
})
