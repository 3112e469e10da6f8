import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pino } from 'pino'
import type { Database } from './db/database.ts'
import { openDatabase } from './db/open.ts'
import { sql } from './db/sql.ts'
import { openFrame, stillClock } from './frame.fixture.ts'
import { createJobs, type Job, type JobRunner } from './jobs.ts'
import { eachEngine, temporaryFolder, type Engine } from './testing/engines.ts'

const MINUTE = 60_000
const YEAR = 365 * 24 * 60 * MINUTE

type Stored = {
  id: string
  state: string
  run_at: number
  attempts: number
  last_error: string | null
  claimed_by: string | null
  payload: string
}

async function setUp(t: TestContext, engine: Engine) {
  const { db, url } = await openFrame(engine)
  const clock = stillClock()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const runners: JobRunner[] = []
  const databases = [db]
  t.after(async () => {
    await Promise.all(runners.map((one) => one.stop()))
    for (const one of databases) await one.close()
  })
  return {
    db,
    url,
    clock,
    lines,
    /** A replica: a runner, on a connection of its own where it is not the first. */
    replica: async (): Promise<JobRunner> => {
      let own: Database = db
      if (runners.length > 0) databases.push((own = await openDatabase(url)))
      const runner = createJobs(own, clock, log)
      runners.push(runner)
      return runner
    },
    stored: () =>
      db.all<Stored>(
        sql`select id, state, run_at, attempts, last_error, claimed_by, payload from sixwire_jobs order by id`,
      ),
  }
}

/** Resolves when it is so; the test's own limit of time says when it never is. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5))
}

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
    await until(() => done.length > 0)
    assert.deepEqual(await stored(), [])
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

  for (const late of ['resolve', 'reject'] as const)
    test(`work that one runner never ends is done by another once its lease is over (late ${late})`, async (t) => {
      const { replica, stored, clock } = await setUp(t, engine)
      const [first, second] = [await replica(), await replica()]
      const hanging = Promise.withResolvers<void>()
      const again = Promise.withResolvers<void>()
      const began: string[] = []
      const kind = first.define('test', async ({ attempt }) => {
        began.push(`first ${attempt}`)
        await hanging.promise
      })
      await first.start()
      await kind.enqueue(null, { id: 'a' })
      await until(() => began.length === 1)

      const other = second.define('test', async ({ attempt }) => {
        began.push(`second ${attempt}`)
        await again.promise
      })
      // While the lease holds nobody takes it; a second piece of work shows that the second runner has looked.
      const marker = second.define('marker', async () => void began.push('marker'))
      await second.start()
      clock.advance(MINUTE - 1)
      await marker.enqueue(null)
      await until(() => began.includes('marker'))
      assert.deepEqual(began, ['first 1', 'marker'])
      clock.advance(1)
      other.wake()
      await until(() => began.includes('second 2'))

      // The first one comes back, and it is no longer its work.
      if (late === 'resolve') hanging.resolve()
      else hanging.reject(new Error('late'))
      await first.stop()
      assert.deepEqual(
        (await stored()).map(({ id, state, last_error }) => ({ id, state, last_error })),
        [{ id: 'a', state: 'ready', last_error: null }],
      )
      again.resolve()
      await until(async () => (await stored()).length === 0)
      assert.deepEqual(began, ['first 1', 'marker', 'second 2'])
    })

  test('work of a process that was killed is done', async (t) => {
    const { url, replica, stored, clock } = await setUp(t, engine)
    const folder = await temporaryFolder(t)
    const file = join(folder, 'killed.mjs')
    const at = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
    await writeFile(
      file,
      `import { openDatabase } from ${at('./db/open.ts')}
       import { createJobs } from ${at('./jobs.ts')}
       const log = { warn() {}, error() {} }
       const jobs = createJobs(await openDatabase(${JSON.stringify(url)}), { now: () => ${clock.now()} }, log)
       const kind = jobs.define('test', async () => { console.log('began'); setInterval(() => {}, 1000); await new Promise(() => {}) })
       await jobs.start()
       await kind.enqueue('payload', { id: 'a' })`,
    )
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')

    const runner = await replica()
    const done: unknown[] = []
    runner.define('test', async (job) => void done.push(job))
    clock.advance(MINUTE)
    await runner.start()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, [{ id: 'a', payload: 'payload', attempt: 2 }])
  })

  test('work that ends every process that tries it is set aside', async (t) => {
    const { db, replica, stored } = await setUp(t, engine)
    const runner = await replica()
    let begun = 0
    const kind = runner.define('test', async () => void begun++, { attempts: 3 })
    await kind.enqueue(null, { id: 'a' })
    await db.write(sql`update sixwire_jobs set attempts = 3, claimed_by = 'somebody who died'`)
    await runner.start()
    await until(async () => (await stored())[0]!.state === 'failed')
    assert.equal(begun, 0)
    assert.match((await stored())[0]!.last_error!, /ended before it did/)
  })

  test('a lease is renewed while the work goes on', async (t) => {
    const { replica, stored, clock } = await setUp(t, engine)
    const runner = await replica()
    const end = Promise.withResolvers<void>()
    let begun = 0
    const kind = runner.define('test', async () => {
      begun++
      await end.promise
    })
    await runner.start()
    t.mock.timers.enable({ apis: ['setInterval'] })
    await kind.enqueue(null, { id: 'a' })
    await until(() => begun === 1)
    for (let i = 0; i < 10; i++) {
      clock.advance(MINUTE / 3)
      t.mock.timers.tick(MINUTE / 3)
      await until(async () => (await stored())[0]!.run_at === clock.now() + MINUTE)
    }
    assert.equal(begun, 1)
    end.resolve()
    await until(async () => (await stored()).length === 0)
  })

  test('a runner does not begin work again that it is still doing, however its clock jumps', async (t) => {
    const { replica, stored, clock } = await setUp(t, engine)
    const runner = await replica()
    const end = Promise.withResolvers<void>()
    const began: unknown[] = []
    const kind = runner.define('test', async ({ id }) => {
      began.push(id)
      await end.promise
    })
    const marker = runner.define('marker', async () => void began.push('marker'))
    await runner.start()
    await kind.enqueue(null, { id: 'a' })
    await until(() => began.length === 1)
    clock.advance(10 * MINUTE)
    await marker.enqueue(null)
    await until(() => began.length > 1)
    assert.deepEqual(began, ['a', 'marker'])
    end.resolve()
    await until(async () => (await stored()).length === 0)
  })

  test('two runners do many pieces of work, each once and never both at a time', async (t) => {
    const { replica, stored } = await setUp(t, engine)
    const begun: string[] = []
    const active = new Set<string>()
    let most = 0
    const runners = [await replica(), await replica()]
    const kinds = runners.map((runner) =>
      runner.define('test', async ({ id }) => {
        assert.ok(!active.has(id))
        active.add(id)
        begun.push(id)
        most = Math.max(most, active.size)
        await new Promise((resolve) => setImmediate(resolve))
        active.delete(id)
      }),
    )
    await Promise.all(runners.map((runner) => runner.start()))
    const ids = Array.from({ length: 300 }, (_, i) => `job${i}`)
    await Promise.all(ids.map((id, i) => kinds[i % 2]!.enqueue(null, { id })))
    await until(async () => (await stored()).length === 0)
    assert.equal(begun.length, 300)
    assert.equal(new Set(begun).size, 300)
    assert.ok(most <= 16, `${most} at a time`)
  })

  test('work of a kind that a runner does not know is left to others', async (t) => {
    const { replica, stored } = await setUp(t, engine)
    const [old, newer] = [await replica(), await replica()]
    const done: string[] = []
    const known = old.define('known', async () => void done.push('known'))
    const added = newer.define('added', async () => void done.push('added'))
    await added.enqueue(null, { id: 'a' })
    await old.start()
    await known.enqueue(null, { id: 'b' })
    await until(async () => (await stored()).length === 1)
    assert.deepEqual(done, ['known'])
    await newer.start()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, ['known', 'added'])
  })

  test('a kind is defined once', async (t) => {
    const { replica } = await setUp(t, engine)
    const runner = await replica()
    runner.define('test', async () => undefined)
    assert.throws(() => runner.define('test', async () => undefined), /defined twice/)
  })

  test('work that comes again is done once in each interval by two runners together', async (t) => {
    const { replica, stored, clock } = await setUp(t, engine)
    const runners = [await replica(), await replica()]
    const done: string[] = []
    const markers = runners.map((runner, i) => {
      runner.every('again', 10 * MINUTE, async () => {
        done.push('again')
        if (done.length === 1) throw new Error('the first time it fails')
      })
      return runner.define(`marker ${i}`, async () => undefined)
    })
    /** Resolves when each runner has looked for work and ended what it found. */
    const bothLooked = async (): Promise<void> => {
      for (let round = 0; round < 2; round++) {
        await Promise.all(markers.map((marker) => marker.enqueue(null)))
        await until(async () =>
          (await stored()).every(({ id, claimed_by }) => id === 'every-again' && !claimed_by),
        )
      }
    }
    await Promise.all(runners.map((runner) => runner.start()))
    await bothLooked()
    clock.advance(10 * MINUTE - 1)
    await bothLooked()
    assert.equal(done.length, 0)
    clock.advance(1)
    await bothLooked()
    assert.equal(done.length, 1)
    clock.advance(2000) // it failed, and is tried again soon
    await bothLooked()
    assert.equal(done.length, 2)
    for (let i = 3; i < 6; i++) {
      clock.advance(10 * MINUTE - 1)
      await bothLooked()
      assert.equal(done.length, i - 1)
      clock.advance(1)
      await bothLooked()
      assert.equal(done.length, i)
    }
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
    const kind = runner.define('test', async ({ id }) => {
      order.push(`began ${id}`)
      await end.promise
      order.push(`ended ${id}`)
    })
    await runner.start()
    await kind.enqueue(null, { id: 'a' })
    await until(() => order.length === 1)
    const stopped = runner.stop().then(() => order.push('stopped'))
    await kind.enqueue(null, { id: 'b' })
    end.resolve()
    await stopped
    assert.deepEqual(order, ['began a', 'ended a', 'stopped'])
    assert.deepEqual(
      (await stored()).map(({ id, attempts }) => ({ id, attempts })),
      [{ id: 'b', attempts: 0 }],
    )
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
