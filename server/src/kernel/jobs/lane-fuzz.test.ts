// However jobs of a lane come, end, fail, are dropped and revived, the lane has exactly one ready job: its first.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'

import { ApiError } from '../../base/errors.ts'
import { Type } from '../../base/schema.ts'
import type { Database } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { someEngine } from '../../testing/engines.ts'
import { isLongRun } from '../../testing/long-run.ts'
import { discardSql, retrySql } from '../../wires/core/jobs/job-operations.ts'
import { setUp } from './jobs.fixture.ts'

const ROUNDS = isLongRun ? 150 : 8
const WORKERS = 8
const ACTIONS = 25
const UNDONE = new Error('undone')

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) % below
  }
}

someEngine((engine) => {
  test('a lane has exactly one ready job, its first', async (t) => {
    const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31))
    t.diagnostic(`SEED=${seed}`)
    const random = createRandom(seed)
    const { url, replica } = await setUp(t, engine)
    const runner = await replica()
    const kind = runner.define(
      'test',
      { payload: Type.Object({ lane: Type.String() }), lane: ({ lane }) => lane },
      async () => undefined,
    )
    const replicas = await Promise.all([openDatabase(url), openDatabase(url)])
    t.after(() => Promise.all(replicas.map((db) => db.close())))
    const lane = () => `lane ${random(3)}`
    const id = () => `job ${random(25)}`
    const add = () => kind.enqueueSql({ lane: lane() }, { id: id() })
    const actions: ((db: Database) => Promise<unknown>)[] = [
      (db) => db.batch([add()]),
      (db) => db.batch([kind.retryLaneSql(lane()), add(), add()]),
      (db) =>
        db.transaction(async (tx) => {
          await tx.all(sql`select count(*) as n from sixwire_jobs where lane = ${lane()}`)
          await tx.write(add())
          if (random(3) === 0) throw UNDONE
        }),
      (db) =>
        db.transaction(
          async (tx) => {
            await tx.get(sql`select id from sixwire_jobs where id = ${id()}`)
            await tx.write(sql`delete from sixwire_jobs where id = ${id()}`)
          },
          { isolation: random(2) === 0 ? 'serializable' : 'repeatable read' },
        ),
      (db) => db.write(discardSql(id(), 1)),
      (db) => db.write(sql`delete from sixwire_jobs where id in (${id()}, ${id()}, ${id()})`),
      (db) =>
        db.write(
          sql`update sixwire_jobs set state = 'failed', seq = null where id = ${id()} and state = 'ready'`,
        ),
      (db) => db.write(retrySql(sql`id = ${id()}`, 5)),
      (db) => db.write(retrySql(random(8) === 0 ? sql`kind = 'test'` : sql`id = ${id()}`, 5)),
      (db) => db.write(sql`delete from sixwire_jobs where state = 'ready' and lane = ${lane()}`),
    ]

    let done = 0
    async function act(db: Database): Promise<void> {
      for (let i = 0; i < ACTIONS; i++)
        try {
          await actions[random(actions.length)]!(db)
          done++
        } catch (error) {
          // A conflict of transactions that was not settled within its tries is answered, and nothing of it is kept.
          if (error !== UNDONE && !(error instanceof ApiError && error.status === 503)) throw error
        }
    }

    async function check(db: Database): Promise<void> {
      const lanes = await db.all<{ lane: string; ready: number; first: string }>(sql`
        select lane, sum(case when state = 'ready' then 1 else 0 end) as ready,
          (select state from sixwire_jobs f where f.lane = j.lane and f.seq is not null order by seq limit 1) as first
        from sixwire_jobs j where seq is not null group by lane`)
      for (const one of lanes) assert.deepEqual({ ...one, lane: '' }, { lane: '', ready: 1, first: 'ready' })
    }

    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(Array.from({ length: WORKERS }, (_, worker) => act(replicas[worker % 2]!)))
      await check(replicas[0])
    }
    assert.ok(done > (ROUNDS * WORKERS * ACTIONS) / 2, `only ${done} actions succeeded`)
  })
})
