import assert from 'node:assert/strict'
import { test } from 'node:test'

import { timeOf } from './time-text.ts'

test('a day alone is its beginning, and at the end of a period all of it', () => {
  const [day, next] = [Date.parse('2026-01-31T00:00:00Z'), Date.parse('2026-02-01T00:00:00Z')]
  assert.equal(timeOf('2026-01-31', '/query/from'), day)
  for (const end of ['/query/to', '/query/until']) {
    assert.equal(timeOf('2026-01-31', end), next)
    assert.equal(timeOf('2026-01-31T00:00:00Z', end), day)
  }
  assert.equal(timeOf('2026-01-31', '/body/expiresAt'), day)
})
