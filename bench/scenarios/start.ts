import { defineScenario, type Bench, type Program } from '../bench.ts'
import { compare, type Side } from '../compare.ts'
import { seed } from '../documents.ts'
import { idle, memoryOf } from '../process.ts'

const DOCUMENTS = 10_000

const sideOf = (bench: Bench, program: Program): Side => ({
  async measure() {
    const server = await bench.open(program, program)
    await idle(server.pid)
    const { now } = memoryOf(server.pid)
    await server.stop()
    return { 'ms until ready': server.startMs, 'idle MB': now }
  },
})

export default defineScenario({
  name: 'start',
  summary: 'time from start to ready, and memory while idle, against the floor',

  async prepare(bench) {
    for (const program of ['floor', 'sixwire'] as const) {
      const server = await bench.open(program, program)
      await seed(bench, server, 'items', { to: Math.min(DOCUMENTS, bench.settings.documents) })
      await server.stop()
    }
  },

  run: (bench) => compare(bench, 'start', ['floor', sideOf(bench, 'floor')], sideOf(bench, 'sixwire')),
})
