import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createPause } from './pause.ts'

test('others go on once work has run for 10 ms', async () => {
  const pause = createPause()
  for (let part = 0; part < 2; part++) {
    let hasRun = false
    setImmediate(() => (hasRun = true))
    for (const began = performance.now(); performance.now() - began < 11;);
    await pause()
    assert.ok(hasRun)
  }
})
