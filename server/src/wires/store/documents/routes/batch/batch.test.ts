import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { defineErrors } from '../../../../../base/errors.ts'
import type { Sql } from '../../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import type { SystemDocuments } from '../../definition/system-api.ts'
import { assertEntries, readyIndexes } from '../../storage/indexes/indexes.fixture.ts'

const shopErrors = defineErrors({ sold_out: [409, 'There are no more of these.'] })
const AT_ONCE = 8

type Operation = { op: string; collection: string; [part: string]: unknown }
type Person = Awaited<ReturnType<TestApp['register']>>

eachEngine((engine) => {
  const after: string[] = []
  const config = {
    store: {
      quota: { user: '500000' },
      user: { teams: { collection: 'members', filter: { user: '$$user._id' }, value: 'team' } },
      collections: {
        customers: {
          read: 'user',
          update: 'user',
          delete: 'user',
          unique: ['email', ['shop', 'number'], { fields: ['handle'], ignoreCase: true }],
          schema: { type: 'object', properties: { email: { type: 'string' } } },
          search: ['about'],
        },
        orders: {
          read: 'user',
          create: 'user',
          update: 'user',
          delete: 'user',
          relations: { customer: { to: 'customers' }, parent: { to: 'orders', onDelete: 'cascade' } },
        },
        told: { read: 'user', create: 'admin', update: 'user', showTo: { code: 'owner' }, unique: ['code'] },
        coded: { read: 'user', update: 'user', create: 'user', hidden: ['code'], unique: ['code'] },
        fixed: { read: 'user', update: 'admin', create: 'admin', unique: ['name'] },
        own: { read: 'owner', unique: ['name'] },
        named: { read: 'user', update: 'user', delete: 'user', ids: 'client' },
        members: { read: 'user', create: 'user', update: 'user', delete: 'user' },
        plans: { read: [{ team: '$$user.teams' }], create: [{ team: '$$user.teams' }] },
        goods: {
          read: 'user',
          update: 'user',
          delete: 'user',
          hooks: {
            async beforeCreate({
              next,
              documents,
            }: {
              next: Record<string, unknown>
              documents: SystemDocuments
            }) {
              if (next['sold']) throw shopErrors.sold_out()
              const id = next['of'] as string | undefined
              const customer = id === undefined ? undefined : await documents.get('customers', id)
              if (customer && !customer['isKnown'])
                await documents.update('customers', id!, { isKnown: true })
              next['checked'] = true
            },
            afterCreate({ document }: { document: Record<string, unknown> }) {
              after.push(`create ${String(document['n'])}`)
            },
            afterDelete({ before }: { before: Record<string, unknown> }) {
              after.push(`delete ${String(before['n'])}`)
            },
          },
        },
      },
    },
  } as unknown as Config

  let app: TestApp
  let replica: TestApp
  let ann: Person
  let bob: Person
  const ending = endOfSuite()
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    app = await startApp(ending, engine, { config, databaseUrl })
    replica = await startApp(ending, engine, { config, databaseUrl })
    await app.register()
    ann = await app.register()
    bob = await app.register()
  })

  const ask = (method: string, path: string, body?: unknown, of = app, who = ann): Promise<TestAnswer> =>
    of.request(method, `/store/${path}`, { token: who.token, body })
  const send = (operations: readonly Operation[], of = app, who = ann) =>
    ask('POST', 'batch', { operations }, of, who)
  async function done(operations: readonly Operation[]) {
    const answered = await send(operations)
    assert.equal(answered.status, 200, answered.text)
    return answered.body.results
  }
  async function made(collection: string, document: object, who = ann): Promise<{ _id: string }> {
    const answered = await ask('POST', collection, document, app, who)
    assert.equal(answered.status, 201, answered.text)
    return answered.body
  }
  const numberOf = async (collection: string): Promise<number> =>
    (await ask('GET', `${collection}?limit=1`)).body.total
  let unique = 0
  const name = () => `n${++unique}`

  test('answers what single calls would, in order', async () => {
    const { _id: id } = await made('customers', { email: name(), n: 1 })
    const { _id: gone } = await made('customers', { email: name() })
    const results = await done([
      { op: 'create', collection: 'orders', document: { customer: id } },
      { op: 'update', collection: 'customers', id, ifMatch: '"1"', document: { m: 2 } },
      { op: 'patch', collection: 'customers', id, document: { $inc: { n: 5 } } },
      { op: 'replace', collection: 'customers', id, ifMatch: '"3"', document: { k: 3 } },
      { op: 'delete', collection: 'customers', id: gone },
      { op: 'upsert', collection: 'named', id: name(), document: { n: 1 } },
    ])
    assert.deepEqual(
      results.map(({ status, etag, collection }: Record<string, unknown>) => [status, etag, collection]),
      [
        [201, '"1"', 'orders'],
        [200, '"2"', 'customers'],
        [200, '"3"', 'customers'],
        [200, '"4"', 'customers'],
        [200, undefined, 'customers'],
        [201, '"1"', 'named'],
      ],
    )
    assert.deepEqual([results[1].document.m, results[2].document.n, results[2].document.m], [2, 6, 2])
    const stored = await ask('GET', `customers/${id}`)
    assert.deepEqual(stored.body, results[3].document)
    assert.equal(stored.headers.get('etag'), '"4"')
    assert.equal((await ask('GET', `customers/${gone}`)).status, 404)
    assert.deepEqual((await ask('GET', `orders/${results[0]._id}`)).body, results[0].document)
  })

  test('if one is refused nothing is done, and the answer is its error with its index', async () => {
    const taken = name()
    const { _id: id } = await made('customers', { email: taken })
    await made('orders', { customer: id })
    const { _id: foreign } = await made('own', { name: name() }, bob)
    const faults: [operation: object, status: number, message: RegExp][] = [
      [{ op: 'update', collection: 'own', id: foreign, document: {} }, 404, /not found/],
      [{ op: 'create', collection: 'plans', document: { team: 'no' } }, 403, /rules of this collection/],
      [
        { op: 'create', collection: 'customers', document: { email: 1 } },
        400,
        /^Operation 1: \/body\/operations\/1\/document\/email/,
      ],
      [{ op: 'create', collection: 'customers', document: { email: taken } }, 409, /same email/],
      [{ op: 'create', collection: 'orders', document: { customer: 'nobody' } }, 400, /\/document\/customer/],
      [{ op: 'delete', collection: 'customers', id }, 409, /refer to it/],
      [{ op: 'update', collection: 'customers', id, ifMatch: '"7"', document: {} }, 412, /has changed/],
      [{ op: 'create', collection: 'goods', document: { sold: true } }, 409, /no more of these/],
      [
        { op: 'patch', collection: 'customers', id, document: { $inc: { email: 1 } } },
        400,
        /document\/\$inc/,
      ],
      [
        { op: 'upsert', collection: 'customers', by: 'about', document: { about: 1 } },
        400,
        /1\/by: about is not unique/,
      ],
    ]
    const before = await numberOf('customers')
    for (const [operation, status, message] of faults) {
      const answered = await send([
        { op: 'create', collection: 'customers', document: { email: name() } },
        operation as Operation,
        { op: 'create', collection: 'customers', document: { email: name() } },
      ])
      assert.equal(answered.status, status, answered.text)
      assert.match(answered.body.error.message, message)
      assert.equal(answered.body.error.details.operation, 1, answered.text)
    }
    const large = { op: 'create', collection: 'own', document: { text: 'x'.repeat(180_000) } }
    const full = await send([large, large, large, large], app, bob)
    assert.deepEqual([full.status, full.body.error.details.operation], [413, 2], full.text)
    assert.equal((await ask('GET', 'own?limit=1', undefined, app, bob)).body.total, 1)
    assert.equal(await numberOf('customers'), before)
    await readyIndexes(app)
    await assertEntries(app)
  })

  test('documents of more than 16 MiB together are refused: few operations could write many of them', async () => {
    const [id, text] = [name(), 'x'.repeat(400_000)]
    assert.equal((await ask('PUT', `named/${id}?upsert=true`, { text })).status, 201)
    const patches = Array.from({ length: 50 }, () => ({
      op: 'patch',
      collection: 'named',
      id,
      document: { $inc: { n: 1 } },
    }))
    const refused = await send(patches)
    assert.deepEqual([refused.status, refused.body.error.details.operation], [413, 41], refused.text)
    assert.equal((await ask('GET', `named/${id}`)).headers.get('etag'), '"1"')
    const results = await done(patches.slice(0, 20))
    assert.equal(results.at(-1).document.n, 20)
  })

  test('deletions that delete more than 2000 others together are refused', async () => {
    const key = { token: (await app.app.service('auth').keys.create('key', ['store'])).key }
    const parents: string[] = []
    for (let i = 0; i < 3; i++) {
      const { _id: parent } = await made('orders', {})
      parents.push(parent)
      const body = Array.from({ length: 700 }, () => ({ parent }))
      const answered = await app.request('POST', '/store/orders', { token: key.token, body })
      assert.equal(answered.status, 201, answered.text)
    }
    const deletions = parents.map((id) => ({ op: 'delete', collection: 'orders', id }))
    const refused = await send(deletions)
    assert.deepEqual([refused.status, refused.body.error.details.operation], [413, 2], refused.text)
    await done(deletions.slice(1))
    assert.equal((await ask('GET', `orders/${parents[0]}`)).status, 200)
  })

  test('a body of another form is refused', async () => {
    const create = { op: 'create', collection: 'orders', document: {} }
    const id = 'x'
    const bodies: [operations: unknown, path: RegExp][] = [
      [Array.from({ length: 101 }, () => create), /\/body\/operations/],
      [[], /\/body\/operations/],
      [[create, { ...create, op: 'wrong' }], /\/body\/operations\/1\/op/],
      [[{ ...create, collection: 'batch' }], /\/body\/operations\/0\/collection/],
      [[{ ...create, id }], /\/body\/operations\/0\/id/],
      [[{ op: 'update', collection: 'orders', document: {} }], /\/body\/operations\/0\/id/],
      [[{ op: 'update', collection: 'orders', id }], /\/body\/operations\/0\/document/],
      [[{ op: 'delete', collection: 'orders', id, document: {} }], /\/body\/operations\/0\/document/],
      [[{ op: 'upsert', collection: 'orders', document: {} }], /\/body\/operations\/0\/id/],
    ]
    for (const [operations, path] of bodies) {
      const answered = await ask('POST', 'batch', { operations })
      assert.equal(answered.status, 400, answered.text)
      assert.match(answered.body.error.message, path)
    }
    assert.equal((await app.request('POST', '/store/batch', { body: { operations: [create] } })).status, 401)
  })

  test('later operations find what earlier ones have done', async () => {
    const [email, handle] = [name(), name()]
    const [customer] = await done([
      { op: 'create', collection: 'customers', document: { email, about: 'old words' } },
    ])
    const id = name()
    const [, , , another] = await done([
      { op: 'delete', collection: 'customers', id: customer._id },
      { op: 'create', collection: 'customers', document: { email, handle } },
      { op: 'upsert', collection: 'customers', by: 'email', document: { email, about: 'new words' } },
      {
        op: 'upsert',
        collection: 'customers',
        by: 'handle',
        document: { handle: handle.toUpperCase(), n: 1 },
      },
    ])
    assert.deepEqual([another.status, another.etag, another.document.email], [200, '"3"', email])
    assert.equal((await ask('GET', 'customers?search=new')).body.total, 1)
    await done([
      { op: 'upsert', collection: 'named', id, document: { n: 1 } },
      { op: 'delete', collection: 'named', id },
      { op: 'upsert', collection: 'named', id, document: { m: 1 } },
      { op: 'update', collection: 'named', id, ifMatch: '"1"', document: { k: 1 } },
    ])
    const { body } = await ask('GET', `named/${id}`)
    assert.deepEqual([body.n, body.m, body.k], [undefined, 1, 1])
    // Small creates are one statement, large ones are not.
    for (const text of ['', 'x'.repeat(30_000)]) {
      const creates = ['twice', name(), name(), name(), name(), 'twice'].map((sent) => ({
        op: 'create',
        collection: 'customers',
        document: { email: sent, text },
      }))
      const twice = await send(creates, app, bob)
      assert.deepEqual([twice.status, twice.body.error.details], [409, { fields: ['email'], operation: 5 }])
    }
    // A value that two documents exchange is free in between.
    const [one, other] = await done([
      { op: 'create', collection: 'customers', document: { email: name() } },
      { op: 'create', collection: 'customers', document: { email: name() } },
    ])
    await done([
      { op: 'patch', collection: 'customers', id: one._id, document: { email: null } },
      { op: 'update', collection: 'customers', id: other._id, document: { email: one.document.email } },
      { op: 'update', collection: 'customers', id: one._id, document: { email: other.document.email } },
      { op: 'update', collection: 'customers', id: one._id, document: { email: name() } },
      { op: 'update', collection: 'customers', id: one._id, document: { email: other.document.email } },
    ])
    await readyIndexes(app)
    await assertEntries(app)
  })

  test('the field that another document has is named, not one that the batch has freed', async () => {
    const [email, handle, free] = [name(), name(), name()]
    await made('customers', { handle })
    const [one] = await done([{ op: 'create', collection: 'customers', document: {} }])
    const [two] = await done([{ op: 'create', collection: 'customers', document: { email } }])
    for (const operations of [
      [
        { op: 'update', collection: 'customers', id: one._id, document: { email: free } },
        { op: 'patch', collection: 'customers', id: one._id, document: { email: null } },
        { op: 'upsert', collection: 'customers', by: 'email', document: { email: free, handle } },
      ],
      [
        { op: 'delete', collection: 'customers', id: two._id },
        { op: 'upsert', collection: 'customers', by: 'email', document: { email, handle } },
      ],
    ]) {
      const refused = await send(operations)
      assert.equal(refused.status, 409, refused.text)
      assert.deepEqual(refused.body.error.details, { fields: ['handle'], operation: operations.length - 1 })
    }
  })

  test('relations lead to documents of the same batch, and deletions find them', async () => {
    const key = { token: (await app.app.service('auth').keys.create('key', ['store'])).key }
    const parent = name()
    const batch = (operations: readonly Operation[]) =>
      app.request('POST', '/store/batch', { token: key.token, body: { operations } })
    const created = await batch([
      { op: 'create', collection: 'orders', document: { _id: parent } },
      { op: 'create', collection: 'orders', document: { parent, n: 1 } },
      { op: 'create', collection: 'orders', document: { parent, n: 2 } },
    ])
    assert.equal(created.status, 200, created.text)
    const [, first, second] = created.body.results
    const removed = await batch([
      { op: 'create', collection: 'orders', document: { parent: first._id } },
      { op: 'patch', collection: 'orders', id: second._id, document: { parent: null } },
      { op: 'delete', collection: 'orders', id: parent },
      { op: 'create', collection: 'orders', document: { _id: parent, n: 3 } },
      { op: 'update', collection: 'orders', id: second._id, document: { parent } },
    ])
    assert.equal(removed.status, 200, removed.text)
    assert.equal((await ask('GET', `orders/${first._id}`)).status, 404)
    assert.equal((await ask('GET', `orders/${removed.body.results[0]._id}`)).status, 404)
    assert.equal((await ask('GET', `orders/${second._id}`)).body.parent, parent)
    const customer = name()
    const refused = await batch([
      { op: 'create', collection: 'customers', document: { _id: customer } },
      { op: 'create', collection: 'orders', document: { customer } },
      { op: 'delete', collection: 'customers', id: customer },
    ])
    assert.deepEqual([refused.status, refused.body.error.details.operation], [409, 2])
    await readyIndexes(app)
    await assertEntries(app)
  })

  test('rules find values of store.user that earlier operations have written', async () => {
    const plan = { op: 'create', collection: 'plans', document: { team: 'red' } }
    assert.equal((await send([plan])).status, 403)
    const [member] = await done([
      { op: 'create', collection: 'members', document: { user: ann._id, team: 'red' } },
      plan,
    ])
    const left = await send([{ op: 'delete', collection: 'members', id: member._id }, plan])
    assert.deepEqual([left.status, left.body.error.details.operation], [403, 1])
  })

  test('hooks before a write change it or refuse it, and those after it run once it is committed', async () => {
    after.length = 0
    const refused = await send([
      { op: 'create', collection: 'goods', document: { n: 1 } },
      { op: 'create', collection: 'goods', document: { sold: true } },
    ])
    assert.equal(refused.body.error.code, 'SOLD_OUT')
    const [one] = await done([{ op: 'create', collection: 'goods', document: { n: 2 } }])
    assert.equal(one.document.checked, true)
    await done([
      { op: 'delete', collection: 'goods', id: one._id },
      { op: 'create', collection: 'goods', document: { n: 3 } },
    ])
    await until(() => after.length === 3)
    assert.deepEqual(after.toSorted(), ['create 2', 'create 3', 'delete 2'])
  })

  test('a hook may change a document that its batch changes: all is decided again', async () => {
    const { _id: id } = await made('customers', { n: 1 })
    const [, customer] = await done([
      { op: 'create', collection: 'goods', document: { of: id } },
      { op: 'patch', collection: 'customers', id, document: { $inc: { n: 1 } } },
    ])
    assert.deepEqual([customer.document.n, customer.document.isKnown, customer.etag], [2, true, '"3"'])
  })

  test('an Idempotency-Key repeats the answer, without what may not be read any more', async () => {
    const operations = [
      { op: 'create', collection: 'members', document: { user: ann._id, team: 'blue' } },
      { op: 'create', collection: 'plans', document: { team: 'blue' } },
    ]
    const call = { token: ann.token, body: { operations }, headers: { 'idempotency-key': name() } }
    const first = await app.request('POST', '/store/batch', call)
    const again = await replica.request('POST', '/store/batch', call)
    assert.deepEqual([again.status, again.body], [200, first.body])
    const [member, plan] = first.body.results
    assert.equal(plan.document.team, 'blue')
    assert.equal((await ask('DELETE', `members/${member._id}`)).status, 200)
    const later = await replica.request('POST', '/store/batch', call)
    assert.deepEqual(Object.keys(later.body.results[1].document), ['_id', 'createdAt', 'updatedAt'])
  })

  test('a batch that was committed is not done again if its process ends before it answers', async (t) => {
    const { _id: id } = await made('customers', { n: 0 })
    const operations = [{ op: 'patch', collection: 'customers', id, document: { $inc: { n: 1 } } }]
    const call = { token: ann.token, body: { operations }, headers: { 'idempotency-key': name() } }
    const { db } = app.app
    const write = db.write.bind(db)
    t.mock.method(db, 'write', (query: Sql) =>
      query.render(engine.name).text.includes('update sixwire_idempotency')
        ? Promise.reject(new Error('the process ends here'))
        : write(query),
    )
    assert.equal((await app.request('POST', '/store/batch', call)).status, 500)
    const again = await replica.request('POST', '/store/batch', call)
    assert.deepEqual([again.status, again.body.results[0].document.n], [200, 1], again.text)
  })

  test('batches at once are done one after the other', async () => {
    const [one, other] = [await made('customers', { n: 0 }), await made('customers', { n: 0 })]
    const batches = Array.from({ length: 4 * AT_ONCE }, (_, i) => {
      const ids = i % 2 === 0 ? [one, other] : [other, one]
      const operations = ids.map(({ _id: id }) => ({
        op: 'patch',
        collection: 'customers',
        id,
        document: { $inc: { n: 1 } },
      }))
      return send(operations, i % 3 === 0 ? replica : app)
    })
    for (const { status, text } of await Promise.all(batches)) assert.equal(status, 200, text)
    for (const { _id: id } of [one, other])
      assert.equal((await ask('GET', `customers/${id}`)).body.n, 4 * AT_ONCE)
  })

  test('of upserts of one value at once one creates the document', async () => {
    const email = name()
    const calls = Array.from({ length: 4 * AT_ONCE }, (_, i) => {
      const of = i % 2 === 0 ? app : replica
      return i % 3 === 0
        ? send(
            [{ op: 'upsert', collection: 'customers', by: 'email', document: { email, [`f${i}`]: i } }],
            of,
          )
        : ask('PUT', 'customers?upsert=true&by=email', { email, [`f${i}`]: i }, of)
    })
    const statuses = (await Promise.all(calls)).map(({ status, body, text }) => {
      assert.ok(status < 300, text)
      return body.results?.[0].status ?? status
    })
    assert.deepEqual(
      statuses.filter((status) => status !== 200),
      [201],
    )
    const { data } = (await ask('GET', `customers?filter=${JSON.stringify({ email })}`)).body
    assert.equal(data.length, 1)
    assert.equal(Object.keys(data[0]).filter((field) => /^f\d+$/.test(field)).length, calls.length)
  })

  test('a document is changed, or created, by its unique fields', async () => {
    const [email, number] = [name(), name()]
    const put = (query: string, body: object, who = ann) => ask('PUT', query, body, app, who)
    assert.equal((await put('customers?by=email', { email })).status, 404)
    const created = await put('customers?by=email&upsert=true', { email, shop: 1, number, a: 1 })
    assert.deepEqual([created.status, created.headers.get('etag')], [201, '"1"'])
    const changed = await put('customers?by=number,shop&upsert=true', { shop: 1, number, b: 2 })
    assert.deepEqual([changed.status, changed.body.a, changed.body.b], [200, 1, 2])
    const replaced = await put('customers?by=email&replace=true', { email, c: 3 })
    assert.deepEqual(
      [replaced.status, replaced.body.a, replaced.body._id],
      [200, undefined, created.body._id],
    )
    for (const body of [{}, { email: null }, { email: [] }, { email: ['a', 'b'] }])
      assert.equal((await put('customers?by=email&upsert=true', body)).status, 400)
    assert.equal((await put('customers?by=shop&upsert=true', { shop: 1 })).status, 400)
    const own = name()
    await made('own', { name: own }, bob)
    assert.equal((await put('own?by=name&upsert=true', { name: own })).status, 409)
    assert.equal((await put('own?by=name', { name: own })).status, 404)
    // What the caller may not see or do is not told by the answer.
    const key = { token: (await app.app.service('auth').keys.create('key', ['store'])).key }
    for (const [collection, field, status] of [
      ['coded', 'code', 400],
      ['fixed', 'name', 403],
    ] as const) {
      const value = name()
      await app.request('POST', `/store/${collection}`, { token: key.token, body: { [field]: value } })
      for (const query of ['', '&upsert=true'])
        for (const sent of [value, name()])
          assert.equal((await put(`${collection}?by=${field}${query}`, { [field]: sent })).status, status)
      const stranger = await app.request('PUT', `/store/${collection}?by=${field}`, {
        body: { [field]: value },
      })
      assert.equal(stranger.status, 401)
    }
    // Nor that of another one's document has a value that is not shown.
    const code = name()
    await app.request('POST', '/store/told', { token: key.token, body: { code } })
    for (const sent of [code, name()]) {
      assert.equal((await put('told?by=code', { code: sent })).status, 404)
      assert.equal((await put('told?by=code&upsert=true', { code: sent })).status, 403)
      const patched = await ask('PATCH', 'told?by=code', { $setOnInsert: { code: sent } })
      assert.equal(patched.status, 404)
    }
    const matched = { token: ann.token, body: { email: name() }, headers: { 'if-match': '"1"' } }
    assert.equal((await app.request('PUT', '/store/customers?by=email&upsert=true', matched)).status, 404)
  })

  test('an upsert applies operators: to no fields if it creates the document', async () => {
    const email = name()
    const operators = {
      $setOnInsert: { email, first: 'yes' },
      $set: { last: 1 },
      $inc: { n: 2 },
      $push: { log: 'a' },
      $unset: { gone: '' },
    }
    const patch = (query: string, body: object) => ask('PATCH', query, body)
    assert.equal((await patch('customers?by=email', operators)).status, 404)
    const created = await patch('customers?by=email&upsert=true', operators)
    assert.equal(created.status, 201, created.text)
    const { _id: id, createdAt, updatedAt, ...fields } = created.body
    assert.equal(createdAt, updatedAt)
    assert.deepEqual(fields, { email, first: 'yes', last: 1, log: ['a'], n: 2 })
    const again = { ...operators, $setOnInsert: { email, first: 'no', other: 1 } }
    const changed = await patch('customers?by=email&upsert=true', again)
    assert.deepEqual([changed.status, changed.body._id, changed.headers.get('etag')], [200, id, '"2"'])
    assert.deepEqual([changed.body.first, changed.body.other, changed.body.n], ['yes', undefined, 4])
    // A merge patch too, and in a batch on what it has created itself.
    const merged = await patch('customers?by=email&upsert=true', { email, first: null })
    assert.deepEqual([merged.status, merged.body.first], [200, undefined])
    const [one, two] = await done([
      { op: 'upsert', collection: 'named', id: name(), document: { $setOnInsert: { a: 1 }, $inc: { n: 1 } } },
      { op: 'upsert', collection: 'customers', by: 'email', document: again },
    ])
    assert.deepEqual([one.status, one.document.a, one.document.n], [201, 1, 1])
    assert.deepEqual([two.status, two.document._id, two.document.n], [200, id, 6])
    const byId = await patch(`named/${one._id}?upsert=true`, { $setOnInsert: { a: 2 }, $inc: { n: 1 } })
    assert.deepEqual([byId.status, byId.body.a, byId.body.n], [200, 1, 2])
    assert.equal((await patch(`named/${name()}?upsert=true`, { $inc: { n: 1 } })).status, 201)
    // It must fit a new document, and name one value.
    for (const body of [{ $inc: { n: 1 } }, { $set: { email }, $inc: { 'lines.$[]': 1 } }])
      assert.equal((await patch('customers?by=email&upsert=true', body)).status, 400)
    // Hidden fields are neither set nor looked for.
    for (const operator of ['$set', '$setOnInsert', '$min'])
      assert.equal((await patch('coded?by=code&upsert=true', { [operator]: { code: name() } })).status, 400)
    await readyIndexes(app)
    await assertEntries(app)
  })

  test('upserts with operators at once make one document, and each counts', async () => {
    const email = name()
    const document = { $setOnInsert: { email }, $inc: { n: 1 } }
    const calls = Array.from({ length: 2 * AT_ONCE }, (_, i) =>
      i % 3 === 0
        ? send(
            [{ op: 'upsert', collection: 'customers', by: 'email', document }],
            i % 2 === 0 ? app : replica,
          )
        : ask('PATCH', 'customers?by=email&upsert=true', document, i % 2 === 0 ? app : replica),
    )
    for (const { status, text } of await Promise.all(calls)) assert.ok(status < 300, text)
    const { data } = (await ask('GET', `customers?filter=${JSON.stringify({ email })}`)).body
    assert.deepEqual([data.length, data[0].n], [1, calls.length])
  })
})
