import type { Bench, Row, Server } from '../bench.ts'
import { compare, quantile, rowOf } from '../compare.ts'
import { loadSide, type LoadRequest } from '../load.ts'
import { askFor, register } from '../servers.ts'

const CONNECTIONS = 16
const BATCH = 1000
const CALLS = 100
const WORDS = 30_000
const TEXT_WORDS = 30

const searched = { read: 'user', create: 'user', search: ['title', 'text'] }
const config = {
  store: { collections: { plain: { read: 'user', create: 'user' }, searched, many: searched } },
}

/** Numbers below 1 that are the same in each run. */
function* randoms(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}

const numbers = randoms(25)
const random = (): number => numbers.next().value

/** As in a language: the word with the number n is about 1/n as frequent as the first one. */
const anyWord = (): string => wordOf(Math.floor(WORDS ** random()))
const wordOf = (n: number): string => `w${n.toString(36)}x`
const textOf = (count: number): string => Array.from({ length: count }, anyWord).join(' ')
const anyDocument = () => ({
  title: textOf(8),
  text: textOf(TEXT_WORDS),
  number: Math.floor(random() * 1000),
})

/** What is searched for: a word in a few documents, in many, in nearly all; several; a phrase; a beginning. */
const searches: Readonly<Record<string, () => string>> = {
  'a word': () => wordOf(100 + Math.floor(random() * 10_000)),
  'two words': () => `${anyWord()} ${wordOf(10 + Math.floor(random() * 100))}`,
  'a phrase': () => `"${anyWord()} ${anyWord()}"`,
  'a beginning': () => `${wordOf(1000 + Math.floor(random() * 10_000)).slice(0, -2)}*`,
  'a frequent word': () => wordOf(10 + Math.floor(random() * 30)),
  'a word of most documents': () => wordOf(1),
}

/** Searches in many documents, and what the words cost a create. */
export async function* measureSearch(bench: Bench): AsyncGenerator<Row> {
  // The first account is an administrator, whom no rule concerns.
  const first = await bench.open('sixwire', 'search', { config })
  const server = { ...first, token: await register(first.base, 1) }
  const creates = (collection: string) => loadSide(bench, server, createsIn(collection), CONNECTIONS)
  yield* compare(
    bench,
    'create with two searched fields',
    ['the same without', creates('plain')],
    creates('searched'),
  )
  const { documents } = bench.settings
  bench.note('seeding documents to search')
  for (let made = 0; made < documents; made += BATCH)
    await askFor(server.base, 'POST /store/many', {
      token: server.token,
      body: Array.from({ length: Math.min(BATCH, documents - made) }, anyDocument),
    })
  const list = await timesOf(server, '', () => '')
  for (const [title, searchFor] of Object.entries(searches))
    for (const [of, filter] of [
      ['', ''],
      [' with a filter', `&filter=${encodeURIComponent('{"number":{"$lt":500}}')}`],
    ] as const) {
      const times = await timesOf(server, filter, () => `&search=${encodeURIComponent(searchFor())}`)
      const name = `${title} in ${documents.toLocaleString('en')}${of}`
      for (const [figure, share] of [
        ['p50 ms', 0.5],
        ['p99 ms', 0.99],
      ] as const)
        yield rowOf(name, figure, ['list 20', quantile(list, share)], quantile(times, share))
    }
}

const createsIn = (collection: string): LoadRequest[] =>
  Array.from({ length: 500 }, () => ({
    method: 'POST',
    path: `/store/${collection}`,
    body: JSON.stringify(anyDocument()),
  }))

async function timesOf({ base, token }: Server, filter: string, search: () => string): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < CALLS; i++) {
    const path = `/store/many?limit=20${filter}${search()}`
    const begun = performance.now()
    await askFor(base, `GET ${path}`, { token })
    times.push(performance.now() - begun)
  }
  return times
}
