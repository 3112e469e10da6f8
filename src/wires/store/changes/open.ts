import { deriveKey } from '../../../base/crypto.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { Collections } from '../documents/collections/collections.ts'
import { createCursors } from './cursor.ts'
import { changesEndpoint } from './endpoint.ts'
import { Feed } from './feed.ts'
import { scheduleKeeping, type KeepOptions } from './keep.ts'

/** Opens the log of changes and what tells of it. */
export function openChanges(context: WireContext, collections: Collections, options: KeepOptions) {
  const { db, clock, log, metrics, settings } = context
  const cursors = createCursors(deriveKey(settings.secret, 'store.changes'))
  const feed = new Feed({ db, clock, log, cursors })
  scheduleKeeping(context, options)
  const gauge = (name: string, help: string, read: (state: ReturnType<Feed['state']>) => number) =>
    metrics.gauge({ name, help, labels: [] }, async () => [{ labels: {}, value: read(feed.state()) }])
  gauge('sixwire_changes_followers', 'Open streams and polls of changes', ({ followers }) => followers)
  gauge('sixwire_changes_behind', 'Those of them that are told from the log', ({ behind }) => behind)
  gauge(
    'sixwire_changes_lag_seconds',
    'How long after its commit the last change was passed on',
    ({ lagMs }) => lagMs / 1000,
  )
  gauge('sixwire_changes_resets', 'Followers that had to list again, since the start', ({ resets }) => resets)
  const unlogged = [...collections.declared.values()].flatMap(({ name, hasChanges }) =>
    hasChanges ? [] : [name],
  )
  return { feed, unlogged, endpoint: changesEndpoint({ collections, cursors, feed }) }
}
