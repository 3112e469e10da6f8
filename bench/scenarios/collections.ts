import { defineScenario, type Bench, type Server } from '../bench.ts'
import { compare, probe, quantile, rowOf, type Side } from '../compare.ts'
import { loadSide, type LoadRequest } from '../load.ts'
import { idle } from '../process.ts'
import { ask, askFor, register } from '../servers.ts'

const CONNECTIONS = 16
const BATCH = 1000
const FEW = 20_000
const READABLE = 500
/** What one caller may read of many documents. */
const OWN = 1000
const CALLS = 300

const mine = { members: '$$user._id' }

const schema = {
  type: 'object',
  required: ['title', 'price'],
  properties: {
    title: { type: 'string', minLength: 1 },
    price: { type: 'integer', minimum: 0 },
    slug: { type: 'string' },
    members: { type: 'array', items: { type: 'string' } },
  },
}

/** What stalls validators of JSON Schema that are not careful. */
const strict = {
  type: 'object',
  properties: {
    text: { type: 'string', pattern: '^(a+)+$' },
    items: { type: 'array', uniqueItems: true },
  },
}
const HOSTILE = [
  ['texts for (a+)+', { text: `${'a'.repeat(100_000)}!` }],
  ['50,000 unique items', { items: Array.from({ length: 50_000 }, (_, i) => ({ i })) }],
] as const

const config = {
  store: {
    automaticIndexes: { slowMs: 0, max: 4 },
    collections: {
      plain: 'shared',
      ruled: { read: mine, update: mine, create: 'user' },
      whole: { read: mine, update: mine, create: 'user', schema, unique: ['slug'] },
      many: { read: mine, create: 'user' },
      strict: { create: 'user', schema: strict },
      people: { read: 'user', relations: { boss: { to: 'people' } } },
      books: { read: 'user', relations: { author: { to: 'people' } } },
    },
  },
}

/** Fifty collections with all that a start has to read. */
const fifty = {
  store: {
    collections: Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [
        `c${i}`,
        {
          read: [mine, 'owner'],
          update: mine,
          hidden: ['cost'],
          readOnly: ['status'],
          schema,
          unique: ['slug'],
        },
      ]),
    ),
  },
}

async function create(server: Server, collection: string, bodies: readonly object[]): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < bodies.length; i += BATCH) {
    const sent = { token: server.token, body: bodies.slice(i, i + BATCH) }
    const { data } = await askFor<{ data: { _id: string }[] }>(server.base, `POST /store/${collection}`, sent)
    ids.push(...data.map(({ _id }) => _id))
  }
  return ids
}

const bodiesFor = (members: (i: number) => string[], count: number): object[] =>
  Array.from({ length: count }, (_, i) => ({
    title: `Item ${i}`,
    price: (i * 7919) % count,
    slug: `item-${i}`,
    members: members(i),
    note: 'A few words about this item, as a person would write them down.',
  }))

const gets = (collection: string, ids: readonly string[]): LoadRequest[] =>
  ids.map((id) => ({ path: `/store/${collection}/${id}` }))
const puts = (collection: string, ids: readonly string[]): LoadRequest[] =>
  ids.map((id, i) => ({
    method: 'PUT',
    path: `/store/${collection}/${id}`,
    body: JSON.stringify({ price: i }),
  }))

/** The start of a server with a configuration, whose tables exist. */
const startSide = (bench: Bench, name: string, start: object): Side => ({
  async measure() {
    const server = await bench.open('sixwire', name, { config: start })
    await idle(server.pid)
    await server.stop()
    return { 'ms until ready': server.startMs }
  },
})

export default defineScenario({
  name: 'collections',
  summary: 'rules, schemas, unique fields and relations against a collection without them, and their start',

  async prepare(bench) {
    // The first account is an administrator, whom no rule concerns.
    const first = await bench.open('sixwire', 'rules', { config })
    const server = { ...first, token: await register(first.base, 1) }
    const { _id } = (
      await askFor<{ user: { _id: string } }>(server.base, 'GET /auth/me', { token: server.token })
    ).user
    bench.note('seeding')
    const few = Math.min(FEW, bench.settings.documents)
    const ids = new Map<string, string[]>()
    // Of which the caller may read so many.
    const share = Math.max(1, Math.floor(few / READABLE))
    const bodies = bodiesFor((i) => (i % share === 0 ? [_id, 'other'] : ['other', 'others']), few)
    for (const collection of ['plain', 'ruled', 'whole']) {
      const made = await create(server, collection, bodies)
      ids.set(
        collection,
        made.filter((_, i) => i % share === 0),
      )
    }
    const bosses = await create(server, 'people', [{ name: 'a' }])
    const chain = await create(
      server,
      'people',
      Array.from({ length: 20 }, () => ({ name: 'b', boss: bosses[0] })),
    )
    const people = await create(
      server,
      'people',
      chain.map((boss) => ({ name: 'c', boss })),
    )
    await create(
      server,
      'books',
      people.map((author, i) => ({ title: `Book ${i}`, author })),
    )
    const every = Math.max(1, Math.floor(bench.settings.documents / OWN))
    const all = bodiesFor((i) => (i % every === 0 ? [_id] : [`someone${i % 500}`]), bench.settings.documents)
    await create(server, 'many', all)
    return { server, ids }
  },

  async *run(bench, { server, ids }) {
    const load = (requests: LoadRequest[]) => loadSide(bench, server, requests, CONNECTIONS)
    const sided = (make: (collection: string, of: readonly string[]) => LoadRequest[], collection: string) =>
      load(make(collection, ids.get(collection)!))
    const list = (collection: string): LoadRequest[] => [{ path: `/store/${collection}?limit=20` }]
    const peer = 'without a rule'
    for (const collection of ['ruled', 'whole'])
      for (let i = 0; i < 100; i++)
        await askFor(server.base, `GET /store/${collection}?limit=20`, { token: server.token })
    yield* compare(bench, 'get by a rule', [peer, sided(gets, 'plain')], sided(gets, 'ruled'))
    yield* compare(bench, 'list 20 by a rule', [peer, load(list('plain'))], load(list('ruled')))
    const update = 'update by rule, schema and unique field'
    yield* compare(bench, update, ['plain PUT', sided(puts, 'plain')], sided(puts, 'whole'))
    const books = (query = ''): Side => load([{ path: `/store/books?limit=20${query}` }])
    yield* compare(bench, 'expand 20 × 1', ['list', books()], books('&expand=author'))
    yield* compare(bench, 'expand 20 × 3', ['list', books()], books('&expand=author.boss.boss'))

    const other = () =>
      askFor(server.base, `GET /store/plain/${ids.get('plain')![0]}`, { token: server.token })
    for (const [title, hostile] of HOSTILE) {
      const meanwhile = async (collection: string) =>
        probe(sendFor(bench, server, collection, hostile), other)
      yield* compare(
        bench,
        `a get beside ${title}`,
        ['the same without a schema', { pid: server.pid, measure: () => meanwhile('plain') }],
        { pid: server.pid, measure: () => meanwhile('strict') },
      )
    }

    bench.note('lists of many documents, until there is an index for their rule')
    const call = () => askFor(server.base, 'GET /store/many?limit=20', { token: server.token })
    const before = await timesOf(call, 5)
    let times = before
    for (let i = 0; i < 100 && quantile(times, 0.5) > quantile(before, 0.5) / 4; i++)
      times = await timesOf(call, 20)
    times = await timesOf(call, CALLS)
    const name = `list 20 of ${bench.settings.documents.toLocaleString('en')} by a rule, one caller`
    for (const [figure, share] of [
      ['p50 ms', 0.5],
      ['p99 ms', 0.99],
    ] as const)
      yield rowOf(
        name,
        figure,
        ['before its automatic index', quantile(before, share)],
        quantile(times, share),
      )
    await server.stop()

    for (const [title, start] of [
      ['empty', {}],
      ['fifty', fifty],
    ] as const)
      await (await bench.open('sixwire', title, { config: start })).stop()
    yield* compare(
      bench,
      'start with 50 collections',
      ['without', startSide(bench, 'empty', {})],
      startSide(bench, 'fifty', fifty),
    )
  },
})

/** Creates the same document again and again for a round, one at a time. */
async function sendFor({ settings }: Bench, { base, token }: Server, collection: string, body: object) {
  const text = JSON.stringify(body)
  const end = performance.now() + settings.seconds * 1000
  while (performance.now() < end) await ask(base, `POST /store/${collection}`, { token, body: text })
}

async function timesOf(call: () => Promise<unknown>, count: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const begun = performance.now()
    await call()
    times.push(performance.now() - begun)
  }
  return times
}
