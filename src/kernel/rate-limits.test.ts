import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Database } from '../db/database.ts'
import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { openFrame } from './frame.fixture.ts'
import { stillClock } from '../testing/clock.ts'
import { createProcessRateLimiter, createRateLimiter } from './rate-limits.ts'
import { eachEngine } from '../testing/engines.ts'

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
      const limiter = createRateLimiter(db, clock)
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
    const limiter = createRateLimiter(db, clock)
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
          const limiter = createRateLimiter(db, clock)
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
    const limiter = createRateLimiter(db, clock)
    const bucket = newBucket()
    assert.equal(await limiter.take(bucket, 1, MINUTE), undefined)
    for (let i = 0; i < 50; i++) assert.equal(await limiter.take(bucket, 1, MINUTE), MINUTE)
    clock.advance(MINUTE)
    assert.equal(await limiter.take(bucket, 1, MINUTE), undefined)
  })

  test('buckets do not count for each other, whatever their names', async () => {
    const limiter = createRateLimiter(db, stillClock())
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
      const limiters = [createRateLimiter(db, clock), createRateLimiter(other, ahead)]
      const bucket = newBucket()
      const waits = await Promise.all(
        Array.from({ length: 200 }, (_, i) => limiters[i % 2]!.take(bucket, 30, MINUTE)),
      )
      assert.equal(passedOf(waits), 30)
    } finally {
      await other.close()
    }
  })

  test('a clock that is set back makes nobody wait longer than two periods', async () => {
    for (const back of [1000, MINUTE / 2, MINUTE, 2 * MINUTE, 10 * HOUR]) {
      const clock = stillClock()
      const limiter = createRateLimiter(db, clock)
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

  test('full buckets are forgotten, and no others', async () => {
    const clock = stillClock()
    const limiter = createRateLimiter(db, clock)
    await db.write(sql`delete from sixwire_rate_limits`)
    await limiter.take('half', 1, HOUR)
    await limiter.take('full', 1, MINUTE)
    clock.advance(2 * MINUTE)
    await limiter.forgetFull()
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
    const limiter = createProcessRateLimiter(clock)
    for (const count of [1, 7, 30, 600]) {
      const bucket = `GET /somewhere ${count}`
      assert.equal(await burst(limiter, bucket, count), count)
      clock.advance(MINUTE)
      assert.equal(await burst(limiter, bucket, count), count)
    }
  })

  test('after the wait that it names the next call passes, and no sooner', async () => {
    const clock = stillClock()
    const limiter = createProcessRateLimiter(clock)
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
    const limiter = createProcessRateLimiter(clock)
    await burst(limiter, 'a')
    clock.advance(-10 * HOUR)
    assert.equal(await burst(limiter, 'a'), 30)
  })
})
