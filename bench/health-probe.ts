import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import { askFor } from './client.ts'
import { quantile } from './statistics.ts'

/** In milliseconds. */
export type Latency = { samples: number; p50: number; p99: number }

const PAUSE_MS = 2

/** Asks for `/health` again and again, one at a time, until `ended` resolves. */
export const probeHealth = (base: string, ended: Promise<unknown>): Promise<Latency> =>
  probe(base, ended, { call: 'GET /health' })

/** Sends another call likewise: method and path, such as `GET /store/items/1`. */
export async function probe(
  base: string,
  ended: Promise<unknown>,
  { call, token }: { call: string; token?: string },
): Promise<Latency> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let over = false
  const end = () => void (over = true)
  ended.then(end, end) // its caller sees a fault
  while (!over) {
    const begun = performance.now()
    await askFor(base, call, { agent, ...(token !== undefined && { token }) })
    times.push(performance.now() - begun)
    await delay(PAUSE_MS)
  }
  agent.destroy()
  return { samples: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}
