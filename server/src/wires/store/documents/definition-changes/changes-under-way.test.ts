// What meets a change of documents while it is under way: readers, writers, an undo, the end of its server.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { registerAs } from '../../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { startReplicas } from '../../../../testing/auth.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { collectionOf, fieldsOf } from './field-changes.fixture.ts'

const OLD = {
  read: 'public',
  create: 'user',
  update: 'user',
  hidden: ['cost'],
  relations: { author: { to: 'people' } },
  schema: { properties: { title: { type: 'string' } }, required: ['title'] },
}
const NEW = {
  ...OLD,
  hidden: [],
  relations: { writer: { to: 'people' } },
  schema: { properties: { name: { type: 'string' } }, required: ['name'] },
  unique: ['code'],
  documents: [
    { rename: { from: 'title', to: 'name' } },
    { rename: { from: 'cost', to: 'price' } },
    { rename: { from: 'author', to: 'writer' } },
    { rename: { from: 'slug', to: 'code' } },
    { drop: 'isbn' },
    { default: { field: 'state', value: 'new' } },
  ],
}

eachEngine((engine) => {
  test('meanwhile both forms are protected and taken, and an undo loses no write', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const { token: user } = await registerAs(app, 'user')
    const books = collectionOf(app, token)
    const people = collectionOf(app, token, 'people')
    assert.equal((await people.put({ read: 'admin' })).status, 200)
    assert.equal((await books.put(OLD)).status, 200)
    const person = await people.create({ n: 1 })
    const sent = { title: 'a', cost: 5, author: person._id, isbn: 1, state: 'old' }
    // The last one stops it.
    const [, { _id: id }, last] = (
      await books.create([{ title: 'x', code: 'x' }, sent, { title: 'z', slug: 'x' }])
    ).data
    const before = (await books.list()).map(fieldsOf)
    const stop = async () => {
      const stopped = await books.put(NEW)
      assert.equal(stopped.status, 409, stopped.text)
      assert.match(stopped.body.error.message, new RegExp(`${last._id}: .*same code`))
    }
    await stop()
    const seen = (await app.request('GET', `/store/books/${id}`)).body
    assert.deepEqual(
      [seen.name, seen.price, seen.cost],
      ['a', undefined, undefined],
      'hidden under both names',
    )
    for (const name of ['cost', 'price']) {
      const path = `/store/books?filter={"${name}":{"$gt":1}}`
      assert.equal((await app.request('GET', path, { token: user })).status, 400)
    }
    const deleted = await app.request('DELETE', `/store/people/${person._id}`, { token })
    assert.equal(deleted.status, 409, 'a relation holds under both names')
    const patch = (body: unknown) => app.request('PATCH', `/store/books/${id}`, { token: user, body })
    assert.equal((await patch({ year: 2 })).status, 200, 'a document fits one of the two schemas')
    assert.equal((await patch({ title: 'later' })).status, 200)
    const post = (body: unknown) => app.request('POST', '/store/books', { token: user, body })
    assert.equal((await post({ year: 1 })).status, 400)
    assert.equal((await post({ title: 'c' })).status, 201)

    const undone = await books.remove('"1"')
    assert.equal(undone.status, 200, undone.text)
    assert.deepEqual(undone.body.definition, OLD)
    assert.deepEqual((await books.list()).map(fieldsOf), [
      before[0],
      { ...sent, title: 'later', year: 2 },
      before[2],
      { title: 'c' },
    ])
    const actions = await app.app.db.all(sql<{ action: string }>`
      select action from sixwire_audit where target = 'collection:books' and outcome = 'done' order by id desc limit 2`)
    assert.deepEqual(
      actions.map(({ action }) => action),
      ['documents.change-undone', 'documents.changed'],
    )

    await stop()
    assert.equal((await patch({ title: 'last', cost: 7 })).status, 400, 'it is hidden from users')
    assert.equal((await books.patch(id, { title: 'last', cost: 7 })).status, 200)
    assert.equal((await books.patch(last._id, { slug: 'z' })).status, 200)
    const done = await books.put(NEW)
    assert.equal(done.status, 200, done.text)
    const { data } = (await app.request('GET', '/store/books?sort=_id')).body
    assert.deepEqual(data.map(fieldsOf), [
      { name: 'x', code: 'x', state: 'new' },
      { name: 'last', price: 7, writer: person._id, year: 2, state: 'old' },
      { name: 'z', code: 'z', state: 'new' },
      { name: 'c', state: 'new' },
    ])
    assert.equal((await post({ title: 'd' })).status, 400)
  })

  test('two servers write while documents are changed, undone and changed: no write is lost', async (t) => {
    const replicas = await startReplicas(t, engine)
    const [one, other] = replicas
    const { token } = await registerAs(one, 'admin')
    const books = collectionOf(one, token)
    assert.equal((await books.put({ schema: { required: ['title'] } })).status, 200)
    const numbers = Array.from({ length: 600 }, (_, i) => i)
    const ids: string[] = (await books.create(numbers.map((i) => ({ title: `t${i}`, n: 0 })))).data.map(
      (made: { _id: string }) => made._id,
    )
    const answers = new Set<string>()
    let [ends, increments, created] = [false, 0, 0]
    const write = async (app: TestApp): Promise<void> => {
      for (let i = 0; !ends; i += 7) {
        const body = { $inc: { n: 1 } }
        const path = `/store/books/${ids[i % ids.length]}`
        const { status, text } = await app.request('PATCH', path, { token, body })
        if (status === 200) increments++
        else answers.add(text)
        const made = await app.request('POST', '/store/books', { token, body: { title: `new${i}` } })
        // Once the new definition is in force.
        if (made.status === 201) created++
        else if (made.status !== 400) answers.add(made.text)
      }
    }
    const writers = replicas.map(write)
    const changing = {
      schema: { required: ['name'] },
      documents: [{ rename: { from: 'title', to: 'name' } }],
    }
    const taken = books.put(changing)
    await until(async () => ((await books.get()).change?.done ?? 0) > 0)
    assert.equal((await collectionOf(other, token).put({ read: 'public' })).status, 409)
    const undone = await collectionOf(other, token).remove('"1"')
    assert.equal(undone.status, 200, undone.text)
    assert.equal((await taken).status, 409)
    const count = async (filter: object) =>
      (await one.request('GET', `/store/books?limit=1&filter=${JSON.stringify(filter)}`, { token })).body
        .total
    assert.equal(await count({ name: { $exists: true } }), 0)

    const done = await books.put(changing)
    assert.equal(done.status, 200, done.text)
    ends = true
    await Promise.all(writers)
    assert.deepEqual([...answers], [])
    assert.equal(await count({ title: { $exists: true } }), 0)
    assert.equal(await count({ name: { $exists: true } }), ids.length + created)
    const [sum] = await one.app.db.all(sql<{ n: number }>`
      select cast(sum(cast(body ->> 'n' as bigint)) as bigint) as n from store_documents where collection = 'books'`)
    assert.equal(sum!.n, increments)
  })

  test('a change goes on after its server has ended, once for each document', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(first, 'admin')
    const books = collectionOf(first, token)
    await books.create(Array.from({ length: 900 }, (_, i) => ({ title: `t${i}` })))
    // As PUT does, without its answer, for which the server would wait.
    await first.app.db.batch([
      sql`insert into store_collection_versions (collection, version, state, definition, documents, created_by, created_at)
          values ('books', 1, 'pending', '{}', '[{"rename":{"from":"title","to":"name"}}]', 'somebody', 1)`,
      sql`insert into store_document_changes (collection, version, base, state) values ('books', 1, 0, 'waiting')`,
      sql`insert into sixwire_jobs (id, kind, payload, run_at, attempts, state, created_at)
          values ('one', 'store.definitions', '{"versions":[{"collection":"books","version":1}]}', 0, 0, 'ready', 0)`,
    ])
    await until(async () => ((await books.get()).change?.done ?? 0) > 0)
    await first.stop()
    const second = await startApp(t, engine, { databaseUrl })
    await until(async () => (await collectionOf(second, token).get()).change === undefined)
    assert.equal((await collectionOf(second, token).get()).version, 1)
    const versions = await second.app.db.all(sql<{ version: number; documents: number }>`
      select version, count(*) as documents from store_documents
      where collection = 'books' and body ->> 'name' is not null group by version`)
    assert.deepEqual(versions, [{ version: 2, documents: 900 }])
  })

  test('documents of a collection that the configuration has come to define are changed no further', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(first, 'admin')
    const made = (await collectionOf(first, token).create([{ title: 'a' }, { title: 'b' }])).data
    await first.app.db.batch([
      sql`insert into store_collection_versions (collection, version, state, definition, documents, created_by, created_at)
          values ('books', 1, 'pending', '{}', '[{"rename":{"from":"title","to":"name"}}]', 'somebody', 1)`,
      sql`insert into store_document_changes (collection, version, base, state) values ('books', 1, 0, 'changing')`,
    ])
    await first.stop()
    const rules = { read: [{ title: 'a' }], create: 'admin', update: 'admin', delete: 'admin' } as const
    const config = { store: { collections: { books: rules } } }
    const second = await startApp(t, engine, { databaseUrl, config })
    await second.app.db.write(sql`
      insert into sixwire_jobs (id, kind, payload, run_at, attempts, state, created_at)
      values ('one', 'store.document-changes', '{"collection":"books"}', 0, 0, 'ready', 0)`)
    const books = collectionOf(second, token)
    await until(async () => (await books.get()).change.state === 'failed')
    assert.match((await books.get()).change.reason, /defined in the configuration/)
    assert.deepEqual(await books.list(), made)
    assert.equal((await books.remove()).status, 200)
    assert.equal((await books.get()).change, undefined)
  })
})
