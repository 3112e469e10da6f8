import { Agent } from 'node:http'

import { askFor } from './client.ts'
import type { Server } from './servers.ts'

/** So many documents are created by one request. */
const BATCH = 1000
const FILL_CONNECTIONS = 4

const CITIES = 1000
const CATEGORIES = 100
const PRICES = 10_000
const MAKERS = 5000
const STOCKS = 100

/** A number below `count` that depends on `at`, on each `salt` in another way. */
function spread(at: number, salt: number, count: number): number {
  const mixed = Math.imul((at + 1) ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b)
  return (Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 8) % count
}

/** The body of the nth document, of about 300 bytes as it is stored. `n` takes every value below `documents` once. */
export function queryBody(at: number, documents: number): string {
  return JSON.stringify({
    name: `Item ${at}`,
    n: (at * 7919) % documents, // a prime, so it meets every value
    city: `City ${spread(at, 1, CITIES)}`,
    category: `Category ${spread(at, 2, CATEGORIES)}`,
    price: spread(at, 3, PRICES) / 4,
    maker: `Maker ${spread(at, 4, MAKERS)}`,
    stock: spread(at, 5, STOCKS),
    active: spread(at, 6, 2) === 0,
    tags: ['red', 'blue'],
    note: 'A few words about it.',
  })
}

/** One more document, which none of the lists below finds. */
export const newBody = (at: number, documents: number): string =>
  JSON.stringify({
    ...(JSON.parse(queryBody(at, documents)) as object),
    n: documents + at,
    city: 'Another city',
    category: 'Another category',
    stock: STOCKS,
  })

/** A list of documents: how Sixwire is asked for it, and with which values the floor's query of that name. */
export type Asked = { filter?: object; sort?: string; values: (string | number)[] }

/** The lists of which each answers 20 documents and their total; `n` chooses the values. */
export const lists = {
  equality(n) {
    const city = `City ${n % CITIES}`
    return { filter: { city }, values: [city] }
  },
  equalityAndRange(n) {
    const category = `Category ${n % CATEGORIES}`
    const low = (n * 13) % (PRICES / 4 - 100)
    return {
      filter: { category, price: { $gte: low, $lt: low + 100 } },
      sort: 'price',
      values: [category, low, low + 100],
    }
  },
  range(n, documents) {
    const length = Math.ceil(documents / 1000)
    const low = (n * 7919) % (documents - length)
    return { filter: { n: { $gte: low, $lt: low + length } }, sort: 'n', values: [low, low + length] }
  },
  /** No index serves it. */
  scan: () => ({ filter: { active: true, stock: { $lt: 2 } }, values: [2] }),
} satisfies Record<string, (n: number, documents: number) => Asked>
export type ListName = keyof typeof lists

/** A filter that no index of the configuration serves: the server is to build one. */
export const makerFilter = (n: number) => ({ maker: `Maker ${n % MAKERS}` })

export const pathOf = (collection: string, { filter, sort }: Pick<Asked, 'filter' | 'sort'>): string =>
  `/store/${collection}?limit=20${filter ? `&filter=${encodeURIComponent(JSON.stringify(filter))}` : ''}${sort ? `&sort=${sort}` : ''}`

export const floorPathOf = (table: string, name: ListName, { values }: Asked): string =>
  `/${table}/${name}?${encodeURIComponent(JSON.stringify(values))}`

/** The same by a route of by-hand-wire.ts. */
export const framePathOf = (name: ListName, { values }: Asked): string =>
  `/by-hand/documents/${name}?values=${encodeURIComponent(JSON.stringify(values))}`

/** Creates documents by arrays. @returns how many a second */
export async function fill(
  { base, token }: Server,
  collection: string,
  documents: number,
  progress: (done: number) => void,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: FILL_CONNECTIONS })
  const begun = performance.now()
  let next = 0
  let done = 0
  async function work(): Promise<void> {
    while (next < documents) {
      const from = next
      const count = Math.min(BATCH, documents - from)
      next += count
      const bodies = Array.from({ length: count }, (_, i) => queryBody(from + i, documents))
      await askFor(base, `POST /store/${collection}`, { token, body: `[${bodies.join()}]`, agent })
      progress((done += count))
    }
  }
  try {
    await Promise.all(Array.from({ length: FILL_CONNECTIONS }, work))
  } finally {
    agent.destroy()
  }
  return documents / ((performance.now() - begun) / 1000)
}
