import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

import type { Answered } from './http/server.ts'

/** The server's figures in Prometheus' form. */
export type Metrics = {
  observe(answered: Answered): void
  read(): Promise<{ text: string; contentType: string }>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
    labelNames: ['method', 'path', 'status'] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  })
  return {
    observe: ({ method, route = '(none)', status, ms }) =>
      requests.observe({ method, path: route, status }, ms / 1000),
    read: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  }
}
