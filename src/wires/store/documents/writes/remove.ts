import { errors } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import { noDocument } from '../../errors.ts'
import { checkAudience, type CollectionDefinition } from '../collections/collection.ts'
import type { Viewer } from '../collections/viewer.ts'
import type { SystemDocument } from '../hooks/system-api.ts'
import type { Json } from '../query/filter.ts'
import { isWithin, reachOf } from '../rules/rule.ts'
import {
  holdsFor,
  notAllowed,
  stepsBehind,
  tooManyUpdates,
  UPDATE_TRIES,
  type WriteContext,
} from './write.ts'

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
  checkAudience(collection.delete, subject, true)
  const reach = reachOf(collection.delete, subject)
  const isByOwner = reach !== 'all' && reach.filters.length === 0
  const needsNothing = !expected && !collection.hooks.beforeDelete && !collection.hooks.afterDelete
  // Nothing but the row decides, so it need not be read.
  if (needsNothing && collection.isPlain && (reach === 'all' || isByOwner)) {
    if (await documents.remove(name, id, { owner: reach === 'all' ? undefined : reach.owner })) return
  }
  for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
    const old = await documents.find(name, id)
    if (!old) throw noDocument(name, id)
    const before = parseJson(old.body) as SystemDocument & Json
    const isReadable = holdsFor(collection.read, subject, before, old.owner)
    const isAllowed = isWithin(reach, before, old.owner)
    if (!isReadable && !(isAllowed && collection.isPlain)) throw noDocument(name, id)
    if (expected?.includes(old.version) === false) throw errors.precondition_failed()
    if (!isAllowed) throw notAllowed('delete')
    await hooks.runBefore(collection, 'beforeDelete', viewer, id, { before })
    const events = [{ action: 'delete' as const, id, before: old.body }]
    const behind = stepsBehind(context, collection, viewer, events)
    if (await documents.remove(name, id, { old }, behind)) return
    // Else it was changed since it was read.
  }
  throw tooManyUpdates(id)
}
