// Random adds, ends, drops, revivals and transactions on few lanes: no lane has two ready jobs, and none has none.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '../../base/schema.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine } from '../../testing/engines.ts'
import { dropJob, retryJobs } from './job-list.ts'
import { setUp } from './jobs.fixture.ts'

eachEngine((engine) => {
  test('a lane always has exactly one ready job', { timeout: 60_000 }, async (t) => {
    const { url, replica } = await setUp(t, engine)
    const runner = await replica()
    const kind = runner.define('t', { payload: Type.Object({ lane: Type.String() }), lane: ({ lane }) => lane }, async () => undefined)
    const two = await Promise.all([openDatabase(url), openDatabase(url)])
    const r = (n: number) => Math.floor(Math.random() * n)
    const L = () => `l${r(3)}`
    const ids = Array.from({ length: 25 }, (_, i) => `j${i}`)
    const id = () => ids[r(25)]!
    const faults = new Map<string, number>()
    const actions: ((db: (typeof two)[0]) => Promise<unknown>)[] = [
      (db) => db.batch([kind.enqueueSql({ lane: L() }, { id: id() })]),
      (db) => db.batch([kind.retryLaneSql(L()), kind.enqueueSql({ lane: L() }, { id: id() }), kind.enqueueSql({ lane: L() }, { id: id() })]),
      (db) => db.transaction(async (tx) => {
        await tx.all(sql`select count(*) as n from sixwire_jobs where lane = ${L()}`)
        await tx.write(kind.enqueueSql({ lane: L() }, { id: id() }))
        if (r(3) === 0) throw new Error('undone')
      }),
      (db) => db.transaction(async (tx) => {
        await tx.get(sql`select id from sixwire_jobs where id = ${id()}`)
        await tx.write(sql`delete from sixwire_jobs where id = ${id()}`)
      }, { isolation: r(2) ? 'serializable' : 'repeatable read' }),
      (db) => dropJob(db, id(), 1),
      (db) => db.write(sql`delete from sixwire_jobs where id in (${id()}, ${id()}, ${id()})`),
      (db) => db.write(sql`update sixwire_jobs set state = 'failed', seq = null where id = ${id()} and state = 'ready'`),
      (db) => retryJobs(db, { id: id() }, 5),
      (db) => (r(8) ? retryJobs(db, { id: id() }, 5) : retryJobs(db, { kind: 't' }, 5)),
      (db) => db.write(sql`delete from sixwire_jobs where state = 'ready' and lane = ${L()}`),
    ]
    const check = async () => {
      const rows = await two[0].all<{ lane: string; ready: number; first: string; n: number }>(sql`
        select lane, count(*) as n, sum(case when state = 'ready' then 1 else 0 end) as ready,
          (select o.state from sixwire_jobs o where o.lane = j.lane and o.seq is not null order by seq limit 1) as first
        from sixwire_jobs j where seq is not null group by lane`)
      for (const row of rows) assert.ok(row.ready === 1 && row.first === 'ready', JSON.stringify(row))
      if (engine.name === 'postgres') {
        const lanes = await two[0].all<{ lane: string }>(sql`select lane from sixwire_lanes order by lane`)
        assert.deepEqual(lanes.map((l) => l.lane), rows.map((l) => l.lane).toSorted())
      }
    }
    const until = Date.now() + 12_000
    let count = 0
    while (Date.now() < until) {
      await Promise.all(Array.from({ length: 8 }, async (_, w) => {
        for (let i = 0; i < 25; i++) {
          const at = r(actions.length)
          try { await actions[at]!(two[w % 2]!); count++ } catch (error) {
            const text = `${at} ${(error as Error).message} ${((error as Error).cause as Error)?.message ?? ''}`
            if (!text.includes('undone')) faults.set(text, (faults.get(text) ?? 0) + 1)
          }
        }
      }))
      await check()
    }
    t.diagnostic(`${count} actions; ${JSON.stringify([...faults])}`)
    for (const db of two) await db.close()
  })
})
