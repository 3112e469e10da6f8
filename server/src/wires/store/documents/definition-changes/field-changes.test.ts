// Changes of the documents that are there, with a new definition.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { registerAs } from '../../../../testing/administration.ts'
import { startApp } from '../../../../testing/app.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { collectionOf, fieldsOf } from './field-changes.fixture.ts'

const RENAMED = {
  schema: { properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false },
  documents: [
    { rename: { from: 'title', to: 'name' } },
    { drop: 'isbn' },
    { default: { field: 'name', value: 'untitled' } },
  ],
}

eachEngine((engine) => {
  test('fields of documents are renamed, dropped and set, as a dry run has counted', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = collectionOf(app, token)
    assert.equal((await books.put({ unique: ['title'] })).status, 200)
    const made = (await books.create([{ title: 'a', isbn: 1 }, { title: 'b' }, { isbn: 3 }, { name: 'd' }]))
      .data
    const definition = { ...RENAMED, unique: ['name'], search: ['name'] }
    const tried = await books.put(definition, '?dryRun=true')
    assert.equal(tried.status, 200, tried.text)
    assert.deepEqual(tried.body.report, { documents: 4, unfit: 0, examples: [], changed: [2, 2, 1] })
    assert.deepEqual((await books.list()).map(fieldsOf), made.map(fieldsOf), 'nothing has changed')
    const without = await books.put({ ...definition, documents: [] }, '?dryRun=true')
    assert.equal(without.body.report.unfit, 3)

    const put = await books.put(definition)
    assert.equal(put.status, 200, put.text)
    assert.deepEqual([put.body.version, put.body.change, put.body.newest], [2, undefined, undefined])
    assert.deepEqual((await books.list()).map(fieldsOf), [
      { name: 'a' },
      { name: 'b' },
      { name: 'untitled' },
      { name: 'd' },
    ])
    const [first] = await books.list('?filter={"name":"a"}')
    assert.ok(String(first!['updatedAt']) > made[0].updatedAt, 'who asks for what has changed finds it')
    assert.equal((await app.request('POST', '/store/books', { token, body: { name: 'a' } })).status, 409)
    assert.equal((await books.list('?search=untitled')).length, 1)
    const versions = (await app.request('GET', '/store/collections/books/versions', { token })).body.data
    assert.deepEqual(versions[0].documents, RENAMED.documents)
    const audit = await app.app.db.all(sql<{ action: string }>`
      select action from sixwire_audit where target = 'collection:books' order by id`)
    assert.deepEqual(
      audit.map(({ action }) => action),
      ['collection.defined', 'documents.changed', 'collection.defined'],
    )
    const left = await app.app.db.all(sql`select id from store_changed_documents`)
    assert.deepEqual(left, [])
  })

  test('what would not fit after the changes is refused before any document is changed', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = collectionOf(app, token)
    const made = await books.create({ title: 7 })
    const refused = await books.put(RENAMED)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'DEFINITION_REFUSED'])
    assert.equal(refused.body.error.details.examples[0]._id, made._id)
    assert.deepEqual(await books.list(), [made])
    assert.deepEqual([(await books.get()).change, (await books.get()).newest.state], [undefined, 'refused'])
    assert.equal((await books.put({ read: 'public', create: { flag: true } })).status, 200)
    for (const [documents, message] of [
      [[{ drop: 'a' }, { rename: { from: 'a', to: 'b' } }], /a is in another change already/],
      [[{ rename: { from: 'a', to: 'a' } }], /another change/],
      [[{ drop: 'a' }, { default: { field: 'a', value: 1 } }], /another change/],
      [[{ drop: 'createdAt' }], /createdAt is a field of the server/],
      [[{ drop: '_id' }], /field of the server/],
      [[{ drop: 'a.b' }], /pattern|match/],
      [[{ drop: 'flag' }], /a rule that is in force asks for flag/],
    ] as const) {
      const answer = await books.put({ documents })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.text, message)
    }
  })

  test('a change that a document stops says which, and is undone or started again', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = collectionOf(app, token)
    // Two become the same.
    const made = (await books.create([{ title: 'a', isbn: 1 }, { title: 'b' }, { name: 'a' }])).data
    const body = { ...RENAMED, unique: ['name'] }
    const stopped = await books.put(body)
    assert.deepEqual([stopped.status, stopped.body.error.code], [409, 'DEFINITION_REFUSED'])
    assert.match(stopped.body.error.message, new RegExp(`${made[0]._id}: .*same name`))
    const now = await books.get()
    assert.deepEqual([now.source, now.newest.state, now.change.state], ['none', 'pending', 'failed'])
    const other = await books.put({ read: 'public' })
    assert.deepEqual([other.status, other.body.error.code], [409, 'CONFLICT'])
    assert.match(other.body.error.message, new RegExp(made[0]._id))
    const { documents: _, ...definition } = body
    const putAll = (of: object) =>
      app.request('PUT', '/store/collections', {
        token,
        body: {
          definitions: [
            { name: 'people', definition: {} },
            { name: 'books', definition: of },
          ],
        },
      })
    assert.equal((await putAll(body)).status, 400, 'several at once change no documents')
    const several = await putAll(definition)
    assert.deepEqual([several.status, several.body.error.code], [409, 'CONFLICT'])
    assert.match(several.body.error.message, /books/)
    assert.equal((await collectionOf(app, token, 'people').get()).newest, undefined)

    assert.equal((await books.remove()).status, 200)
    assert.deepEqual((await books.list()).map(fieldsOf), made.map(fieldsOf))
    assert.deepEqual([(await books.get()).change, (await books.get()).newest.state], [undefined, 'refused'])

    assert.equal((await books.put(body)).status, 409)
    assert.equal((await books.patch(made[2]._id, { name: 'c' })).status, 200)
    const again = await books.put(body)
    assert.equal(again.status, 200, again.text)
    assert.deepEqual((await books.list()).map(fieldsOf), [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    const removed = await books.remove()
    assert.equal(removed.status, 200)
    assert.deepEqual((await books.list()).length, 3, 'what is done stays')
  })

  test('an undo gives a document nothing of another one that had its id before', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const [ann, ben] = [await registerAs(app, 'user'), await registerAs(app, 'user')]
    const books = collectionOf(app, token)
    const rules = { read: 'owner', create: 'user', update: 'owner', delete: 'owner', ids: 'client' }
    assert.equal((await books.put(rules)).status, 200)
    const post = (body: unknown, by = ann) => app.request('POST', '/store/books', { token: by.token, body })
    assert.equal((await post({ _id: 'a', title: 'by Ann', name: 'Ann', isbn: 1 })).status, 201)
    await books.create([
      { _id: 'b', code: 1 },
      { _id: 'c', slug: 1 },
    ])
    const documents = [
      { drop: 'isbn' },
      { rename: { from: 'title', to: 'name' } },
      { rename: { from: 'slug', to: 'code' } },
    ]
    const body = { ...rules, unique: ['code'], documents }
    assert.equal((await books.put(body)).status, 409)
    const document = { token: ben.token }
    assert.equal((await app.request('DELETE', '/store/books/a', { token: ann.token })).status, 200)
    assert.equal((await post({ _id: 'a', title: 'by Ben' }, ben)).status, 201)
    // It goes on, and changes the new document too.
    assert.equal((await books.put(body)).status, 409)
    assert.equal((await app.request('GET', '/store/books/a', document)).body.name, 'by Ben')
    assert.equal((await books.remove('"7"')).status, 412, 'somebody has read another definition')
    assert.equal((await books.get()).change.state, 'failed')
    assert.equal((await books.remove('"1"')).status, 200)
    const undone = await app.request('GET', '/store/books/a', document)
    assert.deepEqual(fieldsOf(undone.body), { title: 'by Ben' })
  })

  test('a document that cannot be changed at the end keeps none behind it from being changed', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = collectionOf(app, token)
    await books.create({ code: 1 })
    const documents = [{ rename: { from: 'cost', to: 'price' } }, { rename: { from: 'slug', to: 'code' } }]
    assert.equal((await books.put({ hidden: ['cost'] })).status, 200)
    const put = books.put({ hidden: ['price'], unique: ['code'], documents })
    await until(async () => (await books.get()).change?.state === 'settling')
    // Written by somebody who knows the fields from before.
    await books.create({ slug: 1 })
    await books.create({ cost: 5 })
    assert.equal((await put).status, 200)
    assert.deepEqual((await books.list()).map(fieldsOf), [{ code: 1 }, { slug: 1 }, { price: 5 }])
  })
})
