import { defineScenario } from '../bench.ts'
import { creates } from '../documents.ts'
import { compareLoad } from '../load.ts'

export default defineScenario({
  name: 'request-log',
  summary: 'create documents with the request log against the same server without it',

  async prepare(bench) {
    const without = await bench.open('sixwire', 'without', { environment: { SIXWIRE_REQUEST_LOG: 'off' } })
    return { without, server: await bench.open('sixwire', 'sixwire') }
  },

  async *run(bench, { without, server }) {
    const requests = creates('items', bench.settings.documents)
    for (const connections of bench.settings.connections)
      yield* compareLoad(bench, 'create', connections, [without, requests], [server, requests])
  },
})
