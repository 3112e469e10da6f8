import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { promoteAll } from './admin.ts'
import { measureAutomatic, type Automatic } from './automatic-index.ts'
import type { Bench } from './bench.ts'
import {
  compareQuick,
  compareSlow,
  fileOf,
  startByHand,
  type Compared,
  type Paths,
  type Sides,
} from './by-hand.ts'
import { askFor } from './client.ts'
import { settle } from './lists-by-hand.ts'
import { gets, posts } from './load.ts'
import { faultsOf, measurePair, type Pair, type Side } from './pairs.ts'
import { memoryOf } from './procfs.ts'
import {
  fill,
  floorPathOf,
  framePathOf,
  lists,
  pathOf,
  queryBody,
  type Asked,
  type ListName,
} from './query-documents.ts'
import { explain, untilReady } from './query-plan.ts'
import type { Server } from './servers.ts'

/** Two collections are used: `documents` are in the large one, `few` in the other. */
export type QueriesResult = {
  documents: number
  few: number
  /** Documents a second. */
  filled: number
  /** Without an index: in the stored form of documents, and against native columns. */
  scans: { large: Compared; few: Compared; columns: Compared }
  automatic: Automatic
  /** Seconds from the start of the server until the declared indexes were ready. */
  built: { indexes: number; seconds: number }
  /** Against a bare server, and `framed`: against a route of Sixwire with the same SQL by hand. */
  indexed: (Compared & { framed: Compared })[]
  /** `first` is the first page of a list sorted by an index, `second` the page at this depth. */
  deep: { depth: number } & Pair
  /** `first` without indexes, `second` with three. */
  creates: { connections: number } & Pair
  /** The most that the process ever had, after each part; undefined where the system does not tell. */
  memory: { filled: number; scanned: number; automatic: number; indexed: number } | undefined
}

const INDEXES = ['city', 'category,price', 'n']
const QUERIES = 1000
const DEEP_PAGE = 1000
const CREATE_CONNECTIONS = 16
const CREATE_BODIES = 5000
// A query is slow from 100 ms; among fewer documents none would be.
const slowMsOf = (documents: number): number => Math.min(100, Math.ceil(documents / 10_000))

/** How fast lists are, with and without indexes, against the same lists by hand in SQL, and what indexes cost. */
export async function runQueries(bench: Bench, faults: string[]): Promise<QueriesResult> {
  const { options, note } = bench
  const [documents, few] = [options.documents * 10, options.documents]
  const opens = (store: object): Promise<Server> =>
    bench.open('sixwire', 'queries', { prepare: configOf(store) })
  const peak = (server: Server): number => memoryOf(server.pid)?.peakMB ?? NaN
  const automaticIndexes = { slowMs: slowMsOf(documents), max: 4 }
  const seeding = (count: number) => (done: number) => note(`seeding: ${done} of ${count} documents`)

  let server = await opens({ automaticIndexes: false })
  await promoteAll(bench.databaseUrl('queries')) // for `explain`
  const filled = await fill(server, 'items', documents, seeding(documents))
  await fill(server, 'few', few, seeding(few))
  const memory = { filled: peak(server), scanned: 0, automatic: 0, indexed: 0 }
  note('queries: copying the documents into tables by hand')
  const floor = await startByHand(bench.databaseUrl('queries'), bench.folder)
  const scans = await measureScans(bench, { floor, server })
  memory.scanned = peak(server)
  await server.stop()

  server = await opens({ automaticIndexes })
  const automatic = await measureAutomatic(server, { seconds: options.seconds, documents, note })
  memory.automatic = peak(server)
  await server.stop()

  note('queries: building the declared indexes')
  const begun = performance.now()
  server = await bench.open('sixwire', 'queries', {
    prepare: configOf(
      { automaticIndexes, indexes: { items: INDEXES, indexed: INDEXES } },
      {
        url: bench.databaseUrl('queries'),
        file: fileOf(bench.folder),
      },
    ),
  })
  await untilReady(server, 'items', (indexes) =>
    INDEXES.every((fields) => indexes.some((one) => one.fields === fields && one.state === 'ready')),
  )
  const built = { indexes: INDEXES.length, seconds: (performance.now() - begun) / 1000 }
  await settle(bench.databaseUrl('queries'))
  const indexed = await measureIndexed(bench, faults, { floor, server }, documents)
  floor.stop()
  const deep = await measureDeep(bench, faults, server, documents / 2)
  const creates = await measureCreates(bench, faults, server, documents)
  memory.indexed = peak(server)
  await server.stop()

  return {
    documents,
    few,
    filled,
    scans,
    automatic,
    built,
    indexed,
    deep,
    creates,
    memory: Number.isNaN(memory.filled) ? undefined : memory,
  }
}

/**
 * Writes the configuration. Any signed-in user reads all documents of two collections, as those of the tables by hand are.
 *
 * @param byHand the options of the wire with the lists by hand
 */
const configOf = (store: object, byHand?: object) => (home: string) => {
  const module = JSON.stringify(new URL('./by-hand-wire.ts', import.meta.url).href)
  const shared = { items: 'shared', few: 'shared' }
  writeFileSync(
    join(home, 'sixwire.config.ts'),
    `import { byHand } from ${module}
export default {
  store: ${JSON.stringify({ collections: shared, ...store })},
  wires: [${byHand ? `byHand(${JSON.stringify(byHand)})` : ''}],
}
`,
  )
}

async function measureScans({ note }: Bench, sides: Sides): Promise<QueriesResult['scans']> {
  const asked = lists.scan()
  const compare = (name: string, table: 'documents' | 'few' | 'columns', collection: string) => {
    note(`queries: ${name}`)
    const paths = { floor: floorPathOf(table, 'scan', asked), server: pathOf(collection, asked) }
    return compareSlow(name, sides, paths)
  }
  return {
    large: await compare('two conditions, without an index', 'documents', 'items'),
    few: await compare('two conditions, without an index, fewer documents', 'few', 'few'),
    columns: await compare('the same against native columns', 'columns', 'few'),
  }
}

async function measureIndexed(
  bench: Bench,
  faults: string[],
  sides: Sides,
  documents: number,
): Promise<QueriesResult['indexed']> {
  const measured: QueriesResult['indexed'] = []
  for (const [list, name] of [
    ['equality', 'equality'],
    ['equalityAndRange', 'equality and range, sorted by the range'],
    ['range', 'range, sorted by it'],
  ] as const satisfies [ListName, string][]) {
    const asked = Array.from({ length: QUERIES }, (_, n): Asked => lists[list](n, documents))
    const pathsTo = (floorPath: (one: Asked) => string): Paths[] =>
      asked.map((one) => ({ floor: floorPath(one), server: pathOf('items', one) }))
    const { plan } = await explain(sides.server, pathOf('items', asked[0]!))
    if (plan !== 'index') faults.push(`queries: the plan of "${name}" is ${plan}`)
    bench.note(`queries: ${name}`)
    const bare = pathsTo((one) => floorPathOf('documents', list, one))
    const framed = pathsTo((one) => framePathOf(list, one))
    const inFrame = { ...sides, floor: sides.server }
    measured.push({
      ...(await compareQuick(bench, faults, name, sides, bare)),
      framed: await compareQuick(bench, faults, `${name}, by a route`, inFrame, framed),
    })
  }
  return measured
}

/** The first page of a sorted list, and the page behind so many documents, to which only a walk leads. */
async function measureDeep(
  { load, folder, options, note }: Bench,
  faults: string[],
  server: Server,
  depth: number,
): Promise<QueriesResult['deep']> {
  note(`queries: pages of a sorted list, walking to ${depth}`)
  let cursor = ''
  for (let read = 0; read < depth; read += DEEP_PAGE) {
    const limit = Math.min(DEEP_PAGE, depth - read)
    const path = `/store/items?sort=n&fields=_id&limit=${limit}${cursor}`
    const { nextCursor } = await askFor<{ nextCursor: string }>(server.base, `GET ${path}`, {
      token: server.token,
    })
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`
  }
  const first = pathOf('items', { sort: 'n' })
  const { plan } = await explain(server, first)
  if (plan !== 'index') faults.push(`queries: the plan of a sorted list is ${plan}`)
  const [top, page] = [first, first + cursor].map((path): Side => ({
    server,
    requests: gets(folder, [path]),
  }))
  await measurePair(load, top!, page!, 1, 1)
  const pair = await measurePair(load, top!, page!, 1, options.rounds)
  faults.push(...faultsOf('pages of a sorted list', pair, ['the first', 'a deep one']))
  return { depth, ...pair }
}

async function measureCreates(
  { load, folder, options, note }: Bench,
  faults: string[],
  server: Server,
  documents: number,
): Promise<QueriesResult['creates']> {
  note('queries: creates without indexes, and with three')
  const bodies = Array.from({ length: CREATE_BODIES }, (_, at) => queryBody(at * 17, documents))
  const creating = (collection: string): Side => ({
    server,
    requests: posts(folder, `/store/${collection}`, bodies),
  })
  const [plain, indexed] = [creating('plain'), creating('indexed')]
  await measurePair(load, plain, indexed, CREATE_CONNECTIONS, 1)
  const pair = await measurePair(load, plain, indexed, CREATE_CONNECTIONS, options.rounds)
  faults.push(...faultsOf('creates', pair, ['a collection without indexes', 'one with three']))
  return { connections: CREATE_CONNECTIONS, ...pair }
}
