import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** The server's figures in Prometheus' form. */
export type Metrics = {
  observe(method: string, path: string, status: number, seconds: number): void
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
    observe: (method, path, status, seconds) => requests.observe({ method, path, status }, seconds),
    read: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  }
}
