import { isDeepStrictEqual } from 'node:util'

import type { Bench } from './bench.ts'
import { askFor } from './client.ts'
import { documentBody, seed } from './documents.ts'
import { gets, posts, type Requests } from './load.ts'
import { loadNames, type LoadName } from './options.ts'
import { faultsOf, measurePair, type Pair } from './pairs.ts'
import { idle, memoryOf, type Memory } from './procfs.ts'
import type { Server } from './servers.ts'

/** `first` is the floor, `second` what is held against it. */
export type WorkloadResult = { name: LoadName; connections: number } & Pair

export type WorkloadResults = {
  workloads: WorkloadResult[]
  /** After the last round; undefined where the system does not tell. */
  memory: { floor: Memory | undefined; subject: Memory | undefined }
}

type Lines = [method: Requests['method'], lines: string[]]

const CREATE_BODIES = 5000
const COLLECTION = '/store/items'

/** What is asked of a server that holds so many documents under these ids. */
const linesOf: Record<LoadName, (ids: string[], documents: number) => Lines> = {
  get: (ids) => ['GET', ids.map((id) => `${COLLECTION}/${id}`)],
  list: () => ['GET', [`${COLLECTION}?limit=20`]],
  filter: (_, documents) => {
    const filter = JSON.stringify({ n: { $lt: Math.ceil(documents / 100) } })
    return ['GET', [`${COLLECTION}?limit=20&filter=${encodeURIComponent(filter)}`]]
  },
  create: (_, documents) => [
    'POST',
    Array.from({ length: CREATE_BODIES }, (_, at) => documentBody(at * 17, documents)),
  ],
}

type Document = Record<string, unknown>
type Page = { data: Document[]; total: number; limit: number; offset: number }

const fieldsOf = (document: Document): string[] => Object.keys(document).toSorted()

/** What two servers with the same documents must answer alike; ids, times and the order of seeding differ. */
function essence(answer: Document | Page): unknown {
  if (!Array.isArray(answer.data)) return fieldsOf(answer)
  const { data, total, limit, offset } = answer as Page
  return { data: data.map(fieldsOf), total, limit, offset }
}

/** One request to a server, as the load sends it. */
async function answerOf({ base, token }: Server, [method, [line]]: Lines): Promise<unknown> {
  const answer =
    method === 'GET'
      ? await askFor<Document>(base, `GET ${line}`, { token })
      : await askFor<Document>(base, `POST ${COLLECTION}`, { token, body: line! })
  return essence(answer)
}

/** Throws where the two do not answer alike: then they do not do the same work. */
async function compareAnswers(name: LoadName, sides: [Server, Lines][]): Promise<void> {
  const [floor, subject] = await Promise.all(sides.map(([server, lines]) => answerOf(server, lines)))
  if (!isDeepStrictEqual(floor, subject))
    throw new Error(
      `${name}: the servers answer differently:\n floor ${JSON.stringify(floor)}\n other ${JSON.stringify(subject)}`,
    )
}

/** Seeds the same documents into both servers and measures each workload at each number of connections. */
export async function runWorkloads(bench: Bench, faults: string[]): Promise<WorkloadResults> {
  const { options, folder, load, note } = bench
  const { documents, rounds } = options
  const servers = [await bench.open('floor', 'floor'), await bench.open(bench.subject, 'subject')] as const
  const [floor, subject] = servers
  const names: [string, string] = ['the floor', options.self ? 'the second floor' : 'Sixwire']
  const idsOf: string[][] = []
  for (const [at, server] of servers.entries())
    idsOf.push(await seed(server, documents, (done) => note(`seeding ${names[at]}: ${done} of ${documents}`)))

  const workloads: WorkloadResult[] = []
  for (const name of loadNames.filter((known) => options.only.includes(known))) {
    const linesFor = (at: 0 | 1) => linesOf[name](idsOf[at]!, documents)
    const both = [linesFor(0), linesFor(1)] as const
    await compareAnswers(name, [
      [floor, both[0]],
      [subject, both[1]],
    ])
    const written = ([method, lines]: Lines) =>
      method === 'GET' ? gets(folder, lines) : posts(folder, COLLECTION, lines)
    const first = { server: floor, requests: written(both[0]) }
    const second = { server: subject, requests: written(both[1]) }
    note(`${name}: warming up`)
    await measurePair(load, first, second, options.connections[0]!, 1)
    for (const connections of options.connections) {
      note(`${name} at ${connections} connections`)
      const pair = await measurePair(load, first, second, connections, rounds)
      workloads.push({ name, connections, ...pair })
      faults.push(...faultsOf(`${name} at ${connections} connections`, pair, names))
    }
  }
  await Promise.all(servers.map(({ pid }) => idle(pid)))
  const memory = { floor: memoryOf(floor.pid), subject: memoryOf(subject.pid) }
  await Promise.all(servers.map((server) => server.stop()))
  return { workloads, memory }
}
