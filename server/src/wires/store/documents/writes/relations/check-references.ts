import { invalid } from '../../../../../base/errors.ts'
import { boundedPointer } from '../../../../../base/json-pointer.ts'
import { requireRow, type Step } from '../../../../../db/database.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import type { Collections } from '../../definition/collections.ts'
import type { Viewer } from '../../definition/viewer.ts'
import type { CheckFiles, NewFiles, WrittenFields } from '../../file-fields/check-files.ts'
import type { Documents } from '../../storage/documents.ts'
import { rowFilterOf } from '../../language/rules/rule.ts'
import { isReadable } from '../shown-documents.ts'
import { lockAllSql } from '../../storage/sql/document-rows.ts'
import { addedReferences, type Relation } from '../../definition/relation.ts'

/** A reference that a write adds. */
type NewReference = { readonly collection: string; readonly id: string; readonly at: string }

const REFERENCES_MAX = 1000

type ReferenceContext = {
  readonly collections: Collections
  readonly documents: Pick<Documents, 'findMany'>
  readonly checkFiles: CheckFiles
}

/** Whether documents of a collection may refer to others, or to files. */
export const hasReferences = ({ relations, fileFields }: CollectionDefinition): boolean =>
  relations.length + fileFields.length > 0

/**
 * Checks the references that a write adds: each leads to a document, or file, that the caller may read. Those that are there
 * already are not asked again.
 *
 * @param newFiles those that the write brings with it
 * @returns the steps in front of the write, which keep what it refers to until its commit
 * @throws VALIDATION_ERROR where there is no such document or file, or none for the caller
 */
export async function checkReferences(
  context: ReferenceContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  written: WrittenFields,
  newFiles?: NewFiles,
): Promise<Step[]> {
  return [
    ...(await checkRelations(context, collection, viewer, written)),
    ...(await context.checkFiles(collection, viewer, written, newFiles)),
  ]
}

async function checkRelations(
  { collections, documents }: ReferenceContext,
  { relations }: CollectionDefinition,
  viewer: Viewer,
  { fields, before, at }: WrittenFields,
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

const newReferences = (relation: Relation, before: unknown, after: unknown, at: string): NewReference[] =>
  addedReferences(relation, before, after, at).map(({ keys, value }) => {
    const here = boundedPointer(at, keys)
    if (typeof value !== 'string')
      throw invalid({ path: here, message: `must be the _id of a document of ${relation.to}` })
    return { collection: relation.to, id: value, at: here }
  })

/** Of a document that is not there the same as of one that the caller may not read. */
const faultOf = ({ collection, at }: NewReference) => ({
  path: at,
  message: `there is no document of ${collection} with this _id`,
})
