import { setTimeout as delay } from 'node:timers/promises'

import { hashSync, verifySync } from '@node-rs/bcrypt'

import { defineScenario, type Bench, type Row, type Server } from '../bench.ts'
import { compare, probe, rowOf, type Side } from '../compare.ts'
import { documentRequests, seed } from '../documents.ts'
import { sendLoad, type Requests } from '../load.ts'
import { busyPoolThreads, idle, memoryOf, processesOf, shareOfMemory } from '../process.ts'
import { accountOf, ask, register } from '../servers.ts'
import { latency, startStreamClients, type StreamClients } from '../streams.ts'

const WORKERS = [1, 2, 4]
const CONNECTIONS = 64
const ACCOUNTS = 8
const COST = 12
const EVENTS = 200

export default defineScenario({
  name: 'workers',
  summary: 'gets, lists, creates, sign-ins and events of 1, 2 and 4 workers, and their memory',

  async prepare(bench) {
    const floor = await bench.open('floor', 'floor')
    const { ids } = await seed(bench, floor, 'items', { to: bench.settings.documents })
    return { floor, ids, clients: startStreamClients(bench) }
  },

  async *run(bench, { floor, ids, clients }) {
    const { documents } = bench.settings
    const there = documentRequests(ids, documents)
    for (const count of WORKERS) {
      const server = await openWorkers(bench, count)
      yield* memory(floor, server, `${count} workers, idle`)
      for (let n = 1; n < ACCOUNTS; n++) await register(server.base, n)
      const seeded = await seed(bench, server, 'items', { to: documents })
      for (const [at, [kind, requests]] of documentRequests(seeded.ids, documents).entries())
        yield* compare(
          bench,
          `${count} workers: ${kind}, ${CONNECTIONS} connections`,
          ['floor', loaded(bench, floor, there[at]![1])],
          loaded(bench, server, requests),
        )
      yield* memory(floor, server, `${count} workers, after it`)
      yield* signIns(bench, server, count)
      yield* events(bench, clients, server, count)
      await server.stop()
    }
  },
})

async function openWorkers(bench: Bench, count: number): Promise<Server> {
  const environment = { SIXWIRE_WORKERS: String(count) }
  const open = () => bench.open('sixwire', `sixwire-${count}`, { environment })
  // The first start makes the tables, which takes memory.
  await (await open()).stop()
  const server = await open()
  await idle(server.pid)
  const workers = workersOf(server).length
  if (workers !== count) throw new Error(`${workers} workers run, not ${count}`)
  return server
}

/** The processes that answer: those that the first one has started, or that one. */
function workersOf({ pid }: Server): number[] {
  const [first, ...started] = processesOf(pid)
  return started.length > 0 ? started : [first!]
}

function* memory(floor: Server, server: Server, name: string): Iterable<Row> {
  const workers = workersOf(server)
  const peer: [string, number] = ['floor', memoryOf(floor.pid).now]
  yield rowOf(`${name}: each`, 'resident MB', peer, ...workers.map((pid) => memoryOf(pid).now))
  yield rowOf(`${name}: each`, 'share MB', peer, ...workers.map(shareOfMemory))
  const all = processesOf(server.pid).map(shareOfMemory)
  yield rowOf(
    `${name}: all`,
    'share MB',
    peer,
    all.reduce((total, one) => total + one),
  )
}

/** A load, with the processor time that it takes to send it. */
const loaded = (bench: Bench, server: Server, requests: Requests): Side => ({
  pid: server.pid,
  async measure() {
    const { figures, loadMicroseconds } = await sendLoad(bench, server, requests, CONNECTIONS)
    return { ...figures, 'load µs': loadMicroseconds }
  },
})

/** Sign-ins of several accounts a second against hashes a second of one thread, and how many threads hash or could. */
function signIns(bench: Bench, { base, pid }: Server, count: number) {
  const milliseconds = bench.settings.seconds * 1000
  const { password } = accountOf(0)
  const stored = hashSync(password, COST)
  const health = (ended: Promise<unknown>) => probe(ended, () => ask(base, 'GET /health'))
  const thread: Side = {
    pid,
    async measure() {
      const begun = performance.now()
      let hashes = 0
      for (; performance.now() - begun < milliseconds; hashes++) verifySync(password, stored)
      const perSecond = hashes / ((performance.now() - begun) / 1000)
      const quiet = await health(delay(milliseconds))
      return { 'a second': perSecond, 'hashes at once': 1, '/health p99 ms': quiet['p99 ms'] }
    },
  }
  const server: Side = {
    pid,
    async measure() {
      const begun = performance.now()
      let done = 0
      async function work(account: number): Promise<void> {
        for (; performance.now() - begun < milliseconds; done++)
          if ((await ask(base, 'POST /auth/login', { body: accountOf(account) })).status !== 200)
            bench.fault('a sign-in failed')
      }
      const all = Promise.all(Array.from({ length: ACCOUNTS }, (_, account) => work(account)))
      const [beside, threads] = await Promise.all([health(all), busyPoolThreads(pid, all), all])
      const perSecond = done / ((performance.now() - begun) / 1000)
      return { 'a second': perSecond, 'hashes at once': threads, '/health p99 ms': beside['p99 ms'] }
    },
  }
  const name = `${count} workers: sign-ins of ${ACCOUNTS} accounts`
  return compare(bench, name, ['one thread, no sign-ins', thread], server)
}

const events = (bench: Bench, clients: StreamClients, { base, token }: Server, count: number) =>
  latency(
    bench,
    clients,
    `${count} workers`,
    { base, path: '/store/items', token, rests: ['"note":"A few words about this item."}'] },
    { base, path: '/store/changes?collection=items', tokens: [token] },
    EVENTS,
  )
