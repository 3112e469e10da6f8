import { defineScenario, type Server } from '../bench.ts'
import { compare } from '../compare.ts'
import { checkAnswers, explain, seed } from '../documents.ts'
import { compareLoad, loadSide, type LoadRequest } from '../load.ts'
import { askFor } from '../servers.ts'

const CONNECTIONS = [1, 8, 128]
const RANGES = 1000

const listOf = (filter: object, more = ''): LoadRequest => ({
  path: `/store/items?limit=20&filter=${encodeURIComponent(JSON.stringify(filter))}${more}`,
})

/** Two conditions that no index serves; 0.7 % of the documents match. */
const SCAN = [listOf({ active: true, price: { $lt: 5 } })]
const SORTED = [{ path: '/store/items?limit=20&sort=n' }]

/** Ranges of a thousandth of the documents. */
const rangesOf = (documents: number): LoadRequest[] =>
  Array.from({ length: RANGES }, (_, at) => {
    const length = Math.ceil(documents / 1000)
    const low = (at * 7919) % (documents - length)
    return listOf({ n: { $gte: low, $lt: low + length } }, '&sort=n')
  })

/** Checks that both do the same work, and how Sixwire does it. */
async function check([floor, server]: readonly [Server, Server], request: LoadRequest, wanted: string) {
  await checkAnswers([floor, request], [server, request])
  const { plan } = await explain(server, request.path)
  if (plan !== wanted) throw new Error(`${request.path}: the plan is ${plan} in place of ${wanted}`)
}

export default defineScenario({
  name: 'queries',
  summary: 'lists with a filter, a sort or a cursor, with and without an index, against the floor',

  async prepare(bench) {
    const store = { collections: { items: 'shared' }, indexes: { items: ['n'] }, automaticIndexes: false }
    return [
      await bench.open('floor', 'floor', { environment: { FLOOR_FIELDS: 'indexed' } }),
      await bench.open('sixwire', 'sixwire', { isAdmin: true, config: { store } }),
    ] as const
  },

  async *run(bench, servers) {
    const { documents } = bench.settings
    const [floor, server] = servers
    const of = documents * 10
    const against = (name: string, connections: number, requests: LoadRequest[]) =>
      compareLoad(bench, name, connections, [floor, requests], [server, requests])

    for (const one of servers) await seed(bench, one, 'items', { to: documents, of })
    await check(servers, SCAN[0]!, 'scan')
    for (const connections of CONNECTIONS) yield* against('filter and total, no index', connections, SCAN)

    for (const one of servers) await seed(bench, one, 'items', { from: documents, to: of, of })
    const ranges = rangesOf(of)
    await check(servers, ranges[0]!, 'index')
    await check(servers, SORTED[0]!, 'index')
    for (const connections of CONNECTIONS) {
      yield* against('10 times as many: range by an index, total', connections, ranges)
      yield* against('10 times as many: sorted by an index', connections, SORTED)
    }
    const middle = `/store/items?sort=n&limit=1&offset=${of / 2}`
    const { token } = server
    const { nextCursor } = await askFor<{ nextCursor: string }>(server.base, `GET ${middle}`, { token })
    const deep = { path: `${SORTED[0]!.path}&cursor=${encodeURIComponent(nextCursor)}` }
    const side = (request: LoadRequest) => loadSide(bench, server, [request], 1)
    yield* compare(bench, 'page in the middle, by a cursor', ['the first page', side(SORTED[0]!)], side(deep))
  },
})
