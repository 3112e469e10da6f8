import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { readyIndexes } from '../../storage/indexes/indexes.fixture.ts'

const update = { before: { members: '$$user._id', locked: { $ne: true } }, after: { members: '$$user._id' } }
const config = {
  store: {
    indexes: { projects: ['-year'] },
    collections: {
      people: {},
      projects: {
        search: ['title', 'notes.text'],
        read: ['owner', { members: '$$user._id' }],
        update,
        hidden: ['cost'],
        showTo: { phone: 'owner' },
        readOnly: ['votes'],
        schema: { type: 'object' },
        unique: ['slug', ['team', 'number'], { fields: ['email'], ignoreCase: true }],
        relations: { lead: { to: 'people' }, crew: { to: 'people', onDelete: 'unset' } },
        files: { photo: { types: ['image/*'], maxBytes: '5KB', access: 'public' }, papers: { max: 3 } },
        changes: false,
        hooks: { beforeCreate: () => undefined, afterDelete() {} },
      },
      news: 'public-read',
    },
  },
} satisfies Config

eachEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let [admin, ann] = ['', '']
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = (await app.register()).token
    ann = (await app.register()).token
    const { documents } = app.app.service('store')
    await documents.create('projects', { title: 'Plan', cost: 7 }, { owner: 'ann' })
    await documents.create('projects', { title: 'Other' }, { owner: 'bob' })
    const gone = await documents.create('gone', {})
    await documents.delete('gone', gone._id)
    await documents.create('undeclared', { a: 'é' })
    await readyIndexes(app)
  })
  const list = async (query: string, token: string | undefined) =>
    app.request('GET', `/store/collections${query}`, { token })

  test('administrators see what is declared of each collection, its documents and indexes', async () => {
    const { status, body, text } = await list('', admin)
    assert.equal(status, 200, text)
    assert.equal(body.nextCursor, undefined)
    assert.deepEqual(
      body.data.map((one: { name: string; declared: boolean; documents: number }) => [
        one.name,
        one.declared,
        one.documents,
      ]),
      [
        ['news', true, 0],
        ['people', true, 0],
        ['projects', true, 2],
        ['undeclared', false, 1],
      ],
    )
    const [news, , { indexes, ...projects }, undeclared] = body.data
    assert.deepEqual(news.rules, { read: 'public', create: 'user', update: 'owner', delete: 'owner' })
    assert.deepEqual(undeclared, {
      name: 'undeclared',
      declared: false,
      source: 'none',
      rules: { read: 'user', create: 'user', update: 'user', delete: 'user' },
      hidden: [],
      showTo: {},
      readOnly: [],
      schema: false,
      ids: 'server',
      unique: [],
      search: [],
      relations: {},
      files: {},
      changes: true,
      hooks: [],
      documents: 1,
      indexes: [],
    })
    assert.deepEqual(projects, {
      name: 'projects',
      declared: true,
      source: 'configuration',
      rules: { read: ['owner', { members: '$$user._id' }], create: 'user', update, delete: 'user' },
      hidden: ['cost'],
      showTo: { phone: 'owner' },
      readOnly: ['votes'],
      schema: true,
      ids: 'server',
      unique: [
        { fields: ['slug'], ignoreCase: false },
        { fields: ['team', 'number'], ignoreCase: false },
        { fields: ['email'], ignoreCase: true },
      ],
      search: ['title', 'notes.text'],
      relations: {
        lead: { to: 'people', onDelete: 'restrict' },
        crew: { to: 'people', onDelete: 'unset' },
      },
      files: {
        photo: { types: ['image/*'], maxBytes: 5120, max: 1, access: 'public' },
        papers: { max: 3, access: 'document' },
      },
      changes: false,
      hooks: ['beforeCreate', 'afterDelete'],
      documents: 2,
    })
    const explained = await app.request('GET', '/store/projects/explain', { token: admin })
    assert.equal(indexes.length, 9)
    assert.deepEqual(indexes.at(-1), {
      fields: 'title,notes.text',
      unique: false,
      search: true,
      source: 'declared',
      state: 'ready',
    })
    assert.deepEqual(indexes, explained.body.indexes)
  })

  test('pages go from name to name, and sizes are those of the documents as they are answered', async () => {
    const first = await list('?limit=3&sizes=true', admin)
    assert.equal(first.body.nextCursor, 'projects')
    const second = await list(`?limit=3&sizes=true&cursor=${first.body.nextCursor}`, admin)
    assert.equal(second.body.nextCursor, undefined)
    const { data } = (await app.request('GET', '/store/undeclared', { token: admin })).body
    assert.deepEqual(
      [...first.body.data, ...second.body.data].map(({ name, bytes }) => [name, bytes > 0]),
      [
        ['news', false],
        ['people', false],
        ['projects', true],
        ['undeclared', true],
      ],
    )
    assert.equal(second.body.data[0].bytes, Buffer.byteLength(JSON.stringify(data[0])))
  })

  test('only administrators and service keys of the store read the overview, whatever the policy', async () => {
    const { keys } = app.app.service('auth')
    const keyOf = async (scope: string) => (await keys.create('key', [scope])).key
    assert.equal((await list('', undefined)).status, 401)
    assert.equal((await list('', ann)).status, 403)
    assert.equal((await list('', await keyOf('pay'))).status, 403)
    assert.equal((await list('', await keyOf('store:read'))).status, 200)
  })
})
