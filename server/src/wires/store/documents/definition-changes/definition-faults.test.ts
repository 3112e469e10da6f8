// What definitions meet in the long run: a configuration that changes, a restore, writes meanwhile, servers that end.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { registerAs } from '../../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { startReplicas } from '../../../../testing/auth.ts'
import { runHere } from '../../../../testing/command.ts'
import { eachEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { TEST_SECRET } from '../../../../testing/templates.ts'
import { until } from '../../../../testing/until.ts'
import { upload } from '../../files/files.fixture.ts'
import { activateSql } from './version-rows.ts'

const put = (app: TestApp, token: string, name: string, body: unknown) =>
  app.request('PUT', `/store/collections/${name}`, { token, body })
const remove = (app: TestApp, token: string, name: string) =>
  app.request('DELETE', `/store/collections/${name}`, { token })
const get = (app: TestApp, token: string, name: string) =>
  app.request('GET', `/store/collections/${name}`, { token })
const create = (app: TestApp, token: string, body: unknown, name = 'books') =>
  app.request('POST', `/store/${name}`, { token, body })

eachEngine((engine) => {
  test('definitions that the configuration breaks close only themselves, say why, and are mended by calls', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const config = { store: { collections: { people: 'owner' as const } } }
    const first = await startApp(t, engine, { databaseUrl, config })
    const { token } = await registerAs(first, 'admin')
    const { token: user } = await registerAs(first, 'user')
    for (const [name, body] of [
      ['apples', { read: 'public' }],
      ['yaks', { read: 'public', relations: { keeper: { to: 'people' } }, unique: ['tag'] }],
      ['zebras', { read: 'public', relations: { keeper: { to: 'people' } } }],
    ] as const)
      assert.equal((await put(first, token, name, body)).status, 200)
    await first.stop()

    const second = await startApp(t, engine, { databaseUrl })
    const statuses = ['apples', 'yaks', 'zebras'].map(
      async (name) => (await second.request('GET', `/store/${name}`, { token: user })).status,
    )
    assert.deepEqual(await Promise.all(statuses), [200, 403, 403])
    assert.match((await get(second, token, 'yaks')).body.fault, /no collection people is defined/)
    assert.equal((await create(second, token, { tag: 1 }, 'yaks')).status, 201)
    assert.equal(
      (await create(second, token, { tag: 1 }, 'yaks')).status,
      409,
      'what can be read of it holds',
    )
    assert.equal((await put(second, token, 'zebra', { read: 'public' })).status, 200, 'another one')
    assert.equal((await put(second, token, 'yaks', { read: 'public' })).status, 200)
    assert.equal((await get(second, token, 'yaks')).body.fault, undefined)
    assert.equal((await second.request('GET', '/store/yaks', { token: user })).status, 200)
    assert.equal((await remove(second, token, 'zebras')).status, 200)
  })

  test('a file of a closed collection is not read by others, and not deleted', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const environment = { DATA_DIR: await temporaryFolder(t) }
    const first = await startApp(t, engine, { databaseUrl, environment })
    const { token: admin } = await registerAs(first, 'admin')
    const { token } = await registerAs(first, 'user')
    const { token: other } = await registerAs(first, 'user')
    const definition = { read: 'user', create: 'user', files: { photo: {} } }
    assert.equal((await put(first, admin, 'pets', definition)).status, 200)
    const { _id } = (await upload(first, token)).body
    assert.equal((await create(first, token, { photo: _id }, 'pets')).status, 201)
    await first.app.db.write(sql`
      update store_collection_versions set definition = '{"read":"everybody","files":{"photo":{}}}'`)
    await first.stop()
    const second = await startApp(t, engine, { databaseUrl, environment })
    const path = `/store/files/${_id}`
    assert.equal((await second.request('GET', `${path}/content`, { token: other })).status, 404)
    assert.equal((await second.request('DELETE', path, { token })).status, 409)
  })

  test('documents of a restore that are not unique keep no server from its start', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const environment = { DATA_DIR: await temporaryFolder(t) }
    const first = await startApp(t, engine, { databaseUrl, environment })
    const { token } = await registerAs(first, 'admin')
    const made = await create(first, token, [{ slug: 'a' }, { slug: 'a' }])
    const { body: backup } = await first.request('POST', '/store/backup', { token })
    await first.request('DELETE', `/store/books/${made.body.data[0]._id}`, { token })
    assert.equal((await put(first, token, 'books', { unique: ['slug'] })).status, 200)
    const restored = await first.request('POST', `/store/backup/${backup._id}/restore`, { token })
    assert.equal(restored.status, 200, restored.text)
    assert.equal((await put(first, token, 'others', { unique: ['x'] })).status, 200)
    await first.stop()
    const second = await startApp(t, engine, { databaseUrl, environment })
    assert.equal((await second.request('GET', '/store/books', { token })).body.total, 2)
    assert.equal((await put(second, token, 'books', {})).status, 200)
  })

  test('writes of two servers go on while unique fields come and go', async (t) => {
    const replicas = await startReplicas(t, engine)
    const { token } = await registerAs(replicas[0], 'admin')
    const answers = new Set<string>()
    let [ends, n] = [false, 0]
    const write = async (app: TestApp): Promise<void> => {
      while (!ends) {
        const { status, text } = await create(app, token, { a: ++n, b: n })
        answers.add(status === 201 ? '201' : text)
      }
    }
    const writers = replicas.map(write)
    for (const unique of [['a'], ['a', 'b'], ['b'], []])
      assert.equal((await put(replicas[0], token, 'books', { unique })).status, 200)
    await until(async () => {
      const { data } = (await replicas[0].request('GET', '/store/collections', { token })).body
      return !data[0].indexes.some(({ unique }: { unique: boolean }) => unique)
    })
    ends = true
    await Promise.all(writers)
    assert.deepEqual([...answers], ['201'])
  })

  test('a version that is refused after its server ended leaves no index', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    await create(app, token, [
      { slug: 'a', isbn: 1 },
      { slug: 'a', isbn: 2 },
    ])
    // The index that the first attempt has built.
    assert.equal((await put(app, token, 'books', { unique: ['isbn'] })).status, 200)
    await app.app.db.batch([
      sql`delete from store_collection_versions`,
      sql`insert into store_collection_versions (collection, version, state, definition, created_by, created_at)
          values ('books', 2, 'active', null, 'somebody', 1),
            ('books', 3, 'pending', '{"unique":["slug","isbn"]}', 'somebody', 1)`,
      sql`insert into sixwire_jobs (id, kind, payload, run_at, attempts, state, created_at)
          values ('one', 'store.definitions', '{"versions":[{"collection":"books","version":3}]}', 0, 0, 'ready', 0)`,
    ])
    await until(async () => (await get(app, token, 'books')).body.newest?.state === 'refused')
    await until(async () => (await create(app, token, { slug: 'z', isbn: 1 })).status === 201)
    const audit = await app.app.db.all(
      sql<{
        outcome: string
      }>`select outcome from sixwire_audit where target = 'collection:books' order by id`,
    )
    assert.deepEqual(
      audit.map(({ outcome }) => outcome),
      ['done', 'denied'],
    )
  })

  test('a version that waits is taken back', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    // Its job waits behind another one.
    await app.app.db.write(sql`
      insert into store_collection_versions (collection, version, state, definition, created_by, created_at)
      values ('books', 1, 'pending', '{"read":"public"}', 'somebody', 1)`)
    const { status, body } = await put(app, token, 'books', {})
    assert.deepEqual([status, body.error.code], [409, 'CONFLICT'])
    assert.equal((await get(app, token, 'books')).body.newest.state, 'pending')
    const back = await remove(app, token, 'books')
    assert.deepEqual(
      [back.status, back.body.source, back.body.newest.report.reason],
      [200, 'none', 'It was taken back'],
    )
    // The job that is about to put it into force writes nothing, not even an entry of the audit log.
    const late = activateSql({ collection: 'books', version: 1 }, {}, app.clock.now())
    await assert.rejects(app.app.db.batch(late), { code: 'CONFLICT' })
    assert.equal((await get(app, token, 'books')).body.source, 'none')
    assert.equal((await put(app, token, 'books', {})).status, 200)
  })

  test('who follows changes lists again once they are logged again', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const poll = (cursor = '') =>
      app.request('GET', `/store/changes?collection=books&cursor=${encodeURIComponent(cursor)}`, {
        token,
        headers: { accept: 'application/json' },
      })
    await create(app, token, { n: 0 })
    const { cursor } = (
      await app.request('GET', '/store/changes?collection=books', {
        token,
        headers: { accept: 'application/json' },
      })
    ).body
    assert.equal((await put(app, token, 'books', { changes: false })).status, 200)
    assert.equal((await create(app, token, { n: 1 })).status, 201)
    assert.equal((await poll(cursor)).status, 400)
    assert.equal((await put(app, token, 'books', {})).status, 200)
    assert.equal((await poll(cursor)).body.changes[0].event, 'reset')
  })

  test('sixwire can answers as the server does', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(app, 'admin')
    const { token: user } = await registerAs(app, 'user')
    assert.equal((await put(app, token, 'books', { create: 'admin' })).status, 200)
    assert.equal((await create(app, user, {})).status, 403)
    const { email } = (await app.request('GET', '/auth/me', { token: user })).body.user
    const { code, errors } = await runHere(['can', email, 'create', 'books', '{}'], {
      folder: await temporaryFolder(t),
      environment: { DATABASE_URL: databaseUrl, SIXWIRE_SECRET: TEST_SECRET, LOG_LEVEL: 'silent' },
    })
    assert.deepEqual([code, errors], [1, ''])
  })
})
