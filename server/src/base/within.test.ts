import assert from 'node:assert/strict'
import { test } from 'node:test'

import { succeedsWithin, within } from './within.ts'

test('work that ends in time ends as it does', async () => {
  assert.equal(await within(60_000, async () => 'done'), 'done')
  await assert.rejects(
    within(60_000, async () => {
      throw new Error('no')
    }),
    /^Error: no$/,
  )
  await assert.rejects(
    within(60_000, () => {
      throw new Error('at once')
    }),
    /^Error: at once$/,
  )
})

test('work that hangs is given up, with the time in words', async () => {
  const never = () => new Promise<never>(() => undefined)
  await assert.rejects(within(100, never), /^Error: it has not answered for 0\.1 seconds$/)
  assert.equal(await succeedsWithin(1, never), false)
  assert.equal(await succeedsWithin(60_000, async () => undefined), true)
})
