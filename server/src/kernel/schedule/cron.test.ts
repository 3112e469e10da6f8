import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { cronTimes } from './cron.ts'

const ZURICH = 'Europe/Zurich'

/** The times of a day on the wall of Zurich, as UTC. */
function timesOf(cron: string, { day, timeZone = ZURICH }: { day: string; timeZone?: string }): string[] {
  const times = cronTimes(cron, timeZone)
  const found: string[] = []
  const end = Date.parse(`${day}T22:00Z`)
  for (let at = Date.parse(`${day}T00:00Z`) - 2 * 3_600_000; ;) {
    const next = times.next(at)
    if (next === undefined || next >= end) return found
    // The same times are found backwards.
    assert.equal(times.newest(next), next)
    assert.equal(times.newest(next - 1), times.newest(at), `${cron} before ${new Date(next).toISOString()}`)
    found.push(new Date(next).toISOString().slice(11, 16))
    at = next
  }
}

const spring = '2027-03-28' // 2:00 to 3:00 is skipped: 1:00 UTC
const autumn = '2027-10-31' // 2:00 to 3:00 is there twice: 0:00 to 2:00 UTC

for (const { cron, day, times } of [
  { cron: '30 2 * * *', day: '2027-03-27', times: ['01:30'] },
  { cron: '30 2 * * *', day: spring, times: ['01:00'] },
  { cron: '30 2 * * *', day: autumn, times: ['00:30'] },
  { cron: '0,30 2 * * *', day: spring, times: ['01:00'] },
  { cron: '0,30 2 * * *', day: autumn, times: ['00:00', '00:30'] },
  { cron: '*/15 2 * * *', day: spring, times: ['01:00'] },
  { cron: '*/15 2 * * *', day: autumn, times: ['00:00', '00:15', '00:30', '00:45'] },
  { cron: '0 1-3 * * *', day: spring, times: ['00:00', '01:00'] },
  { cron: '0 1-3 * * *', day: autumn, times: ['23:00', '00:00', '02:00'] },
  { cron: '0 0-4/2 * * *', day: spring, times: ['23:00', '01:00', '02:00'] },
  { cron: '30 2 28 3 *', day: spring, times: ['01:00'] },
  { cron: '30 2 * * sun', day: autumn, times: ['00:30'] },
])
  test(`${cron} in Zurich on ${day} is due at ${times.join(', ')} UTC`, () =>
    assert.deepEqual(timesOf(cron, { day }), times))

test('where the hour is a star, time passes as ever', () => {
  for (const day of [spring, autumn])
    assert.deepEqual(timesOf('30 * * * *', { day }), timesOf('30 * * * *', { day, timeZone: 'UTC' }))
})

test('summer time of half an hour, and a day that a zone leaves out', () => {
  // Lord Howe: at 2:00 to 2:30; Samoa had no 30 December 2011.
  assert.equal(
    cronTimes('15 2 * * *', 'Australia/Lord_Howe').next(Date.UTC(2027, 9, 2, 1)),
    Date.UTC(2027, 9, 2, 15, 30),
  )
  assert.equal(
    cronTimes('0 12 * * *', 'Pacific/Apia').next(Date.UTC(2011, 11, 29, 22)),
    Date.UTC(2011, 11, 30, 10),
  )
})

test('@hourly, @daily and the like are the usual times', () => {
  const after = Date.UTC(2027, 0, 15, 8, 20)
  const next = (cron: string) => new Date(cronTimes(cron, 'UTC').next(after)!).toISOString().slice(0, 16)
  assert.deepEqual(['@hourly', '@daily', '@weekly', '@monthly', '@yearly'].map(next), [
    '2027-01-15T09:00',
    '2027-01-16T00:00',
    '2027-01-17T00:00',
    '2027-02-01T00:00',
    '2028-01-01T00:00',
  ])
})

test('where both days are restricted, either fits', () => {
  const times = cronTimes('0 0 13 * 5', 'UTC')
  assert.equal(times.next(Date.UTC(2027, 0, 9)), Date.UTC(2027, 0, 13))
  assert.equal(times.next(Date.UTC(2027, 0, 13)), Date.UTC(2027, 0, 15))
})

test('a day that never comes has no time', () => {
  assert.equal(cronTimes('0 0 30 2 *', ZURICH).next(0), undefined)
  assert.equal(cronTimes('0 0 29 2 *', 'UTC').next(Date.UTC(2027, 0, 1)), Date.UTC(2028, 1, 29))
})

test('times are found backwards as they are forwards', () => {
  const field = (...texts: string[]) => fc.constantFrom(...texts)
  const cron = fc
    .tuple(
      field('0', '30', '*/15', '5,35', '*'),
      field('*', '2', '0', '*/2', '1-3', '0,12'),
      field('*', '1', '15-20', '29'),
      field('*', '*', '3', '10'),
      field('*', '0', '1-5', 'sun'),
    )
    .map((fields) => fields.join(' '))
  const zone = field(ZURICH, 'America/Havana', 'Australia/Lord_Howe', 'Africa/Casablanca', 'UTC')
  const start = fc.integer({ min: Date.UTC(2027, 0), max: Date.UTC(2028, 0) })
  fc.assert(
    fc.property(cron, zone, start, (expression, timeZone, from) => {
      const times = cronTimes(expression, timeZone)
      const first = times.next(from)!
      const second = times.next(first)!
      assert.ok(from < first && first < second)
      for (const [until, newest] of [
        [first, first],
        [second - 1, first],
        [second, second],
      ] as const)
        assert.equal(times.newest(until), newest)
    }),
    { numRuns: 200 },
  )
})
