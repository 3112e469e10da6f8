import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { defineErrors } from '../../../../base/errors.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { assertEntries } from '../storage/indexes/indexes.fixture.ts'
import type { Hooks } from '../definition/hooks.ts'

const errors = defineErrors({ sold_out: [409, 'There are no more of these.'] })

type Person = Awaited<ReturnType<TestApp['register']>>

someEngine((engine) => {
  const events: { name: string; [key: string]: unknown }[] = []
  let [changed, attempts]: [boolean, number] = [false, 0]
  const note = (name: string, call: object): void => {
    const { documents, ...others } = call as { documents: unknown }
    assert.ok(documents)
    events.push({ name, ...structuredClone(others) })
  }
  const hooks = {
    goods: {
      beforeCreate({ next, caller }) {
        if (next['sold']) throw errors.sold_out()
        if (next['bug']) throw new TypeError('a bug in the hook')
        next['status'] = 'new'
        next['by'] = caller?.id
        next['at'] = new Date(0)
        next['nothing'] = undefined
      },
      beforeUpdate: async ({ before, next, documents, _id }) => {
        if (next['slow']) await new Promise(() => undefined)
        if (next['moved']) {
          attempts++
          if (!changed) {
            changed = true
            await documents.update('goods', _id, { other: 'moved meanwhile' })
          }
        }
        return { ...next, was: before['n'] ?? null }
      },
      beforeDelete({ before }) {
        if (before['kept']) throw errors.sold_out({ message: 'This one is kept.' })
      },
      afterCreate: (call) => note('afterCreate', call),
      afterUpdate: (call) => note('afterUpdate', call),
      afterDelete: (call) => note('afterDelete', call),
    },
    tagged: {
      beforeUpdate({ before, next }) {
        ;(next['tags'] as string[]).splice(0, 1, 'new')
        ;(before['tags'] as string[]).length = 0
      },
    },
    loops: {
      afterCreate: ({ document, documents }) =>
        documents.create('loops', { n: Number(document['n']) + 1 }).then(() => undefined),
    },
    nested: {
      beforeCreate: ({ next }) => next['odd'] as never,
      beforeUpdate({ before, next }) {
        ;(next['tags'] as string[]).push(String(next['tag']))
        ;(next['of'] as string[]).push(...(next['more'] as string[]))
        ;(before['tags'] as string[]).pop()
      },
    },
    seats: {
      afterCreate: (call) => note('seated', call),
      afterUpdate: (call) => note('reseated', call),
    },
    retries: {
      afterCreate() {
        events.push({ name: 'retried' })
        if (events.filter(({ name }) => name === 'retried').length < 2)
          throw new Error('the first time it fails')
      },
    },
  } satisfies Record<string, Hooks>
  const config = {
    store: {
      collections: {
        goods: { readOnly: ['status', 'by'], hooks: hooks.goods, read: 'user', update: 'user' },
        tagged: { hooks: hooks.tagged, unique: ['tags'] },
        loops: { hooks: hooks.loops },
        nested: {
          hooks: hooks.nested,
          unique: ['tags'],
          relations: { of: { to: 'goods' } },
        },
        retries: { hooks: hooks.retries },
        seats: { hooks: hooks.seats, unique: ['n'] },
        sums: {
          readOnly: ['sum'],
          schema: {
            properties: { parts: { type: 'array', items: { type: 'integer' } }, sum: { type: 'integer' } },
            required: ['parts', 'sum'],
          },
          hooks: {
            beforeCreate({ next }) {
              const parts = next['parts'] as number[]
              if (parts.length === 0) throw new TypeError('a bug without parts')
              next['sum'] = parts.reduce((sum, part) => sum + part, 0)
            },
          },
        },
        parts: { relations: { of: { to: 'goods', onDelete: 'unset' } } },
      },
    },
  } satisfies Config

  let app: TestApp
  let ann: Person
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config })
    await app.register()
    ann = await app.register()
  })
  const ask = (method: string, path: string, body?: unknown): Promise<TestAnswer> =>
    app.request(method, `/store/${path}`, { token: ann.token, body })
  async function made(fields: object): Promise<string> {
    const answered = await ask('POST', 'goods', fields)
    assert.equal(answered.status, 201, answered.text)
    return answered.body._id
  }
  const seen = (name: string, id: string) => events.find((one) => one.name === name && one['_id'] === id)

  test('a hook before a create changes what is stored, read-only fields too', async () => {
    const { body } = await ask('POST', 'goods', { title: 'x' })
    const { _id, createdAt, updatedAt, ...fields } = body
    assert.deepEqual(fields, { title: 'x', status: 'new', by: ann._id, at: '1970-01-01T00:00:00.000Z' })
    assert.equal((await ask('GET', `goods/${_id}`)).body.status, 'new')
    const list = await ask('POST', 'goods', [{}, { title: 'y' }])
    assert.deepEqual(
      list.body.data.map((one: { status: string }) => one.status),
      ['new', 'new'],
    )
  })

  test('what a hook throws refuses the write: an error of a table as it is, anything else as a bug', async () => {
    const refused = await ask('POST', 'goods', { sold: true })
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'SOLD_OUT'])
    const bug = await ask('POST', 'goods', [{}, { bug: true }])
    assert.deepEqual([bug.status, bug.body.error.code], [500, 'INTERNAL_ERROR'])
    assert.match(app.log(), /a bug in the hook/)
    const document = await made({ kept: true })
    assert.equal((await ask('DELETE', `goods/${document}`)).body.error.message, 'This one is kept.')
    assert.equal((await ask('GET', `goods/${document}`)).status, 200)
  })

  test('a hook may rely on the schema: what it throws at a document that is refused is no bug', async () => {
    const faults = async (body: unknown) => {
      const { status, body: answered } = await ask('POST', 'sums', body)
      return [status, ...(answered.error?.details?.issues ?? []).map((one: { path: string }) => one.path)]
    }
    assert.deepEqual(await faults({ parts: [1, 2] }), [201])
    assert.deepEqual(await faults({ parts: 5 }), [400, '/body/parts'])
    assert.deepEqual(await faults([{ parts: [1] }, {}]), [400, '/body/1/parts'])
    assert.deepEqual(await faults({ parts: [] }), [500])
  })

  test('what a hook changes inside of fields counts for unique fields and relations', async () => {
    const [id, good] = [(await ask('POST', 'nested', { tags: ['a'], of: [] })).body._id, await made({})]
    const other = await ask('POST', 'nested', { tags: ['x'], of: [] })
    assert.equal(other.status, 201)
    assert.equal((await ask('PATCH', `nested/${id}`, { tag: 'b', more: [good] })).status, 200)
    for (const tag of ['a', 'b']) assert.equal((await ask('POST', 'nested', { tags: [tag] })).status, 409)
    assert.equal((await ask('DELETE', `goods/${good}`)).status, 409)
    const missing = await ask('PATCH', `nested/${id}`, { tag: 'c', more: ['nothing'] })
    assert.equal(missing.body.error.details.issues[0].path, '/body/of/1')
  })

  test('a hook can store what a client could, and nothing else', async () => {
    assert.deepEqual((await ask('POST', 'nested', { odd: { n: 1 } })).body.n, 1)
    for (const odd of [[], [1], 'text', 5, true]) {
      assert.equal((await ask('POST', 'nested', { odd })).status, 500)
      assert.match(app.log(), /The hook beforeCreate of nested gave no object of fields/)
    }
    const { documents } = app.app.service('store')
    for (const text of ['\0', '\ud800']) {
      const refused = { code: 'VALIDATION_ERROR' }
      await assert.rejects(documents.create('goods', { text }), refused)
      await assert.rejects(documents.update('goods', await made({}), { text }), refused)
    }
    const at = await documents.create('parts', { at: new Date(0) })
    assert.equal(at['at'], '1970-01-01T00:00:00.000Z')
  })

  test('a hook before an update runs again if the document was changed meanwhile', async () => {
    const id = await made({ n: 1 })
    const { body, status } = await ask('PUT', `goods/${id}`, { n: 2, moved: true })
    assert.equal(status, 200)
    assert.deepEqual([body.other, body.n, body.was, attempts], ['moved meanwhile', 2, 1, 2])
  })

  test('a hook before a write has 5 seconds', async () => {
    const id = await made({})
    const answer = ask('PUT', `goods/${id}`, { slow: true })
    let settled = false
    void answer.finally(() => (settled = true))
    await until(() => {
      app.clock.advance(5_000)
      return settled
    })
    const { status, body } = await answer
    assert.equal(status, 503)
    assert.match(body.error.message, /The hook beforeUpdate of goods took longer than 5 s/)
    assert.equal((await ask('GET', `goods/${id}`)).body.slow, undefined)
  })

  test('hooks after a write are told of it, with what was before', async () => {
    const id = await made({ n: 1 })
    await ask('PATCH', `goods/${id}`, { n: 2 })
    await ask('DELETE', `goods/${id}`)
    await until(() => ['afterCreate', 'afterUpdate', 'afterDelete'].every((name) => seen(name, id)))
    const created = seen('afterCreate', id)!
    const { _id, role } = created['caller'] as { _id: string; role: string } & Record<string, string>
    assert.deepEqual([(created['caller'] as { id: string }).id, role, _id], [ann._id, 'user', undefined])
    assert.equal((created['document'] as { n: number }).n, 1)
    const updated = seen('afterUpdate', id)! as unknown as { before: { n: number }; document: { n: number } }
    assert.deepEqual([updated.before.n, updated.document.n], [1, 2])
    assert.equal((seen('afterDelete', id) as unknown as { before: { n: number } }).before.n, 2)
    // A write that was refused has no hook behind it.
    const count = events.length
    await ask('POST', 'goods', { sold: true })
    assert.equal(events.length, count)
  })

  test('a write that a unique field refuses has no hook behind it, nor has any other of its list', async () => {
    const seats = async () => {
      const { data } = await app.app.service('store').documents.list('seats', { sort: 'n' })
      return data.map(({ n }) => n)
    }
    const [first, second] = [await ask('POST', 'seats', { n: 1 }), await ask('POST', 'seats', { n: 2 })]
    for (const [method, path, body] of [
      ['POST', 'seats', { n: 1 }],
      ['POST', 'seats', [{ n: 10 }, { n: 1 }, { n: 11 }]],
      ['POST', 'seats', [{ n: 12 }, { n: 12 }]],
      ['PUT', `seats/${second.body._id}`, { n: 1 }],
      ['PATCH', `seats/${second.body._id}`, { $set: { n: 1 } }],
    ] as const)
      assert.equal((await ask(method, path, body)).status, 409)
    // Jobs are claimed in the order in which they fall due: those of these writes come last.
    app.clock.advance(1)
    await ask('PATCH', `seats/${second.body._id}`, { n: 4 })
    await ask('POST', 'seats', { n: 3 })
    const numbersOf = (name: string) =>
      events
        .filter((one) => one.name === name)
        .map(({ document }) => (document as { n: number }).n)
        .toSorted((a, b) => a - b)
    await until(() => numbersOf('seated').includes(3) && numbersOf('reseated').includes(4))
    assert.deepEqual([numbersOf('seated'), numbersOf('reseated')], [[1, 2, 3], [4]])
    assert.deepEqual(await seats(), [1, 3, 4])
    assert.equal((await ask('GET', `seats/${first.body._id}`)).status, 200)
  })

  test('a hook after a write is a job: one that fails runs again', async () => {
    await ask('POST', 'retries', {})
    await until(() => {
      app.clock.advance(1_000)
      return events.filter(({ name }) => name === 'retried').length === 2
    })
  })

  test('hooks that write in a circle end after five writes', async () => {
    await ask('POST', 'loops', { n: 0 })
    await until(() => app.log().includes('hooks write documents whose hooks write documents, 5 deep'))
    const { data } = await app.app.service('store').documents.list('loops', { sort: 'n' })
    assert.deepEqual(
      data.map(({ n }) => n),
      [0, 1, 2, 3, 4, 5],
    )
  })

  test('a hook may change what it gets in place: index entries are those of what is stored', async () => {
    const { documents } = app.app.service('store')
    const { _id } = await documents.create('tagged', { tags: ['old', 'kept'] })
    assert.deepEqual((await documents.patch('tagged', _id, { n: 1 }))['tags'], ['new', 'kept'])
    await assertEntries(app)
    // What it had is free again.
    await documents.create('tagged', { tags: ['old'] })
  })
})
