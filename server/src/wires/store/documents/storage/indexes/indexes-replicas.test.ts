// One replica changes indexes, another one writes documents and has not heard of it; step by step. indexes-changing.test.ts
// does the same at random.
import assert from 'node:assert/strict'
import { before, test, type TestContext } from 'node:test'

import { newId } from '../../../../../base/ids.ts'
import { withParts, type Step, type Steps } from '../../../../../db/database.ts'
import { sql, type Sql } from '../../../../../db/sql.ts'
import type { TestApp } from '../../../../../testing/app.ts'
import { startReplicas } from '../../../../../testing/auth.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { until } from '../../../../../testing/until.ts'
import { insertSql } from '../sql/document-rows.ts'
import { sorted } from '../../language/query/sort.fixture.ts'
import { declaredIndexes } from '../entries/index-definition.ts'
import { entriesOf } from '../entries/entries.ts'
import { withoutIndexes } from '../sql/index-rows.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

eachEngine((engine) => {
  const ending = endOfSuite()
  let [one, other]: TestApp[] = []
  let [token, owner]: string[] = []
  before(async () => {
    ;[one, other] = await startReplicas(ending, engine)
    ;({ token, _id: owner } = await one.register())
  })

  async function send(app: TestApp, method: string, path: string, body?: unknown) {
    const answered = await app.request(method, `/store/${path}`, { token, body })
    assert.ok(answered.status < 300, answered.text)
    return answered.body
  }
  const create = async (collection: string, body: object): Promise<string> =>
    (await send(one!, 'POST', collection, body))._id
  /** Changes the indexes to these, on the other replica. */
  const declare = (indexes: Parameters<typeof declaredIndexes>[0]): Promise<void> =>
    other!.app.service('store').indexes.declare(declaredIndexes(indexes, () => false))
  const settled = async () => {
    await readyIndexes(other!)
    await assertEntries(other!)
  }

  /** Holds the statements with a text, on both replicas, or only the first one. */
  function hold(t: TestContext, method: 'batch' | 'all', text: string, isOnce = false) {
    let isOver = false
    const [isHeld, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let ended: Promise<unknown> = Promise.resolve()
    for (const { app } of [one!, other!]) {
      const run = app.db[method].bind(app.db) as (statements: Step | Steps) => Promise<never>
      t.mock.method(app.db, method, async (statements: Step | Steps) => {
        const texts = [statements].flat(2).map((step) => withParts(step).query.render(engine.name).text)
        if (!isOver && texts.some((one) => one.includes(text))) {
          isOver = isOnce
          isHeld.resolve()
          ended = isReleased.promise.then(() => run(statements))
          return ended as Promise<never>
        }
        return run(statements)
      })
    }
    const release = () => isReleased.resolve()
    t.after(release)
    return { reached: isHeld.promise, release, ended: () => ended }
  }
  /** Holds a build that has read documents, and not yet inserted their entries. */
  const holdBuild = (t: TestContext, isOnce?: boolean) =>
    hold(t, 'batch', 'set documents = documents + ', isOnce)

  test('writes of a replica that has not heard of an index keep its entries up', async () => {
    const names = ['created', 'together', 'updated', 'patched', 'deleted']
    const ids = new Map<string, string>()
    for (const name of names) ids.set(name, await create(name, { tags: [1, 2] }))
    await declare(Object.fromEntries(names.map((name) => [name, ['tags']])))
    await readyIndexes(other!)
    await create('created', { tags: [3, 4] })
    await send(one!, 'POST', 'together', [{ tags: 3 }, { tags: 4 }])
    await send(one!, 'PUT', `updated/${ids.get('updated')}`, { tags: [2, 3] })
    await send(one!, 'PATCH', `patched/${ids.get('patched')}`, { tags: null })
    await send(one!, 'DELETE', `deleted/${ids.get('deleted')}`)
    await assertEntries(other!)
  })

  test('a replica that has not heard that an index is dropped writes no entries of it', async () => {
    await declare({ dropped: ['tags'] })
    await readyIndexes(other!)
    const id = await create('dropped', { tags: [1, 2] })
    await declare({})
    await readyIndexes(other!)
    await send(one!, 'PUT', `dropped/${id}`, { tags: [2, 3] })
    await create('dropped', { tags: 4 })
    await assertEntries(other!)
  })

  test('a build leaves documents that are changed after it has read them to their writers', async (t) => {
    const [updated, patched, deleted] = [
      await create('built', { tags: [1, 2], no: 1 }),
      await create('built', { tags: [1, 2], no: 2 }),
      await create('built', { tags: [1, 2], no: 3 }),
    ]
    const build = holdBuild(t)
    await declare({ built: [{ fields: 'tags,no', unique: true }] })
    await build.reached
    // Some of their entries change, or none, or all of them go.
    await send(one!, 'PUT', `built/${updated}`, { tags: [2, 3] })
    await send(one!, 'PATCH', `built/${patched}`, { name: 'b' })
    await send(one!, 'DELETE', `built/${deleted}`)
    // The build reads this one afterwards, and its entries are there already.
    await create('built', { tags: [5, 6], no: 4 })
    build.release()
    await settled()
    // Once it is ready, writes change only the entries that differ.
    await create('built', { tags: [6], no: 5 })
    const { indexes } = one!.app.service('store').indexes.known('built')
    assert.deepEqual(
      indexes.map(({ state }) => state),
      ['ready'],
    )
  })

  for (const isRestored of [false, true])
    test(`a build does not bring back what ${isRestored ? 'a restore undid' : 'changed'} after its snapshot`, async (t) => {
      const name = isRestored ? 'undone' : 'moved'

      const [gone, returned, from, to] = [
        await create(name, { code: 1 }),
        await create(name, { code: 2 }),
        await create(name, { code: 3 }),
        await create(name, { code: [4, 5] }),
      ]
      const { _id: backup } = await send(one!, 'POST', 'backup')
      const build = holdBuild(t)
      await declare({ [name]: [{ fields: 'code', unique: true }] })
      await build.reached
      await send(one!, 'PUT', `${name}/${gone}`, { code: 10 })
      await send(one!, 'PUT', `${name}/${returned}`, { code: 10.5 })
      await send(one!, 'PUT', `${name}/${returned}`, { code: 2 })
      // A unique value moves to another document, and to one that is new.
      await send(one!, 'PUT', `${name}/${from}`, { code: 11 })
      await send(one!, 'PUT', `${name}/${to}`, { code: [3, 5] })
      await create(name, { code: 4 })
      // All of it is undone.
      if (isRestored) await send(one!, 'POST', `backup/${backup}/restore`)
      build.release()
      await settled()
      assert.deepEqual(
        (await indexesOf(other!)).map(({ state, hasArrays }) => [state, hasArrays]),
        [['ready', true]],
      )
      const { status } = await one!.request('POST', `/store/${name}`, { token, body: { code: 5 } })
      assert.equal(status, 409)
    })

  test('a build that stood still while another process finished the index changes nothing', async (t) => {
    const id = await create('overtaken', { tags: [1, 2] })
    const build = holdBuild(t, true)
    await declare({ overtaken: ['tags'] })
    await build.reached
    // The other process takes the job over.
    await one!.app.db.write(sql`update sixwire_jobs set run_at = 0 where kind = 'store.indexes'`)
    await until(async () => {
      one!.clock.advance(2_000)
      return (await indexesOf(other!)).every(({ state }) => state === 'ready')
    })
    await send(one!, 'PUT', `overtaken/${id}`, { tags: [2, 3] })
    build.release()
    await settled()
  })

  test('a build that stood still does not fail the index that another process has finished', async (t) => {
    const [first, second] = [await create('finished', { code: 1 }), await create('finished', { code: 2 })]
    const build = holdBuild(t, true)
    await declare({ finished: [{ fields: 'code', unique: true }] })
    await build.reached
    await one!.app.db.write(sql`update sixwire_jobs set run_at = 0 where kind = 'store.indexes'`)
    await until(async () => {
      one!.clock.advance(2_000)
      return (await indexesOf(other!)).every(({ state }) => state === 'ready')
    })
    // The value that the held build has read of one document is that of the other one by now.
    await send(one!, 'PUT', `finished/${first}`, { code: 3 })
    await send(one!, 'PUT', `finished/${second}`, { code: 1 })
    const changes = [one!, other!].map(({ app }) => t.mock.method(app.db, 'transaction').mock)
    build.release()
    await until(() => changes.some(({ calls }) => calls.length > 0))
    await Promise.allSettled(changes.flatMap(({ calls }) => calls.map(async ({ result }) => result)))
    await settled()
    assert.deepEqual(
      (await indexesOf(other!)).map(({ state, reason }) => [state, reason]),
      [['ready', null]],
    )
  })

  test('a build that stood still does not delete the dead entries that another one needs', async (t) => {
    const id = await create('stale', { tags: [1, 2] })
    const stale = hold(t, 'batch', 'ends = -1', true)
    await declare({ stale: ['tags'] })
    await stale.reached
    const build = holdBuild(t)
    await one!.app.db.write(sql`update sixwire_jobs set run_at = 0 where kind = 'store.indexes'`)
    one!.clock.advance(2_000)
    await build.reached
    await send(one!, 'PUT', `stale/${id}`, { tags: [2, 3] })
    stale.release()
    await Promise.allSettled([stale.ended()])
    build.release()
    await settled()
  })

  test('while a unique index is built, documents that already have one value can be changed', async (t) => {
    const ids = [await create('twice', { code: 1 }), await create('twice', { code: 1 })]
    const build = holdBuild(t)
    await declare({ twice: [{ fields: 'code', unique: true }] })
    await build.reached
    for (const id of ids) await send(one!, 'PATCH', `twice/${id}`, { note: 'changed' })
    build.release()
    await settled()
    assert.deepEqual(
      (await indexesOf(other!)).map(({ state, reason }) => [state, reason]),
      [['failed', `the documents ${ids.toSorted().join(' and ')} have the same code`]],
    )
  })

  test('an index that is dropped while it is built stays dropped', async (t) => {
    await create('abandoned', { year: 1 })
    const build = holdBuild(t)
    await declare({ abandoned: ['year'] })
    await build.reached
    await declare({})
    build.release()
    await settled()
    assert.deepEqual(await indexesOf(other!), [])
  })

  test('a document that is changed while it is deleted leaves no entries', async (t) => {
    const id = await create('gone', { year: 1 })
    await declare({ gone: ['year'] })
    await readyIndexes(other!)
    const deletion = hold(t, 'batch', 'delete from store_documents')
    const deleting = send(one!, 'DELETE', `gone/${id}`)
    await deletion.reached
    await send(other!, 'PUT', `gone/${id}`, { year: 2 })
    deletion.release()
    await deleting
    await assertEntries(other!)
  })

  test('a build notes that a document has several values before the index is ready', async () => {
    await create('noted', { tags: [1, 2] })
    await declare({ noted: ['tags', 'name'] })
    await settled()
    assert.deepEqual(
      (await indexesOf(other!)).map(({ names, hasArrays, hasCutKeys }) => [names, hasArrays, hasCutKeys]),
      [
        ['tags', true, false],
        ['name', false, false],
      ],
    )
    await create('noted', { tags: 1, name: 'x'.repeat(2000) })
    assert.deepEqual(
      (await indexesOf(other!)).map(({ hasArrays, hasCutKeys }) => [hasArrays, hasCutKeys]),
      [
        [true, false],
        [false, true],
      ],
    )
  })

  test('lists of a replica that has not heard how an index has changed are right', async () => {
    const long = 'x'.repeat(1_100)
    const values = [3, 1, 2]
    const change = async (year: unknown) => {
      await send(other!, 'POST', 'listed', { year })
      values.push(year as never)
    }
    /** Of the replica that has listed by the index as it was before. */
    async function assertLists() {
      const years = async (query: string) => {
        const { data, total } = await send(one!, 'GET', `listed?limit=100&${query}`)
        return [total, ...(data as { year: unknown }[]).map(({ year }) => year)]
      }
      const rows = values.map((year) => ({ year }))
      for (const sort of ['year', '-year'])
        assert.deepEqual(await years(`sort=${sort}`), [
          values.length,
          ...(sorted(rows, sort) as number[]).map((i) => values[i]),
        ])
      const found = values.filter((year) => typeof year !== 'string')
      assert.deepEqual(await years('filter={"year":{"$gte":0}}&sort=createdAt'), [found.length, ...found])
    }
    for (const year of values) await create('listed', { year })
    await declare({ listed: ['year'] })
    await readyIndexes(other!)
    await assertLists()
    await change([0, 5])
    await assertLists()
    await change(`${long}b`)
    await assertLists()
    await change(`${long}a`)
    await assertLists()
    await declare({})
    await assertLists()
    await readyIndexes(other!)
    await assertLists()
  })

  test('a list whose index is dropped before it is read has all documents', async (t) => {
    const ids = [await create('read', { year: 1 }), await create('read', { year: 2 })]
    await declare({ read: ['year'] })
    await readyIndexes(other!)
    const reading = hold(t, 'all', 'store_entries')
    const listing = send(one!, 'GET', 'read?sort=year&filter={"year":{"$gt":0}}')
    await reading.reached
    await declare({})
    await readyIndexes(other!)
    reading.release()
    const { data, total } = await listing
    assert.deepEqual([total, ...data.map(({ _id }: { _id: string }) => _id)], [2, ...ids])
  })

  test('an index whose keys have another form is built again', async () => {
    await create('formed', { year: 1 })
    await declare({ formed: ['year'] })
    await readyIndexes(other!)
    const [before] = await indexesOf(other!)
    await one!.app.db.batch([
      sql`update store_indexes set format = 0`,
      sql`update store_entries set ${sql.either({ sqlite: sql`key = x'00'`, postgres: sql`key = '\\x00'` })}`,
    ])
    await declare({ formed: ['year'] })
    await settled()
    const [after] = await indexesOf(other!)
    assert.notEqual(after!.id, before!.id)
  })

  if (engine.name === 'postgres') {
    /** How many statements wait for a lock of a kind. */
    const waiting = async (kind: Sql): Promise<number> =>
      (await one!.app.db.all(sql`select pid from pg_locks where not granted and ${kind}`)).length
    /** Waits until a change of indexes waits for writes. */
    const untilShareLock = (): Promise<void> =>
      until(
        async () => (await waiting(sql`relation = 'store_documents'::regclass and mode = 'ShareLock'`)) > 0,
      )
    /** Does work in a transaction that stays open until the function that it resolves with is called. */
    async function holdOpen(t: TestContext, work: Sql): Promise<(isCommitted: boolean) => Promise<void>> {
      const [isDone, isEnded] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
      const undone = new Error('is rolled back')
      const running = one!.app.db.transaction(
        async (tx) => {
          await tx.write(work)
          isDone.resolve()
          if (!(await isEnded.promise)) throw undone
        },
        { isolation: 'read committed' },
      )
      t.after(() => isEnded.resolve(false))
      await Promise.race([isDone.promise, running])
      return async (isCommitted) => {
        isEnded.resolve(isCommitted)
        await running.catch((error: unknown) => {
          if (error !== undone) throw error
        })
      }
    }

    test('an index waits for writes that began before it and do not know of it', async (t) => {
      const id = newId()
      const at = new Date().toISOString()
      const body = JSON.stringify({ _id: id, createdAt: at, updatedAt: at, year: 1 })
      const document = { collection: 'older', id, owner: owner!, body }
      const end = await holdOpen(t, insertSql('postgres', document, withoutIndexes('older')))
      const declaring = declare({ older: ['year'] })
      await untilShareLock()
      await end(true)
      await declaring
      await settled()
    })

    test('an index is not ready before a write that has changed a document is committed', async (t) => {
      const id = await create('waiting', { x: 1, y: 1 })
      await declare({ waiting: ['x'] })
      await readyIndexes(other!)
      const [index] = await indexesOf(other!)
      const build = holdBuild(t)
      await declare({ waiting: ['x', 'y'] })
      await build.reached
      // The entry that the write is about to insert.
      const { key } = entriesOf({ x: 2 }, index!).entries[0]!
      const end = await holdOpen(
        t,
        sql`
        insert into store_entries (index_id, key, id, ends)
        values (${index!.id}, decode(${key.toString('hex')}, 'hex'), ${id}, 3)`,
      )
      const writing = send(one!, 'PUT', `waiting/${id}`, { x: 2, y: 2 })
      const transactions = () => waiting(sql`locktype = 'transactionid'`)
      await until(async () => (await transactions()) === 1)
      build.release()
      // The build has inserted what the write removes.
      await untilShareLock()
      await end(false)
      await writing
      await settled()
    })

    test('a build waits for a restore that is replacing documents', async (t) => {
      const id = await create('restored', { year: 1 })
      const { _id: backup } = await send(one!, 'POST', 'backup')
      await send(one!, 'PUT', `restored/${id}`, { year: 2 })
      const build = holdBuild(t)
      await declare({ restored: ['year'] })
      await build.reached
      // The restore has changed the entries then, and not yet the document.
      const end = await holdOpen(t, sql`select id from store_documents where id = ${id} for share`)
      const restoring = send(one!, 'POST', `backup/${backup}/restore`)
      await Promise.race([restoring, until(async () => (await waiting(sql`locktype = 'transactionid'`)) > 0)])
      build.release()
      await until(
        async () =>
          (await waiting(sql`locktype = 'advisory'`)) > 0 ||
          (await indexesOf(other!)).every(({ state }) => state === 'ready'),
      )
      await end(true)
      await restoring
      await settled()
    })
  }
})
