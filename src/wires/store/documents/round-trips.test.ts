// What a request to the store costs on the way to a PostgreSQL that is far away, and that it saves nothing on checks.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startProxy } from '../../../db/postgres-proxy.fixture.ts'
import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { startReplicas } from '../../../testing/auth.ts'
import { eachEngine } from '../../../testing/engines.ts'

eachEngine((engine) => {
  if (engine.name === 'postgres')
    test('a document and a list are read in one round trip, a document is created in two', async (t) => {
      const proxy = await startProxy(await engine.migratedUrl())
      t.after(() => proxy.down())
      const app = await startApp(t, engine, { databaseUrl: proxy.url })
      const { token } = await app.register()
      const create = () => app.request('POST', '/store/books', { token, body: { title: 'Momo' } })
      const path = `/store/books/${(await create()).body._id}`
      const calls = {
        get: [1, () => app.request('GET', path, { token })],
        list: [1, () => app.request('GET', '/store/books', { token })],
        create: [2, create],
      } as const
      for (const [name, [expected, call]] of Object.entries(calls)) {
        // Jobs ask the database now and then too: the least of several calls is what the call itself costs.
        let least = Infinity
        for (let i = 0; i < 20; i++) {
          const before = proxy.roundTrips()
          assert.ok((await call()).status < 300)
          least = Math.min(least, proxy.roundTrips() - before)
        }
        assert.equal(least, expected, name)
      }
    })

  test('a reading that began for a caller is not answered if the session has ended, on any replica', async (t) => {
    const [app, replica] = await startReplicas(t, engine)
    const { token, _id } = await app.register()
    const made = await app.request('POST', '/store/books', { token, body: { title: 'Momo' } })
    const paths = [`/store/books/${made.body._id}`, '/store/books', '/store/books/01arz3ndektsv4rrffq69g5fav']
    const statuses = async (query = '') => {
      const answers = [app, replica].flatMap((one) =>
        paths.map((path) => one.request('GET', path + query, { token })),
      )
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    for (let i = 0; i < 3; i++) assert.deepEqual(await statuses(), [200, 200, 404, 200, 200, 404])
    assert.deepEqual(await statuses('?limit=x'), [200, 400, 404, 200, 400, 404])
    await replica.app.db.write(sql`delete from auth_sessions where user_id = ${_id}`)
    assert.deepEqual(
      await statuses(),
      Array.from({ length: 6 }, () => 401),
    )
    // Who has no session is told so whatever else is wrong.
    assert.deepEqual(
      await statuses('?limit=x'),
      Array.from({ length: 6 }, () => 401),
    )
  })

  test('a reading that began for a caller is begun again if the caller may see other records by now', async (t) => {
    const app = await startApp(t, engine, { environment: { SIXWIRE_POLICY: 'guarded' } })
    await app.register() // the first account is an administrator
    const [owner, other] = [await app.register(), await app.register()]
    const made = await app.request('POST', '/store/books', { token: owner.token, body: { title: 'Momo' } })
    const read = async () =>
      (await app.request('GET', `/store/books/${made.body._id}`, { token: other.token })).status
    assert.deepEqual([await read(), await read()], [404, 404])
    await app.app.db.write(sql`update auth_users set role = 'admin' where id = ${other._id}`)
    assert.deepEqual([await read(), await read()], [200, 200])
    await app.app.db.write(sql`update auth_users set role = 'user' where id = ${other._id}`)
    assert.deepEqual([await read(), await read()], [404, 404])
    await app.app.db.write(sql`update auth_users set disabled_at = 1 where id = ${other._id}`)
    assert.deepEqual([await read(), await read()], [401, 401])
  })
})
