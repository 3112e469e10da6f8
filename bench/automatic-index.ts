import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import { askFor } from './client.ts'
import { makerFilter, newBody, pathOf } from './query-documents.ts'
import { untilReady } from './query-plan.ts'
import type { Server } from './servers.ts'

/** An index that the server builds by itself, and creates in the same collection. */
export type Automatic = {
  /** Of the slow queries, in milliseconds. */
  queries: number[]
  /** From the end of the third of them until the index was ready. */
  seconds: number
  /** The same query afterwards, in milliseconds. */
  afterwards: number
  /** Creates per second: before, and while the index was built. */
  creates: { connections: number; before: number; during: number }
}

const SLOW_QUERIES = 3
const CONNECTIONS = 16

/**
 * Sends one slow query three times and waits for its index, while documents are created.
 */
export async function measureAutomatic(
  server: Server,
  { seconds, documents, note }: { seconds: number; documents: number; note: (text: string) => void },
): Promise<Automatic> {
  const { base, token } = server
  note('queries: creates without an index')
  const quiet = delay(seconds * 1000)
  const before = await createUntil(server, quiet, documents)

  const queries: number[] = []
  const query = async (n: number): Promise<number> => {
    const begun = performance.now()
    await askFor(base, `GET ${pathOf('items', { filter: makerFilter(n) })}`, { token })
    return performance.now() - begun
  }
  for (let n = 0; n < SLOW_QUERIES; n++) queries.push(await query(n))

  note('queries: creates while the server builds an index')
  const begun = performance.now()
  const ready = untilReady(server, 'items', (indexes) =>
    indexes.some(({ source, state }) => source === 'automatic' && state === 'ready'),
  )
  const during = await createUntil(server, ready, documents)
  await ready
  return {
    queries,
    seconds: (performance.now() - begun) / 1000,
    afterwards: await query(SLOW_QUERIES),
    creates: { connections: CONNECTIONS, before, during },
  }
}

/** @returns how many documents a second were created until then */
async function createUntil(
  { base, token }: Server,
  ended: Promise<unknown>,
  documents: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const begun = performance.now()
  let isOver = false
  let created = 0
  const end = () => void (isOver = true)
  ended.then(end, end) // its caller sees a fault
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (!isOver) {
        const body = newBody(created, documents)
        await askFor(base, 'POST /store/items', { token, body, agent })
        created++
      }
    }),
  )
  agent.destroy()
  return created / ((performance.now() - begun) / 1000)
}
