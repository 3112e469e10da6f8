import assert from 'node:assert/strict'
import { test } from 'node:test'

import { runParts } from '../../../scripts/check.ts'

test('npm run check runs every part, and prints the output of those that fail', async () => {
  let printed = ''
  const failures = await runParts(
    ['node -p 1234+1', 'node -p nothing', 'node -p process.exit(3)', 'node -p 4321+1'],
    (text) => (printed += text),
  )
  assert.equal(failures, 2)
  assert.match(printed, /^passed in [\d.]+ s: node -p 1234\+1$/m)
  assert.match(printed, /^passed in [\d.]+ s: node -p 4321\+1$/m)
  assert.match(printed, /^failed with 1 in [\d.]+ s: node -p nothing\n[^]*ReferenceError/m)
  assert.match(printed, /^failed with 3 in [\d.]+ s: node -p process\.exit\(3\)$/m)
  assert.doesNotMatch(printed, /1235|4322/)
})
