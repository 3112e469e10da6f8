import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import type { ApiError } from './errors.ts'
import { FairSemaphore, type FairLimits } from './fair-semaphore.ts'

const LIMITS: FairLimits = {
  total: 4,
  ofCaller: () => 3,
  waiting: { total: 4, ofCaller: 3 },
  waitMs: 1_000,
}

/** Takes for callers, and tells in which order they got it, or the code of the error. */
function start(limits: Partial<FairLimits> = {}) {
  const semaphore = new FairSemaphore({ ...LIMITS, ...limits })
  const log: string[] = []
  return {
    semaphore,
    log,
    take: async (name: string, weight = 1, signal?: AbortSignal): Promise<void> => {
      try {
        await semaphore.take(name[0]!, weight, signal)
        log.push(name)
      } catch (error) {
        log.push(`${name}: ${(error as ApiError).code}`)
      }
    },
  }
}

test('a caller waits at its own limit, all wait at that of all, and who has least is next', async () => {
  const { semaphore, log, take } = start()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) void take(name)
  await setImmediate()
  assert.deepEqual(log, ['a1', 'a2', 'a3', 'b1'])
  assert.equal(semaphore.total, 4)
  for (const name of ['a', 'a', 'b', 'a']) {
    semaphore.give(name, 1)
    await setImmediate()
  }
  assert.deepEqual(log.slice(4), ['c1', 'a4', 'b2'])
})

test('a large share is not overtaken by small ones without end', async () => {
  const { semaphore, log, take } = start()
  for (const name of ['a1', 'b1', 'c1']) void take(name)
  void take('d1', 3)
  void take('e1')
  semaphore.give('a', 1)
  await setImmediate()
  assert.deepEqual(log, ['a1', 'b1', 'c1'])
  semaphore.give('b', 1)
  await setImmediate()
  assert.deepEqual(log.slice(3), ['d1'])
})

test('a share over the limit is given to who has nothing, once nothing else is taken', async () => {
  const { semaphore, log, take } = start()
  await take('a1')
  void take('b1', 9)
  await setImmediate()
  assert.deepEqual(log, ['a1'])
  semaphore.give('a', 1)
  await setImmediate()
  assert.deepEqual(log, ['a1', 'b1'])
})

test('the first share of a caller may be free of the limit of all', async () => {
  const { log, take } = start({ isFirstFree: true })
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void take(name)
  await setImmediate()
  assert.deepEqual(log, ['a1', 'a2', 'a3', 'b1', 'c1'])
})

test('too many of one caller, and too many in all, are told apart', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { log, take } = start()
  for (const name of ['a1', 'a2', 'a3', 'b1', 'a4', 'a5', 'a6', 'a7']) void take(name)
  await setImmediate()
  assert.deepEqual(log.splice(0), ['a1', 'a2', 'a3', 'b1', 'a7: TOO_MANY_CONCURRENT'])
  // The fourth place to wait is free; the fifth takes that of the caller with the most.
  void take('c1')
  void take('d1')
  await setImmediate()
  assert.deepEqual(log.splice(0), ['a6: TOO_MANY_CONCURRENT'])
  t.mock.timers.tick(LIMITS.waitMs)
  await setImmediate()
  assert.deepEqual(log.toSorted(), [
    'a4: TOO_MANY_CONCURRENT',
    'a5: TOO_MANY_CONCURRENT',
    'c1: UNAVAILABLE',
    'd1: UNAVAILABLE',
  ])
})

test('who leaves makes room for the next', async () => {
  const { semaphore, log, take } = start()
  const leaving = new AbortController()
  for (const name of ['a1', 'a2', 'b1']) await take(name)
  void take('c1', 3, leaving.signal)
  void take('d1')
  leaving.abort(Object.assign(new Error(), { code: 'GONE' }))
  await setImmediate()
  assert.deepEqual(log.slice(3).toSorted(), ['c1: GONE', 'd1'])
  for (const caller of ['a', 'a', 'b', 'd']) semaphore.give(caller, 1)
  assert.equal(semaphore.total, 0)
})
