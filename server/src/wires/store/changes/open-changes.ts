import { deriveKey } from '../../../base/crypto.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { unloggedIn, type Collections } from '../documents/definition/collections.ts'
import { createCursors } from './cursor.ts'
import type { ChangesContext } from './changes-endpoint.ts'
import { Feed } from './feed.ts'
import { openLog } from './generation.ts'
import { scheduleKeeping, type KeepOptions } from './keep.ts'
import { ChangePublisher, DOCUMENT_EVENTS } from './publisher.ts'

/** Opens the log of changes, its feed and its publisher. */
export function openChanges(
  context: WireContext,
  { collections }: { collections: Collections },
  options: KeepOptions,
) {
  const { db, clock, events, log, metrics, settings } = context
  const cursors = createCursors(deriveKey(settings.secret, 'store.changes'))
  const feed = new Feed({ db, clock, log, cursors })
  scheduleKeeping(context, options)
  events.declare(DOCUMENT_EVENTS)
  const publisher = new ChangePublisher({ db, events, log })
  const gauge = (
    name: string,
    help: string,
    read: (state: ReturnType<Feed['state']>) => number,
    ofProcess: 'sum' | 'max' = 'sum',
  ) =>
    metrics.gauge({ name, help, labels: [], ofProcess }, async () => [
      { labels: {}, value: read(feed.state()) },
    ])
  gauge('sixwire_changes_followers', 'Open streams and polls of changes', ({ followers }) => followers)
  gauge('sixwire_changes_behind', 'Those of them that are behind, and read the log', ({ behind }) => behind)
  gauge(
    'sixwire_changes_lag_seconds',
    'How long after it happened the last change was passed on, or for how long changes wait for an open transaction',
    ({ lagMs }) => lagMs / 1000,
    'max',
  )
  gauge('sixwire_changes_resets', 'Followers that had to list again, since the start', ({ resets }) => resets)
  const served: ChangesContext = { collections, cursors, feed }
  return {
    served,
    bindAll: () => feed.bindAll(),
    async start() {
      await openLog(db, unloggedIn(collections.set))
      await publisher.start()
    },
    async close() {
      await Promise.all([feed.close(), publisher.close()])
    },
  }
}
