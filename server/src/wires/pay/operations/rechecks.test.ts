import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { someEngine } from '../../../testing/engines.ts'
import { startTill } from '../pay.fixture.ts'

const SECOND_MS = 1_000

someEngine((engine) => {
  test('a transaction that is not settled is rechecked after 10 s, then at doubling distances to an hour', async (t) => {
    const till = await startTill(t, engine)
    const { clock } = till.app
    /** When the next recheck is due, once the last one is over. */
    async function nextRecheck(): Promise<number> {
      for (;;) {
        const job = await till.app.app.db.get<{ run_at: number }>(
          sql`select run_at from sixwire_jobs where kind = 'pay.look' and claimed_by is null`,
        )
        if (job) return job.run_at
        await delay(2)
      }
    }
    await till.checkout()
    const distances: number[] = []
    for (let last = clock.now(); distances.length < 11;) {
      const next = await nextRecheck()
      distances.push(Math.round((next - last) / SECOND_MS))
      const { retrieve } = till.card.counts
      clock.advance(next - clock.now() + 1)
      last = next
      while (till.card.counts.retrieve === retrieve) await delay(2)
    }
    const expected = [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]
    for (const [at, seconds] of distances.entries())
      assert.ok(
        // Counted from the last change, which may be a moment after the checkout.
        seconds >= expected[at]! * 0.98 && seconds < expected[at]! * 1.2,
        `${distances.join(', ')} instead of ${expected.join(', ')}`,
      )
  })
})
