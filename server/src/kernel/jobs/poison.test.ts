// What a handler answers or throws never keeps other jobs from being done.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '../../base/schema.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine } from '../../testing/engines.ts'
import { queueForAll } from './jobs.fixture.ts'
import { until } from '../../testing/until.ts'

const Payload = Type.Object({})
const RETRY = { firstMs: 1000, maxMs: 1000, attempts: 2 }

eachEngine((engine) => {
  const setUp = queueForAll(engine)

  for (const againInMs of [1500.5, Number.NaN, Infinity, -1e300])
    test(`a handler that answers againInMs ${againInMs} keeps no other job waiting`, async (t) => {
      const { replica } = await setUp(t)
      const runner = await replica()
      let begun = 0
      let others = 0
      const again = runner.define('again', { payload: Payload, retry: RETRY }, async () => {
        begun++
        return { againInMs }
      })
      const other = runner.define('other', { payload: Payload, retry: RETRY }, async () => void others++)
      await runner.start()
      await again.enqueue({})
      await until(() => begun === 1)
      await other.enqueue({})
      await until(() => others === 1)
      await until(async () => (await other.count()) === 0)
    })

  test('an error whose message is no text fails its job only', async (t) => {
    const { replica, stored } = await setUp(t)
    const runner = await replica()
    const kind = runner.define('odd', { payload: Payload, retry: { ...RETRY, attempts: 1 } }, async () => {
      throw Object.assign(new Error('x'), { message: { code: 42 } })
    })
    await runner.start()
    await kind.enqueue({})
    await until(async () => (await stored())[0]?.state === 'failed')
    assert.ok((await stored())[0]!.last_error)
  })

  test('a job whose lease another replica took over is not begun again where it still runs', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const { db, clock, replica, stored } = await setUp(t)
    const runner = await replica()
    const work = Promise.withResolvers<void>()
    let begun = 0
    const kind = runner.define('slow', { payload: Payload, retry: { ...RETRY, attempts: 9 } }, async () => {
      begun++
      await work.promise
    })
    await runner.start()
    await kind.enqueue({})
    await until(() => begun === 1)
    // This machine slept; meanwhile another replica claimed the job, and died later.
    clock.advance(120_000)
    await db.write(sql`update sixwire_jobs set claimed_by = 'another', run_at = ${clock.now() + 30_000}`)
    t.mock.timers.tick(20_000)
    await new Promise((resolve) => setTimeout(resolve, 300))
    clock.advance(31_000)
    await kind.enqueue({}, { id: 'z', runAt: clock.now() + 3_600_000 }) // wakes it
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const times = begun
    work.resolve()
    assert.equal(times, 1)
    await until(async () => (await stored()).length === 1)
  })
})
