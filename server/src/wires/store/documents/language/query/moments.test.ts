import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseFilter } from './parse-filter.ts'

const parsed = (filter: object) => parseFilter(JSON.stringify(filter))

test('times of createdAt and updatedAt are compared as the moments that they name', () => {
  const stored = '2026-11-28T14:04:00.000Z'
  for (const text of [
    '2026-11-28T14:04Z',
    '2026-11-28T14:04:00Z',
    '2026-11-28t14:04:00.0z',
    '2026-11-28T16:04:00.000+02:00',
    '2026-11-28T09:04:00-05:00',
  ])
    for (const name of ['createdAt', 'updatedAt'])
      for (const of of [
        (time: string) => time,
        (time: string) => ({ $gte: time }),
        (time: string) => ({ $nin: [time] }),
      ])
        assert.deepEqual(
          parsed({ $or: [{ [name]: of(text) }, { n: 1 }] }),
          parsed({ $or: [{ [name]: of(stored) }, { n: 1 }] }),
        )
})

test('what is finer than the stored milliseconds is between two of them', () => {
  const [before, finer, after] = [
    '2026-11-28T14:04:00.545Z',
    '2026-11-28T14:04:00.5451Z',
    '2026-11-28T14:04:00.546Z',
  ]
  for (const [operator, bound] of [
    ['$gt', before],
    ['$lte', before],
    ['$gte', after],
    ['$lt', after],
    ['$eq', finer],
  ] as const)
    assert.deepEqual(
      parsed({ createdAt: { [operator]: finer } }),
      parsed({ createdAt: { [operator]: bound } }),
    )
})

test('other texts, and fields of clients, are compared as text', () => {
  const time = '2026-11-28T16:04:00+02:00'
  for (const filter of [{ at: time }, { 'createdAt.x': time }, { list: { $elemMatch: { createdAt: time } } }])
    assert.match(JSON.stringify(parsed(filter)), /16:04:00\+02:00/)
  for (const text of ['2026-11-28', 'yesterday', '2026-13-28T00:00:00Z'])
    assert.deepEqual(parsed({ createdAt: { $gt: text } }), {
      kind: 'field',
      path: ['createdAt'],
      test: { kind: 'range', operator: '>', bound: text },
    })
})
