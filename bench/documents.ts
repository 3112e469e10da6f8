import { Agent } from 'node:http'

import { askFor } from './client.ts'
import type { Server } from './servers.ts'

const SEED_CONNECTIONS = 128

/**
 * The body of the nth document, about 200 bytes.
 * `n` takes every value below `documents` once, in an order unlike that of the ids.
 */
export function documentBody(at: number, documents: number): string {
  return JSON.stringify({
    name: `Item ${at}`,
    n: (at * 7919) % documents, // a prime, so it meets every value
    price: (at % 1000) / 4,
    active: at % 3 === 0,
    tags: ['red', 'blue'],
    address: { city: 'Lisbon', street: `${at % 200} Harbour Street` },
    note: 'A few words about this item, as a person would write them down.',
  })
}

/** Creates documents through the server's own API. Answers their ids, in no certain order. */
export async function seed(
  server: Server,
  documents: number,
  progress: (done: number) => void,
): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: SEED_CONNECTIONS })
  const ids: string[] = []
  let next = 0
  async function work(): Promise<void> {
    while (next < documents) {
      const body = documentBody(next++, documents)
      const { _id } = await askFor<{ _id: string }>(server.base, 'POST /store/items', {
        token: server.token,
        body,
        agent,
      })
      ids.push(_id)
      if (ids.length % 1000 === 0) progress(ids.length)
    }
  }
  try {
    await Promise.all(Array.from({ length: SEED_CONNECTIONS }, work))
  } finally {
    agent.destroy()
  }
  return ids
}
