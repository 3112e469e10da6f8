import type { Bench } from './bench.ts'
import { seed } from './documents.ts'
import { gets } from './load.ts'
import { faultsOf, measurePair, type Pair } from './pairs.ts'

/** `first` holds the many documents, `second` the few: `ratio` is what a get costs among many over among few. */
export type ScaleResult = { many: number; few: number; connections: number } & Pair

/** Does a get by id cost more where a hundred times as many documents are kept? */
export async function runScale(bench: Bench, faults: string[]): Promise<ScaleResult> {
  const { options, folder, load, note } = bench
  const [many, few] = [options.documents * 10, Math.ceil(options.documents / 10)]
  const sides = []
  for (const documents of [many, few]) {
    const server = await bench.open(bench.subject, `scale${documents}`)
    const ids = await seed(server, documents, (done) => note(`seeding: ${done} of ${documents}`))
    const paths = ids.map((id) => `/store/items/${id}`)
    sides.push({ server, requests: gets(folder, paths) })
  }
  const [large, small] = sides as [(typeof sides)[0], (typeof sides)[0]]
  const connections = options.connections[0]!
  note('scale: warming up')
  await measurePair(load, large, small, connections, 1)
  note(`scale: get among ${many} and among ${few} documents`)
  const pair = await measurePair(load, large, small, connections, options.rounds)
  faults.push(...faultsOf('scale', pair, [`${many} documents`, `${few} documents`]))
  await Promise.all(sides.map(({ server }) => server.stop()))
  return { many, few, connections, ...pair }
}
