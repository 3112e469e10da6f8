import type { WireMetrics } from './metrics.ts'

/** The metrics of event streams of this process. Returns what counts one that has ended. */
export function declareStreamMetrics(
  metrics: WireMetrics,
  countOpen: () => number,
): (reason: string) => void {
  metrics.gauge(
    { name: 'sixwire_streams_open', help: 'Event streams of this process that are open', labels: [] },
    async () => [{ labels: {}, value: countOpen() }],
  )
  const count = metrics.counter({
    name: 'sixwire_streams_ended_total',
    help: 'Event streams of this process that have ended since its start, by why: expired, revoked, changed, restart, slow, finished or closed',
    labels: ['reason'],
  })
  return (reason) => count({ reason })
}
