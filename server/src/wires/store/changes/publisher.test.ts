import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openDatabase } from '../../../db/open.ts'
import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, someEngine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { startReceiver } from '../../../testing/webhook-receiver.ts'

eachEngine((engine) => {
  test('changes that are written while no server runs are published once by two that start later', async (t) => {
    const receiver = await startReceiver(t)
    const { url, secret } = receiver
    const databaseUrl = await engine.migratedUrl()
    const config = { webhooks: [{ url, secret, events: ['store.*'] }] }
    const first = await startApp(t, engine, { databaseUrl, config })
    const { token } = await first.register()
    const create = async (app: typeof first, title: string) =>
      assert.equal((await app.request('POST', '/store/books', { token, body: { title } })).status, 201)
    await create(first, '0')
    await receiver.arrived(1)
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const isDelivered = () =>
      until(async () => !(await db.get(sql`select id from sixwire_jobs where kind like 'webhook:%'`)))
    await isDelivered()
    await first.stop()
    await db.write(sql`
      insert into store_changes (collection, id, version, owner, at, old ${sql.either({ sqlite: sql``, postgres: sql`, bytes` })})
      values ('books', 'gone', 0, '', 1, ${sql.either({ sqlite: sql`jsonb('{"n":1}')`, postgres: sql`'{"n":1}', 7` })})`)
    const servers = [
      await startApp(t, engine, { databaseUrl, config }),
      await startApp(t, engine, { databaseUrl, config }),
    ]
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(servers[i % 2]!, String(i + 1))))
    await receiver.arrived(22)
    await isDelivered()
    const titles = receiver
      .ofType('store.books.created')
      .map(({ data }) => (data['document'] as { title: string }).title)
    assert.deepEqual(
      titles.map(Number).toSorted((a, b) => a - b),
      Array.from({ length: 21 }, (_, i) => i),
    )
    assert.deepEqual(
      receiver.ofType('store.books.deleted').map(({ data }) => data),
      [{ collection: 'books', _id: 'gone', document: { n: 1 } }],
    )
  })
})

someEngine((engine) => {
  test('a webhook gets the events of documents of the collections that it takes', async (t) => {
    const receiver = await startReceiver(t)
    const { url, secret } = receiver
    const databaseUrl = await engine.migratedUrl()
    const webhooks = [{ url, secret, events: ['store.books.*'] }]
    const app = await startApp(t, engine, { databaseUrl, config: { webhooks } })
    const { token } = await app.register()
    const { body: book } = await app.request('POST', '/store/books', { token, body: { title: 'a' } })
    await app.request('POST', '/store/notes', { token, body: { title: 'not taken' } })
    const { _id } = book
    await receiver.arrived(1)
    await app.request('PATCH', `/store/books/${_id}`, { token, body: { title: 'b' } })
    await receiver.arrived(2)
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    await db.write(sql`delete from store_documents where id = ${_id}`)
    await receiver.arrived(3)
    const deliveries = receiver.events.map(({ type, data }) => [
      type,
      data['_id'],
      (data['document'] as typeof book).title,
    ])
    assert.deepEqual(deliveries, [
      ['store.books.created', _id, 'a'],
      ['store.books.updated', _id, 'b'],
      ['store.books.deleted', _id, 'b'],
    ])
    assert.deepEqual(receiver.events[0]!.data, { collection: 'books', _id, document: book })
  })

  test('a replica that starts without the webhook does not end its deliveries', async (t) => {
    const receiver = await startReceiver(t)
    const { url, secret } = receiver
    const databaseUrl = await engine.migratedUrl()
    const config = { webhooks: [{ url, secret, events: ['store.*'] }] }
    const app = await startApp(t, engine, { databaseUrl, config })
    const { token } = await app.register()
    await startApp(t, engine, { databaseUrl })
    await until(async () => {
      await app.request('POST', '/store/books', { token, body: { title: 'a' } })
      return receiver.events.length > 0
    })
  })
})
