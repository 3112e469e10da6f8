import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { defineErrors } from '../base/errors.ts'
import { eachEngine, type Engine } from '../testing/engines.ts'
import { ConstraintError, requireRow } from './database.ts'
import { openDatabase } from './open.ts'
import { startProxy } from './postgres-proxy.fixture.ts'
import { sql } from './sql.ts'

const { gone } = defineErrors({ gone: [409, 'This is gone.'] })

const insert = (id: string, body = '{}') => sql.insert('items', { id, n: 1, body }, ['id'])
const bodyOf = (id: string) => sql<{ body: string }>`select body from items where id = ${id}`
const countOf = (id: string) => sql<{ n: number }>`select n from items where id = ${id}`
const increment = (id: string) => sql<{ n: number }>`update items set n = n + 1 where id = ${id} returning n`

/** A database behind a proxy, whose one connection has been opened and has prepared the statements above. */
async function setUp(t: TestContext, engine: Engine) {
  const url = await engine.freshUrl()
  const proxy = await startProxy(url)
  const db = await openDatabase(proxy.url)
  t.after(async () => {
    await db.close()
    await proxy.down()
  })
  await db.write(
    sql`create table items (id text primary key, n bigint not null check (n < 100), body json not null)`,
  )
  for (let i = 0; i < 20; i++) await db.write(insert(`i${i}`, `{"i":${i}}`))
  await db.get(bodyOf('i0'))
  await db.get(countOf('i0'))
  await db.scan(countOf('i0')) // on a connection of its own
  return {
    db,
    proxy,
    /** Runs `work` and answers in how many round trips it was done. */
    roundTripsOf: async (work: () => Promise<unknown>): Promise<number> => {
      const before = proxy.roundTrips()
      await work()
      return proxy.roundTrips() - before
    },
  }
}

eachEngine((engine) => {
  if (engine.name === 'sqlite') return

  test('each verb takes one round trip', async (t) => {
    const { db, roundTripsOf } = await setUp(t, engine)
    const works: Record<string, () => Promise<unknown>> = {
      get: () => db.get(bodyOf('i1')),
      all: () => db.all(countOf('i1')),
      scan: () => db.scan(countOf('i1')),
      write: () => db.write(increment('i1')),
      'write of an insert': () => db.write(insert('new')),
      'a batch': () => db.batch([increment('i1'), increment('i2'), [increment('i3'), bodyOf('i1')]]),
      'a batch that requires rows': () =>
        db.batch([
          requireRow(increment('i1'), gone),
          requireRow(sql`update items set n = n + 1 where id = 'i2'`, gone),
          requireRow(bodyOf('i3'), gone),
        ]),
      'a batch that fails': () => assert.rejects(db.batch([increment('i1'), insert('bad', '{')])),
      'a batch without a required row': () =>
        assert.rejects(db.batch([increment('i1'), requireRow(increment('z'), gone)]), { code: 'GONE' }),
    }
    for (const [name, work] of Object.entries(works)) {
      assert.equal(await roundTripsOf(work), 1, name)
      assert.equal(await roundTripsOf(work), 1, `${name}, again`)
    }
    assert.deepEqual(await db.get(countOf('i1')), { n: 7 })
  })

  test('a transaction begins with its first statement', async (t) => {
    const { db, roundTripsOf } = await setUp(t, engine)
    const work = () =>
      db.transaction(async (tx) => {
        await tx.write(increment('i1'))
        await tx.write(increment('i2'))
      })
    assert.equal(await roundTripsOf(work), 3)
    assert.equal(await roundTripsOf(() => db.transaction(async () => undefined)), 0)
  })

  test('reads of one turn take one round trip, whatever they read', async (t) => {
    const { db, roundTripsOf } = await setUp(t, engine)
    const ids = Array.from({ length: 20 }, (_, i) => `i${i}`)
    let answers: unknown[] = []
    const roundTrips = await roundTripsOf(async () => {
      answers = await Promise.all([
        ...ids.map((id) => db.get(bodyOf(id))),
        ...ids.map((id) => db.get(countOf(id))),
        ...ids.map((id) => db.all(countOf(id))),
        db.get(bodyOf('nobody')),
        db.get(sql`select ${'a'} as a`),
      ])
    })
    assert.equal(roundTrips, 1)
    assert.deepEqual(answers, [
      ...ids.map((_, i) => ({ body: `{"i":${i}}` })),
      ...ids.map(() => ({ n: 1 })),
      ...ids.map(() => [{ n: 1 }]),
      undefined,
      { a: 'a' },
    ])
  })

  test('inserts of one turn take one round trip', async (t) => {
    const { db, roundTripsOf } = await setUp(t, engine)
    const ids = Array.from({ length: 20 }, (_, i) => `n${i}`)
    let answers: unknown[] = []
    const roundTrips = await roundTripsOf(async () => {
      answers = await Promise.all([...ids, 'i0'].map((id) => db.write(insert(id))))
    })
    assert.equal(roundTrips, 1)
    assert.deepEqual(answers, [...ids.map((id) => [{ id }]), []])
  })

  test('reads whose answer is lost are asked again, together', async (t) => {
    const { db, proxy } = await setUp(t, engine)
    for (const fate of ['lose request', 'lose answer'] as const) {
      proxy.once('parameter_sets', fate)
      const rows = await Promise.all(['i1', 'i2', 'z'].map((id) => db.get(bodyOf(id))))
      assert.deepEqual(rows, [{ body: '{"i":1}' }, { body: '{"i":2}' }, undefined])
    }
  })

  for (const fate of ['lose request', 'lose answer'] as const)
    test(`inserts of one turn that are lost (${fate}): all unavailable, and none is done again`, async (t) => {
      const { db, proxy } = await setUp(t, engine)
      proxy.once('parameter_sets', fate)
      const ids = ['a', 'b', 'c']
      const settled = await Promise.allSettled(ids.map((id) => db.write(insert(id))))
      for (const one of settled) {
        assert.equal(one.status, 'rejected')
        assert.equal((one.reason as { code: string }).code, 'UNAVAILABLE')
      }
      const { n } = (await db.get<{ n: number }>(
        sql`select count(*) as n from items where id in ('a', 'b', 'c')`,
      ))!
      assert.equal(n, fate === 'lose answer' ? 3 : 0)
    })

  test('one insert that fails takes no other with it', async (t) => {
    const { db } = await setUp(t, engine)
    const settled = await Promise.allSettled([
      db.write(insert('a')),
      db.write(insert('b', '{')), // no JSON
      db.write(sql.insert('items', { id: 'c', n: 100, body: '{}' }, ['id'])), // breaks the check
      db.write(insert('d')),
    ])
    assert.deepEqual(
      settled.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    assert.ok((settled[2] as PromiseRejectedResult).reason instanceof ConstraintError)
    assert.deepEqual(await db.all(sql`select id from items where id in ('a', 'b', 'c', 'd') order by id`), [
      { id: 'a' },
      { id: 'd' },
    ])
  })
})
