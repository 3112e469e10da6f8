import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startReplicas } from '../../../testing/auth.ts'
import type { TestApp } from '../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { follow, shortOf, type Stream } from './changes.fixture.ts'
import { agree, mirror } from './mirror.fixture.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

const store = {
  user: { teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' } },
  collections: {
    books: { read: 'public', create: 'user', update: 'user', delete: 'user' },
    tasks: { read: { team: { $in: '$$user.teams' } }, create: 'user' },
    memberships: { read: 'admin', create: 'user' },
  },
} as const

const receives = (stream: Stream, ...texts: string[]) =>
  until(() => texts.every((text) => stream.events.map(shortOf).includes(text)))

async function create(app: TestApp, token: string, collection: string, body: unknown) {
  const answer = await app.request('POST', `/store/${collection}`, { token, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

const countOf = async ({ app }: TestApp): Promise<number> =>
  (await app.db.get<{ n: number }>(sql`select count(*) as n from store_changes`))!.n

/** Waits for what deletes changes, each minute. */
const isKept = (app: TestApp, isEnough: (rows: number) => boolean): Promise<void> =>
  until(async () => {
    app.clock.advance(MINUTE_MS)
    return isEnough(await countOf(app))
  })

eachEngine((engine) => {
  test('a restore resets every stream, by the rights that came with it', async (t) => {
    const [one, other] = await startReplicas(t, engine, {
      config: { store },
      environment: { DATA_DIR: await temporaryFolder(t) },
    })
    const { token: admin } = await one.register()
    const { _id: user, token } = await one.register()
    const { title } = await create(one, admin, 'books', { title: 'kept' })
    await create(one, admin, 'tasks', { title: 'old task', team: 'a' })
    const saved = await one.request('POST', '/store/backup', { token: admin })
    assert.equal(saved.status, 201, saved.text)

    const books = { collection: 'books' }
    const early = await follow(t, one.url, { query: books })
    await receives(early, 'ready')
    await create(one, admin, 'books', { title: 'lost' })
    await create(one, admin, 'memberships', { user, team: 'a' })
    await receives(early, 'put lost')
    early.close()
    const live = await follow(t, one.url, { query: books })
    const tasks = await follow(t, other.url, { token, query: { collection: 'tasks' } })
    const mirrors = [one, other].map(({ url }) =>
      mirror(t, { url: () => url, token: undefined, watches: [books] }),
    )
    await agree(mirrors)
    await receives(tasks, 'ready')

    const restored = await one.request('POST', `/store/backup/${saved.body._id}/restore`, { token: admin })
    assert.equal(restored.status, 200, restored.text)
    await receives(live, 'reset restored')
    await receives(tasks, 'reset restored', 'reset changed')
    const again = await follow(t, other.url, { query: books, lastEventId: early.lastId() })
    await again.receives('reset restored')
    await create(other, admin, 'tasks', { title: 'not theirs', team: 'a' })
    await create(other, admin, 'books', { title: 'new' })
    await receives(live, 'put new')
    await receives(again, 'put new')
    await agree(mirrors)
    const titles = new Set([...mirrors[0]!.held[0]!.values()].map((one) => one.title))
    assert.deepEqual(titles, new Set([title, 'new']))
    await create(other, admin, 'memberships', { user, team: 'b' })
    await until(() => tasks.events.filter((one) => shortOf(one) === 'reset changed').length === 2)
    await create(other, admin, 'tasks', { title: 'theirs', team: 'b' })
    await receives(tasks, 'put theirs')
    assert.ok(!JSON.stringify(tasks.events).includes('not theirs'))
  })

  test('changes are kept for some hours, and a client that comes later lists again', async (t) => {
    const [app, other] = await startReplicas(t, engine, { config: { store } })
    const { token } = await app.register()
    const query = { collection: 'books' }
    const begun = await follow(t, app.url, { query })
    await begun.receives('ready')
    begun.close()
    await until(async () => (await app.request('GET', '/metrics')).text.includes('changes_followers 0'))
    await create(app, token, 'books', { title: 'a' })
    await create(app, token, 'books', { title: 'b' })
    // As if it had been written before: nobody has a cursor of these rows yet.
    await app.app.db.write(sql`update store_changes set at = at - ${23 * HOUR_MS}`)
    const stream = await follow(t, app.url, { query, lastEventId: begun.lastId() })
    await stream.receives('ready', 'put a', 'put b')
    const lastEventId = stream.events[1]!.id
    app.clock.advance(MINUTE_MS)
    const within = await follow(t, other.url, { query, lastEventId })
    await within.receives('ready', 'put b')
    within.close()
    app.clock.advance(HOUR_MS)
    await isKept(app, (rows) => rows === 0)
    const late = await follow(t, other.url, { query, lastEventId })
    await receives(late, 'reset expired')
    const { token: newToken } = await app.register()
    await create(app, newToken, 'books', { title: 'c' })
    await receives(late, 'put c')
    await receives(stream, 'put c')
    const eventTexts = stream.events.map(shortOf).filter((one) => one !== 'ping')
    assert.deepEqual(eventTexts, ['ready', 'put a', 'put b', 'put c'])
  })

  test('no more than keepBytes of changes are kept while others write', async (t) => {
    const config = { store: { ...store, changes: { keepBytes: '1MB' } } }
    const [app, other] = await startReplicas(t, engine, { config })
    const { token } = await app.register()
    const query = { collection: 'books' }
    const first = await follow(t, app.url, { query })
    const { _id } = await create(app, token, 'books', { title: 'a' })
    await receives(first, 'put a')
    const early = first.lastId()
    const text = 'x'.repeat(100_000)
    for (let n = 0; n < 25; n++) {
      await app.request('PATCH', `/store/books/${_id}`, { token, body: { n, text } })
      if (n % 8 !== 7) continue
      // What the stream has not read yet would be deleted before it.
      await until(() => first.held.get(_id)?.n === n)
      app.clock.advance(MINUTE_MS)
    }
    await until(() => first.held.get(_id)?.n === 24)
    await isKept(app, (rows) => rows <= 11)
    assert.ok((await countOf(app)) >= 9)
    const late = await follow(t, other.url, { query, lastEventId: early })
    await receives(late, 'reset expired')
    const recent = await follow(t, other.url, { query, lastEventId: first.lastId() })
    await receives(recent, 'ready')
    // The token has expired, if the job took its time.
    const { token: newToken } = await app.register()
    await create(app, newToken, 'books', { title: 'b' })
    for (const one of [first, late, recent]) await receives(one, 'put b')
    assert.ok(![first, recent].some(({ events }) => events.some(({ event }) => event === 'reset')))
  })
})
