import assert from 'node:assert/strict'
import { test } from 'node:test'

import { segmentsOf } from './segments.ts'

test('a text is counted in the segments that it is sent in', () => {
  for (const [body, segments] of [
    ['x'.repeat(160), 1],
    ['x'.repeat(161), 2],
    ['x'.repeat(307), 3],
    ['€'.repeat(80), 1],
    ['€'.repeat(81), 2],
    ['ж'.repeat(70), 1],
    ['ж'.repeat(71), 2],
    ['👋'.repeat(36), 2],
    ['', 1],
  ] as const)
    assert.equal(segmentsOf(body), segments, body)
})
