import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { follow } from './changes.fixture.ts'

const collections = {
  projects: { read: ['owner', { members: '$$user._id' }], create: 'user', update: 'user', delete: 'user' },
  books: { read: 'public', create: 'user', update: 'user', delete: 'user', hidden: ['cost'] },
} as const

eachEngine((engine) => {
  test('tells of what is created, changed and deleted, with the state as the reader may see it', async (t) => {
    const app = await startApp(t, engine, { config: { store: { collections } } })
    const { token } = await app.register()
    const stream = await follow(t, app.url, {
      token,
      query: { collection: 'books', filter: { year: { $gt: 2000 } } },
    })
    await stream.isTold('ready')
    const { body } = await app.request('POST', '/store/books', { token, body: { title: 'a', year: 2001 } })
    await app.request('POST', '/store/books', { token, body: { title: 'old', year: 1999 } })
    await stream.isTold('ready', 'put a')
    const { _id } = body
    assert.deepEqual(stream.events[1]!.data, {
      watch: 0,
      collection: 'books',
      _id,
      etag: '"1"',
      document: body,
    })
    await app.request('PATCH', `/store/books/${_id}`, { token, body: { title: 'b' } })
    await stream.isTold('ready', 'put a', 'put b')
    await app.request('DELETE', `/store/books/${_id}`, { token })
    await stream.isTold('ready', 'put a', 'put b', `gone ${_id}`)
    assert.deepEqual(stream.events.at(-1)!.data, { watch: 0, collection: 'books', _id })
  })
})
