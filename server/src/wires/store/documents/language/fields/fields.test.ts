import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { startApp, type RequestOptions, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'

const config = {
  store: {
    collections: {
      goods: {
        read: 'public',
        create: 'user',
        update: 'user',
        hidden: ['cost', 'supplier.iban', 'lines.margin'],
        showTo: { phone: 'owner', note: { editors: '$$user._id' } },
        readOnly: ['status', 'stats.votes'],
      },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>

const SECRET = {
  cost: 5,
  supplier: { name: 'Momo', iban: 'CH93' },
  lines: [
    { sku: 'a', margin: 1 },
    { sku: 'b', margin: 2 },
  ],
}

someEngine((engine) => {
  let app: TestApp
  let [ann, bob, admin]: Person[] = []
  let id: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
    bob = await app.register()
    const { documents } = app.app.service('store')
    const fields = {
      ...SECRET,
      phone: '1',
      note: 'n',
      editors: [bob._id],
      status: 'new',
      stats: { votes: 3, sum: 4 },
    }
    ;({ _id: id } = await documents.create('goods', fields, { owner: ann._id }))
  })

  const ask = (
    who: Person | undefined,
    method: string,
    path: string,
    body?: unknown,
    options: RequestOptions = {},
  ): Promise<TestAnswer> => app.request(method, `/store/${path}`, { token: who?.token, body, ...options })
  const filter = (of: object): string => `filter=${encodeURIComponent(JSON.stringify(of))}`
  /** The first issue of a 400. */
  function issueOf({ status, body, text }: TestAnswer): { path: string; message: string } {
    assert.equal(status, 400, text)
    return body.error.details.issues[0]
  }
  const stored = async () => {
    const { _id, createdAt, updatedAt, ...fields } = (await app.app
      .service('store')
      .documents.get('goods', id))!
    return fields
  }
  const SHOWN = ['editors', 'lines', 'stats', 'status', 'supplier']

  test('a hidden field is in no answer, a field with a rule only where the rule holds', async () => {
    const fieldsOf = (body: Record<string, unknown>) =>
      Object.keys(body)
        .filter((name) => !['_id', 'createdAt', 'updatedAt'].includes(name))
        .toSorted()
    for (const [who, more] of [
      [undefined, []],
      [ann, ['phone']],
      [bob, ['note']],
    ] as const) {
      const one = await ask(who, 'GET', `goods/${id}`)
      const list = await ask(who, 'GET', 'goods')
      const page = await ask(who, 'GET', 'goods?limit=1000')
      for (const body of [one.body, list.body.data[0], page.body.data[0]]) {
        assert.deepEqual(fieldsOf(body), [...SHOWN, ...more].toSorted())
        assert.deepEqual(body.supplier, { name: 'Momo' })
        assert.deepEqual(body.lines, [{ sku: 'a' }, { sku: 'b' }])
      }
    }
    const { body } = await ask(admin, 'GET', `goods/${id}`)
    assert.deepEqual(body.supplier, SECRET.supplier)
    const chosen = await ask(undefined, 'GET', `goods/${id}?fields=supplier,lines.sku`)
    assert.deepEqual(chosen.body, {
      _id: id,
      supplier: { name: 'Momo' },
      lines: [{ sku: 'a' }, { sku: 'b' }],
    })
  })

  test('the answers to writes show no more than a read', async () => {
    const put = await ask(bob, 'PUT', `goods/${id}`, { title: 'x' })
    const patch = await ask(bob, 'PATCH', `goods/${id}`, { title: null })
    for (const { body, status, text } of [put, patch]) {
      assert.equal(status, 200, text)
      assert.deepEqual(
        [body.cost, body.phone, body.note, body.supplier.iban],
        [undefined, undefined, 'n', undefined],
      )
    }
    const { body } = await ask(bob, 'POST', 'goods', { phone: '2' })
    assert.equal(body.phone, '2')
    await ask(admin, 'DELETE', `goods/${body._id}`)
  })

  test('a repeated create under an Idempotency-Key shows no field that is not shown to the caller any more', async () => {
    const options = { headers: { 'idempotency-key': `fields${engine.name}` } }
    const create = () => ask(bob, 'POST', 'goods', { note: 'mine', editors: [bob!._id] }, options)
    const first = await create()
    assert.equal(first.body.note, 'mine')
    assert.equal((await create()).text, first.text)
    await ask(admin, 'PATCH', `goods/${first.body._id}`, { editors: [] })
    const again = await create()
    assert.deepEqual([again.headers.get('idempotency-replayed'), again.body.note], ['true', undefined])
    // As it was answered, apart from that.
    assert.deepEqual(again.body.editors, [bob!._id])
    await ask(admin, 'DELETE', `goods/${first.body._id}`)
  })

  test('an ETag is of what is shown, and If-Match takes the one of any view', async () => {
    const [all, some, mine] = await Promise.all(
      [admin, undefined, ann].map(async (who) => (await ask(who, 'GET', `goods/${id}`)).headers.get('etag')!),
    )
    assert.equal(new Set([all, some, mine]).size, 3)
    const cached = (who: Person | undefined, etag: string) =>
      ask(who, 'GET', `goods/${id}`, undefined, { headers: { 'if-none-match': etag } })
    assert.equal((await cached(undefined, some!)).status, 304)
    assert.equal((await cached(undefined, all!)).status, 200)
    assert.equal((await cached(ann, some!)).status, 200)
    const changed = await ask(ann, 'PATCH', `goods/${id}`, {}, { headers: { 'if-match': mine! } })
    assert.equal(changed.status, 200)
    const stale = await ask(ann, 'PATCH', `goods/${id}`, {}, { headers: { 'if-match': mine! } })
    assert.equal(stale.status, 412)
  })

  const asked: [name: string, query: string, at: string][] = [
    ['the field', filter({ cost: 5 }), 'filter'],
    ['what would be inside of it', filter({ 'cost.a': 5 }), 'filter'],
    ['its being there', filter({ cost: { $exists: true } }), 'filter'],
    ['its negation', filter({ $nor: [{ cost: { $ne: 5 } }] }), 'filter'],
    ['it in an alternative', filter({ $or: [{ a: 1 }, { 'supplier.iban': 'CH93' }] }), 'filter'],
    ['it by an index', filter({ 'lines.0.margin': 1 }), 'filter'],
    ['it in an element', filter({ lines: { $elemMatch: { margin: 1 } } }), 'filter'],
    [
      'it in an element, by operators',
      filter({ lines: { $elemMatch: { $eq: { sku: 'a', margin: 1 } } } }),
      'filter',
    ],
    ['it in an element of all', filter({ lines: { $all: [{ $elemMatch: { margin: 1 } }] } }), 'filter'],
    ['its object as a whole', filter({ supplier: SECRET.supplier }), 'filter'],
    ['its object by a range', filter({ supplier: { $gt: { name: 'Momo', iban: 'CH92' } } }), 'filter'],
    ['its object in a list', filter({ supplier: { $in: [SECRET.supplier] } }), 'filter'],
    ['its element as a whole', filter({ lines: SECRET.lines[0] }), 'filter'],
    ['its array as a whole', filter({ lines: SECRET.lines }), 'filter'],
    ['its array by a range', filter({ lines: { $lt: [] } }), 'filter'],
    ['a field with a rule', filter({ phone: '1' }), 'filter'],
    ['another one', filter({ note: { $regex: '^n' } }), 'filter'],
    ['the order', 'sort=cost', 'sort'],
    ['the order of its object', 'sort=-supplier', 'sort'],
    ['the order of what would be inside', 'sort=title,cost.x', 'sort'],
    ['the order by an index', 'sort=lines.0.margin', 'sort'],
    ['the order of a field with a rule', 'sort=phone', 'sort'],
    ['its choice', 'fields=cost', 'fields'],
    ['its omission', 'fields=-supplier.iban', 'fields'],
    ['the choice of what would be inside', 'fields=cost.x', 'fields'],
  ]
  for (const [name, query, at] of asked)
    test(`nobody else asks for ${name}`, async () => {
      for (const who of [undefined, ann, bob]) {
        const { path, message } = issueOf(await ask(who, 'GET', `goods?${query}`))
        assert.equal(path, `/query/${at}`)
        assert.match(message, /cost|supplier|lines|phone|note/)
      }
      assert.equal((await ask(admin, 'GET', `goods?${query}`)).status, 200)
      if (at === 'fields') issueOf(await ask(ann, 'GET', `goods/${id}?${query}`))
    })

  test('what holds a hidden field can be asked for what does not tell of it', async () => {
    for (const of of [
      { 'supplier.name': 'Momo' },
      { supplier: { $exists: true } },
      { lines: { $size: 2 } },
      { lines: { $elemMatch: { sku: 'a' } } },
      { 'lines.1.sku': 'b' },
      { supplier: { $type: 'object' } },
    ])
      assert.equal((await ask(undefined, 'GET', `goods?${filter(of)}`)).body.total, 1, JSON.stringify(of))
  })

  test('any value for a hidden field is refused alike, whether it is right or not', async () => {
    for (const [body, at] of [
      [{ cost: 5 }, '/body/cost'],
      [{ cost: 6 }, '/body/cost'],
      [{ cost: null }, '/body/cost'],
      [{ supplier: SECRET.supplier }, '/body/supplier/iban'],
      [{ lines: [{ sku: 'a', margin: 1 }] }, '/body/lines/0/margin'],
    ] as const)
      for (const [method, path] of [
        ['POST', 'goods'],
        ['PUT', `goods/${id}`],
        ['PATCH', `goods/${id}`],
      ] as const)
        assert.equal(
          issueOf(await ask(ann, method, path, body)).path,
          at,
          `${method} ${JSON.stringify(body)}`,
        )
    // Shown to the owner and not to others, who cannot write it either.
    assert.equal(issueOf(await ask(bob, 'PUT', `goods/${id}`, { phone: '1' })).path, '/body/phone')
    assert.equal((await ask(ann, 'PUT', `goods/${id}`, { phone: '1' })).status, 200)
  })

  test('what a caller may not see or change stays when a document is replaced', async () => {
    const { documents } = app.app.service('store')
    const fields = { title: 'a', cost: 5, supplier: { iban: 'CH93', name: 'M' }, status: 'new' }
    const one = await documents.create('goods', fields, { owner: ann!._id })
    const replace = (who: Person, body: object) => ask(who, 'PUT', `goods/${one._id}?replace=true`, body)
    assert.equal((await replace(bob!, { supplier: { town: 'T' } })).status, 200)
    const { body } = await ask(admin, 'GET', `goods/${one._id}`)
    const { _id, createdAt, updatedAt, ...kept } = body
    assert.deepEqual(kept, { supplier: { town: 'T', iban: 'CH93' }, cost: 5, status: 'new' })
    assert.equal(issueOf(await replace(bob!, {})).path, '/body/supplier/iban')
    assert.equal((await replace(admin!, {})).status, 200)
    assert.deepEqual(Object.keys((await ask(admin, 'GET', `goods/${one._id}`)).body), [
      '_id',
      'createdAt',
      'updatedAt',
    ])
    await ask(admin, 'DELETE', `goods/${one._id}`)
  })

  test('an object with numeric names is as good as an array', async () => {
    const { documents } = app.app.service('store')
    const { _id } = await documents.create('goods', {
      lines: { 0: { sku: 'a', margin: 1 }, x: { margin: 2 } },
    })
    const { body } = await ask(ann, 'GET', `goods/${_id}`)
    assert.deepEqual(body.lines, { 0: { sku: 'a' }, x: { margin: 2 } })
    const lines = { 0: { margin: 1 } }
    assert.equal(issueOf(await ask(ann, 'POST', 'goods', { lines })).path, '/body/lines/0/margin')
    assert.equal(issueOf(await ask(ann, 'PATCH', `goods/${_id}`, { lines })).path, '/body/lines/0/margin')
    await documents.delete('goods', _id)
  })

  test('what is shown can be sent back, and hidden fields stay as they are', async () => {
    const before = await stored()
    for (const who of [ann, bob]) {
      const { body } = await ask(who, 'GET', `goods/${id}`)
      const { lines, ...fields } = body
      const answered = await ask(who, 'PUT', `goods/${id}`, { ...fields, supplier: { name: 'Jim' } })
      assert.equal(answered.status, 200, answered.text)
      assert.deepEqual((await stored())['supplier'], { name: 'Jim', iban: 'CH93' })
      assert.equal((await ask(who, 'PUT', `goods/${id}`, { supplier: { name: 'Momo' } })).status, 200)
      assert.deepEqual(lines, [{ sku: 'a' }, { sku: 'b' }])
    }
    assert.deepEqual(await stored(), before)
  })

  test('what would remove a hidden field is refused', async () => {
    const before = await stored()
    for (const body of [{ supplier: null }, { supplier: 'x' }, { lines: [] }, { lines: [{ sku: 'a' }] }])
      for (const method of ['PUT', 'PATCH'])
        assert.match(issueOf(await ask(ann, method, `goods/${id}`, body)).path, /^\/body\/(?:supplier|lines)/)
    assert.deepEqual(await stored(), before)
  })

  test('a read-only field is taken unchanged, and not otherwise', async () => {
    for (const body of [{ status: 'paid' }, { status: null }, { stats: { votes: 4, sum: 4 } }])
      for (const method of ['PUT', 'PATCH'])
        assert.match(issueOf(await ask(ann, method, `goods/${id}`, body)).path, /^\/body\/stat/)
    assert.equal((await ask(ann, 'PUT', `goods/${id}`, { status: 'new', stats: { sum: 5 } })).status, 200)
    assert.deepEqual((await stored())['stats'], { sum: 5, votes: 3 })
    assert.equal(issueOf(await ask(ann, 'POST', 'goods', { status: 'new' })).path, '/body/status')
    assert.equal(issueOf(await ask(ann, 'POST', 'goods', [{}, { status: 1 }])).path, '/body/1/status')
    assert.equal((await ask(admin, 'PUT', `goods/${id}`, { status: 'paid' })).status, 200)
  })
})
