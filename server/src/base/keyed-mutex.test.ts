import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { test } from 'node:test'

import { ApiError } from './errors.ts'
import { createKeyedMutex } from './keyed-mutex.ts'

test('tasks of one key run one after another, in order of arrival', async () => {
  const mutex = createKeyedMutex({ queue: 10, retryAfter: 1 })
  const events: string[] = []
  await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      mutex.run('key', async () => {
        events.push(`${name} begins`)
        await turnOfTheLoop()
        events.push(`${name} ends`)
      }),
    ),
  )
  assert.deepEqual(events, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('tasks of different keys run side by side', async () => {
  const mutex = createKeyedMutex({ queue: 10, retryAfter: 1 })
  let inside = 0
  const meet = async () => {
    inside++
    while (inside < 2) await turnOfTheLoop()
  }
  await Promise.all([mutex.run('one', meet), mutex.run('two', meet)])
})

test('a task that fails rejects with its error, and the next one runs', async () => {
  const mutex = createKeyedMutex({ queue: 10, retryAfter: 1 })
  const failing = mutex.run('key', async () => {
    throw new Error('this one fails')
  })
  const next = mutex.run('key', async () => 'done')
  await assert.rejects(failing, /this one fails/)
  assert.equal(await next, 'done')
})

test('if too many tasks of a key wait, more are refused, and those of other keys are not', async () => {
  const mutex = createKeyedMutex({ queue: 1, retryAfter: 7 })
  const first = mutex.run('key', turnOfTheLoop)
  const second = mutex.run('key', turnOfTheLoop)
  await assert.rejects(
    mutex.run('key', turnOfTheLoop),
    (error) => error instanceof ApiError && error.status === 503 && error.retryAfter === 7,
  )
  await mutex.run('other', turnOfTheLoop)
  await Promise.all([first, second])
  await mutex.run('key', turnOfTheLoop)
})
