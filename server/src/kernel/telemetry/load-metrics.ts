import type { Database } from '../../db/database.ts'
import type { WireMetrics } from './metrics.ts'

/** What a server has under way. */
type ServerLoad = {
  /** How many event streams are open. */
  streams(): number
  /** How many requests wait for a share of a limit, by its name. */
  waiting(): Readonly<Record<string, number>>
}

/** A gauge with one label: a value by each of its values. */
const gaugeOf = (
  metrics: WireMetrics,
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): void =>
  metrics.gauge<string>({ name, help, labels: [label], ofProcess: 'sum' }, async () =>
    Object.entries(read()).map(([key, value]) => ({ labels: { [label]: key }, value })),
  )

/** Declares what tells which resource ends first. Returns what counts an event stream that has ended. */
export function declareLoadMetrics(
  metrics: WireMetrics,
  db: Database,
  server: ServerLoad,
): (reason: string) => void {
  gaugeOf(
    metrics,
    'sixwire_requests_waiting',
    'Requests of this process that wait, by the limit that they share: requests, bodies or answers',
    'limit',
    () => server.waiting(),
  )
  gaugeOf(
    metrics,
    'sixwire_database_waiting',
    'Calls of this process that wait for the database, by their queue: scan and, on SQLite, write or, on PostgreSQL, connection',
    'queue',
    () => db.load().waiting,
  )
  gaugeOf(
    metrics,
    'sixwire_database_connections',
    'Connections of this process to PostgreSQL beside those of scans, by their state: used or idle',
    'state',
    () => db.load().connections ?? {},
  )
  metrics.gauge(
    {
      name: 'sixwire_streams_open',
      help: 'Event streams of this process that are open',
      labels: [],
      ofProcess: 'sum',
    },
    async () => [{ labels: {}, value: server.streams() }],
  )
  const count = metrics.counter({
    name: 'sixwire_streams_ended_total',
    help: 'Event streams of this process that have ended since its start, by why: expired, revoked, changed, restart, slow, finished or closed',
    labels: ['reason'],
  })
  return (reason) => count({ reason })
}
