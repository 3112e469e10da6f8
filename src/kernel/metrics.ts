import { within } from '../base/within.ts'
import type { AnswerRecord } from '../http/server.ts'
import type { JobState } from './jobs/job-list.ts'

// A scrape must not wait for a database that is unavailable.
const COUNT_LIMIT_MS = 2_000

/** The server's figures in the text format of Prometheus. */
export type Metrics = {
  observe(answer: AnswerRecord): void
  read(): Promise<{ text: string; contentType: string }>
}

type CountJobs = () => Promise<readonly { kind: string; state: JobState; count: number }[]>

/**
 * Counts answers from the first one on. The first answer also loads the library, so that neither a start nor a command
 * waits for it. Metrics of the process (garbage collection, delays of the event loop) have a constant cost, so they are
 * collected from the first scrape on.
 *
 * @param countJobs is called at each reading; left out if it takes longer than 2 seconds or fails
 */
export function createMetrics(countJobs: CountJobs): Metrics {
  let registry: ReturnType<typeof openRegistry> | undefined
  let count: ((answer: AnswerRecord) => void) | undefined
  const buffer: AnswerRecord[] = []

  async function open() {
    const metrics = await (registry ??= openRegistry(countJobs))
    for (const answer of buffer.splice(0)) metrics.observe(answer)
    count = metrics.observe
    return metrics
  }

  return {
    observe(answer) {
      if (count) return count(answer)
      buffer.push(answer)
      if (buffer.length === 1) void open()
    },
    read: async () => (await open()).read(),
  }
}

async function openRegistry(countJobs: CountJobs) {
  const { collectDefaultMetrics, Gauge, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
    labelNames: ['method', 'path', 'status'] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  })
  const jobs = new Gauge({
    name: 'sixwire_jobs',
    help: 'Background jobs that are not done; failed ones wait for sixwire jobs retry or drop',
    labelNames: ['kind', 'state'] as const,
    registers: [registry],
    async collect() {
      jobs.reset()
      const counts = await within(COUNT_LIMIT_MS, countJobs).catch(() => [])
      for (const { kind, state, count } of counts) jobs.set({ kind, state }, count)
    },
  })
  let isWatching = false
  return {
    observe: ({ method, route = '(none)', status, ms }: AnswerRecord): void =>
      requests.observe({ method, path: route, status }, ms / 1000),
    async read() {
      if (!isWatching) collectDefaultMetrics({ register: registry })
      isWatching = true
      return { text: await registry.metrics(), contentType: registry.contentType }
    },
  }
}
