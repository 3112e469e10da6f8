// Filters that compare fields of a document and ask for bits, on each way that documents are found.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { follow } from '../../../changes/changes.fixture.ts'

const config = {
  store: {
    collections: {
      // A field named `user` is no value of the caller.
      accounts: {
        read: [{ $expr: { $lte: ['$spent', '$budget'] } }, { $expr: { $eq: ['$user', '$_id'] } }],
        create: 'user',
        update: { before: 'user', after: { $expr: { $gte: ['$budget', '$spent'] } } },
      },
      devices: {
        read: { flags: { $bitsAllSet: [0, 2] } },
        create: 'user',
        update: 'user',
        hidden: ['secret'],
      },
      open: { read: 'public', create: 'user', update: 'user' },
    },
  },
} satisfies Config

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let [admin, ann]: { token: string }[] = []
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
  })
  const ask = (method: string, path: string, body?: unknown, who = ann!): Promise<TestAnswer> =>
    app.request(method, `/store/${path}`, { token: who.token, body })
  const create = async (collection: string, body: object): Promise<string> => {
    const answered = await ask('POST', collection, body, admin)
    assert.equal(answered.status, 201, answered.text)
    return answered.body._id
  }
  const found = async (collection: string, filter: object, who?: { token: string }): Promise<string[]> => {
    const query = `filter=${encodeURIComponent(JSON.stringify(filter))}`
    const list = await ask('GET', `${collection}?${query}&sort=name`, undefined, who)
    assert.equal(list.status, 200, list.text)
    const aggregate = await ask('GET', `${collection}/aggregate?${query}`, undefined, who)
    assert.equal(list.body.total, list.body.data.length)
    assert.equal(aggregate.body.data[0]?.count ?? 0, list.body.total, aggregate.text)
    return list.body.data.map(({ name }: { name: string }) => name)
  }

  test('a rule that compares fields holds for lists, single documents, and what is written', async () => {
    const over = await create('accounts', { name: 'over', spent: 3, budget: 2 })
    const within = await create('accounts', { name: 'within', spent: 2, budget: 2 })
    await create('accounts', { name: 'none' })
    assert.deepEqual(await found('accounts', {}), ['none', 'within'])
    assert.deepEqual(await found('accounts', {}, admin), ['none', 'over', 'within'])
    assert.deepEqual(await found('accounts', { $expr: { $lt: ['$spent', '$budget'] } }), [])
    assert.deepEqual(await found('accounts', { $expr: { $gt: ['$spent', '$budget'] } }, admin), ['over'])
    assert.equal((await ask('GET', `accounts/${over}`)).status, 404)
    assert.equal((await ask('GET', `accounts/${within}`)).status, 200)
    assert.equal((await ask('PATCH', `accounts/${within}`, { $inc: { spent: 1 } })).status, 403)
    assert.equal((await ask('PATCH', `accounts/${within}`, { $inc: { budget: 1 } })).status, 200)
    assert.deepEqual(await found('accounts', { $expr: { $lt: ['$spent', '$budget'] } }), ['within'])
  })

  test('a rule that asks for bits holds for lists and single documents', async () => {
    const both = await create('devices', { name: 'both', flags: -3, secret: 1 })
    const one = await create('devices', { name: 'one', flags: 4, secret: 1 })
    assert.deepEqual(await found('devices', {}), ['both'])
    assert.deepEqual(await found('devices', { flags: { $bitsAnyClear: 1 } }, admin), ['one'])
    assert.equal((await ask('GET', `devices/${both}`)).status, 200)
    assert.equal((await ask('GET', `devices/${one}`)).status, 404)
  })

  test('a hidden field is compared with nothing', async () => {
    for (const sides of [
      ['$secret', 1],
      ['$name', '$secret'],
      ['$secret.key', '$name'],
    ]) {
      const filter = JSON.stringify({ $nor: [{ $expr: { $eq: sides } }] })
      const { status, body } = await ask('GET', `devices?filter=${encodeURIComponent(filter)}`)
      assert.equal(status, 400)
      assert.equal(body.error.details.issues[0].path, '/query/filter')
      assert.match(body.error.details.issues[0].message, /secret/)
    }
  })

  test('a stream of changes has the documents of which the comparison holds', async (t) => {
    const filter = { $expr: { $gt: ['$spent', '$budget'] }, flags: { $bitsAllSet: 1 } }
    const stream = await follow(t, app.url, { query: { collection: 'open', filter } })
    await stream.receives('ready')
    const id = await create('open', { title: 'a', spent: 1, budget: 2, flags: 1 })
    await ask('PATCH', `open/${id}`, { $max: { spent: 5 } }, admin)
    await stream.receives('ready', 'put a')
    await ask('PATCH', `open/${id}`, { $mul: { flags: 2 } }, admin)
    await stream.receives('ready', 'put a', `gone ${id}`)
  })

  test('times compare whatever their offset', async () => {
    const id = await create('open', { name: 'timed' })
    const { createdAt } = (await ask('GET', `open/${id}`)).body
    const shifted = new Date(Date.parse(createdAt) + 3_600_000).toISOString().replace('Z', '+01:00')
    for (const [operator, names] of [
      ['$eq', ['timed']],
      ['$lt', []],
    ] as const)
      assert.deepEqual(
        await found('open', { name: 'timed', $expr: { [operator]: ['$createdAt', shifted] } }),
        names,
      )
  })

  test('explain tells of a filter that compares fields', async () => {
    const filter = encodeURIComponent(JSON.stringify({ $expr: { $gt: ['$spent', '$budget'] } }))
    const { status, text } = await ask('GET', `open/explain?filter=${filter}`, undefined, admin)
    assert.equal(status, 200, text)
  })
})
