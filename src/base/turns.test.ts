import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { test } from 'node:test'

import { ApiError } from './errors.ts'
import { createTurns } from './turns.ts'

test('tasks of one key run one after another, in order of arrival', async () => {
  const turns = createTurns({ queue: 10, retryAfter: 1 })
  const events: string[] = []
  await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      turns.run('key', async () => {
        events.push(`${name} begins`)
        await turnOfTheLoop()
        events.push(`${name} ends`)
      }),
    ),
  )
  assert.deepEqual(events, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('tasks of different keys run side by side', async () => {
  const turns = createTurns({ queue: 10, retryAfter: 1 })
  let inside = 0
  const meet = async () => {
    inside++
    while (inside < 2) await turnOfTheLoop()
  }
  await Promise.all([turns.run('one', meet), turns.run('two', meet)])
})

test('a task that fails hands its turn on, and its error out', async () => {
  const turns = createTurns({ queue: 10, retryAfter: 1 })
  const failing = turns.run('key', async () => {
    throw new Error('this one fails')
  })
  const next = turns.run('key', async () => 'done')
  await assert.rejects(failing, /this one fails/)
  assert.equal(await next, 'done')
})

test('where too many wait for a key, more are refused, and other keys are not', async () => {
  const turns = createTurns({ queue: 1, retryAfter: 7 })
  const first = turns.run('key', turnOfTheLoop)
  const second = turns.run('key', turnOfTheLoop)
  await assert.rejects(
    turns.run('key', turnOfTheLoop),
    (error) => error instanceof ApiError && error.status === 503 && error.retryAfter === 7,
  )
  await turns.run('other', turnOfTheLoop)
  await Promise.all([first, second])
  await turns.run('key', turnOfTheLoop)
})
