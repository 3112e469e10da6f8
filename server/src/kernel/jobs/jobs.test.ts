import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pino } from 'pino'
import type { TSchema } from 'typebox'

import { Type } from '../../base/schema.ts'
import { sql } from '../../db/sql.ts'
import { queueForAll, setUp, type Stored } from './jobs.fixture.ts'
import { createJobs } from './jobs.ts'
import type { Job, JobOptions, JobRunner } from './job.ts'
import { eachEngine } from '../../testing/engines.ts'
import { until } from '../../testing/until.ts'

const MINUTE = 60_000
const YEAR = 365 * 24 * 60 * MINUTE
const ONCE = { firstMs: 1000, maxMs: 1000, attempts: 1 }

/** A kind whose jobs do nothing but add their payload to `done`. */
function defineRecorded(runner: JobRunner) {
  const done: string[] = []
  const kind = runner.define(
    'test',
    { payload: Type.String() },
    async ({ payload }) => void done.push(payload),
  )
  return { kind, done }
}

eachEngine((engine) => {
  const empty = queueForAll(engine)

  test('work is done once, with its payload, and is gone then', async (t) => {
    const { replica, stored } = await empty(t)
    const runner = await replica()
    const done: Pick<Job, 'id' | 'payload' | 'attempt'>[] = []
    const kind = runner.define(
      'test',
      { payload: Type.Unknown() },
      async ({ id, payload, attempt }) => void done.push({ id, payload, attempt }),
    )
    await runner.start()
    await kind.enqueue({ text: "it's 😀 \\ \0", list: [1, null] }, { id: 'a' })
    await kind.enqueue(undefined, { id: 'b' })
    await until(async () => done.length === 2 && (await stored()).length === 0)
    done.sort((a, b) => (a.id < b.id ? -1 : 1))
    assert.deepEqual(done, [
      { id: 'a', payload: { text: "it's 😀 \\ \0", list: [1, null] }, attempt: 1 },
      { id: 'b', payload: null, attempt: 1 },
    ])
  })

  test('work in a batch that fails is not done, in one that succeeds it is', async (t) => {
    const { db, replica, stored } = await empty(t)
    const runner = await replica()
    const { kind, done } = defineRecorded(runner)
    await runner.start()
    await assert.rejects(db.batch([kind.enqueueSql('never'), sql`insert into nowhere values (1)`]))
    await db.batch([kind.enqueueSql('well'), sql`select 1`])
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, ['well'])
  })

  test('the same id again changes nothing while the work waits', async (t) => {
    const { replica, stored, clock } = await empty(t)
    const runner = await replica()
    const { kind, done } = defineRecorded(runner)
    await kind.enqueue('first', { id: 'a', runAt: clock.now() })
    await kind.enqueue('second', { id: 'a', runAt: clock.now() + YEAR })
    await Promise.all([1, 2, 3].map((n) => kind.enqueue(`at once ${n}`, { id: 'b' })))
    await runner.start()
    await until(async () => (await stored()).length === 0)
    assert.equal(done.length, 2)
    assert.ok(done.includes('first'))
  })

  test('work that waits long leaves room for other work, and goes on as soon as it may', async (t) => {
    const { replica, stored } = await empty(t)
    const runner = await replica()
    const slow: string[] = []
    const quick: string[] = []
    let most = 0
    const held = Promise.withResolvers<void>()
    const waiting = runner.define('slow', { payload: Type.String(), atOnce: 3 }, async ({ payload }) => {
      slow.push(payload)
      most = Math.max(most, slow.length)
      await held.promise
    })
    const others = runner.define(
      'quick',
      { payload: Type.String() },
      async ({ payload }) => void quick.push(payload),
    )
    for (let n = 0; n < 20; n++) await waiting.enqueue(`slow ${n}`)
    await runner.start()
    await until(() => slow.length === 3)
    for (let n = 0; n < 20; n++) await others.enqueue(`quick ${n}`)
    await until(() => quick.length === 20)
    assert.equal(most, 3)
    held.resolve()
    await until(async () => (await stored()).length === 0)
    assert.equal(new Set(slow).size, 20)
  })

  test('work for later is done later, and not before', async (t) => {
    const { replica, clock } = await empty(t)
    const runner = await replica()
    const { kind, done } = defineRecorded(runner)
    await runner.start()
    await kind.enqueue('later', { runAt: clock.now() + MINUTE })
    await kind.enqueue('now')
    await until(() => done.length === 1)
    clock.advance(MINUTE - 1)
    await kind.enqueue('in between')
    await until(() => done.length === 2)
    clock.advance(1)
    await until(() => done.length === 3)
    assert.deepEqual(done, ['now', 'in between', 'later'])
  })

  test('work that throws is tried again after a growing while, and set aside with its reason in the end', async (t) => {
    const { replica, stored, clock, lines } = await empty(t)
    const runner = await replica()
    const attempts: number[] = []
    const kind = runner.define(
      'test',
      { payload: Type.Unknown(), retry: { firstMs: 1000, maxMs: 3_600_000, attempts: 5 } },
      async ({ attempt }) => {
        attempts.push(attempt)
        throw new Error(`no ${attempt}`)
      },
    )
    await runner.start()
    await kind.enqueue(null, { id: 'a' })
    for (let attempt = 1; attempt < 5; attempt++) {
      await until(async () => (await stored())[0]!.last_error === `no ${attempt}`)
      const [job] = await stored()
      assert.equal(job!.state, 'ready')
      const wait = job!.run_at - clock.now()
      const usual = 1000 * 2 ** (attempt - 1)
      assert.ok(wait >= usual * 0.5 && wait <= usual * 1.5, `${wait} ms after attempt ${attempt}`)
      clock.advance(wait)
    }
    await until(async () => (await stored())[0]!.state === 'failed')
    assert.deepEqual(attempts, [1, 2, 3, 4, 5])
    clock.advance(YEAR)
    const other = runner.define('other', { payload: Type.Unknown() }, async () => undefined)
    await other.enqueue(null)
    await until(async () => (await stored()).length === 1)
    const [job] = await stored()
    assert.deepEqual(
      { ...job, run_at: 0 },
      {
        id: 'a',
        state: 'failed',
        run_at: 0,
        attempts: 5,
        last_error: 'no 5',
        claimed_by: null,
        payload: 'null',
      },
    )
    assert.equal(attempts.length, 5)
    assert.equal(lines.filter((line) => line.includes('failed for good')).length, 1)
  })

  test('whatever is thrown is kept as a reason', async (t) => {
    const { replica, stored } = await empty(t)
    const runner = await replica()
    const things: Record<string, unknown> = {
      a: new Error('with \0 and \ud800'),
      b: undefined,
      c: 'text',
      d: { code: 7 },
      e: new Error(`${'x'.repeat(999)}😀`),
      f: new Error(''),
    }
    const kind = runner.define('test', { payload: Type.String(), retry: ONCE }, async ({ payload }) => {
      throw things[payload] as Error
    })
    await runner.start()
    for (const name of Object.keys(things)) await kind.enqueue(name, { id: name })
    await until(async () => (await stored()).every(({ state }) => state === 'failed'))
    assert.deepEqual(
      (await stored()).map(({ last_error }) => last_error),
      ['with \ufffd and \ufffd', 'undefined', 'text', '{ code: 7 }', `${'x'.repeat(999)}\ufffd`, 'Error'],
    )
  })

  test('a payload that does not fit its schema is not added, and fails for good where it is in the table', async (t) => {
    const { db, replica, stored } = await empty(t)
    const runner = await replica()
    const done: number[] = []
    const payload = Type.Object({ n: Type.Integer() })
    const kind = runner.define('test', { payload }, async ({ payload }) => void done.push(payload.n))
    const wrong = { n: 'one' } as never
    assert.throws(
      () => kind.enqueueSql(wrong),
      /payload of a job test does not fit its schema: \/n must be integer/,
    )
    await assert.rejects(kind.enqueue(wrong), TypeError)
    await kind.enqueue({ n: 1 }, { id: 'a' })
    await kind.enqueue({ n: 2 }, { id: 'b' })
    await db.write(sql`update sixwire_jobs set payload = '{"n":"one"}' where id = 'a'`)
    await runner.start()
    await until(async () => done.length === 1 && (await stored())[0]!.state === 'failed')
    const [{ id, attempts, last_error }] = (await stored()) as [Stored]
    assert.deepEqual(
      [id, attempts, last_error],
      ['a', 1, 'the payload of a job test does not fit its schema: /n must be integer'],
    )
    assert.deepEqual(done, [2])
  })

  test('the id of a job that failed for good can be used again', async (t) => {
    const { replica, stored } = await empty(t)
    const runner = await replica()
    const attempts: string[] = []
    const kind = runner.define(
      'test',
      { payload: Type.String(), retry: ONCE },
      async ({ payload, attempt }) => {
        attempts.push(`${payload} ${attempt}`)
        if (payload === 'first') throw new Error('no')
      },
    )
    await runner.start()
    await kind.enqueue('first', { id: 'a' })
    await until(async () => (await stored())[0]?.state === 'failed')
    await kind.enqueue('second', { id: 'a' })
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(attempts, ['first 1', 'second 1'])
  })

  test('jobs of a pool leave the places of others alone, and share their own', async (t) => {
    const { replica, stored } = await empty(t)
    const runner = await replica()
    const pool = { name: 'slow', atOnce: 3 }
    const active = new Map<string, number>()
    const goOn = Promise.withResolvers<void>()
    const define = (name: string, options: Partial<JobOptions<TSchema>>) =>
      runner.define(name, { payload: Type.Null(), ...options }, async () => {
        active.set(name, (active.get(name) ?? 0) + 1)
        await goOn.promise
      })
    const kinds = [define('a', { pool }), define('b', { pool }), define('c', { atOnce: 1 }), define('d', {})]
    assert.throws(
      () => define('e', { pool: { ...pool, atOnce: 4 } }),
      /the pool of jobs slow has 3 places already/,
    )
    for (const kind of kinds) for (let n = 0; n < 20; n++) await kind.enqueue(null)
    await runner.start()
    await until(() => [...active.values()].reduce((sum, count) => sum + count, 0) === 11)
    // Two and one of the pool's three, and of the eight of all others one and the rest.
    assert.deepEqual([active.get('a')! + active.get('b')!, active.get('c'), active.get('d')], [3, 1, 7])
    assert.ok(active.has('a') && active.has('b'), 'the places of a pool are shared evenly')
    goOn.resolve()
    await until(async () => (await stored()).length === 0)
  })

  test('a long queue of one kind does not keep others of its pool waiting', async (t) => {
    const { replica, clock } = await empty(t)
    const runner = await replica()
    const done: string[] = []
    const ends: (() => void)[] = []
    const define = (name: string) =>
      runner.define(name, { payload: Type.Null() }, async () => {
        done.push(name)
        await new Promise<void>((resolve) => ends.push(resolve))
      })
    const [many, few] = [define('many'), define('few')]
    for (let n = 0; n < 30; n++) await many.enqueue(null, { runAt: clock.now() - 1000 })
    await runner.start()
    await until(() => done.length === 8)
    await few.enqueue(null)
    ends[0]!()
    await until(() => done.length === 9)
    assert.equal(done.at(-1), 'few')
    for (let n = 0; n < 31; n++) {
      await until(() => ends.length > n)
      ends[n]!()
    }
  })

  test('a job that the end of the server interrupts is no failure, and is done after the next start', async (t) => {
    const { replica, stored, lines } = await empty(t)
    const [first, second] = [await replica(), await replica()]
    const attempts: number[] = []
    const defineOn = (runner: JobRunner) =>
      runner.define('test', { payload: Type.Null(), retry: ONCE }, async ({ attempt, stopping }) => {
        attempts.push(attempt)
        if (attempts.length === 1)
          await new Promise((_, reject) =>
            stopping.addEventListener('abort', () => reject(new Error('cut off'))),
          )
      })
    const kind = defineOn(first)
    await first.start()
    await kind.enqueue(null, { id: 'a' })
    await until(() => attempts.length === 1)
    await first.stop()
    assert.deepEqual(
      (await stored()).map(({ state, attempts, claimed_by, last_error }) => [
        state,
        attempts,
        claimed_by,
        last_error,
      ]),
      [['ready', 0, null, null]],
    )
    assert.deepEqual(lines, [])
    defineOn(second)
    await second.start()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(attempts, [1, 1])
  })

  test('a queue with nothing due is only read, and that rarely', async (t) => {
    const { db, clock } = await empty(t)
    let [reads, writes] = [0, 0]
    const counted = new Proxy(db, {
      get(target, name) {
        if (name === 'get') reads++
        if (name === 'batch' || name === 'write') writes++
        const value = Reflect.get(target, name) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const runner = createJobs({ db: counted, clock, log: pino({ level: 'silent' }) })
    t.after(() => runner.stop())
    const kind = runner.define('test', { payload: Type.Null() }, async () => undefined)
    await kind.enqueue(null, { runAt: clock.now() + YEAR })
    ;[reads, writes] = [0, 0]
    await runner.start()
    await until(() => reads === 1)
    for (let poll = 2; poll < 10; poll++) {
      clock.advance(1999)
      await new Promise((resolve) => setTimeout(resolve, 5))
      assert.equal(reads, poll - 1)
      clock.advance(1)
      await until(() => reads === poll)
    }
    assert.equal(writes, 0)
  })

  test('a kind is defined once', async (t) => {
    const { replica } = await empty(t)
    const runner = await replica()
    runner.define('test', { payload: Type.Unknown() }, async () => undefined)
    assert.throws(
      () => runner.define('test', { payload: Type.Unknown() }, async () => undefined),
      /defined twice/,
    )
  })

  test('work that comes again keeps its time over a restart, and comes sooner where the interval got shorter', async (t) => {
    const { replica, stored, clock } = await empty(t)
    const begin = clock.now()
    const times: number[] = []
    for (const interval of [10 * MINUTE, 10 * MINUTE, 60 * MINUTE, 2 * MINUTE]) {
      const runner = await replica()
      runner.every('again', interval, async () => undefined)
      await runner.start()
      await runner.stop()
      times.push((await stored())[0]!.run_at - begin)
      clock.advance(MINUTE)
    }
    assert.deepEqual(times, [10 * MINUTE, 10 * MINUTE, 10 * MINUTE, 5 * MINUTE])
  })

  test('stop waits for what runs, and begins nothing more', async (t) => {
    const { replica, stored } = await empty(t)
    const runner = await replica()
    const order: string[] = []
    const end = Promise.withResolvers<void>()
    const kind = runner.define('test', { payload: Type.Unknown() }, async () => {
      order.push('began')
      await end.promise
      order.push('ended')
    })
    await runner.start()
    // As many as run at once, so that it claims no more just now.
    for (let i = 0; i < 8; i++) await kind.enqueue(null)
    await until(() => order.length === 8)
    const stopped = runner.stop().then(() => order.push('stopped'))
    await kind.enqueue(null, { id: 'one more' })
    end.resolve()
    await stopped
    assert.deepEqual(order, [...Array(8).fill('began'), ...Array(8).fill('ended'), 'stopped'])
    const left = (await stored()).map(({ id, attempts }) => ({ id, attempts }))
    assert.deepEqual(left, [{ id: 'one more', attempts: 0 }])
  })

  test('a queue that cannot be read for a while is read again', async (t) => {
    const { db, replica, stored, lines } = await setUp(t, engine)
    const runner = await replica()
    const done: string[] = []
    const kind = runner.define('test', { payload: Type.Unknown() }, async ({ id }) => void done.push(id))
    await kind.enqueue(null, { id: 'a' })
    await db.write(sql`alter table sixwire_jobs rename to elsewhere`)
    await runner.start()
    await until(() => lines.some((line) => line.includes('could not be read')))
    await db.write(sql`alter table elsewhere rename to sixwire_jobs`)
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, ['a'])
  })
})
