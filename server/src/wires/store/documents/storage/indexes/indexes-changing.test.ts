// Documents are written and listed on two replicas while indexes are added, built, failed and dropped.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { TestApp } from '../../../../../testing/app.ts'
import { startReplicas } from '../../../../../testing/auth.ts'
import { someEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import { until } from '../../../../../testing/until.ts'
import type { Json } from '../../language/query/filter.ts'
import { matches } from '../../language/query/reference.fixture.ts'
import { sorted } from '../../language/query/sort.fixture.ts'
import { declaredIndexes } from '../entries/index-definition.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

const ROUNDS = isLongRun ? 3 : 1
const DOCUMENTS = isLongRun ? 600 : 60
const WRITES_BETWEEN = isLongRun ? 200 : 30
const LISTS_BETWEEN = isLongRun ? 30 : 8
const PAGE = isLongRun ? 100 : 20
const [WRITERS, READERS] = [4, 3]

const INDEXES = [
  ['year,-title', 'tags', { fields: 'serial', unique: true }],
  [],
  ['year', '-serial', 'tags,title', 'author.name,year'],
  // Two of them have documents that they cannot hold.
  ['year,-title', 'tags,year', 'author.name', { fields: 'year', unique: true }],
]
// With and without entries of the documents that lack a year.
const SPARSE = [true, undefined, false, true]
const FILTERS: { [field: string]: Json }[] = [
  {},
  { year: 1973 },
  { year: { $in: [1, null] } },
  { year: { $gt: 0, $lte: 3 } },
  { year: 2, title: { $gte: '5' } },
  { tags: 'a' },
  { tags: 3, year: { $lt: 1973 } },
  { tags: { $gte: 'a' }, title: { $in: ['1', '2', '3'] } },
  { 'author.name': 1 },
  { serial: { $gte: 20, $lt: 45 } },
  { year: { $in: [0, 1, 1973] }, serial: { $gte: 10, $lt: 100 } },
  { year: { $ne: 2 }, tags: [] },
]
const SORTS = [undefined, 'year,-title', '-year,title', 'tags', '-tags', 'author.name,-serial', '-serial']

type Row = { [name: string]: Json } & { _id: string }
type Listed = { data: Row[]; total: number; nextCursor?: string }

someEngine((engine) => {
  const ending = endOfSuite()
  let replicas: TestApp[] = []
  let token = ''
  before(async () => {
    replicas = await startReplicas(ending, engine)
    ;({ token } = await replicas[0]!.register())
  })

  test('lists and entries are those of the documents', async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    t.diagnostic(`seed ${seed}`)
    const random = randomFrom(seed)
    const ask = (method: string, path: string, body?: unknown) =>
      replicas[random(replicas.length)]!.request(method, `/store/${path}`, { token, body })

    let serial = 0
    const fields = () => ({
      serial: serial++,
      year: [1973, null, random(5), [random(3), random(3)], undefined][random(5)],
      title: String(random(20)),
      tags: Array.from({ length: random(4) }, () => ['a', 'b', 3, {}, []][random(5)]),
      author: random(2) === 0 ? { name: random(3) } : [{ name: 1 }, 5],
    })
    const made = (): Record<string, unknown>[] => Array.from({ length: DOCUMENTS }, fields)
    const { body } = await ask('POST', 'books', made())
    // Nobody changes these: each list has those of them that match, exactly once.
    const still = body.data as Row[]
    const moving = ((await ask('POST', 'books', made())).body.data as Row[]).map(({ _id }) => _id)

    async function write(): Promise<void> {
      const at = random(moving.length)
      const path = `books/${moving[at]}`
      const kind = random(6)
      if (kind < 2) {
        const isOne = kind === 0
        const { status, text, body } = await ask('POST', 'books', isOne ? fields() : [fields(), fields()])
        if (status === 201) moving.push(...[body.data ?? body].flat().map(({ _id }) => _id))
        else assert.ok([400, 409].includes(status), text)
      } else if (kind === 2 && moving.length > DOCUMENTS / 2) {
        const [id] = moving.splice(at, 1)
        const { status, text } = await ask('DELETE', `books/${id}`)
        assert.equal(status, 200, text)
      } else {
        const { author, ...some } = fields()
        if (random(4) === 0) some.serial = 100_000 + random(20)
        const { status, text } = await ask(kind === 3 ? 'PATCH' : 'PUT', path, some)
        // It may have been deleted meanwhile.
        assert.ok([200, 400, 404, 409].includes(status), text)
      }
    }

    /** Lists until the end; a single page where there is a limit of all documents. */
    async function list(filter: { [field: string]: Json }, sort: string | undefined, limit: number) {
      const pages: Listed[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; cursor = pages.at(-1)!.nextCursor) {
        const query = new URLSearchParams({ limit: String(limit), filter: JSON.stringify(filter) })
        if (sort !== undefined) query.set('sort', sort)
        if (cursor !== '') query.set('cursor', cursor)
        const path = `books?${query.toString()}`
        let answer = await ask('GET', path)
        // All readers are one user, who may hold so many large pages at once: on a slow machine it waits for its own.
        for (; answer.status === 429; answer = await ask('GET', path)) await delay(100)
        assert.equal(answer.status, 200, answer.text)
        const { body } = answer
        pages.push(body)
      }
      return pages
    }

    async function assertList(): Promise<void> {
      const [filter, sort] = [FILTERS[random(FILTERS.length)]!, SORTS[random(SORTS.length)]]
      const limit = random(2) === 0 ? 1_000 : PAGE
      const pages = await list(filter, sort, limit)
      const about = `${JSON.stringify(filter)} ${sort} by ${limit}`
      const expected = still.filter((row) => matches(row, filter)).map(({ _id }) => _id)
      const ids = new Set(still.map(({ _id }) => _id))
      const found = pages.flatMap(({ data }) => data.map(({ _id }) => _id)).filter((id) => ids.has(id))
      assert.deepEqual(found.toSorted(), expected.toSorted(), about)
      for (const { data, total } of pages) {
        assert.ok(total >= expected.length, `total of ${about}`)
        assertPage(data, filter, sort, about)
      }
    }

    let [writes, lists, isOver] = [0, 0, false]
    const keepOn = async (work: () => Promise<void>, count: () => void): Promise<void> => {
      while (!isOver) {
        await work()
        count()
      }
    }
    const running = Promise.all([
      ...Array.from({ length: WRITERS }, () => keepOn(write, () => writes++)),
      ...Array.from({ length: READERS }, () => keepOn(assertList, () => lists++)),
    ])
    try {
      for (let round = 0; round < ROUNDS * INDEXES.length; round++) {
        const enough = [writes + WRITES_BETWEEN, lists + LISTS_BETWEEN] as const
        const books = INDEXES[round % INDEXES.length]!
        const isSparse = SPARSE[round % SPARSE.length]
        const [other] = declaredIndexes({ books: ['year,serial'] }, () => false)
        await replicas[random(2)]!.app.service('store').indexes.declare([
          ...declaredIndexes({ books }, () => false),
          ...(isSparse === undefined ? [] : [{ ...other!, isSparse }]),
        ])
        await Promise.race([running, until(() => writes >= enough[0] && lists >= enough[1])])
      }
    } finally {
      isOver = true
      await running
    }

    await readyIndexes(replicas[0]!)
    await assertEntries(replicas[0]!)
    assert.deepEqual(
      (await indexesOf(replicas[0]!))
        .filter(({ source }) => source === 'declared')
        .map(({ names, state }) => [names, state]),
      [
        ['year,-title', 'ready'],
        ['tags,year', 'failed'],
        ['author.name', 'ready'],
        ['year', 'failed'],
        ['year,serial', 'ready'],
      ],
    )
    const all = (await list({}, undefined, 1_000)).flatMap(({ data }) => data)
    for (const filter of FILTERS)
      for (const sort of SORTS) {
        const pages = await list(filter, sort, 1_000)
        const found = pages.flatMap(({ data }) => data)
        assert.equal(found.length, all.filter((row) => matches(row, filter)).length, JSON.stringify(filter))
        assert.equal(pages[0]!.total, found.length, JSON.stringify(filter))
        assertPage(found, filter, sort, `${JSON.stringify(filter)} ${sort}`)
      }
  })
})

/** Documents of one moment match, are in order, and are there once. */
function assertPage(
  data: readonly Row[],
  filter: { [field: string]: Json },
  sort = '-createdAt',
  about = '',
) {
  assert.ok(
    data.every((row) => matches(row, filter)),
    `${about} answers a document that does not match`,
  )
  const byId = data.toSorted((a, b) => (a._id < b._id ? -1 : 1))
  assert.equal(new Set(data.map(({ _id }) => _id)).size, data.length, `${about} answers a document twice`)
  const order = sorted(byId, sort)
  if (order === 'refused') throw new Error(`${sort} is refused`)
  assert.deepEqual(
    data.map(({ _id }) => _id),
    order.map((i) => byId[i]!._id),
    about,
  )
}

/** Whole numbers below a limit, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
