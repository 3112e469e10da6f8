import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '../../base/schema.ts'
import { sql } from '../../db/sql.ts'
import { queueForAll } from './jobs.fixture.ts'
import { eachEngine } from '../../testing/engines.ts'
import { startScript, urlLiteral } from '../../testing/program.ts'
import { until } from '../../testing/until.ts'

const MINUTE = 60_000

eachEngine((engine) => {
  const setUp = queueForAll(engine)

  for (const late of ['resolve', 'reject'] as const)
    test(`work that one runner never ends is done by another once its lease is over (late ${late})`, async (t) => {
      const { replica, stored, clock } = await setUp(t)
      const [first, second] = [await replica(), await replica()]
      const hanging = Promise.withResolvers<void>()
      const again = Promise.withResolvers<void>()
      const began: string[] = []
      const kind = first.define('test', { payload: Type.Unknown() }, async ({ attempt }) => {
        began.push(`first ${attempt}`)
        await hanging.promise
      })
      await first.start()
      await kind.enqueue(null, { id: 'a' })
      await until(() => began.length === 1)

      second.define('test', { payload: Type.Unknown() }, async ({ attempt }) => {
        began.push(`second ${attempt}`)
        await again.promise
      })
      // While the lease holds nobody takes it; a second piece of work shows that the second runner has looked.
      const marker = second.define(
        'marker',
        { payload: Type.Unknown() },
        async () => void began.push('marker'),
      )
      await second.start()
      clock.advance(MINUTE - 1)
      await marker.enqueue(null)
      await until(() => began.includes('marker'))
      assert.deepEqual(began, ['first 1', 'marker'])
      clock.advance(1)
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
    const { url, replica, stored, clock } = await setUp(t)
    const program = await startScript(
      t,
      `import { openDatabase } from ${urlLiteral('db/open.ts')}
       import { systemClock } from ${urlLiteral('base/clock.ts')}
       import { createJobs } from ${urlLiteral('kernel/jobs/jobs.ts')}
       const log = { warn() {}, error() {} }
       const clock = { ...systemClock, now: () => ${clock.now()} }
       const jobs = createJobs({ db: await openDatabase(${JSON.stringify(url)}), clock, log })
       const kind = jobs.define('test', { payload: {} }, async () => { console.log('began'); setInterval(() => {}, 1000); await new Promise(() => {}) })
       await jobs.start()
       await kind.enqueue('payload', { id: 'a' })`,
    )
    await program.until(/began/)
    await program.kill()

    const runner = await replica()
    const done: unknown[] = []
    runner.define(
      'test',
      { payload: Type.Unknown() },
      async ({ id, payload, attempt }) => void done.push({ id, payload, attempt }),
    )
    clock.advance(MINUTE)
    await runner.start()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, [{ id: 'a', payload: 'payload', attempt: 2 }])
  })

  test('work that ends every process that tries it is set aside', async (t) => {
    const { db, replica, stored } = await setUp(t)
    const runner = await replica()
    let begun = 0
    const kind = runner.define(
      'test',
      { payload: Type.Unknown(), retry: { firstMs: 1, maxMs: 1, attempts: 3 } },
      async () => void begun++,
    )
    await kind.enqueue(null, { id: 'a' })
    await db.write(sql`update sixwire_jobs set attempts = 3, claimed_by = 'somebody who died'`)
    await runner.start()
    await until(async () => (await stored())[0]!.state === 'failed')
    assert.equal(begun, 0)
    assert.match((await stored())[0]!.last_error!, /ended before it did/)
  })

  test('a lease is renewed while the work goes on', async (t) => {
    const { replica, stored, clock } = await setUp(t)
    const runner = await replica()
    const end = Promise.withResolvers<void>()
    let begun = 0
    const kind = runner.define('test', { payload: Type.Unknown() }, async () => {
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
    const { replica, stored, clock } = await setUp(t)
    const runner = await replica()
    const end = Promise.withResolvers<void>()
    const began: unknown[] = []
    const kind = runner.define('test', { payload: Type.Unknown() }, async ({ id }) => {
      began.push(id)
      await end.promise
    })
    const marker = runner.define('marker', { payload: Type.Unknown() }, async () => void began.push('marker'))
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
    const { replica, stored } = await setUp(t)
    const begun: string[] = []
    const active = new Set<string>()
    let most = 0
    const runners = [await replica(), await replica()]
    const kinds = runners.map((runner) =>
      runner.define('test', { payload: Type.Unknown() }, async ({ id }) => {
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
    const { replica, stored } = await setUp(t)
    const [old, newer] = [await replica(), await replica()]
    const done: string[] = []
    const known = old.define('known', { payload: Type.Unknown() }, async () => void done.push('known'))
    const added = newer.define('added', { payload: Type.Unknown() }, async () => void done.push('added'))
    await added.enqueue(null, { id: 'a' })
    await old.start()
    await known.enqueue(null, { id: 'b' })
    await until(async () => (await stored()).length === 1)
    assert.deepEqual(done, ['known'])
    await newer.start()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, ['known', 'added'])
  })

  test('work that comes again is done once in each interval by two runners together', async (t) => {
    const { replica, stored, clock } = await setUp(t)
    const runners = [await replica(), await replica()]
    const done: string[] = []
    const markers = runners.map((runner, i) => {
      runner.every('again', 10 * MINUTE, async () => {
        done.push('again')
        if (done.length === 1) throw new Error('the first time it fails')
      })
      return runner.define(`marker ${i}`, { payload: Type.Unknown() }, async () => undefined)
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
})
