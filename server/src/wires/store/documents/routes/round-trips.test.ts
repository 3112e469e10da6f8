// What a request to the store costs on the way to a PostgreSQL that is far away, and that it saves nothing on checks.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { startProxy } from '../../../../db/postgres-proxy.fixture.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestAnswer } from '../../../../testing/app.ts'
import { startReplicas } from '../../../../testing/auth.ts'
import { eachEngine } from '../../../../testing/engines.ts'

/** What a call itself costs: jobs ask the database now and then too, so it is the least of several calls. */
async function leastRoundTrips(
  proxy: { readonly roundTrips: () => number },
  call: () => Promise<TestAnswer>,
): Promise<number> {
  let least = Infinity
  for (let i = 0; i < 20; i++) {
    const before = proxy.roundTrips()
    assert.ok((await call()).status < 300)
    least = Math.min(least, proxy.roundTrips() - before)
  }
  return least
}

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
      for (const [name, [expected, call]] of Object.entries(calls))
        assert.equal(await leastRoundTrips(proxy, call), expected, name)
    })

  if (engine.name === 'postgres')
    test('each level of what a document and a list are expanded with is read in one round trip more', async (t) => {
      const proxy = await startProxy(await engine.migratedUrl())
      t.after(() => proxy.down())
      const config = {
        store: {
          collections: {
            people: { read: 'user', relations: { boss: { to: 'people' }, company: { to: 'companies' } } },
            companies: { read: { readers: '$$user._id' }, relations: { owner: { to: 'people' } } },
          },
        },
      } satisfies Config
      const app = await startApp(t, engine, { databaseUrl: proxy.url, config })
      await app.register() // the first account is an administrator
      const { token, _id } = await app.register()
      async function made(collection: string, fields: object): Promise<string> {
        const body = { readers: [_id], ...fields }
        const answered = await app.request('POST', `/store/${collection}`, { token, body })
        assert.equal(answered.status, 201, answered.text)
        return answered.body._id
      }
      let id = ''
      for (let i = 0; i < 5; i++) {
        const company = await made('companies', { owner: await made('people', { name: `owner ${i}` }) })
        const boss = await made('people', { boss: await made('people', { company }), company })
        id = await made('people', { boss, company, i })
      }
      const read = (path: string, expand: string) =>
        app.request('GET', `/store/people${path}${expand}`, { token })
      const all = await read('', '?expand=boss.boss.company,company.owner')
      const expanded = all.body.data.filter(({ i }: { i?: number }) => i !== undefined)
      assert.equal(expanded.length, 5)
      for (const { i, $expanded } of expanded) {
        assert.equal($expanded.company.$expanded.owner.name, `owner ${i}`)
        assert.equal($expanded.boss.$expanded.boss.$expanded.company._id, $expanded.company._id)
      }
      for (const [expand, expected] of [
        ['', 1],
        ['?expand=boss', 2],
        ['?expand=boss,company', 2],
        ['?expand=boss.boss,company.owner', 3],
        ['?expand=boss.boss.company,company.owner', 4],
      ] as const)
        for (const path of ['', `/${id}`])
          assert.equal(await leastRoundTrips(proxy, () => read(path, expand)), expected, path + expand)
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
    assert.deepEqual(await statuses('?limit=x'), [400, 400, 400, 400, 400, 400])
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
