import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Config } from '../../../app.ts'
import { sql } from '../../../db/sql.ts'
import { registerAs } from '../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, temporaryFolder, type Ending, type Engine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { archiveOf, documentOf, entriesOf } from './archive.fixture.ts'
import { download } from './backups.fixture.ts'
import { fileOf } from './restore.fixture.ts'

async function start(ending: Ending, engine: Engine, config: Config = {}) {
  const app = await startApp(ending, engine, {
    config,
    environment: { DATA_DIR: await temporaryFolder(ending) },
  })
  const [admin, user] = [await registerAs(app, 'admin'), await registerAs(app, 'user')]
  return { app, admin: admin.token, user: user.token, restores: app.app.service('store').restores }
}

const define = async (app: TestApp, token: string, name: string, body: unknown) =>
  assert.equal((await app.request('PUT', `/store/collections/${name}`, { token, body })).status, 200)

const definitionOf = async (app: TestApp, token: string, name: string) =>
  (await app.request('GET', `/store/collections/${name}`, { token })).body

eachEngine((engine) => {
  test('a restore into an empty installation brings collections with their rules and unique fields', async (t) => {
    const first = await start(t, engine)
    const people = { read: 'admin', create: 'user', unique: ['email'], search: ['email'], changes: false }
    const books = { read: 'public', hidden: ['cost'], relations: { author: { to: 'people' } } }
    await define(first.app, first.admin, 'people', people)
    await define(first.app, first.admin, 'books', { read: 'user' })
    await define(first.app, first.admin, 'books', books)
    const create = async ({ app, admin: token }: typeof first, name: string, body: unknown) =>
      app.request('POST', `/store/${name}`, { token, body })
    const author = (await create(first, 'people', { email: 'ann@example.com' })).body._id
    const book = (await create(first, 'books', { title: 'Momo', cost: 7, author })).body._id
    const backup = await first.app.request('POST', '/store/backup', { token: first.admin })
    const file = await fileOf(t, await download(first.app, first.admin, backup.body._id))

    const second = await start(t, engine)
    const { app, admin, user, restores } = second
    assert.deepEqual((await restores.preview({ file })).definitions, [
      { name: 'books', here: 'none' },
      { name: 'people', here: 'none' },
    ])
    await restores.restore({ file })
    const stored = await definitionOf(app, admin, 'people')
    assert.deepEqual([stored.source, stored.version, stored.definition], ['stored', 1, people])
    assert.deepEqual((await definitionOf(app, admin, 'books')).definition, books)
    assert.equal((await app.request('GET', '/store/people', { token: user })).status, 403)
    const shown = await app.request('GET', `/store/books/${book}`)
    assert.deepEqual([shown.status, shown.body.title, shown.body.cost], [200, 'Momo', undefined])
    // Until the job has looked at the index, a write may be told to come again.
    const again = () => create(second, 'people', { email: 'ann@example.com' })
    await until(async () => (await again()).status === 409)
    await until(
      async () => (await app.request('DELETE', `/store/people/${author}`, { token: admin })).status === 409,
    )
    await until(
      async () => (await app.request('GET', '/store/people?search=ann', { token: admin })).body.total === 1,
    )
    assert.deepEqual(
      (await restores.preview({ file })).definitions.map(({ here }) => here),
      ['same', 'same'],
    )
    const audit = await app.app.db.all(sql<{ target: string }>`
      select target from sixwire_audit where action = 'collection.defined' order by target`)
    assert.deepEqual(
      audit.map(({ target }) => target),
      ['collection:books', 'collection:people'],
    )
  })

  test('a definition that is here stays; one that was removed, and one that nothing here can read', async (t) => {
    const { app, admin, user, restores } = await start(t, engine, {
      store: { collections: { fixed: 'admin' } },
    })
    await define(app, admin, 'kept', { read: 'admin' })
    await define(app, admin, 'removed', { read: 'admin' })
    await app.request('DELETE', '/store/collections/removed', { token: admin })
    const open = { read: 'public' }
    // What no request can define.
    const properties = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, i) => [`${i}`.padEnd(9, 'x'), { type: 'string' }]),
    )
    const unread = { read: 'public', relations: { to: { to: 'nowhere' } } }
    const file = await fileOf(
      t,
      await archiveOf(
        entriesOf({ fixed: [documentOf('')], kept: [documentOf('"a":1')], unread: [documentOf('')] }, [], {
          fixed: open,
          huge: { ...open, schema: { properties } },
          kept: open,
          misspelt: { raed: 'admin' },
          removed: open,
          shapeless: { ...open, unique: 7 },
          unread,
        }),
      ),
    )
    assert.deepEqual(
      (await restores.preview({ file })).definitions.map(({ name, here }) => `${name}: ${here}`),
      [
        'fixed: other',
        'huge: none',
        'kept: other',
        'misspelt: none',
        'removed: none',
        'shapeless: none',
        'unread: none',
      ],
    )
    await restores.restore({ file })
    for (const [name, status] of [
      ['fixed', 403],
      ['kept', 403],
      ['removed', 200],
      ['unread', 403],
      ['huge', 403],
      ['misspelt', 403],
      ['shapeless', 403],
    ] as const)
      assert.equal((await app.request('GET', `/store/${name}`, { token: user })).status, status, name)
    assert.equal((await app.request('GET', '/store/kept', { token: admin })).body.data[0].a, 1)
    for (const [name, fault] of [
      ['unread', /no collection nowhere/],
      ['huge', /huge\.schema: is larger than 65536 characters/],
      ['misspelt', /misspelt\.raed: is not a known field/],
      ['shapeless', /shapeless\.unique: must be array/],
    ] as const)
      assert.match((await definitionOf(app, admin, name)).fault, fault)
    assert.deepEqual(
      (await app.request('GET', '/store/collections/removed/versions', { token: admin })).body.data.map(
        ({ version, state }: { version: number; state: string }) => `${version} ${state}`,
      ),
      ['3 active', '2 past', '1 past'],
    )
  })

  test('a collection whose documents are being changed gets no definition, and the change can be undone', async (t) => {
    const { app, admin: token, restores } = await start(t, engine)
    const made = { token, body: [{ a: 1 }, { b: 1 }] }
    assert.equal((await app.request('POST', '/store/books', made)).status, 201)
    const body = { unique: ['b'], documents: [{ rename: { from: 'a', to: 'b' } }] }
    // Two become the same.
    assert.equal((await app.request('PUT', '/store/collections/books', { token, body })).status, 409)
    const entries = entriesOf({ books: [documentOf('"a":2')] }, [], { books: { read: 'public' } })
    await restores.restore({ file: await fileOf(t, await archiveOf(entries)) })
    const { source, change } = await definitionOf(app, token, 'books')
    assert.deepEqual([source, change.state], ['none', 'failed'])
    assert.equal((await app.request('DELETE', '/store/collections/books', { token })).status, 200)
    assert.equal((await definitionOf(app, token, 'books')).change, undefined)
    assert.equal((await app.request('GET', '/store/books', { token })).body.data[0].a, 2)
  })
})
