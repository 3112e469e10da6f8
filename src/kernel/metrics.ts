import type { Answered } from '../http/server.ts'

/** The server's figures in Prometheus' form. */
export type Metrics = {
  observe(answered: Answered): void
  read(): Promise<{ text: string; contentType: string }>
}

/**
 * Counts answers from the first one on. The library is loaded with that, so that neither a start nor a command waits for
 * it; what it watches of the process (garbage collection, delays of the event loop) costs something all the time, and is
 * watched from the first reading on.
 */
export function createMetrics(): Metrics {
  let registry: ReturnType<typeof openRegistry> | undefined
  let count: ((answered: Answered) => void) | undefined
  const early: Answered[] = []

  async function open() {
    const opened = await (registry ??= openRegistry())
    for (const answered of early.splice(0)) opened.observe(answered)
    count = opened.observe
    return opened
  }

  return {
    observe(answered) {
      if (count) return count(answered)
      early.push(answered)
      if (early.length === 1) void open()
    },
    read: async () => (await open()).read(),
  }
}

async function openRegistry() {
  const { collectDefaultMetrics, Histogram, Registry } = await import('prom-client')
  const registry = new Registry()
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
    labelNames: ['method', 'path', 'status'] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  })
  let isWatching = false
  return {
    observe: ({ method, route = '(none)', status, ms }: Answered): void =>
      requests.observe({ method, path: route, status }, ms / 1000),
    async read() {
      if (!isWatching) collectDefaultMetrics({ register: registry })
      isWatching = true
      return { text: await registry.metrics(), contentType: registry.contentType }
    },
  }
}
