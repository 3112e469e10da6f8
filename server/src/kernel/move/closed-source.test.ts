import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '../../base/schema.ts'
import { eachEngine } from '../../testing/engines.ts'
import { until } from '../../testing/until.ts'
import { setUp } from '../jobs/jobs.fixture.ts'
import { beginMove, closeTables, endMove } from './closed-source.ts'

eachEngine((engine) => {
  test('a database that is closed begins no job, and lets those under way end before', async (t) => {
    const { db, clock, replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const begun: string[] = []
    const under = Promise.withResolvers<void>()
    t.after(() => under.resolve())
    const kind = runner.define('test', { payload: Type.String() }, async ({ payload }) => {
      begun.push(payload)
      if (payload === 'long') await under.promise
    })
    await kind.enqueue('long')
    await runner.start()
    await until(() => begun.length === 1)
    const waiting: number[] = []
    const { signal } = new AbortController()
    await beginMove(
      { db, clock },
      {
        owner: 'me',
        target: 'elsewhere',
        drainMs: 30_000,
        signal,
        onProgress({ total }) {
          waiting.push(total)
          if (waiting.length > 1) return
          // It is written down, and not begun.
          void kind.enqueue('next').then(() => under.resolve())
        },
      },
    )
    await closeTables(db, { owner: 'me', tables: ['sixwire_jobs'], signal })
    assert.equal(waiting[0], 1)
    assert.deepEqual(
      (await stored()).map(({ payload, claimed_by: claim }) => [payload, claim]),
      [['"next"', null]],
    )
    await assert.rejects(kind.enqueue('late'), { code: 'UNAVAILABLE', retryAfter: 5 })
    assert.deepEqual(begun, ['long'])
    await endMove(db, { owner: 'me' })
    await until(() => {
      clock.advance(5_000)
      return begun.length === 2
    })
    assert.deepEqual(begun, ['long', 'next'])
  })
})
