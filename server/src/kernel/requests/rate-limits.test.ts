import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../base/errors.ts'
import type { Database } from '../../db/database.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { openFrame } from '../frame.fixture.ts'
import { stillClock } from '../../testing/clock.ts'
import { createProcessRateLimiter, createRateLimiter } from './rate-limits.ts'
import { NO_SIBLINGS } from '../../base/siblings.ts'
import { eachEngine } from '../../testing/engines.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

eachEngine((engine) => {
  let db: Database
  let url: string
  before(async () => {
    ;({ db, url } = await openFrame(engine))
  })
  after(() => db.close())

  let made = 0
  const newBucket = () => `POST /somewhere ${++made}`

  const passedOf = (waits: readonly (number | undefined)[]): number =>
    waits.filter((wait) => wait === undefined).length

  for (const [count, period] of [
    [1, MINUTE],
    [5, HOUR],
    [7, MINUTE], // whose interval is no whole number of microseconds
    [20, MINUTE],
    [30, MINUTE],
    [60, MINUTE],
    [999, HOUR],
  ] as const)
    test(`of a burst exactly ${count} pass, and again once the bucket is full`, async () => {
      const clock = stillClock()
      const limiter = createRateLimiter({ db, clock })
      const bucket = newBucket()
      const burst = () =>
        Promise.all(Array.from({ length: count + 20 }, () => limiter.take(bucket, count, period)))
      assert.equal(passedOf(await burst()), count)
      assert.equal(passedOf(await burst()), 0)
      clock.advance(period)
      assert.equal(passedOf(await burst()), count)
      clock.advance(10 * period) // no more than a full bucket, however long nobody came
      assert.equal(passedOf(await burst()), count)
    })

  test('a bucket refills evenly', async () => {
    const clock = stillClock()
    const limiter = createRateLimiter({ db, clock })
    const bucket = newBucket()
    const take = () => limiter.take(bucket, 30, MINUTE)
    for (let i = 0; i < 30; i++) assert.equal(await take(), undefined)
    for (let i = 0; i < 40; i++) {
      assert.equal(await take(), 2000)
      clock.advance(1999)
      assert.equal(await take(), 1)
      clock.advance(1)
      assert.equal(await take(), undefined)
    }
    clock.advance(20_000)
    for (let i = 0; i < 10; i++) assert.equal(await take(), undefined)
    assert.equal(await take(), 2000)
  })

  test('after the wait that it names the next call passes, and no sooner', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom(MINUTE, HOUR),
        fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 12 }),
        async (count, period, steps) => {
          const clock = stillClock()
          const limiter = createRateLimiter({ db, clock })
          const bucket = newBucket()
          for (let i = 0; i < count; i++) assert.equal(await limiter.take(bucket, count, period), undefined)
          for (const step of steps) {
            const wait = await limiter.take(bucket, count, period)
            assert.ok(
              wait === undefined || (Number.isInteger(wait) && wait >= 1 && wait <= period / count + 1),
            )
            if (wait !== undefined) {
              clock.advance(wait - 1)
              assert.equal(await limiter.take(bucket, count, period), 1)
              clock.advance(1)
              assert.equal(await limiter.take(bucket, count, period), undefined)
            }
            clock.advance(step)
          }
        },
      ),
      { numRuns: 15 },
    )
  })

  test('a refused call takes nothing', async () => {
    const clock = stillClock()
    const limiter = createRateLimiter({ db, clock })
    const bucket = newBucket()
    assert.equal(await limiter.take(bucket, 1, MINUTE), undefined)
    for (let i = 0; i < 50; i++) assert.equal(await limiter.take(bucket, 1, MINUTE), MINUTE)
    clock.advance(MINUTE)
    assert.equal(await limiter.take(bucket, 1, MINUTE), undefined)
  })

  test('buckets do not count for each other, whatever their names', async () => {
    const limiter = createRateLimiter({ db, clock: stillClock() })
    for (const name of [newBucket(), '', "o'brien; --", 'ÀÉ😀', 'x'.repeat(2000), 'a', 'A', 'a '])
      assert.deepEqual(
        [await limiter.take(name, 1, MINUTE), await limiter.take(name, 1, MINUTE)],
        [undefined, MINUTE],
      )
  })

  test('replicas count together, also where their clocks differ a little', async () => {
    const other = await openDatabase(url)
    try {
      const clock = stillClock()
      const ahead = stillClock(clock.now() + 300)
      const limiters = [createRateLimiter({ db, clock }), createRateLimiter({ db: other, clock: ahead })]
      const bucket = newBucket()
      const waits = await Promise.all(
        Array.from({ length: 200 }, (_, i) => limiters[i % 2]!.take(bucket, 30, MINUTE)),
      )
      assert.equal(passedOf(waits), 30)
    } finally {
      await other.close()
    }
  })

  describe('as a step of a batch', () => {
    const note = (id: number) => sql`insert into notes (id) values (${id})`
    const notes = async () =>
      (await db.all<{ id: number }>(sql`select id from notes order by id`)).map(({ id }) => id)
    before(() => db.write(sql`create table notes (id bigint primary key)`))
    beforeEach(() => db.write(sql`delete from notes`))

    test('keeps nothing of a batch over the limit, and names a wait after which the next one passes', async () => {
      const clock = stillClock()
      const limiter = createRateLimiter({ db, clock })
      const bucket = newBucket()
      const send = (id: number) => db.batch([limiter.takeSql(bucket, 5, HOUR), note(id)])
      for (let id = 1; id <= 5; id++) await send(id)
      await assert.rejects(send(6), { code: 'RATE_LIMITED', status: 429, retryAfter: 720 })
      assert.deepEqual(await notes(), [1, 2, 3, 4, 5])
      clock.advance(720_000)
      await send(6)
      await assert.rejects(send(7), { code: 'RATE_LIMITED' })
      assert.equal(await limiter.take(bucket, 5, HOUR), 720_000, 'calls and steps count together')
      clock.advance(HOUR)
      for (let id = 7; id <= 11; id++) await send(id)
      await assert.rejects(send(12), { code: 'RATE_LIMITED' })
    })

    test('lets exactly as many batches pass as there is room for, of any number at once', async () => {
      const other = await openDatabase(url)
      try {
        const clock = stillClock()
        const replicas = [db, other].map((one) => ({ one, limiter: createRateLimiter({ db: one, clock }) }))
        const bucket = newBucket()
        const sent = await Promise.allSettled(
          Array.from({ length: 40 }, (_, id) => {
            const { one, limiter } = replicas[id % 2]!
            return one.batch([limiter.takeSql(bucket, 7, MINUTE), note(id)])
          }),
        )
        assert.equal(sent.filter(({ status }) => status === 'fulfilled').length, 7)
        assert.equal((await notes()).length, 7)
      } finally {
        await other.close()
      }
    })

    test('throws the error that it is given', async () => {
      const limiter = createRateLimiter({ db, clock: stillClock() })
      const bucket = newBucket()
      const full = new ApiError('FULL', 409, 'It is full.')
      const step = () => limiter.takeSql(bucket, 1, MINUTE, () => full)
      await db.batch([step()])
      await assert.rejects(db.batch([step()]), full)
    })

    test('what only waits takes nothing, and leaves a bucket that is deleted with the full ones', async () => {
      const clock = stillClock()
      const limiter = createRateLimiter({ db, clock })
      const [used, unused] = [newBucket(), newBucket()]
      await limiter.take(used, 1, MINUTE)
      await db.batch([limiter.waitSql(used), limiter.waitSql(unused)])
      assert.equal(await limiter.take(used, 1, MINUTE), MINUTE)
      clock.advance(1)
      await limiter.deleteFull()
      assert.deepEqual(await db.all(sql`select bucket from sixwire_rate_limits where bucket = ${unused}`), [])
      assert.equal(await limiter.take(unused, 1, MINUTE), undefined)
    })
  })

  test('a clock that is set back makes nobody wait longer than two periods', async () => {
    for (const back of [1000, MINUTE / 2, MINUTE, 2 * MINUTE, 10 * HOUR]) {
      const clock = stillClock()
      const limiter = createRateLimiter({ db, clock })
      const bucket = newBucket()
      const take = () => limiter.take(bucket, 2, MINUTE)
      assert.equal(passedOf([await take(), await take(), await take()]), 2)
      clock.advance(-back)
      const wait = await take()
      assert.ok(wait === undefined || wait <= 2 * MINUTE, `${wait} ms`)
      clock.advance(2 * MINUTE)
      assert.equal(passedOf([await take(), await take(), await take(), await take()]), 2)
    }
  })

  test('full buckets are deleted, and no others', async () => {
    const clock = stillClock()
    const limiter = createRateLimiter({ db, clock })
    await db.write(sql`delete from sixwire_rate_limits`)
    await limiter.take('half', 1, HOUR)
    await limiter.take('full', 1, MINUTE)
    clock.advance(2 * MINUTE)
    await limiter.deleteFull()
    assert.deepEqual(await db.all(sql`select bucket from sixwire_rate_limits`), [{ bucket: 'half' }])
    assert.equal(await limiter.take('half', 1, HOUR), HOUR - 2 * MINUTE)
  })
})

describe('in the process', () => {
  const burst = async (limiter: ReturnType<typeof createProcessRateLimiter>, bucket: string, count = 30) => {
    let passed = 0
    for (let i = 0; i < count + 5; i++)
      if ((await limiter.take(bucket, count, MINUTE)) === undefined) passed++
    return passed
  }

  test('of a burst exactly as many pass, and again once the bucket is full', async () => {
    const clock = stillClock()
    const limiter = createProcessRateLimiter({ clock, siblings: NO_SIBLINGS })
    for (const count of [1, 7, 30, 600]) {
      const bucket = `GET /somewhere ${count}`
      assert.equal(await burst(limiter, bucket, count), count)
      clock.advance(MINUTE)
      assert.equal(await burst(limiter, bucket, count), count)
    }
  })

  test('after the wait that it names the next call passes, and no sooner', async () => {
    const clock = stillClock()
    const limiter = createProcessRateLimiter({ clock, siblings: NO_SIBLINGS })
    await burst(limiter, 'a')
    assert.equal(await limiter.take('a', 30, MINUTE), 2000)
    clock.advance(1999)
    assert.equal(await limiter.take('a', 30, MINUTE), 1)
    assert.equal(await limiter.take('b', 30, MINUTE), undefined, 'another bucket')
    clock.advance(1)
    assert.equal(await limiter.take('a', 30, MINUTE), undefined)
  })

  test('a clock that is set back makes nobody wait longer than two periods', async () => {
    const clock = stillClock()
    const limiter = createProcessRateLimiter({ clock, siblings: NO_SIBLINGS })
    await burst(limiter, 'a')
    clock.advance(-10 * HOUR)
    assert.equal(await burst(limiter, 'a'), 30)
  })

  test('what three siblings pass at once leaves the bucket empty at all', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const clock = stillClock()
    const handlers: ((content: unknown) => unknown)[] = []
    const limiters = [0, 1, 2].map((index) => {
      const tell = (_topic: string, content: unknown) =>
        handlers.forEach((handle, at) => at !== index && handle(content))
      const on = (_topic: string, handle: (content: unknown) => unknown) => void (handlers[index] = handle)
      const limiter = createProcessRateLimiter({
        clock,
        siblings: { ...NO_SIBLINGS, count: 3, index, tell, on },
      })
      limiter.join()
      return limiter
    })
    const passed = () => Promise.all(limiters.map((limiter) => burst(limiter, 'a')))
    assert.deepEqual(await passed(), [30, 30, 30])
    t.mock.timers.tick(50)
    assert.deepEqual(await passed(), [0, 0, 0])
    clock.advance(2 * MINUTE)
    assert.deepEqual(await passed(), [30, 30, 30])
  })
})
