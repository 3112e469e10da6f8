import type { Caller } from '../../../../http/access.ts'
import { checkAudience, type CollectionDefinition } from '../definition/collection.ts'
import type { Collections } from '../definition/collections.ts'
import type { Viewer } from '../definition/viewer.ts'
import type { Projection } from '../language/fields/projection.ts'
import { checkProjection, viewOf } from '../language/fields/view.ts'
import { rowFilterOf, type RuleSubject } from '../language/rules/rule.ts'

/**
 * Decides what a caller may read of a collection. The result is a promise only if the collection's rules use values of the
 * account, which are read first.
 *
 * @throws UNAUTHORIZED, FORBIDDEN; VALIDATION_ERROR if the projection names a field that the caller does not see
 */
export function readAccess(
  collections: Collections,
  name: string,
  caller: Caller | undefined,
  projection?: Projection,
): ReadAccess | Promise<ReadAccess> {
  const collection = collections.get(name)
  const viewer = collections.viewer(caller)
  const subject = viewer.subjectFor(collection)
  return subject instanceof Promise
    ? subject.then((known) => accessOf(collection, viewer, known, projection))
    : accessOf(collection, viewer, subject, projection)
}

type ReadAccess = ReturnType<typeof accessOf>

function accessOf(
  collection: CollectionDefinition,
  viewer: Viewer,
  subject: RuleSubject,
  projection?: Projection,
) {
  const rowFilter = rowFilterOf(collection.read, subject)
  if (rowFilter.rows !== 'all') checkAudience(collection.read, subject, false)
  const view = collection.concealed.length === 0 ? undefined : viewOf(collection, subject)
  if (view && projection) checkProjection(view, projection)
  return { collection, viewer, rowFilter, view }
}
