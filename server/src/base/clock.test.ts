import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isoTime, systemClock } from './clock.ts'

test('the time is written as ISO 8601 in UTC with milliseconds', () => {
  assert.equal(isoTime(0), '1970-01-01T00:00:00.000Z')
  assert.equal(isoTime(Date.UTC(2026, 1, 3, 4, 5, 6, 7)), '2026-02-03T04:05:06.007Z')
})

test('the clock of the system counts whole milliseconds', () => {
  const before = Date.now()
  const now = systemClock.now()
  assert.ok(Number.isInteger(now) && now >= before && now <= Date.now())
})
