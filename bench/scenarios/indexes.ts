import { defineScenario, type Figures } from '../bench.ts'
import { compare, rowOf } from '../compare.ts'
import { creates, indexesReady, seed } from '../documents.ts'
import { loadSide, sendLoad } from '../load.ts'

const WRITERS = 16
const THREE = ['n', 'active,price', 'name']

/** The server's configuration with these indexes. */
const startOf = (indexes: Record<string, string[]>) => ({
  isAdmin: true,
  config: { store: { collections: { items: 'shared' }, indexes, automaticIndexes: false } },
})

export default defineScenario({
  name: 'indexes',
  summary: 'creates with three indexes, and an index built beside 16 writers',

  async prepare(bench) {
    const to = bench.settings.documents * 10
    const floor = await bench.open('floor', 'floor', { environment: { FLOOR_FIELDS: 'jsonb' } })
    await seed(bench, floor, 'items', { to })
    await floor.stop()
    const server = await bench.open('sixwire', 'sixwire', startOf({ other: THREE }))
    await seed(bench, server, 'items', { to })
    return { server, documents: to }
  },

  async *run(bench, { server, documents }) {
    const side = (collection: string) => loadSide(bench, server, creates(collection, documents), WRITERS)
    const title = `create with three indexes, ${WRITERS} connections`
    yield* compare(bench, title, ['no index', side('plain')], side('other'))

    const requests = creates('items', documents)
    const quiet: Figures[] = []
    for (let round = 1; round <= bench.settings.rounds; round++) {
      bench.note('creates before an index is built')
      quiet.push((await sendLoad(bench, server, requests, WRITERS)).figures)
    }
    await server.stop()
    bench.note('create index in SQL, without writers')
    const floor = await bench.open('floor', 'floor', { environment: { FLOOR_FIELDS: 'indexed' } })
    await floor.stop()

    bench.note('building an index beside writers')
    const builder = await bench.open('sixwire', 'sixwire', startOf({ items: ['n'], other: THREE }))
    const begun = performance.now() - builder.startMs
    let seconds: number | undefined
    const ready = indexesReady(builder, 'items', 1).then(() => (seconds = (performance.now() - begun) / 1000))
    const during: Figures[] = []
    while (seconds === undefined) during.push((await sendLoad(bench, builder, requests, WRITERS)).figures)
    await ready
    if (during.length > 1) during.pop() // the last round ended without a build

    const name = `an index over ${documents.toLocaleString('en')} documents, ${WRITERS} writers`
    yield rowOf(name, 's from the start', ['floor: create index, no writers', floor.startMs / 1000], seconds)
    for (const figure of ['a second', 'p99 ms']) {
      const [before, meanwhile] = [quiet, during].map((rounds) => rounds.map((figures) => figures[figure]!))
      yield rowOf('creates meanwhile', figure, ['before', ...before!], ...meanwhile!)
    }
  },
})
