import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, test } from 'node:test'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { sql } from '../../../db/sql.ts'
import { storedColumn, storedSql } from '../documents/storage/sql/document-rows.ts'
import { caughtUp, follow, pathOf, shortOf } from './changes.fixture.ts'
import { randomFrom } from './random-writes.fixture.ts'

const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))
const CHANGES = 1000
const FORGED = 60

const collections = {
  tasks: { read: ['owner', { members: '$$user._id' }], create: 'user', update: 'user' },
  books: { read: 'public', create: 'user' },
  notes: { read: 'public', create: 'user', hidden: ['cost'], showTo: { phone: 'owner' } },
} as const

someEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let admin: { token: string }
  before(async () => {
    app = await startApp(ending, engine, { config: { store: { collections } } })
    admin = await app.register()
  })

  test('a stream delivers none of 1,000 changes that its user may not read, and only the id of a document that leaves', async (t) => {
    const [ada, bob] = [await app.register(), await app.register()]
    const create = async (body: unknown) =>
      (await app.request('POST', '/store/tasks', { token: ada.token, body })).body
    const shared = await create({ title: 'shared', members: [bob._id] })
    const foreign = await create({ title: 'foreign' })
    await caughtUp(t, app, { token: ada.token, collection: 'books' })
    const stream = await follow(t, app.url, { token: bob.token, query: { collection: 'tasks' } })
    await stream.receives('ready')
    const write = (document: Record<string, unknown>) => sql`
      update store_documents set ${storedColumn} = ${storedSql(JSON.stringify(document))}, version = version + 1
      where id = ${String(document['_id'])}`
    for (let n = 0; n < CHANGES; n += 100)
      await app.app.db.batch(Array.from({ length: 100 }, (_, i) => write({ ...foreign, secret: n + i })))
    await app.app.db.write(write({ ...shared, members: [], secret: 'no byte of it' }))
    await stream.receives('ready', `gone ${shared._id}`)
    assert.deepEqual(stream.events.at(-1)!.data, { watch: 0, collection: 'tasks', _id: shared._id })
    await create({ title: 'end', members: [bob._id] })
    await stream.receives('ready', `gone ${shared._id}`, 'put end')
    assert.ok(!JSON.stringify(stream.events).includes('secret'))
  })

  test('a cursor that is forged, damaged or of another server is refused or answered with a reset', async (t) => {
    t.diagnostic(`seed ${SEED}`)
    const random = randomFrom(SEED)
    const stranger = await startApp(t, engine, {
      config: { store: { collections } },
      environment: { SIXWIRE_SECRET: 'another secret of the tests, long enough' },
    })
    const [ada, bob] = [await app.register(), await app.register()]
    const query = { collection: 'tasks' }
    const poll = (token: string, cursor?: string, from = app) =>
      from.request('GET', pathOf({ ...query, ...(cursor !== undefined && { cursor }) }), {
        token,
        headers: { accept: 'application/json' },
      })
    const { cursor } = (await poll(ada.token)).body as { cursor: string }
    await app.request('POST', '/store/tasks', { token: ada.token, body: { title: 'a secret' } })
    // What the feed has not come to yet may follow a reset.
    assert.equal((await poll(ada.token, cursor)).body.changes[0].document.title, 'a secret')
    const [place, audience] = cursor.split('.') as [string, string]

    const foreign = (await poll((await stranger.register()).token, undefined, stranger)).body.cursor as string
    for (const [token, one, status] of [
      [bob.token, cursor, 200],
      [ada.token, foreign, 400],
      [ada.token, place, 200],
      [ada.token, `.${audience}`, 400],
      [ada.token, `${audience}.${place}`, 400],
      [ada.token, 'x'.repeat(8000), 400],
      [ada.token, '\u0000', 400],
      [ada.token, '%', 400],
    ] as const) {
      const answer = await poll(token, one)
      assert.equal(answer.status, status, answer.text)
      if (status === 200) assert.deepEqual(answer.body.changes, [{ event: 'reset', reason: 'changed' }])
    }
    for (let n = 0; n < FORGED; n++) {
      const at = random(cursor.length)
      const flipped = String.fromCharCode(cursor.charCodeAt(at) ^ (1 << random(7)))
      const forged =
        random(3) === 0 ? cursor.slice(0, at) : cursor.slice(0, at) + flipped + cursor.slice(at + 1)
      const { status, text, body } = await poll(ada.token, forged)
      // The last character of base64url has bits that say nothing.
      const isSame = forged.split('.')[1] === audience
      assert.ok(
        status === 400 || (status === 200 && (isSame || body.changes[0].reason === 'changed')),
        forged + text,
      )
    }
    const whole = await poll(ada.token, cursor)
    assert.equal(whole.body.changes[0].document.title, 'a secret')
  })

  test('callers with different views receive their own over many changes', async (t) => {
    const [ada, bob] = [await app.register(), await app.register()]
    const { _id } = (
      await app.request('POST', '/store/notes', { token: ada.token, body: { n: 0, phone: 1 } })
    ).body
    await caughtUp(t, app, { token: ada.token, collection: 'books' })
    const streams = await Promise.all(
      [admin, ada, bob].map(({ token }) => follow(t, app.url, { token, query: { collection: 'notes' } })),
    )
    for (const stream of streams) await stream.receives('ready')
    for (let n = 1; n <= 30; n++)
      await app.request('PATCH', `/store/notes/${_id}`, {
        token: admin.token,
        body: { n, title: `${n}`, cost: n, phone: n },
      })
    const fieldsOfStreams = [['cost', 'phone'], ['phone'], []]
    for (const [i, stream] of streams.entries()) {
      await until(() => stream.held.get(_id)?.n === 30)
      for (const { data, event } of stream.events)
        if (event === 'put')
          assert.deepEqual(
            ['cost', 'phone'].filter((name) => name in data.document),
            fieldsOfStreams[i],
            shortOf({ event, data, id: undefined }),
          )
    }
  })
})
