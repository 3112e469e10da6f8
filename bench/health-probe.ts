import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import { askFor } from './client.ts'
import { quantile } from './statistics.ts'

/** In milliseconds. */
export type Latency = { samples: number; p50: number; p99: number }

const PAUSE_MS = 2

/** Asks for `/health` again and again, one at a time, until `ended` resolves. */
export async function probeHealth(base: string, ended: Promise<unknown>): Promise<Latency> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let over = false
  void ended.finally(() => (over = true))
  while (!over) {
    const begun = performance.now()
    await askFor(base, 'GET /health', { agent })
    times.push(performance.now() - begun)
    await delay(PAUSE_MS)
  }
  agent.destroy()
  return { samples: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}
