import { defineScenario } from '../bench.ts'
import { measureSearch } from '../changes/search.ts'

/** Each is a subject of its own, with a server of its own. */
const PARTS = [measureSearch]

export default defineScenario({
  name: 'changes',
  summary: 'search in documents, and what its words cost a create',
  prepare: async () => undefined,
  async *run(bench) {
    for (const measure of PARTS) yield* measure(bench)
  },
})
