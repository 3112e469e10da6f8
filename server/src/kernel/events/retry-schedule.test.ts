import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pauseAfter, readRetryAfter, TRIED_MS } from './retry-schedule.ts'

const HOUR_MS = 3_600_000

for (const random of [0, 0.5, 1])
  test(`the pauses grow, and the last attempt comes after three days (random ${random})`, () => {
    const at: number[] = [0]
    for (;;) {
      const pauseMs = pauseAfter({ attempts: at.length, elapsedMs: at.at(-1)! }, random)
      if (pauseMs === undefined) break
      at.push(at.at(-1)! + pauseMs)
    }
    assert.equal(at.at(-1), TRIED_MS)
    assert.ok(at.length === 10 || at.length === 11, `${at.length} attempts`)
    assert.ok(at[1]! >= 4_000 && at[1]! <= 6_000)
    const pauses = at.slice(1).map((one, i) => one - at[i]!)
    assert.deepEqual(
      pauses.slice(0, -1),
      pauses.slice(0, -1).toSorted((one, other) => one - other),
    )
  })

test('a receiver may ask for a longer pause, of a day at most, and never for a shorter one', () => {
  const pause = (askedMs: number) => pauseAfter({ attempts: 2, elapsedMs: 0, askedMs }, 0.5)
  assert.equal(pause(1_000), 300_000)
  assert.equal(pause(HOUR_MS), HOUR_MS)
  assert.equal(pause(100 * HOUR_MS), 24 * HOUR_MS)
})

test('Retry-After is in seconds, or a date', () => {
  const now = Date.UTC(2027, 0, 1)
  assert.deepEqual(
    ['120', new Date(now + 60_000).toUTCString(), new Date(now - 1_000).toUTCString(), 'soon', undefined].map(
      (header) => readRetryAfter(header, now),
    ),
    [120_000, 60_000, 0, undefined, undefined],
  )
})
