// Fields that are unique over the documents of a collection, as applications see them.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import type { RequestOptions, TestApp } from '../../../../../testing/app.ts'
import { startReplicas } from '../../../../../testing/auth.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { assertEntries, indexesOf } from './indexes.fixture.ts'

const WRITERS = 50

const STORE: Config['store'] = {
  indexes: { people: [{ fields: 'team' }] },
  collections: {
    people: {
      read: 'owner',
      unique: ['slug', ['team', 'number'], { fields: ['email'], ignoreCase: true }, { fields: ['phones'] }],
    },
  },
}

eachEngine((engine) => {
  const ending = endOfSuite()
  let replicas: TestApp[] = []
  let tokens: string[] = []
  before(async () => {
    replicas = await startReplicas(ending, engine, {
      config: { store: STORE },
      environment: { SIXWIRE_POLICY: 'guarded' },
    })
    // The first account is the administrator's.
    const accounts = [
      await replicas[0]!.register(),
      await replicas[0]!.register(),
      await replicas[0]!.register(),
    ]
    tokens = accounts.map(({ token }) => token)
  })

  const ask = (method: string, path = '', options: RequestOptions & { replica?: number } = {}) =>
    replicas[options.replica ?? 0]!.request(method, `/store/people${path}`, { token: tokens[1], ...options })
  const create = async (body: object, options: RequestOptions = {}): Promise<string> => {
    const made = await ask('POST', '', { body, ...options })
    assert.equal(made.status, 201, made.text)
    return made.body._id
  }
  const assertTaken = (answer: Awaited<ReturnType<typeof ask>>, ...fields: string[]): void => {
    assert.equal(answer.status, 409, answer.text)
    assert.deepEqual(answer.body.error, {
      code: 'CONFLICT',
      message: `Another document has the same ${fields.join(' and ')}.`,
      details: { fields },
    })
  }

  test('the indexes are ready when the server is', async () => {
    const indexes = await indexesOf(replicas[0]!)
    assert.deepEqual(
      indexes.filter(({ isSparse }) => isSparse).map(({ names, state }) => [names, state]),
      [
        ['slug', 'ready'],
        ['team,number', 'ready'],
        ['email', 'ready'],
        ['phones', 'ready'],
      ],
    )
  })

  test('a value is taken for documents of all users, by each kind of write', async () => {
    await create({ slug: 'taken' }, { token: tokens[2]! })
    assertTaken(await ask('POST', '', { body: { slug: 'taken' } }), 'slug')
    assertTaken(await ask('POST', '', { body: [{ slug: 'free' }, { slug: 'taken' }] }), 'slug')
    assertTaken(await ask('POST', '', { body: [{ slug: 'twice' }, { slug: 'twice' }] }), 'slug')
    const other = await create({ slug: 'free' })
    assertTaken(await ask('PUT', `/${other}`, { body: { slug: 'taken' } }), 'slug')
    assertTaken(await ask('PATCH', `/${other}`, { body: { slug: 'taken' } }), 'slug')
    assert.equal((await ask('PATCH', `/${other}`, { body: { slug: 'free', note: 1 } })).status, 200)
    await assertEntries(replicas[0]!)
  })

  test('values are compared by their types, and texts exactly', async () => {
    await create({ slug: 1 })
    await create({ slug: '1' })
    await create({ slug: true })
    await create({ slug: 'One' })
    await create({ slug: 'one' })
    assertTaken(await ask('POST', '', { raw: '{"slug":1.0}' }), 'slug')
    assertTaken(await ask('POST', '', { raw: '{"slug":10e-1}' }), 'slug')
  })

  test('a document that lacks one of the fields is not compared', async () => {
    for (const body of [{}, { slug: null }, { slug: [] }, { team: 'red' }, { team: 'red', number: null }]) {
      await create(body)
      await create(body)
    }
    const first = await create({ team: 'red', number: 7 })
    await create({ team: 'blue', number: 7 })
    assertTaken(await ask('POST', '', { body: { number: 7, team: 'red' } }), 'team', 'number')
    assert.equal((await ask('PATCH', `/${first}`, { body: { number: null } })).status, 200)
    await create({ number: 7, team: 'red' })
    await assertEntries(replicas[0]!)
  })

  test('case is ignored if the field says so', async () => {
    const id = await create({ email: 'Straße@Example.com' })
    for (const email of [
      'strasse@example.com',
      'STRASSE@EXAMPLE.COM',
      ['x@example.com', 'STRAẞE@example.com'],
    ])
      assertTaken(await ask('POST', '', { body: { email } }), 'email')
    assert.equal((await ask('PUT', `/${id}`, { body: { email: 'STRASSE@example.com' } })).status, 200)
    const read = await ask('GET', `/${id}`)
    assert.equal(read.body.email, 'STRASSE@example.com')
    await assertEntries(replicas[0]!)
  })

  test('each element of an array is taken, the document itself may have it twice', async () => {
    const id = await create({ phones: ['1', '2', '2'] })
    assertTaken(await ask('POST', '', { body: { phones: ['3', '2'] } }), 'phones')
    assertTaken(await ask('POST', '', { body: { phones: '1' } }), 'phones')
    assert.equal((await ask('PATCH', `/${id}`, { body: { phones: ['1'] } })).status, 200)
    await create({ phones: ['3', '2', null] })
    await assertEntries(replicas[0]!)
  })

  for (const [field, values] of [
    ['slug', ['race']],
    ['email', ['Race@example.com', 'rACE@example.com']],
  ] as const)
    test(`of ${WRITERS} writers of one ${field} on two replicas one wins, and once it is free, another one`, async () => {
      const valueOf = (i: number) => ({ [field]: values[i % values.length] })
      const created = await Promise.all(
        Array.from({ length: WRITERS }, (_, i) => ask('POST', '', { body: valueOf(i), replica: i % 2 })),
      )
      const winners = created.filter(({ status }) => status === 201)
      assert.equal(winners.length, 1)
      for (const answer of created) if (answer.status !== 201) assertTaken(answer, field)

      const { body } = await ask('POST', '', { body: Array.from({ length: WRITERS }, () => ({})) })
      assert.equal((await ask('DELETE', `/${winners[0]!.body._id}`)).status, 200)
      const changed = await Promise.all(
        (body.data as { _id: string }[]).map(({ _id }, i) =>
          ask(i % 3 === 0 ? 'PATCH' : 'PUT', `/${_id}`, { body: valueOf(i), replica: i % 2 }),
        ),
      )
      assert.equal(changed.filter(({ status }) => status === 200).length, 1)
      for (const answer of changed) if (answer.status !== 200) assertTaken(answer, field)
      await assertEntries(replicas[1]!)
    })

  test('lists use the index of a unique field if they ask for values, and find all documents if not', async () => {
    await create({ slug: 'listed', team: 'green', number: 1 })
    const explain = async (filter: object, sort = '-createdAt') => {
      const query = new URLSearchParams({ filter: JSON.stringify(filter), sort })
      const answer = await ask('GET', `/explain?${query.toString()}`, { token: tokens[0]! })
      assert.equal(answer.status, 200, answer.text)
      const { plan, index, total } = answer.body
      return [plan, index, total]
    }
    const total = async (condition: ReturnType<typeof sql>) =>
      (
        await replicas[0]!.app.db.all<{ count: number }>(
          sql`select count(*) as count from store_documents where collection = 'people' and ${condition}`,
        )
      )[0]!.count
    assert.deepEqual(await explain({ slug: 'listed' }), ['index', 'slug', 1])
    assert.deepEqual(await explain({ team: 'green', number: 1 }), ['index', 'team,number', 1])
    // The plain index of the same collection.
    assert.deepEqual(await explain({ team: 'green' }), ['index', 'team', 1])
    assert.deepEqual(await explain({ email: 'race@example.com' }), ['scan', undefined, 0])
    const [plan, , found] = await explain({ slug: { $in: ['listed', null] } })
    assert.equal(plan, 'scan')
    assert.ok(found > 1)
    assert.equal((await explain({}, 'slug'))[2], await total(sql`1 = 1`))

    const { body } = await ask('GET', '/explain', { token: tokens[0]! })
    assert.deepEqual(
      body.indexes.map(({ fields, unique, sparse, ignoreCase }: Record<string, unknown>) => [
        fields,
        unique,
        sparse,
        ignoreCase,
      ]),
      [
        ['team', false, undefined, undefined],
        ['slug', true, true, undefined],
        ['team,number', true, true, undefined],
        ['email', true, true, true],
        ['phones', true, true, undefined],
      ],
    )
  })

  test('a restored backup has its values taken again, and those that came later free', async () => {
    const kept = await create({ slug: 'kept', email: 'KEPT@example.com' })
    const backup = await replicas[0]!.request('POST', '/store/backup', { token: tokens[0]! })
    assert.equal(backup.status, 201, backup.text)
    await ask('PUT', `/${kept}`, { body: { slug: 'moved', email: 'moved@example.com' } })
    await create({ slug: 'later' })
    const restored = await replicas[0]!.request('POST', `/store/backup/${backup.body._id}/restore`, {
      token: tokens[0]!,
    })
    assert.equal(restored.status, 200, restored.text)
    await assertEntries(replicas[0]!)
    assertTaken(await ask('POST', '', { body: { slug: 'kept' }, replica: 1 }), 'slug')
    assertTaken(await ask('POST', '', { body: { email: 'kept@example.com' } }), 'email')
    await create({ slug: 'later' })
  })
})
