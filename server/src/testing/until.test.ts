import assert from 'node:assert/strict'
import { test } from 'node:test'

import { until } from './until.ts'

test('waiting for what never holds ends with an error that names it', async () => {
  const isPaid = false
  await assert.rejects(
    until(() => isPaid, 1),
    { message: 'This did not hold within 0.001 s: () => isPaid' },
  )
})
