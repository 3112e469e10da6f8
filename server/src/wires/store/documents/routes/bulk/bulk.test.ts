// Many documents changed or deleted by one call, each as by a single write.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { Type } from '../../../../../base/schema.ts'
import { defineErrors } from '../../../../../base/errors.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'
import { assertEntries, readyIndexes } from '../../storage/indexes/indexes.fixture.ts'

const refusals = defineErrors({ is_kept: [409, 'This book is kept.'] })
const config = {
  store: {
    collections: {
      books: {
        schema: Type.Object({ n: Type.Integer(), shelf: Type.Optional(Type.String()) }),
        unique: ['slug'],
        hooks: {
          beforeDelete({ before }) {
            if (before['kept']) throw refusals.is_kept()
          },
          beforeUpdate({ next }) {
            next['touched'] = true
          },
        },
      },
      loans: { relations: { book: { to: 'books' } } },
    },
  },
} satisfies Config

type Loose = TestAnswer['body']

someEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let [admin, ann]: { _id: string; token: string }[] = []
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
    await readyIndexes(app)
  })
  const ask = (method: string, path: string, body?: unknown, token = admin!.token) =>
    app.request(method, `/store/${path}`, { token, body })
  const bulk = (body: unknown, token?: string) => ask('POST', 'books/bulk', body, token)
  const books = async (filter: object = {}): Promise<Loose[]> =>
    (await ask('GET', `books?sort=n&limit=1000&filter=${encodeURIComponent(JSON.stringify(filter))}`)).body
      .data
  async function create(collection: string, body: unknown): Promise<Loose> {
    const answered = await ask('POST', collection, body)
    assert.equal(answered.status, 201, answered.text)
    return answered.body
  }
  const entries = async (action: string) => {
    const rows = await app.app.db.all<{ target: string; actor_id: string; new_value: string }>(
      sql`select target, actor_id, new_value from sixwire_audit where action = ${action} order by id`,
    )
    return rows.map(({ new_value, ...row }) => ({ ...row, after: JSON.parse(new_value) }))
  }

  beforeEach(async () => {
    await app.app.db.write(sql`delete from store_documents where collection in ('books', 'loans')`)
    await app.app.db.write(sql`delete from store_entries`)
  })
  const twenty = () =>
    create(
      'books',
      Array.from({ length: 20 }, (_, n) => ({ n, slug: `s${n}` })),
    )

  test('a dry run tells the exact number, and another number is refused', async () => {
    await twenty()
    const request = { filter: { n: { $lt: 7 } }, action: 'delete' }
    const dry = await bulk({ ...request, dryRun: true })
    assert.deepEqual([dry.status, dry.body.matched, dry.body.remaining], [200, 7, 7], dry.text)
    const refused = await bulk({ ...request, expected: 6 })
    assert.deepEqual([refused.status, refused.body.error.details], [409, { documents: 7 }])
    assert.equal((await books()).length, 20)
    const { body } = await bulk({ ...request, expected: 7 })
    assert.deepEqual(body, { matched: 7, changed: 7, skipped: 0, failed: 0, remaining: 0, errors: [] })
    assert.deepEqual(
      (await books()).map(({ n }) => n),
      Array.from({ length: 13 }, (_, i) => i + 7),
    )
    await assertEntries(app)
    assert.deepEqual((await entries('documents.deleted')).at(-1), {
      target: 'collection:books',
      actor_id: admin!._id,
      after: { documents: 7, filter: { n: { $lt: 7 } } },
    })
  })

  test('fields are set and removed, by ids or a filter, as single writes do it', async () => {
    const { data } = await twenty()
    const ids = data.slice(0, 3).map(({ _id }: { _id: string }) => _id)
    const set = await bulk({ ids, action: 'set', set: { shelf: 'B', 'place.row': 2 }, expected: 3 })
    assert.equal(set.body.changed, 3, set.text)
    for (const { shelf, place, touched } of await books({ _id: { $in: ids } }))
      assert.deepEqual([shelf, place, touched], ['B', { row: 2 }, true])
    const unset = await bulk({
      filter: { shelf: 'B' },
      action: 'unset',
      unset: ['place.row', 'shelf'],
      expected: 3,
    })
    assert.equal(unset.body.changed, 3, unset.text)
    assert.deepEqual(await books({ shelf: { $exists: true } }), [])
    assert.deepEqual((await books({ place: {} })).length, 3)
    assert.deepEqual((await entries('documents.changed')).at(-1)!.after.unset, ['place.row', 'shelf'])
  })

  test('$ is the element that the filter matched, and $expr chooses documents', async () => {
    const lines = [
      { sku: 'a', count: 1 },
      { sku: 'b', count: 2 },
    ]
    await create('books', [
      { n: 1, kind: 'lined', lines },
      { n: 2, kind: 'lined', lines: lines.toReversed() },
      { n: 5, kind: 'lined', most: 4, lines },
    ])
    const filter = { kind: 'lined', 'lines.sku': 'b', $expr: { $gt: ['$n', '$most'] } }
    const set = await bulk({ filter, action: 'set', set: { 'lines.$.count': 9 }, expected: 3 })
    assert.equal(set.body.changed, 3, set.text)
    const counts = async () =>
      (await books({ kind: 'lined' })).map(({ lines: of }) => of.map(({ count = 0 }: Loose) => count))
    assert.deepEqual(await counts(), [
      [1, 9],
      [9, 1],
      [1, 9],
    ])
    const over = { 'lines.count': 9, kind: 'lined', $expr: { $lt: ['$most', '$n'] }, most: { $exists: true } }
    const unset = await bulk({ filter: over, action: 'unset', unset: ['lines.$.count'], expected: 1 })
    assert.equal(unset.body.changed, 1, unset.text)
    assert.deepEqual((await counts())[2], [1, 0])
    for (const [body, at, message] of [
      [{ filter: { kind: 'lined' } }, '/body/$set/lines.$.count', /no condition/],
      [{ ids: ['01hzzzzzzzzzzzzzzzzzzzzzzz'] }, '/body/$set/lines.$.count', /no.*filter|here is none/],
    ] as const) {
      const answered = await bulk({ ...body, action: 'set', set: { 'lines.$.count': 9 }, expected: 0 })
      assert.equal(answered.status, 400, answered.text)
      const [issue] = answered.body.error.details.issues
      assert.equal(issue.path, at)
      assert.match(issue.message, message)
    }
  })

  test('what schema, unique fields, hooks and relations refuse stays, and is told', async () => {
    const { data } = await twenty()
    const wrong = await bulk({ filter: {}, action: 'set', set: { n: 'text' }, expected: 20 })
    assert.deepEqual([wrong.body.changed, wrong.body.failed, wrong.body.errors.length], [0, 20, 20])
    assert.match(wrong.body.errors[0].message, /^\/n: /)
    const same = await bulk({
      filter: { n: { $in: [4, 5] } },
      action: 'set',
      set: { slug: 'same' },
      expected: 2,
    })
    assert.deepEqual([same.body.changed, same.body.failed, same.body.errors[0].code], [1, 1, 'CONFLICT'])
    await ask('PATCH', `books/${data[1]._id}`, { kept: true })
    await create('loans', { book: data[2]._id })
    const deleted = await bulk({ filter: { n: { $lt: 4 } }, action: 'delete', expected: 4 })
    assert.deepEqual([deleted.body.changed, deleted.body.failed], [2, 2])
    assert.deepEqual(
      new Map(deleted.body.errors.map(({ _id, code }: Loose) => [_id, code])),
      new Map([
        [data[1]._id, 'IS_KEPT'],
        [data[2]._id, 'CONFLICT'],
      ]),
    )
    await assertEntries(app)
  })

  test('a call goes on behind the cursor of the last one', async () => {
    const { data } = await twenty()
    const cursor = data[11]._id
    const rest = await bulk({ filter: {}, action: 'set', set: { shelf: 'C' }, cursor, expected: 8 })
    assert.deepEqual([rest.body.matched, rest.body.changed], [8, 8], rest.text)
    assert.deepEqual(
      (await books({ shelf: 'C' })).map(({ n }) => n),
      [12, 13, 14, 15, 16, 17, 18, 19],
    )
  })

  test('only documents of one owner are meant, if it is given', async () => {
    await twenty()
    await ask('POST', 'books', { n: 1 }, ann!.token)
    const own = { filter: {}, owner: ann!._id, action: 'set', set: { shelf: 'A' } }
    assert.equal((await bulk({ ...own, dryRun: true })).body.matched, 1)
    assert.equal((await bulk({ ...own, expected: 1 })).body.changed, 1)
    assert.equal((await books({ shelf: 'A' })).length, 1)
  })

  test('a document that has changed since it was counted stays as it is', async () => {
    await twenty()
    // Each of the two changes what the other has counted, or comes behind it.
    const [one, other] = await Promise.all([
      bulk({ filter: { shelf: null }, action: 'set', set: { shelf: 'one' }, expected: 20 }),
      bulk({ filter: { shelf: null }, action: 'set', set: { shelf: 'other' }, expected: 20 }),
    ])
    const changed = [one, other].map(({ status, body }) => (status === 200 ? body.changed : 0))
    assert.equal(changed[0] + changed[1], 20)
    assert.equal((await books({ shelf: 'one' })).length, changed[0])
    for (const { _id } of await books())
      assert.equal((await ask('GET', `books/${_id}`)).headers.get('etag'), '"2"')
  })

  test('only administrators call it, with a whole request, and with a proof to delete', async () => {
    await twenty()
    const all = { filter: {}, action: 'delete', expected: 20 }
    assert.equal((await bulk(all, ann!.token)).status, 403)
    for (const body of [
      { action: 'delete', expected: 20 },
      { ...all, ids: [admin!._id] },
      { filter: {}, action: 'delete' },
      { filter: {}, action: 'set', expected: 20 },
      { ...all, set: { n: 1 } },
      { filter: { n: { $no: 1 } }, action: 'delete', dryRun: true },
      { filter: {}, action: 'set', set: { $n: 1 }, expected: 20 },
    ])
      assert.equal((await bulk(body)).status, 400, JSON.stringify(body))
    app.clock.advance(11 * 60_000)
    assert.equal((await bulk({ ...all, dryRun: true })).body.matched, 20)
    const { status, body } = await bulk(all)
    assert.deepEqual([status, body.error.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
    assert.equal((await books()).length, 20)
  })
})
