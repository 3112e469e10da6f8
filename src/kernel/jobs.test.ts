import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../db/sql.ts'
import { setUp, until } from './jobs.fixture.ts'
import type { Job } from './jobs.ts'
import { eachEngine } from '../testing/engines.ts'

const MINUTE = 60_000
const YEAR = 365 * 24 * 60 * MINUTE

eachEngine((engine) => {
  test('work is done once, with its payload, and is gone then', async (t) => {
    const { replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const done: Job[] = []
    const kind = runner.define<unknown>('test', async (job) => void done.push(job))
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
    const { db, replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const done: string[] = []
    const kind = runner.define<string>('test', async ({ payload }) => void done.push(payload))
    await runner.start()
    await assert.rejects(db.batch([kind.insertion('never'), sql`insert into nowhere values (1)`]))
    await db.batch([kind.insertion('well'), sql`select 1`])
    kind.wake()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, ['well'])
  })

  test('the same id again changes nothing while the work waits', async (t) => {
    const { replica, stored, clock } = await setUp(t, engine)
    const runner = await replica()
    const done: string[] = []
    const kind = runner.define<string>('test', async ({ payload }) => void done.push(payload))
    await kind.enqueue('first', { id: 'a', runAt: clock.now() })
    await kind.enqueue('second', { id: 'a', runAt: clock.now() + YEAR })
    await Promise.all([1, 2, 3].map((n) => kind.enqueue(`at once ${n}`, { id: 'b' })))
    await runner.start()
    await until(async () => (await stored()).length === 0)
    assert.equal(done.length, 2)
    assert.ok(done.includes('first'))
  })

  test('work that waits long leaves room for other work, and goes on as soon as it may', async (t) => {
    const { replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const slow: string[] = []
    const quick: string[] = []
    let most = 0
    const held = Promise.withResolvers<void>()
    const waiting = runner.define<string>(
      'slow',
      async ({ payload }) => {
        slow.push(payload)
        most = Math.max(most, slow.length)
        await held.promise
      },
      { atOnce: 3 },
    )
    const others = runner.define<string>('quick', async ({ payload }) => void quick.push(payload))
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
    const { replica, clock } = await setUp(t, engine)
    const runner = await replica()
    const done: string[] = []
    const kind = runner.define<string>('test', async ({ payload }) => void done.push(payload))
    await runner.start()
    await kind.enqueue('later', { runAt: clock.now() + MINUTE })
    await kind.enqueue('now')
    await until(() => done.length === 1)
    clock.advance(MINUTE - 1)
    await kind.enqueue('in between')
    await until(() => done.length === 2)
    clock.advance(1)
    kind.wake()
    await until(() => done.length === 3)
    assert.deepEqual(done, ['now', 'in between', 'later'])
  })

  test('work that throws is tried again after a growing while, and set aside with its reason in the end', async (t) => {
    const { replica, stored, clock, lines } = await setUp(t, engine)
    const runner = await replica()
    const attempts: number[] = []
    const kind = runner.define(
      'test',
      async ({ attempt }) => {
        attempts.push(attempt)
        throw new Error(`no ${attempt}`)
      },
      { attempts: 5 },
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
      kind.wake()
    }
    await until(async () => (await stored())[0]!.state === 'failed')
    assert.deepEqual(attempts, [1, 2, 3, 4, 5])
    clock.advance(YEAR)
    const other = runner.define('other', async () => undefined)
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
    const { replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const things: Record<string, unknown> = {
      a: new Error('with \0 and \ud800'),
      b: undefined,
      c: 'text',
      d: { code: 7 },
      e: new Error(`${'x'.repeat(999)}😀`),
      f: new Error(''),
    }
    const kind = runner.define<string>(
      'test',
      async ({ payload }) => {
        throw things[payload] as Error
      },
      { attempts: 1 },
    )
    await runner.start()
    for (const name of Object.keys(things)) await kind.enqueue(name, { id: name })
    await until(async () => (await stored()).every(({ state }) => state === 'failed'))
    assert.deepEqual(
      (await stored()).map(({ last_error }) => last_error),
      ['with \ufffd and \ufffd', 'undefined', 'text', '{ code: 7 }', `${'x'.repeat(999)}\ufffd`, 'Error'],
    )
  })

  test('a kind is defined once', async (t) => {
    const { replica } = await setUp(t, engine)
    const runner = await replica()
    runner.define('test', async () => undefined)
    assert.throws(() => runner.define('test', async () => undefined), /defined twice/)
  })

  test('work that comes again keeps its time over a restart, and comes sooner where the interval got shorter', async (t) => {
    const { replica, stored, clock } = await setUp(t, engine)
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
    const { replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const order: string[] = []
    const end = Promise.withResolvers<void>()
    const kind = runner.define('test', async () => {
      order.push('began')
      await end.promise
      order.push('ended')
    })
    await runner.start()
    // As many as run at once, so that it does not look for more just now.
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
    const kind = runner.define('test', async ({ id }) => void done.push(id))
    await kind.enqueue(null, { id: 'a' })
    await db.write(sql`alter table sixwire_jobs rename to elsewhere`)
    await runner.start()
    await until(() => lines.some((line) => line.includes('could not be read')))
    await db.write(sql`alter table elsewhere rename to sixwire_jobs`)
    kind.wake()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, ['a'])
  })
})
