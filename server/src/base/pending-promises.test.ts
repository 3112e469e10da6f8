import assert from 'node:assert/strict'
import { test } from 'node:test'

import { PendingPromises } from './pending-promises.ts'

test('promises are counted until they settle, in whatever way', async () => {
  const pending = new PendingPromises()
  const [first, second] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
  assert.equal(pending.add(first.promise), first.promise)
  const fails = assert.rejects(pending.add(second.promise), /second/)
  assert.equal(pending.size, 2)
  const next = pending.next()
  second.reject(new Error('the second'))
  await Promise.all([next, fails])
  assert.equal(pending.size, 1)
  first.resolve(1)
  await pending.next()
  assert.equal(pending.size, 0)
  await pending.next()
})

test('idle waits for what is added meanwhile', async () => {
  const pending = new PendingPromises()
  const later = Promise.withResolvers<void>()
  let isDone = false
  const addLater = async (): Promise<void> => {
    await Promise.resolve()
    void pending.add(later.promise.then(() => (isDone = true)))
    setImmediate(later.resolve)
  }
  const first = addLater()
  void pending.add(first)
  await pending.idle()
  assert.equal(isDone, true)
})
