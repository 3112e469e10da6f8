// Batches beside a restore, the erasure of accounts, files of documents, streams, and a repeated call.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { closeGateSql, openGateSql } from '../../../backups/restore-gate.ts'
import { stateOf } from '../../../backups/restore.fixture.ts'
import { follow, shortOf, type Stream } from '../../../changes/changes.fixture.ts'
import { hoursLater, upload } from '../../../files/files.fixture.ts'

type Operation = { op: string; collection: string; [part: string]: unknown }
type Person = Awaited<ReturnType<TestApp['register']>>

eachEngine((engine) => {
  /** What happens while a batch is decided on, once. */
  let meanwhile: (() => Promise<unknown>) | undefined
  const config = {
    store: {
      collections: {
        steps: {
          read: 'user',
          update: 'user',
          delete: 'user',
          hooks: {
            async beforeCreate() {
              const work = meanwhile
              meanwhile = undefined
              await work?.()
            },
            afterCreate: () => undefined,
          },
        },
        products: { read: 'user', update: 'user', delete: 'user', files: { photo: {}, photos: { max: 3 } } },
        letters: { read: 'owner', files: { attachment: {} } },
        books: { read: [{ open: true }, 'owner'], update: 'user', delete: 'user' },
      },
    },
  } as unknown as Config

  let app: TestApp
  let [admin, ann, bob]: Person[] = []
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, {
      config,
      environment: { DATA_DIR: await temporaryFolder(ending) },
    })
    ;[admin, ann, bob] = [await app.register(), await app.register(), await app.register()]
  })

  const ask = (method: string, path: string, body?: unknown, who = ann): Promise<TestAnswer> =>
    app.request(method, `/store/${path}`, { token: who!.token, body })
  const send = (operations: readonly Operation[], who = ann, idempotencyKey?: string) =>
    app.request('POST', '/store/batch', {
      token: who!.token,
      body: { operations },
      ...(idempotencyKey && { headers: { 'idempotency-key': idempotencyKey } }),
    })
  async function done(operations: readonly Operation[]) {
    const answered = await send(operations)
    assert.equal(answered.status, 200, answered.text)
    return answered.body.results
  }
  async function made(collection: string, document: object, who = ann): Promise<string> {
    const answered = await ask('POST', collection, document, who)
    assert.equal(answered.status, 201, answered.text)
    return answered.body._id
  }
  async function fileOf(who = ann): Promise<string> {
    const { status, text, body } = await upload(app, who!.token)
    assert.equal(status, 201, text)
    return body._id
  }
  const create = (collection: string, document: object = {}): Operation => ({
    op: 'create',
    collection,
    document,
  })
  const hookJobs = () => app.app.db.all(sql`select id from sixwire_jobs where kind = 'store.hooks'`)

  test('is refused while a backup is restored, also one that has begun before', async () => {
    const { db } = app.app
    const [file, id] = [await fileOf(), await made('products', { n: 1 })]
    const operations = [
      create('steps'),
      create('products', { photo: file }),
      { op: 'patch', collection: 'products', id, document: { $inc: { n: 1 } } },
    ]
    const before = await stateOf(app.app)
    for (const close of [() => db.batch(closeGateSql[db.dialect]), undefined]) {
      meanwhile = close
      const refused = await send(operations, ann, 'while-restoring')
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5'], refused.text)
      assert.match(refused.body.error.message, /^A backup is being restored/)
      assert.deepEqual(await hookJobs(), [])
    }
    await db.batch(openGateSql[db.dialect])
    assert.deepEqual(await stateOf(app.app), before)
    const again = await send(operations, ann, 'while-restoring')
    assert.deepEqual([again.status, again.body.results[2].document.n], [200, 2], again.text)
  })

  test('of a caller whose key is taken over meanwhile is not done twice', async () => {
    const id = await made('products', { n: 1 })
    const operations = [
      create('steps'),
      { op: 'patch', collection: 'products', id, document: { $inc: { n: 1 } } },
    ]
    let other: TestAnswer | undefined
    meanwhile = async () => {
      const busy = await send(operations, ann, 'taken-over')
      assert.equal(busy.status, 409, busy.text)
      // As if this process were too slow for its lease.
      await app.app.db.write(sql`update sixwire_idempotency set lease_until = 0 where key = 'taken-over'`)
      other = await send(operations, ann, 'taken-over')
    }
    const first = await send(operations, ann, 'taken-over')
    assert.deepEqual([other?.status, other?.body.results[1].document.n], [200, 2])
    assert.deepEqual([first.status, first.body.error.code], [409, 'IDEMPOTENCY_CONFLICT'], first.text)
    const again = await send(operations, ann, 'taken-over')
    assert.deepEqual([again.status, again.body], [200, other!.body])
    assert.equal((await ask('GET', `products/${id}`)).body.n, 2)
  })

  type FileState = { id: string; attached_by: string | null; is_released: number }
  const statesOf = async (ids: readonly string[]) => {
    const rows = await app.app.db.all(sql<FileState>`
      select id, attached_by, case when released_at is null then 0 else 1 end as is_released from store_files`)
    return ids.map((id) => {
      const row = rows.find((one) => one.id === id)
      return row && [row.attached_by, row.is_released]
    })
  }
  /** Operations on a document that is there, and what else. */
  const fileChanges = (id: string, [a, b, c, d]: readonly string[]): Operation[] => [
    create('products', { photo: a, photos: [b] }),
    { op: 'patch', collection: 'products', id, document: { photo: b } },
    { op: 'patch', collection: 'products', id, document: { $push: { photos: c } } },
    { op: 'update', collection: 'products', id, document: { photo: d } },
    { op: 'patch', collection: 'products', id, document: { photos: null } },
  ]

  test('takes files as single calls do, or none', async () => {
    const [mine, foreign] = [await fileOf(), await fileOf(bob)]
    await made('letters', { attachment: foreign }, bob)
    const id = await made('products', {})
    const before = await stateOf(app.app)
    for (const [document, path] of [
      [{ photo: foreign }, '/photo'],
      [{ photos: [mine, 'x'] }, '/photos/1'],
    ] as const) {
      const refused = await send([create('products', { photo: mine }), create('products', document)])
      assert.equal(refused.status, 400, refused.text)
      assert.deepEqual(
        refused.body.error.details.issues.map((one: { path: string }) => one.path),
        [`/body/operations/1/document${path}`],
      )
    }
    meanwhile = () => ask('DELETE', `files/${mine}`)
    const late = await send([create('products'), create('products', { photo: mine }), create('steps')])
    assert.deepEqual([late.status, late.body.error.details.operation], [400, 1], late.text)
    const files = await Promise.all(Array.from({ length: 4 }, () => fileOf()))
    const failing = await send([
      ...fileChanges(id, files),
      { op: 'delete', collection: 'products', id: 'none' },
    ])
    assert.deepEqual([failing.status, failing.body.error.details.operation], [404, 5])
    assert.deepEqual(
      await statesOf(files),
      files.map(() => [null, 0]),
    )
    assert.deepEqual((await stateOf(app.app)).documents, before.documents)
  })

  test('takes a file of another owner once, as single calls do', async () => {
    const [one, two] = [await fileOf(bob), await fileOf(bob)]
    await made('products', { photo: one })
    assert.equal((await ask('POST', 'products', { photo: one })).status, 400)
    const refused = await send([create('products', { photo: two }), create('products', { photo: two })])
    assert.deepEqual([refused.status, refused.body.error?.details.operation], [400, 1], refused.text)
    assert.match(refused.body.error.message, /operations\/1\/document\/photo: there is no file/)
  })

  const received = ({ events }: Stream): string[] => events.map(shortOf).filter((one) => one !== 'ping')

  test('is in streams whole and in its order', async (t) => {
    const query = { collection: 'books', filter: { year: { $gte: 2000 } } }
    const streams = await Promise.all(
      [ann, bob].map((who) => follow(t, app.url, { token: who!.token, query })),
    )
    for (const stream of streams) await stream.receives('ready')
    const [left, gone, entering] = [
      await made('books', { title: 'left', year: 2001, open: true }),
      await made('books', { title: 'gone', year: 2001, open: true }),
      await made('books', { title: 'entering', year: 1999, open: true }),
    ]
    const book = (title: string, year: number, open: boolean) => create('books', { title, year, open })
    const change = (id: string, document: object) => ({ op: 'patch', collection: 'books', id, document })
    const failed = await send([book('failed', 2001, true), { op: 'delete', collection: 'books', id: 'none' }])
    assert.equal(failed.status, 404)
    await done([
      book('first', 2001, true),
      book('own', 2001, false),
      book('old', 1999, true),
      change(left, { open: false }),
      { op: 'delete', collection: 'books', id: gone },
      change(entering, { year: 2001 }),
      change(entering, { title: 'twice' }),
      book('last', 2001, true),
    ])
    await until(() => streams.every((stream) => received(stream).at(-1) === 'put last'))
    const [ofAnn, ofBob] = streams.map(received)
    const earlier = ['ready', 'put left', 'put gone', 'put first']
    const later = [`gone ${gone}`, 'put twice', 'put last']
    assert.deepEqual(ofAnn, [...earlier, 'put own', 'put left', ...later])
    assert.deepEqual(ofBob, [...earlier, `gone ${left}`, ...later])
    for (const [i, who] of [ann, bob].entries()) {
      const { events } = streams[i]!
      for (const [at, { id }] of events.entries()) {
        if (at < earlier.length - 1 || at === events.length - 1) continue
        const resumed = await follow(t, app.url, { token: who!.token, query, lastEventId: id })
        await until(() => received(resumed).at(-1) === 'put last')
        // The event that it had last may come again, as one of two changes of its document.
        const others = received(resumed).filter((one) => one !== shortOf(events[at]!))
        assert.deepEqual(others, ['ready', ...events.slice(at + 1).map(shortOf)])
        resumed.close()
      }
    }
  })

  const rowsOf = async (owner: string): Promise<Record<string, unknown>[]> =>
    (
      await Promise.all([
        app.app.db.all(sql`select id from store_documents where owner = ${owner}`),
        app.app.db.all(sql`select id from store_changes where owner = ${owner}`),
        app.app.db.all(sql`select key from sixwire_idempotency where caller = ${`user:${owner}`}`),
      ])
    ).flat()
  const erase = async ({ _id: id }: Person): Promise<void> => {
    assert.equal((await app.request('DELETE', `/auth/users/${id}`, { token: admin!.token })).status, 200)
    await until(async () => {
      const [job] = await app.app.db.all(
        sql`select 1 from sixwire_jobs
          where id like ${`erase-${id}-%`} and claimed_by is null and run_at > ${app.clock.now()}`,
      )
      return job !== undefined
    })
  }

  test('leaves nothing of an account that is erased meanwhile', async () => {
    const leaving = await app.register()
    const id = await made('products', { n: 1 }, leaving)
    const operations = [
      create('products', { n: 2 }),
      { op: 'patch', collection: 'products', id, document: { n: 3 } },
      create('steps'),
    ]
    const before = await stateOf(app.app)
    meanwhile = () => erase(leaving)
    const refused = await send(operations)
    assert.deepEqual([refused.status, refused.body.error.details.operation], [404, 1], refused.text)
    assert.deepEqual(
      (await stateOf(app.app)).documents,
      before.documents.filter((one) => one['owner'] !== leaving._id),
    )
    const senders = [await app.register(), await app.register()]
    for (const [i, sender] of senders.entries()) {
      await made('products', { n: 1 }, sender)
      meanwhile = () => erase(sender)
      const sent = await send([create('products', { n: 1 }), create('steps')], sender, ['', 'leaving'][i])
      assert.deepEqual(
        [sent.status, sent.body.error?.code],
        i === 0 ? [200, undefined] : [409, 'IDEMPOTENCY_CONFLICT'],
        sent.text,
      )
    }
    await until(async () => {
      const job = await app.app.db.get(
        sql<{ run_at: number }>`
          select run_at from sixwire_jobs where kind in ('sixwire.erase-person', 'store.hooks') order by run_at limit 1`,
      )
      if (job && job.run_at > app.clock.now()) app.clock.advance(job.run_at - app.clock.now())
      return job === undefined
    })
    for (const sender of senders) assert.deepEqual(await rowsOf(sender._id), [])
  })

  test('has files kept and deleted as single calls do', async () => {
    // The tokens of the others have ended with the hours that passed.
    ann = await app.register()
    const files = await Promise.all(Array.from({ length: 8 }, () => fileOf()))
    const [ofCalls, ofBatch] = [files.slice(0, 4), files.slice(4)]
    const calls = { create: 'POST', patch: 'PATCH', update: 'PUT', delete: 'DELETE' } as Record<
      string,
      string
    >
    for (const { op, collection, id, document } of fileChanges(await made('products', {}), ofCalls)) {
      const answered = await ask(
        calls[op]!,
        id === undefined ? collection : `${collection}/${id as string}`,
        document,
      )
      assert.ok(answered.status < 300, answered.text)
    }
    await done(fileChanges(await made('products', {}), ofBatch))
    for (const hours of [1, 25]) {
      await hoursLater(app, hours)
      const states = await statesOf(ofBatch)
      assert.deepEqual(states, await statesOf(ofCalls))
      assert.deepEqual(
        states.map((one) => one?.[1]),
        hours === 1 ? [0, 0, 1, 0] : [0, 0, undefined, 0],
      )
    }
  })
})
