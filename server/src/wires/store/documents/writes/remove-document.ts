import { noDocument } from '../../errors.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import { systemViewer, type Viewer } from '../definition/viewer.ts'
import { readDocument } from '../language/document-json.ts'
import type { DocumentToChange } from '../storage/documents.ts'
import { planDeletion, isReferred } from './relations/relation-deletion.ts'
import { rowFilterOf } from '../language/rules/rule.ts'
import { checkAction, checkStored, documentOf } from './access-checks.ts'
import { tooManyUpdates, UPDATE_TRIES, type WriteContext } from './write-context.ts'

/**
 * Deletes a document.
 *
 * @param expected the versions that the client takes for the current one; undefined for any
 * @throws UNAUTHORIZED, FORBIDDEN, NOT_FOUND, PRECONDITION_FAILED, CONFLICT; what a hook throws
 */
export async function removeDocument(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  id: string,
  expected?: readonly number[],
): Promise<void> {
  const { documents, hooks } = context
  const { name } = collection
  const subject = await viewer.subjectFor(collection)
  const request = { collection, subject }
  checkAction(request, 'delete')
  const rowFilter = rowFilterOf(collection.delete, subject)
  const hasReferrers = context.deletions.incoming.has(name)
  const needsNothing =
    !expected && !hasReferrers && !collection.hooks.beforeDelete && !collection.hooks.afterDelete
  // Nothing but the row decides, so it need not be read.
  if (needsNothing && collection.isPlain && (rowFilter.rows === 'all' || rowFilter.rows === 'own')) {
    if (await documents.remove(name, id, rowFilter)) return
  }
  for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
    const old = await documents.find(name, id)
    if (!old) throw noDocument(name, id)
    const { service, fields } = readDocument(old.body)
    const { version, owner } = old
    checkStored(request, 'delete', { service, fields, owner }, { version, expected })
    const before = documentOf(service, fields)
    await hooks.runBefore(collection, 'beforeDelete', viewer, id, { before })
    if (await removeWithOthers(context, collection, viewer, { collection: name, id, old })) return
    // Else something was changed since it was read.
  }
  throw tooManyUpdates(id)
}

/** Deletes a document with what follows from it; false if something has changed meanwhile. */
async function removeWithOthers(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  document: DocumentToChange,
): Promise<boolean> {
  const { documents, deletions, hooks } = context
  const { id, old } = document
  const { writes, checks, sideEffects } = await planDeletion(deletions, document)
  const system = systemViewer(viewer.depth)
  const after = [
    ...hooks.afterSteps(collection, viewer, [{ action: 'delete', id, before: old.body }]),
    ...sideEffects.flatMap(({ of, body, ...one }) =>
      hooks.afterSteps(of, system, [
        body === undefined
          ? { action: 'delete', id: one.id, before: one.old.body }
          : { action: 'update', id: one.id, before: one.old.body, after: body },
      ]),
    ),
  ]
  try {
    return (await documents.writeAll(writes, { last: [...checks, ...after] })) !== undefined
  } catch (error) {
    if (isReferred(error)) return false
    throw error
  }
}
