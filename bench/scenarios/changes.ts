import { defineScenario, type Bench, type Figures, type Server } from '../bench.ts'
import { measureSearch } from '../changes/search.ts'
import { compare, quantile, rowOf, type Side } from '../compare.ts'
import { loadSide, type LoadRequest } from '../load.ts'
import { openPocketBase } from '../pocketbase.ts'
import { idle, memoryOf, processorMs } from '../process.ts'
import { accountOf, askFor } from '../servers.ts'
import type { StreamTarget, StreamWrite } from '../stream-client.ts'
import { latency, startStreamClients, type StreamClients } from '../streams.ts'

const CONNECTIONS = 16
const UPDATED = 5000
const MISSED = 10_000
const BATCH = 1000
const RATE = 500
const CONCERNED = 3
/** Changes of which all are told, in a round. */
const TOLD_TO_ALL = 10
const IDLE_MS = 3000

const NOTE = 'A few words about this item, as a person would write them down. '.repeat(6)
const REST = JSON.stringify({ note: NOTE, tags: ['red', 'blue'], active: true }).slice(1)
const body = (n: number) => `{"n":${n},${REST}`

const config = {
  store: {
    collections: {
      logged: { read: 'public', create: 'user', update: 'user' },
      unlogged: { read: 'public', create: 'user', update: 'user', changes: false },
      news: { read: 'public', create: 'user' },
      rooms: { read: { members: '$$user._id' }, create: 'user' },
    },
  },
  // Many accounts, which stay signed in.
  auth: { bcryptCost: 4, accessTokenSeconds: 86_400 },
}

type User = { readonly _id: string; readonly token: string }

const streamsOf = (collection: string): string => `/store/changes?collection=${collection}`
const target = ({ base }: { base: string }, collection: string, tokens: readonly string[]): StreamTarget => ({
  base,
  path: streamsOf(collection),
  tokens,
})
const creating = ({ base, token }: { base: string; token?: string }, collection: string): StreamWrite => ({
  base,
  path: `/store/${collection}`,
  ...(token !== undefined && { token }),
  rests: [REST],
})

/** Accounts for as many streams: one may have only 20. */
async function registerAll({ settings, note }: Bench, base: string): Promise<User[]> {
  const users: User[] = []
  let next = 1
  async function work(): Promise<void> {
    while (next <= settings.streams) {
      const sent = { body: accountOf(next++) }
      const { user, token } = await askFor<{ user: User; token: string }>(base, 'POST /auth/register', sent)
      users.push({ _id: user._id, token })
      if (users.length % 2000 === 0) note(`${users.length} of ${settings.streams} accounts`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return users
}

async function createMany({ base, token }: Server, collection: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i += BATCH) {
    const bodies = Array.from({ length: Math.min(BATCH, count - i) }, (_, at) => body(i + at))
    const sent = { token, body: `[${bodies.join()}]` }
    const { data } = await askFor<{ data: { _id: string }[] }>(base, `POST /store/${collection}`, sent)
    ids.push(...data.map(({ _id }) => _id))
  }
  return ids
}

export default defineScenario({
  name: 'changes',
  summary: 'the log of changes, the streams that tell of it, and search',

  async prepare(bench) {
    const server = await bench.open('sixwire', 'changes', { config })
    const users = await registerAll(bench, server.base)
    return { server, users, clients: startStreamClients(bench) }
  },

  async *run(bench, { server, users, clients }) {
    const follow = (one: Server) => target(one, 'logged', [server.token])
    yield* writes(bench, server, clients)
    yield* latency(bench, clients, 'same process', creating(server, 'logged'), follow(server))
    const other = await bench.open('sixwire', 'changes', { config })
    yield* latency(bench, clients, 'another process', creating(server, 'logged'), follow(other))
    await other.stop()
    yield* resumed(bench, server, clients)
    yield* beside(bench, server, clients, users)
    yield* toAll(bench, server, clients, users)
    await server.stop()
    yield* measureSearch(bench)
  },
})

/** Creates and updates with the log against those without. */
async function* writes(bench: Bench, server: Server, clients: StreamClients) {
  const creates = (collection: string): LoadRequest[] =>
    Array.from({ length: 1000 }, (_, n) => ({ method: 'POST', path: `/store/${collection}`, body: body(n) }))
  const updates = async (collection: string): Promise<LoadRequest[]> =>
    (await createMany(server, collection, UPDATED)).map((id, n) => ({
      method: 'PUT',
      path: `/store/${collection}/${id}`,
      body: body(n),
    }))
  const load = (requests: LoadRequest[]) => loadSide(bench, server, requests, CONNECTIONS)
  const without = { create: load(creates('unlogged')), update: load(await updates('unlogged')) }
  const logged = { create: load(creates('logged')), update: load(await updates('logged')) }
  yield* compare(bench, 'create with the log', ['without', without.create], logged.create)
  yield* compare(bench, 'update with the log', ['without', without.update], logged.update)
  await clients({ kind: 'open', ...target(server, 'news', [server.token]) })
  const followed = 'and a stream of another collection'
  yield* compare(bench, `create with the log ${followed}`, ['without', without.create], logged.create)
  yield* compare(bench, `update with the log ${followed}`, ['without', without.update], logged.update)
  await clients({ kind: 'close' })
}

/** Going on after many changes, beside lists of as many documents. */
async function* resumed(bench: Bench, server: Server, clients: StreamClients) {
  const { token } = server
  const listed: number[] = []
  const told: number[] = []
  for (let round = 0; round <= bench.settings.rounds; round++) {
    bench.note(`${MISSED} missed changes: ${round} of ${bench.settings.rounds}`)
    const begun = target(server, 'logged', [token])
    const { id } = await clients({ kind: 'open', ...begun })
    await clients({ kind: 'close' })
    await createMany(server, 'logged', MISSED)
    await idle(server.pid)
    const { ms } = await clients({ kind: 'resume', target: { ...begun, lastEventId: id }, events: MISSED })
    await clients({ kind: 'close' })
    const at = performance.now()
    for (let offset = 0; offset < MISSED; offset += 100)
      await askFor(server.base, `GET /store/logged?limit=100&offset=${offset}`, { token })
    if (round === 0) continue
    listed.push(performance.now() - at)
    told.push(ms)
  }
  yield rowOf(`going on after ${MISSED} missed changes`, 'ms', ['100 lists of 100', ...listed], ...told)
}

/** What many streams cost, and what a change costs that concerns a few of them. */
async function* beside(bench: Bench, server: Server, clients: StreamClients, users: readonly User[]) {
  const { seconds, streams } = bench.settings
  const { base, token, pid } = server
  const requests = Array.from({ length: 1000 }, (_, n): LoadRequest => ({
    method: 'POST',
    path: '/store/logged',
    body: body(n),
  }))
  const load = loadSide(bench, server, requests, CONNECTIONS)
  const rests = Array.from({ length: 1000 }, (_, i) => {
    const members = Array.from({ length: CONCERNED }, (_, at) => users[(i * 7 + at * 31) % users.length]!._id)
    return JSON.stringify({ note: NOTE, members }).slice(1)
  })
  const write: StreamWrite = { base, path: '/store/rooms', token, rests }
  const own: Figures[] = []
  const tokens = users.map((user) => user.token)

  const measure = async (count: number): Promise<Figures> => {
    await idle(pid)
    const before = memoryOf(pid).now
    if (count > 0) await clients({ kind: 'open', ...target(server, 'rooms', tokens) })
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const memory = ((memoryOf(pid).now - before) * 1024) / Math.max(1, count)
    const quiet = processorMs(pid)
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const idleMs = (processorMs(pid) - quiet) / IDLE_MS
    const { 'a second': creates, 'p99 ms': p99 } = await load.measure()
    const used = processorMs(pid)
    const events = count > 0 ? CONCERNED : 0
    const paced = await clients({ kind: 'pace', write, events, perSecond: RATE, seconds })
    const cost = ((processorMs(pid) - used - idleMs * paced.ms) * 1000) / paced.writes
    await clients({ kind: 'close' })
    if (paced.missing > 0) bench.fault(`${paced.missing} events did not arrive`)
    own.push({
      count,
      memory,
      idleMs,
      cost,
      told50: paced.told[0],
      told99: paced.told[1],
      client: paced.processor / paced.ms,
    })
    return {
      'writes a second': creates!,
      'p99 ms': p99!,
      'processor µs a change of which 3 are told': cost,
      'answer p99 ms at 500 a second': paced.answered[1],
    }
  }
  const sided = (count: number): Side => ({ measure: () => measure(count) })
  const name = `beside ${streams} streams`
  yield* compare(bench, name, ['without streams', sided(0)], sided(streams))
  // The round that warms up is the first of both.
  const values = (figure: string) =>
    own
      .filter(({ count }) => count! > 0)
      .slice(1)
      .map((one) => one[figure]!)
  yield rowOf(`${name}: memory of one`, 'KiB', ['goal', 20], ...values('memory'))
  yield rowOf(`${name}: idle`, 'share of a core', ['one core', 1], ...values('idleMs'))
  for (const [figure, goal] of [
    ['told50', 50],
    ['told99', 50],
  ] as const)
    yield rowOf(
      `${name}: write to event at ${RATE} a second`,
      `p${figure.slice(4)} ms`,
      ['goal of p99', goal],
      ...values(figure),
    )
  yield rowOf(
    `${name}: the load's share at ${RATE} a second`,
    'of a core',
    ['one core', 1],
    ...values('client'),
  )
}

/** Changes of which all streams are told, against the floor and PocketBase. */
async function* toAll(bench: Bench, server: Server, clients: StreamClients, users: readonly User[]) {
  const { streams, pocketbase } = bench.settings
  const name = `one change to ${streams} streams`
  const tokens = users.map(({ token }) => token)
  const side = (pid: number, to: StreamTarget, write: StreamWrite): Side => ({
    pid,
    measure: () => tellAll(pid, clients, to, write),
  })
  const own = side(server.pid, target(server, 'news', tokens), creating(server, 'news'))
  const floor = await bench.open('floor', 'floor')
  const strangers = tokens.map(() => '')
  const bare = side(floor.pid, target(floor, 'news', strangers), creating(floor, 'items'))
  yield* compare(bench, name, ['floor', bare], own)
  await floor.stop()
  if (pocketbase === undefined) return
  const { base, pid } = await openPocketBase(bench, pocketbase, 'news')
  const peer = side(
    pid,
    { base, path: '/api/realtime', tokens: strangers, topic: 'news/*' },
    { base, path: '/api/collections/news/records', rests: [REST] },
  )
  yield* compare(bench, name, ['PocketBase', peer], own)
}

async function tellAll(
  pid: number,
  clients: StreamClients,
  to: StreamTarget,
  write: StreamWrite,
): Promise<Figures> {
  const events = to.tokens.length
  await idle(pid)
  const memory = memoryOf(pid).now
  const opened = await clients({ kind: 'open', ...to })
  await idle(pid)
  const more = ((memoryOf(pid).now - memory) * 1024) / events
  const answers: { last: number; first: number; processor: number }[] = []
  let used = 0
  for (let i = 0; i < TOLD_TO_ALL; i++) {
    await idle(pid)
    const before = processorMs(pid)
    answers.push(await clients({ kind: 'change', write, events }))
    used += processorMs(pid) - before
  }
  await clients({ kind: 'close' })
  const median = (figure: 'first' | 'last' | 'processor') =>
    quantile(
      answers.map((one) => one[figure]),
      0.5,
    )
  return {
    'first client ms': median('first'),
    'last client ms': median('last'),
    'events a second': (events * 1000) / median('last'),
    'events a second of processor': (events * TOLD_TO_ALL * 1000) / Math.max(used, 1),
    "the clients' processor ms": median('processor'),
    'memory of one, KiB': more,
    'opened a second': (events * 1000) / opened.ms,
  }
}
