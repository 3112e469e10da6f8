import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { Type } from '../../../../base/schema.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { isLongRun } from '../../../../testing/long-run.ts'

const config = {
  store: {
    collections: {
      free: {},
      shared: { read: { members: '$$user._id' }, update: { members: '$$user._id' }, create: 'user' },
      goods: {
        read: 'user',
        update: 'user',
        hidden: ['cost', 'lines.margin'],
        readOnly: ['status'],
        schema: Type.Object(
          {
            title: Type.String({ minLength: 1, pattern: '^(a+)+$' }),
            price: Type.Optional(Type.Integer({ minimum: 0 })),
            tags: Type.Optional(Type.Array(Type.Unknown(), { uniqueItems: true })),
            cost: Type.Optional(Type.Integer()),
            status: Type.Optional(Type.String()),
            lines: Type.Optional(Type.Array(Type.Unknown())),
          },
          { additionalProperties: false },
        ),
      },
      codes: { read: 'owner', unique: ['code'] },
      cases: {
        read: 'user',
        create: 'user',
        update: { before: 'user', after: { editors: { $ne: '$$user._id' } } },
        hidden: ['meta', 'lines.margin', 'source'],
        showTo: { note: { editors: '$$user._id' } },
        hooks: {
          beforeCreate({ next }) {
            if (next['source'] === undefined) next['source'] = next['from']
          },
          beforeUpdate({ next }) {
            if (next['bug']) throw new TypeError('a bug in the hook')
          },
        },
        schema: Type.Object({
          title: Type.Optional(Type.String()),
          source: Type.Optional(Type.String()),
          note: Type.Optional(Type.String()),
          meta: Type.Optional(Type.Object({ n: Type.Integer() }, { additionalProperties: false })),
          lines: Type.Optional(
            Type.Array(Type.Object({ sku: Type.String(), margin: Type.Optional(Type.Integer()) })),
          ),
        }),
      },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>

/** How many calls a race has. */
const AT_ONCE = isLongRun ? 200 : 50

const pathsOf = ({ status, body, text }: TestAnswer): string[] => {
  assert.equal(status, 400, text)
  return body.error.details.issues.map((one: { path: string }) => one.path)
}

eachEngine((engine) => {
  let app: TestApp
  let replica: TestApp
  let [admin, ann, bob]: Person[] = []
  let key: { readonly token: string }
  const ending = endOfSuite()
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    app = await startApp(ending, engine, { config, databaseUrl })
    replica = await startApp(ending, engine, { config, databaseUrl })
    admin = await app.register()
    ann = await app.register()
    bob = await app.register()
    key = { token: (await app.app.service('auth').keys.create('key', ['store'])).key }
  })
  const ask = (
    method: string,
    path: string,
    body?: unknown,
    who: { readonly token: string } = ann!,
    of = app,
  ): Promise<TestAnswer> => of.request(method, `/store/${path}`, { token: who.token, body })
  async function made(collection: string, fields: object, who = ann!): Promise<string> {
    const answered = await ask('POST', collection, fields, who)
    assert.equal(answered.status, 201, answered.text)
    return answered.body._id
  }

  test(`${AT_ONCE} increments at once all count, over two replicas`, async () => {
    const id = await made('free', { n: 0 })
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) =>
        ask('PATCH', `free/${id}`, { $inc: { n: 1 } }, ann, i % 2 === 0 ? app : replica),
      ),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal((await ask('GET', `free/${id}`)).body.n, AT_ONCE)
  })

  test(`a user removed from the members writes nothing afterwards, ${AT_ONCE} times on two replicas`, async () => {
    const members = [ann!._id, bob!._id]
    const answer = await ask(
      'POST',
      'shared',
      Array.from({ length: AT_ONCE }, () => ({ members })),
    )
    const versionOf = ({ headers }: TestAnswer): number => Number(headers.get('etag')!.slice(1, -1))
    await Promise.all(
      answer.body.data.map(async ({ _id }: { _id: string }, i: number) => {
        const [first, second] = i % 2 === 0 ? [app, replica] : [replica, app]
        const keep = { members: [ann!._id, bob!._id], note: 'mine' }
        const [removal, patch] = await Promise.all([
          ask('PATCH', `shared/${_id}`, { members: [ann!._id] }, ann, first),
          ask('PATCH', `shared/${_id}`, i % 3 === 0 ? keep : { note: 'mine' }, bob, second),
        ])
        assert.equal(removal.status, 200)
        // It was written before the removal, or not at all.
        if (patch.status === 200) assert.ok(versionOf(patch) < versionOf(removal))
        else assert.equal(patch.status, 404, patch.text)
        const { body } = await ask('GET', `shared/${_id}`, undefined, admin)
        assert.deepEqual(body.members, [ann!._id])
        assert.equal(body.note, patch.status === 200 ? 'mine' : undefined)
      }),
    )
  })

  test('a patch of operators is applied, one of fields is merged, and both at once is refused', async () => {
    const id = await made('free', { a: { b: 1 }, tags: ['x'] })
    const body = {
      $set: { 'a.c': 2 },
      $unset: { 'a.b': '' },
      $push: { tags: { $each: ['z', 'y'], $sort: 1 } },
    }
    assert.equal((await ask('PATCH', `free/${id}`, body)).status, 200)
    const answered = await ask('PATCH', `free/${id}`, { a: { d: 3 } })
    assert.deepEqual([answered.body.a, answered.body.tags], [{ c: 2, d: 3 }, ['x', 'y', 'z']])
    assert.deepEqual(pathsOf(await ask('PATCH', `free/${id}`, { $set: { a: 1 }, b: 1 })), ['/body/b'])
    assert.deepEqual(pathsOf(await ask('PATCH', `free/${id}`, { $inc: { 'tags.0': 1 } })), [
      '/body/$inc/tags.0',
    ])
    const large = { $set: { text: 'x'.repeat(1_040_000) } }
    assert.equal((await ask('PATCH', `free/${id}`, large)).status, 200)
    assert.equal((await ask('PATCH', `free/${id}`, { $set: { more: 'x'.repeat(20_000) } })).status, 413)
  })

  test('every operator is atomic: nothing is lost of two writers at two replicas', async () => {
    const started = Date.now()
    const each = 10
    const id = await made('free', {
      product: 1,
      low: 0,
      high: 0,
      popped: Array.from({ length: 3 * each }, (_, i) => i),
      pulled: Array.from({ length: 3 * each }, (_, i) => i),
      elements: [0, { n: 0 }],
      old: 'name',
    })
    const patchOf = (writer: number, i: number) => ({
      $mul: { product: 2 },
      $min: { low: -(writer * each + i) },
      $max: { high: writer * each + i },
      $pop: { popped: i % 2 === 0 ? 1 : -1 },
      $pullAll: { pulled: [writer * each + i] },
      $inc: { 'elements.$[].n': 1 },
      $rename: { old: `new${writer}` },
      $currentDate: { [`at${writer}`]: true },
      $setOnInsert: { created: true },
    })
    assert.deepEqual(pathsOf(await ask('PATCH', `free/${id}`, patchOf(0, 0))), ['/body/$inc/elements.$[].n'])
    assert.equal((await ask('PATCH', `free/${id}`, { $set: { 'elements.0': {} } })).status, 200)
    const answers = await Promise.all(
      Array.from({ length: 2 * each }, (_, i) =>
        ask('PATCH', `free/${id}`, patchOf(i % 2, i >> 1), ann, i % 2 === 0 ? app : replica),
      ),
    )
    for (const { status, text } of answers) assert.equal(status, 200, text)
    const { new0, new1, at0, at1, _id, createdAt, updatedAt, ...document } = (await ask('GET', `free/${id}`))
      .body
    assert.deepEqual([_id, createdAt < updatedAt], [id, true])
    assert.deepEqual(document, {
      product: 2 ** (2 * each),
      low: 1 - 2 * each,
      high: 2 * each - 1,
      popped: Array.from({ length: each }, (_, i) => each + i),
      pulled: Array.from({ length: each }, (_, i) => 2 * each + i),
      elements: [{ n: 2 * each }, { n: 2 * each }],
    })
    // The first of them took it.
    assert.deepEqual(
      [new0, new1].filter((name) => name !== undefined),
      ['name'],
    )
    for (const at of [at0, at1]) {
      assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.ok(Date.parse(at) >= started)
    }
  })

  test('operators write, compare and sort by nothing that is not shown', async () => {
    const lines = [
      { sku: 'a', margin: 1 },
      { sku: 'b', margin: 2 },
    ]
    const id = await made('goods', { title: 'a', cost: 5, lines, status: 'new' }, admin)
    for (const [operators, at] of [
      [{ $set: { cost: 5 } }, '/body/$set/cost'],
      [{ $inc: { cost: 0 } }, '/body/$inc/cost'],
      [{ $unset: { cost: '' } }, '/body/$unset/cost'],
      [{ $set: { 'cost.x': 1 } }, '/body/$set/cost.x'],
      [{ $set: { 'lines.0.margin': 1 } }, '/body/$set/lines.0.margin'],
      [{ $set: { 'lines.0': { sku: 'a', margin: 1 } } }, '/body/$set/lines.0/margin'],
      [{ $push: { lines: { sku: 'c', margin: 3 } } }, '/body/$push/lines/margin'],
      [{ $push: { lines: { $each: [{}, { margin: 3 }] } } }, '/body/$push/lines/$each/1/margin'],
      [{ $push: { lines: { $each: [], $sort: { margin: 1 } } } }, '/body/$push/lines'],
      [{ $push: { lines: { $each: [], $sort: 1 } } }, '/body/$push/lines'],
      [{ $pull: { lines: { margin: { $gt: 1 } } } }, '/body/$pull/lines'],
      [{ $pull: { lines: { sku: 'a' } } }, '/body/$pull/lines'],
      [{ $addToSet: { lines: { sku: 'a' } } }, '/body/$addToSet/lines'],
      [{ $pullAll: { lines: [{ sku: 'a' }] } }, '/body/$pullAll/lines'],
      [{ $min: { cost: 9 } }, '/body/$min/cost'],
      [{ $mul: { 'lines.$[].margin': 1 } }, '/body/$mul/lines.$[].margin'],
      [{ $max: { 'lines.$[]': { margin: 1 } } }, '/body/$max/lines.$[]'],
      [{ $set: { 'lines.$[]': { margin: 1 } } }, '/body/$set/lines.$[]/margin'],
      [{ $setOnInsert: { cost: 5 } }, '/body/$setOnInsert/cost'],
      [{ $rename: { cost: 'tags' } }, '/body/$rename/cost'],
      [{ $rename: { tags: 'cost' } }, '/body/$rename/tags'],
      [{ $rename: { lines: 'tags' } }, '/body/$rename/lines'],
      [{ $rename: { tags: 'lines' } }, '/body/$rename/tags'],
      [{ $pop: { lines: 1 } }, '/body/lines/margin'],
      [{ $rename: { status: 'tags' } }, '/body/status'],
      [{ $set: { 'lines.0': { sku: 'a' } } }, '/body/lines/margin'],
      [{ $push: { lines: { $each: [{ sku: 'c' }], $position: 0 } } }, '/body/lines/margin'],
      [{ $unset: { lines: '' } }, '/body/lines/margin'],
      [{ $set: { status: 'paid' } }, '/body/status'],
      [{ $unset: { status: '' } }, '/body/status'],
    ] as const)
      assert.deepEqual(pathsOf(await ask('PATCH', `goods/${id}`, operators)), [at], JSON.stringify(operators))
    for (const allowed of [{ $set: { 'lines.0.n': 1, status: 'new' } }, { $push: { lines: { sku: 'c' } } }])
      assert.equal((await ask('PATCH', `goods/${id}`, allowed)).status, 200)
    assert.deepEqual((await ask('GET', `goods/${id}`, undefined, admin)).body.lines, [
      { sku: 'a', margin: 1, n: 1 },
      { sku: 'b', margin: 2 },
      { sku: 'c' },
    ])
  })

  test('a document must fit the schema on each way to write it, administrators and service keys too', async () => {
    const id = await made('goods', { title: 'a' })
    for (const who of [ann!, admin!, key]) {
      assert.deepEqual(pathsOf(await ask('POST', 'goods', {}, who)), ['/body/title'])
      assert.deepEqual(pathsOf(await ask('POST', 'goods', [{ title: 'a' }, { title: '', x: 1 }], who)), [
        '/body/1/title',
        '/body/1/title',
        '/body/1/x',
      ])
      assert.deepEqual(pathsOf(await ask('PUT', `goods/${id}`, { price: -1 }, who)), ['/body/price'])
      assert.deepEqual(pathsOf(await ask('PATCH', `goods/${id}`, { title: null }, who)), ['/body/title'])
      assert.deepEqual(pathsOf(await ask('PATCH', `goods/${id}`, { $inc: { price: 0.5 } }, who)), [
        '/body/price',
      ])
    }
    await assert.rejects(app.app.service('store').documents.create('goods', { title: 1 }), /\/body\/title/)
    assert.equal((await ask('PUT', `goods/${id}`, { price: 1 })).status, 200)
  })

  test('a unique value is one of all owners, for administrators and service keys too', async () => {
    await made('codes', { code: 'taken' })
    for (const [i, who] of [bob!, admin!, key].entries()) {
      const free = await ask('POST', 'codes', { code: `free${i}` }, who)
      assert.equal(free.status, 201)
      const path = `codes/${free.body._id}`
      for (const refused of [
        await ask('POST', 'codes', { code: 'taken' }, who),
        await ask('POST', 'codes', [{ code: `more${i}` }, { code: 'taken' }], who),
        await ask('PUT', path, { code: 'taken' }, who),
        await ask('PATCH', path, { code: 'taken' }, who),
        await ask('PATCH', path, { $set: { code: 'taken' } }, who),
      ])
        assert.deepEqual([refused.status, refused.body.error.details], [409, { fields: ['code'] }])
      assert.equal((await ask('GET', path, undefined, who)).body.code, `free${i}`)
    }
    await assert.rejects(app.app.service('store').documents.create('codes', { code: 'taken' }), {
      code: 'CONFLICT',
    })
  })
})

someEngine((engine) => {
  let app: TestApp
  let [root, person]: Person[] = []
  // Documents from before the schemas.
  let [goods, cases]: string[] = []
  const ending = endOfSuite()
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    const earlier = await startApp(ending, engine, { databaseUrl })
    root = await earlier.register() // an administrator
    person = await earlier.register()
    const made = async (collection: string, fields: object, { token }: Person): Promise<string> =>
      (await earlier.request('POST', `/store/${collection}`, { token, body: fields })).body._id
    goods = await made('goods', { old: true }, root)
    cases = await made(
      'cases',
      {
        title: 5,
        note: 6,
        meta: { 'a/secret': true, n: 'text' },
        lines: [{ sku: 'a', margin: 'large' }, { margin: 1 }],
      },
      person,
    )
    await earlier.stop()
    app = await startApp(ending, engine, { config, databaseUrl })
  })

  test('documents from before a schema stay readable, and each write must conform', async () => {
    const call = (method: string, fields?: object) =>
      app.request(method, `/store/goods/${goods}`, { token: root!.token, body: fields })
    assert.equal((await call('GET')).body.old, true)
    assert.deepEqual(pathsOf(await call('PUT', { title: 'a' })), ['/body/old'])
    assert.equal((await call('PATCH', { title: 'a', old: null })).status, 200)
  })

  test('why a document does not fit is told of fields that the caller sees, of others only that it does not', async () => {
    const call = (method: string, fields: object, { token } = person!, path = `cases/${cases}`) =>
      app.request(method, `/store/${path}`, { token, body: fields })
    const unseen =
      'does not fit the schema of cases in fields that you cannot see: an administrator can correct them'
    const issuesOf = (answer: TestAnswer): string[] => {
      assert.equal(answer.status, 400, answer.text)
      return answer.body.error.details.issues.map(
        ({ path, message }: { path: string; message: string }) => `${path} ${message}`,
      )
    }
    const visibleIssues = ['/body/title must be string', '/body/lines/1/sku is required']
    assert.deepEqual(issuesOf(await call('PATCH', { x: 1 })), [...visibleIssues, `/body ${unseen}`])
    assert.deepEqual(issuesOf(await call('PUT', { title: 'a' })), [visibleIssues[1], `/body ${unseen}`])
    // Nor of what would be shown to them after a change that its rule refuses.
    assert.deepEqual(issuesOf(await call('PATCH', { editors: [person!._id] })), [
      ...visibleIssues,
      `/body ${unseen}`,
    ])
    // Nor where a hook fails at it.
    assert.deepEqual(issuesOf(await call('PUT', { bug: true })), [...visibleIssues, `/body ${unseen}`])
    // Nor of what a hook adds to a new document, each of a list.
    assert.deepEqual(issuesOf(await call('POST', [{}, { from: 5 }], person, 'cases')), [`/body/1 ${unseen}`])
    assert.deepEqual(pathsOf(await call('PATCH', { x: 1 }, root)).toSorted(), [
      '/body/lines/0/margin',
      '/body/lines/1/sku',
      '/body/meta/a~1secret',
      '/body/meta/n',
      '/body/note',
      '/body/title',
    ])
    const corrected = { meta: null, note: 'n', lines: [], title: 'a', editors: [person!._id] }
    await app.app.service('store').documents.patch('cases', cases!, corrected)
    // A field with a rule is seen where the rule holds.
    assert.deepEqual(issuesOf(await call('PATCH', { note: 7 })), ['/body/note must be string'])
  })

  test('hostile documents hold up nobody: a pattern, and 50,000 items that must be unique', async () => {
    const create = (body: object) => app.request('POST', '/store/goods', { token: person!.token, body })
    const tags = Array.from({ length: 50_000 }, (_, i) => ({ i }))
    assert.equal((await create({ title: 'a', tags })).status, 201)
    assert.deepEqual(pathsOf(await create({ title: 'a', tags: [...tags, { i: 7 }] })), ['/body/tags'])
    assert.deepEqual(pathsOf(await create({ title: `${'a'.repeat(100_000)}!` })), ['/body/title'])
  })
})
