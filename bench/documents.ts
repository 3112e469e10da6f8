import { setTimeout as delay } from 'node:timers/promises'

import type { Bench, Server } from './bench.ts'
import type { LoadRequest } from './load.ts'
import { askFor } from './servers.ts'

/** So many documents are created by one request, and so many of these are sent at a time. */
const BATCH = 1000
const CONNECTIONS = 4

/**
 * The body of the nth document, about 200 bytes.
 * `n` takes every value below `documents` once, in an order unlike that of the ids.
 */
export const documentBody = (at: number, documents: number): string =>
  JSON.stringify({
    name: `Item ${at}`,
    n: (at * 7919) % documents, // a prime, so it meets every value
    price: (at % 1000) / 4,
    active: at % 3 === 0,
    tags: ['red', 'blue'],
    address: { city: 'Lisbon', street: `${at % 200} Harbour Street` },
    note: 'A few words about this item, as a person would write them down.',
  })

/** Requests that create documents. */
export const creates = (collection: string, documents: number): LoadRequest[] =>
  Array.from({ length: 5000 }, (_, at) => ({
    method: 'POST',
    path: `/store/${collection}`,
    body: documentBody(at * 17, documents),
  }))

/** What is asked of a server with these documents; create comes last because it changes how many there are. */
export const documentRequests = (ids: readonly string[], documents: number): [string, LoadRequest[]][] => [
  ['get', ids.slice(0, 20_000).map((id) => ({ path: `/store/items/${id}` }))],
  ['list 20 with total', [{ path: '/store/items?limit=20' }]],
  ['create', creates('items', documents)],
]

/**
 * Creates the documents from `from` up to `to`, of `of` in all, by arrays.
 *
 * @returns their ids, in no certain order, and how many were created a second
 */
export async function seed(
  { note }: Bench,
  { base, token }: Server,
  collection: string,
  {
    from = 0,
    to,
    of = to,
    bodyOf = documentBody,
  }: { from?: number; to: number; of?: number; bodyOf?: typeof documentBody },
): Promise<{ ids: string[]; perSecond: number }> {
  const begun = performance.now()
  const ids: string[] = []
  let next = from
  async function work(): Promise<void> {
    while (next < to) {
      const first = next
      next += BATCH
      const count = Math.min(BATCH, to - first)
      const bodies = Array.from({ length: count }, (_, i) => bodyOf(first + i, of))
      const sent = { token, body: `[${bodies.join()}]` }
      const { data } = await askFor<{ data: { _id: string }[] }>(base, `POST /store/${collection}`, sent)
      ids.push(...data.map(({ _id }) => _id))
      if (ids.length % 50_000 === 0) note(`seeding: ${ids.length} of ${to - from} documents`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return { ids, perSecond: (to - from) / ((performance.now() - begun) / 1000) }
}

/**
 * Checks that two servers with the same documents do the same work. Ids, times and the order of creation differ.
 *
 * @throws Error with both answers if they do not
 */
export async function checkAnswers(...calls: readonly [Server, LoadRequest][]): Promise<void> {
  const answers = calls.map(async ([{ base, token }, { method = 'GET', path, body }]) => {
    type Answer = { name: string; data?: { name: string }[]; total?: number }
    const answer = await askFor<Answer>(base, `${method} ${path}`, { token, body })
    const { data = [answer], total } = answer
    const names = path.includes('sort=') && data.map(({ name }) => name)
    return JSON.stringify({ total, names, fields: data.map((one) => Object.keys(one).toSorted().join()) })
  })
  const [wanted, answer] = await Promise.all(answers)
  if (wanted !== answer)
    throw new Error(`${calls[0]![1].path}: the floor answers ${wanted}, Sixwire ${answer}`)
}

type Plan = { plan: string; indexes: { state: string }[] }

/** How the server answers a list; for administrators. */
export const explain = ({ base, token }: Server, path: string): Promise<Plan> =>
  askFor<Plan>(base, `GET ${path.replace(/(?=\?|$)/, '/explain')}`, { token })

/** Waits until the collection has so many indexes and all of them are ready. */
export async function indexesReady(server: Server, collection: string, count: number): Promise<void> {
  for (; ; await delay(50)) {
    const { indexes } = await explain(server, `/store/${collection}`)
    const states = indexes.map(({ state }) => state)
    if (states.includes('failed')) throw new Error(`an index of ${collection} failed`)
    if (states.length === count && states.every((state) => state === 'ready')) return
  }
}
