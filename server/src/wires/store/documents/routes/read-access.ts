import type { Caller } from '../../../../http/access.ts'
import { checkAudience } from '../definition/collection.ts'
import type { Collections } from '../definition/collections.ts'
import type { Projection } from '../language/fields/projection.ts'
import { checkProjection, viewOf } from '../language/fields/view.ts'
import { rowFilterOf } from '../language/rules/rule.ts'

/**
 * What somebody may read of a collection.
 *
 * @throws UNAUTHORIZED, FORBIDDEN; VALIDATION_ERROR if the projection names a field that the caller does not see
 */
export async function readAccess(
  collections: Collections,
  name: string,
  caller: Caller | undefined,
  projection?: Projection,
) {
  const collection = collections.get(name)
  const viewer = collections.viewer(caller)
  const needsValues = collection.userValues.length > 0
  const subject = needsValues ? await viewer.subjectFor(collection) : viewer.subject
  const rowFilter = rowFilterOf(collection.read, subject)
  if (rowFilter.rows !== 'all') checkAudience(collection.read, subject, false)
  const view = collection.concealed.length === 0 ? undefined : viewOf(collection, subject)
  if (view && projection) checkProjection(view, projection)
  return { collection, viewer, rowFilter, view }
}
