// Lists of collections with indexes find what the rules say, in their order, whatever indexes there are.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import fc from 'fast-check'

import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import type { Json } from '../../language/query/filter.ts'
import { matches } from '../../language/query/reference.fixture.ts'
import { sorted } from '../../language/query/sort.fixture.ts'
import { declaredIndexes, type Definition } from '../entries/index-definition.ts'
import { entriesOf, UnindexableError } from '../entries/entries.ts'
import { changeIndexes, insertIndexSql } from '../sql/index-rows.ts'
import { anyList, document, indexes as anyIndexes, type List } from './indexed-lists.fixture.ts'
import { assertEntries, readyIndexes } from './indexes.fixture.ts'

// What is planned is the same for both engines.
const RUNS = isLongRun ? { sqlite: 1_500, postgres: 1_000 } : { sqlite: 24, postgres: 8 }
const LISTS_OF_MANY = isLongRun ? 2_000 : 25
// Many enough for reads that documents found by an index do not take at once.
const MANY = 900
const PAGES_OF_MANY = 40
const URL_LENGTH = 12_000
/** Characters of texts of which four make a key that is not cut. */
const SHORT = 200
const SHARED = Array.from({ length: 2 * RUNS.sqlite }, (_, i) => `shared${i}`)

type Fields = { [name: string]: Json }
type Row = Fields & { _id: string }

const scenario = fc.record({
  isShared: fc.boolean(),
  indexes: anyIndexes,
  isUnique: fc.boolean(),
  // Those of unique fields; automatic ones are of neither kind.
  kinds: fc.array(fc.constantFrom('dense', 'sparse', 'sparse', 'caseless'), { minLength: 4, maxLength: 4 }),
  // An index with one key that is cut answers less.
  isShort: fc.oneof({ weight: 2, arbitrary: fc.constant(true) }, fc.constant(false)),
  isAutomatic: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
  before: fc.array(fc.record({ fields: document, isOthers: fc.boolean() }), { maxLength: 16, size: 'max' }),
  after: fc.array(fc.record({ fields: document, isOthers: fc.boolean() }), { maxLength: 8, size: 'max' }),
  changes: fc.array(fc.tuple(fc.nat(), fc.option(document, { nil: undefined })), { maxLength: 6 }),
  lists: fc.array(anyList, { minLength: 1, maxLength: 8, size: 'max' }),
})

type Scenario = typeof scenario extends fc.Arbitrary<infer One> ? One : never

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  const tokens = { owner: '', admin: '' }
  before(async () => {
    app = await startApp(ending, engine, {
      config: { store: { collections: Object.fromEntries(SHARED.map((name) => [name, 'shared'])) } },
      environment: { SIXWIRE_POLICY: 'guarded' },
    })
    // The first account is the administrator's.
    tokens.admin = (await app.register()).token
    tokens.owner = (await app.register()).token
  })

  let collections = 0
  /** A collection of documents of two owners, some of which are older than its indexes. */
  async function collectionOf(one: Scenario) {
    const number = collections++
    const isShared = one.isShared && number < SHARED.length
    const name = isShared ? SHARED[number]! : `owned${number}`
    const definitions = definitionsOf(name, one, !isShared)
    // An automatic index fails instead of refusing a document.
    const canHold = (fields: Fields): boolean => one.isAutomatic || isHeld(fields, definitions)
    const cut = (fields: Fields): Fields => (one.isShort ? shortened(fields) : fields)
    const rows: { row: Row; isOthers: boolean }[] = []
    const write = async (method: string, path: string, options: { body?: unknown; token: string }) => {
      const answered = await app.request(method, `/store/${path}`, options)
      assert.ok(answered.status < 300, answered.text)
      return answered.body
    }

    async function create(documents: readonly { fields: Fields; isOthers: boolean }[]): Promise<void> {
      for (const isOthers of [true, false]) {
        const mine = documents.filter(
          (document) => document.isOthers === isOthers && canHold(document.fields),
        )
        if (mine.length === 0) continue
        const body = mine.map(({ fields }, i) => ({ ...cut(fields), n: rows.length + i }))
        const { data } = await write('POST', name, { body, token: isOthers ? tokens.admin : tokens.owner })
        rows.push(...(data as Row[]).map((row) => ({ row, isOthers })))
      }
    }

    await create(one.before)
    if (one.isAutomatic) await addAutomatic(app, definitions)
    // Builds the automatic ones too, and deletes those of the last collection.
    await app.app.service('store').indexes.declare(one.isAutomatic ? [] : definitions)
    await readyIndexes(app)
    await create(one.after)
    for (const [which, fields] of one.changes) {
      const at = which % rows.length
      const found = rows[at]
      if (!found) continue
      const path = `${name}/${found.row._id}`
      if (fields === undefined) {
        await write('DELETE', path, { token: tokens.admin })
        rows.splice(at, 1)
      } else if (canHold({ ...found.row, ...fields }))
        found.row = await write('PUT', path, { body: cut(fields), token: tokens.admin })
    }
    return { name, isShared, rows: rows.toSorted((a, b) => (a.row._id < b.row._id ? -1 : 1)) }
  }

  async function assertList(
    { name, isShared, rows }: Awaited<ReturnType<typeof collectionOf>>,
    { filter, sort, limit, offset, isOfAll }: List,
  ): Promise<void> {
    if (encodeURIComponent(JSON.stringify(filter ?? '')).length > URL_LENGTH) return
    const mine = rows.flatMap(({ row, isOthers }) =>
      (isShared || isOfAll || !isOthers) && (filter === undefined || matches(row, filter)) ? [row] : [],
    )
    const order = sorted(mine, sort ?? '-createdAt')
    const about = JSON.stringify({ filter, sort })
    const ask = (more: object) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(filter && { filter: JSON.stringify(filter) }),
        ...(sort !== undefined && { sort }),
        ...more,
      })
      return app.request('GET', `/store/${name}?${query.toString()}`, {
        token: isOfAll ? tokens.admin : tokens.owner,
      })
    }
    const read = async (more: object = {}) => {
      const { status, body, text } = await ask(more)
      assert.equal(status, 200, `${about}: ${text}`)
      return body as { data: Row[]; total: number; nextCursor?: string }
    }
    if (order === 'refused') {
      assert.equal((await ask({})).status, 400, `${about} is not refused`)
      return
    }
    const expected = order.map((i) => mine[i]!)
    const first = await read()
    assert.equal(first.total, expected.length, `total of ${about}`)
    const walked = [...first.data]
    for (let { nextCursor } = first; nextCursor !== undefined;) {
      const page = await read({ cursor: nextCursor })
      assert.equal(page.total, expected.length, `total of a later page of ${about}`)
      walked.push(...page.data)
      nextCursor = page.nextCursor
      assert.ok(walked.length <= expected.length, `${about} goes on after its end`)
    }
    assert.deepEqual(walked, expected, about)
    assert.deepEqual(
      (await read({ offset })).data,
      expected.slice(offset, offset + limit),
      `offset: ${about}`,
    )
  }

  test('any list of a collection with any indexes is what the rules say', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (one) => {
        const collection = await collectionOf(one)
        await readyIndexes(app)
        await assertEntries(app)
        for (const aimed of one.lists) await assertList(collection, aimed(one.indexes))
        await dropAutomatic(app, collection.name)
      }),
      { numRuns: RUNS[engine.name] },
    )
  })

  test('any list of many documents is what the rules say', async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    t.diagnostic(`documents by seed ${seed}`)
    const indexes = [['a'], ['b', '-c'], ['a.a', 'a.b'], ['-a.b', 'n'], ['c', 'a', '-b']]
    const collection = await collectionOf({
      indexes,
      before: fc
        .sample(document, { numRuns: MANY, seed })
        .map((fields, i) => ({ fields, isOthers: i % 3 === 0 })),
      isShared: false,
      isUnique: false,
      kinds: ['sparse', 'dense', 'sparse', 'dense', 'sparse'],
      isShort: seed % 2 === 0,
      isAutomatic: false,
      after: [],
      changes: [],
      lists: [],
    })
    await fc.assert(
      fc.asyncProperty(anyList, async (aimed) => {
        const { limit, offset, ...asked } = aimed(indexes)
        await assertList(collection, {
          ...asked,
          limit: limit * PAGES_OF_MANY,
          offset: offset * PAGES_OF_MANY,
        })
      }),
      { numRuns: LISTS_OF_MANY },
    )
  })
})

/** One with `n`, which is in no document twice, may be unique. */
const definitionsOf = (
  collection: string,
  { indexes, isUnique, kinds, isAutomatic }: Pick<Scenario, 'indexes' | 'isUnique' | 'kinds' | 'isAutomatic'>,
  isByOwner: boolean,
): Definition[] => {
  const different = [...new Map(indexes.map((fields) => [ascending(fields).join(','), fields])).values()]
  const declared = different.map((fields) => ({
    fields: fields.join(','),
    unique: isUnique && fields.some((name) => /^-?n$/.test(name)),
  }))
  return declaredIndexes({ [collection]: declared }, () => isByOwner).map((one, i): Definition => {
    if (isAutomatic || kinds[i] === 'dense') return one
    const isCaseless = kinds[i] === 'caseless'
    return { ...one, isSparse: !isCaseless || one.isUnique, ignoreCase: isCaseless, byOwner: false }
  })
}

/** The same index, as it is read from the other end where its first field descends. */
const ascending = (fields: readonly string[]): readonly string[] =>
  fields[0]!.startsWith('-')
    ? fields.map((name) => (name.startsWith('-') ? name.slice(1) : `-${name}`))
    : fields

const shortened = (fields: Fields): Fields =>
  JSON.parse(JSON.stringify(fields), (_, value: Json) =>
    typeof value === 'string' ? value.slice(0, SHORT) : value,
  ) as Fields

/** Whether all indexes can hold a document: no two of their fields are in different arrays. */
function isHeld(document: Fields, definitions: readonly Definition[]): boolean {
  try {
    for (const one of definitions) entriesOf(document, one)
    return true
  } catch (error) {
    if (error instanceof UnindexableError) return false
    throw error
  }
}

/** Adds indexes as the server does by itself; `declare` has them built. */
const addAutomatic = async ({ app: { db }, clock }: TestApp, definitions: readonly Definition[]) =>
  definitions[0] &&
  changeIndexes(
    db,
    definitions[0].collection,
    definitions.map((one) => insertIndexSql({ ...one, isUnique: false }, 'automatic', clock.now())),
  )

const dropAutomatic = ({ app: { db } }: TestApp, collection: string) =>
  changeIndexes(db, collection, [
    sql`
      update store_indexes set state = 'dropped' where collection = ${collection} and source = 'automatic'`,
  ])
