import { invalid } from '../../../base/errors.ts'
import { allRows } from '../../../base/row-filter.ts'
import type { Caller } from '../../../http/access.ts'
import { checkAudience } from '../documents/definition/collection.ts'
import type { Collections } from '../documents/definition/collections.ts'
import { checkProjection, checkFilter, viewOf } from '../documents/language/fields/view.ts'
import { rowFilterOf } from '../documents/language/rules/rule.ts'
import type { Cursors } from './cursor.ts'
import type { Following, WatchedSource } from './follower.ts'
import type { WatchRequest } from './watch-request.ts'
import { watchOf, type DocumentWatch } from './watch.ts'

/**
 * What a caller may follow of what was asked for, now.
 *
 * @throws UNAUTHORIZED, FORBIDDEN, and VALIDATION_ERROR for fields that are not shown and changes that are not logged
 */
export async function followingOf(
  { collections, cursors }: { collections: Collections; cursors: Cursors },
  requests: readonly WatchRequest[],
  caller: Caller | undefined,
): Promise<Following> {
  const viewer = collections.viewer(caller)
  const watches: DocumentWatch[] = []
  const sources = new Map<string, WatchedSource>()
  for (const { collection, filter, projection, at } of requests) {
    const subject = await viewer.subjectFor(collection)
    checkAudience(collection.read, subject, false)
    if (!collection.hasChanges)
      throw invalid({
        path: `${at}/collection`,
        message: `The changes of ${collection.name} are not logged.`,
      })
    const view = viewOf(collection, subject)
    checkFilter(view, filter, `${at}/filter`)
    checkProjection(view, projection, `${at}/fields`)
    const rowFilter = rowFilterOf(collection.read, subject)
    watches.push(watchOf(collection.name, { rowFilter, filter, view, projection }))
    if (subject.isPrivileged || !subject.isSignedIn) continue
    for (const source of collections.sourcesOf(collection.userValues, subject)) {
      const watch = watchOf(source.collection, {
        rowFilter: allRows,
        filter: source.filter,
        view: undefined,
        projection: undefined,
      })
      sources.set(JSON.stringify([watch.name, source.path]), { ...watch, path: source.path })
    }
  }
  const role = caller?.kind === 'user' ? caller.role : caller?.kind
  const name = JSON.stringify([caller?.id, role, watches.map((one) => one.name)])
  return { watches, sources: [...sources.values()], audience: cursors.audienceOf(name) }
}
