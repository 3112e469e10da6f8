// Two replicas do random batches on a few documents at once. Each batch counts in one document, so its place in the order is
// known: a model that does the acknowledged ones in that order has the same results, the same documents and the same log.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import { pick, randomFrom, type Random } from '../../../changes/random-writes.fixture.ts'
import { assertEntries, readyIndexes } from '../../storage/indexes/indexes.fixture.ts'

const CALLERS = 6
const BATCHES = isLongRun ? 300 : 12
const OPERATIONS = 6
const IDS = ['one', 'two', 'three', 'four']
const VALUES = ['x', 'y', 'z']
const COUNTER = { op: 'patch', collection: 'things', id: 'counter', document: { $inc: { n: 1 } } }

type Fields = {
  _id?: string
  n?: number
  m?: number
  k?: number
  u?: string | null
  of?: string
  $inc?: { n: number }
}
type Operation = {
  readonly op: string
  readonly collection: string
  readonly id?: string
  readonly by?: 'u'
  readonly ifMatch?: string
  readonly document?: Fields
}
type Result = {
  status: number
  collection: string
  _id: string
  etag?: string
  document?: Fields & { createdAt: string; updatedAt: string }
}
type Done = { readonly operations: readonly Operation[]; readonly results: readonly Result[] }

/** An operation that other batches, and others of its own, may make impossible. */
function anyOperation(random: Random): Operation {
  const id = pick(random, IDS)
  const things = { collection: 'things', id }
  const choices: (() => Operation)[] = [
    () => ({ op: 'create', collection: 'things', document: { _id: id, n: 0 } }),
    () => ({ op: 'create', collection: 'parts', document: { of: id } }),
    () => ({ op: 'upsert', ...things, document: { m: random(9) } }),
    () => ({
      op: 'upsert',
      collection: 'things',
      by: 'u',
      document: { u: pick(random, VALUES), k: random(9) },
    }),
    () => ({ op: 'patch', ...things, document: { $inc: { n: 1 } } }),
    () => ({ op: 'patch', ...things, document: { u: pick(random, [...VALUES, null]) } }),
    () => ({ op: 'update', ...things, ifMatch: `"${1 + random(4)}"`, document: { m: random(9) } }),
    () => ({ op: 'replace', ...things, document: { n: random(9) } }),
    () => ({ op: 'delete', ...things }),
  ]
  return pick(random, choices)()
}

eachEngine((engine) => {
  const ending = endOfSuite()
  let replicas: TestApp[]
  let token: string
  before(async () => {
    const collections = {
      things: { read: 'user', unique: ['u'] },
      parts: { read: 'user', relations: { of: { to: 'things' } } },
    } satisfies NonNullable<Config['store']>['collections']
    const databaseUrl = await engine.migratedUrl()
    const start = () => startApp(ending, engine, { config: { store: { collections } }, databaseUrl })
    replicas = [await start(), await start()]
    token = (await replicas[0]!.app.service('auth').keys.create('key', ['store'])).key
  })
  const ask = (app: TestApp, method: string, path: string, body?: unknown) =>
    app.request(method, `/store/${path}`, { token, body })

  test('batches on two replicas agree with a serial order, and so does the log', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const about = `seed ${seed}`
    await ask(replicas[0]!, 'PUT', 'things/counter?upsert=true', { n: 0 })
    const done: Done[] = []
    let refused = 0
    async function runCaller(caller: number): Promise<void> {
      const random = randomFrom(seed + caller)
      for (let i = 0; i < BATCHES; i++) {
        const operations = [
          COUNTER,
          ...Array.from({ length: 1 + random(OPERATIONS) }, () => anyOperation(random)),
        ]
        const { status, body, text } = await ask(replicas[caller % 2]!, 'POST', 'batch', { operations })
        if (status === 200) done.push({ operations, results: body.results })
        else {
          refused++
          assert.ok([400, 404, 409, 412].includes(status), `${about}: ${text}`)
          assert.ok(body.error.details.operation > 0, `${about}: ${text}`)
        }
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, (_, caller) => runCaller(caller)))
    done.sort((a, b) => a.results[0]!.document!.n! - b.results[0]!.document!.n!)
    assert.ok(done.length > 0 && refused > 0, about)

    const model = new Model()
    for (const [i, { operations, results }] of done.entries())
      for (const [at, operation] of operations.entries())
        model.run(operation, results[at]!, `${about}: batch ${i}, operation ${at}`)
    for (const collection of ['things', 'parts']) {
      const { data } = (await ask(replicas[0]!, 'GET', `${collection}?limit=1000&sort=_id`)).body
      const stored = data.map(({ createdAt, updatedAt, ...fields }: Record<string, unknown>) => fields)
      assert.deepEqual(stored, model.all(collection), about)
    }
    await readyIndexes(replicas[0]!)
    await assertEntries(replicas[0]!)

    const rows = await replicas[0]!.app.db.all<{ id: string; version: number }>(sql`
      select id, version from store_changes where collection in ('things', 'parts')
      order by ${sql.either({ sqlite: sql`seq`, postgres: sql`xid, seq` })}`)
    const batches: { id: string; version: number }[][] = []
    for (const row of rows.slice(1)) {
      if (row.id === 'counter') batches.push([])
      batches.at(-1)!.push(row)
    }
    batches.sort((a, b) => a[0]!.version - b[0]!.version)
    const expected = done.map(({ results }) =>
      results.map(({ _id: id, etag }) => ({ id, version: etag ? Number(etag.slice(1, -1)) : 0 })),
    )
    assert.deepEqual(batches, expected, about)
  })
})

/** The documents as they must be after some operations. */
class Model {
  readonly #documents = new Map<string, { version: number; fields: Fields }>([
    ['things/counter', { version: 1, fields: { n: 0 } }],
  ])

  all(collection: string): object[] {
    return [...this.#documents]
      .filter(([key]) => key.startsWith(`${collection}/`))
      .map(([key, { fields }]) => ({ _id: key.slice(collection.length + 1), ...fields }))
      .toSorted((a, b) => (a._id < b._id ? -1 : 1))
  }

  run({ op, collection, id, by, ifMatch, document = {} }: Operation, result: Result, about: string): void {
    const { _id, ...sent } = document
    const withValue = [...this.#documents].find(
      ([, { fields }]) => by !== undefined && fields[by] === sent[by],
    )
    const key = id === undefined ? (withValue?.[0] ?? `${collection}/${result._id}`) : `${collection}/${id}`
    const old = this.#documents.get(key)
    assert.equal(`${result.collection}/${result._id}`, key, about)
    if (op === 'delete') {
      assert.ok(old, about)
      for (const { fields } of this.#documents.values()) assert.notEqual(fields.of, id, about)
      this.#documents.delete(key)
      return
    }
    if (op === 'create') assert.equal(old, undefined, about)
    else if (op !== 'upsert') assert.ok(old, about)
    if (ifMatch) assert.equal(ifMatch, `"${old!.version}"`, about)
    if (sent.of !== undefined) assert.ok(this.#documents.has(`things/${sent.of}`), about)
    const fields: Fields = op === 'replace' ? sent : { ...old?.fields, ...sent }
    if (fields.$inc) {
      delete fields.$inc
      fields.n = (fields.n ?? 0) + 1
    }
    if (fields.u === null) delete fields.u
    for (const [other, one] of this.#documents)
      if (other !== key && fields.u !== undefined) assert.notEqual(one.fields.u, fields.u, about)
    const version = (old?.version ?? 0) + 1
    this.#documents.set(key, { version, fields })
    const { createdAt, updatedAt, _id: shownId, ...shown } = result.document!
    assert.deepEqual([result.status, result.etag, shown], [old ? 200 : 201, `"${version}"`, fields], about)
  }
}
