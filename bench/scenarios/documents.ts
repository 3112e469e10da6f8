import { defineScenario, type Server } from '../bench.ts'
import { rowOf } from '../compare.ts'
import { checkAnswers, documentRequests, seed } from '../documents.ts'
import { compareLoad } from '../load.ts'
import { idle, memoryOf } from '../process.ts'

export default defineScenario({
  name: 'documents',
  summary: 'get, list and create documents against the floor, and the memory after it',

  async prepare(bench) {
    const [floor, server] = [await bench.open('floor', 'floor'), await bench.open('sixwire', 'sixwire')]
    const { documents } = bench.settings
    const requests = async (one: Server) =>
      documentRequests((await seed(bench, one, 'items', { to: documents })).ids, documents)
    return { floor, server, there: await requests(floor), here: await requests(server) }
  },

  async *run(bench, { floor, server, there, here }) {
    for (const [at, [kind, requests]] of here.entries()) {
      const [, floorRequests] = there[at]!
      await checkAnswers([floor, floorRequests[0]!], [server, requests[0]!])
      for (const connections of bench.settings.connections)
        yield* compareLoad(bench, kind, connections, [floor, floorRequests], [server, requests])
    }
    for (const { pid } of [floor, server]) await idle(pid)
    const [peer, own] = [memoryOf(floor.pid), memoryOf(server.pid)]
    yield rowOf('resident memory after it', 'MB', ['floor', peer.now], own.now)
    yield rowOf('resident memory at most', 'MB', ['floor', peer.peak], own.peak)
  },
})
