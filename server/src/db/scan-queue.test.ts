import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ApiError } from '../base/errors.ts'
import type { ScanOptions } from './database.ts'
import { SCAN_PLACES, ScanQueue } from './scan-queue.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A queue whose scans run until they are ended by name. */
function watched(waitLimitMs?: number, crowdedPlaces?: number) {
  const queue = new ScanQueue(waitLimitMs, crowdedPlaces)
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const stopped: string[] = []
  return {
    queue,
    started,
    stopped,
    scan: (name: string, options: ScanOptions = {}) =>
      queue.run({ caller: name[0]!, ...options }, (stop) => {
        started.push(name)
        stop.addEventListener('abort', () => stopped.push(name))
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
      }),
    end: async (name: string) => {
      ends.get(name)!()
      await turn()
    },
  }
}

const unavailable = { code: 'UNAVAILABLE', status: 503 }

test('a caller never has all places, and others are before it', async () => {
  const { queue, scan, started, end } = watched()
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => scan(name))
  await turn()
  assert.deepEqual(started, ['a1', 'a2'], `${SCAN_PLACES} places, of which one is left`)
  all.push(scan('b1'))
  await turn()
  assert.deepEqual(started.splice(0), ['a1', 'a2', 'b1'])
  all.push(scan('c1'), scan('c2'), scan('b2'))
  await end('a1')
  assert.deepEqual(started.splice(0), ['c1'], 'nothing of c ran')
  await end('a2')
  assert.deepEqual(started.splice(0), ['a3'], 'of a nothing runs any more')
  for (const name of ['c1', 'a3', 'b1']) await end(name)
  assert.deepEqual(started.splice(0), ['c2', 'a4', 'b2'])
  let isIdle = false
  const idle = queue.idle().then(() => (isIdle = true))
  for (const name of ['c2', 'a4']) await end(name)
  assert.equal(isIdle, false)
  await end('b2')
  await idle
  assert.deepEqual((await Promise.all(all)).length, 8)
})

test('callers with equally many running scans take turns', async () => {
  const { scan, started, end } = watched()
  const all = ['x1', 'y1', 'z1', 'a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => scan(name))
  await turn()
  const order: string[] = []
  while (order.length < 9) {
    const name = started[order.length]!
    order.push(name)
    await end(name)
  }
  assert.deepEqual(order, ['x1', 'y1', 'z1', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  await Promise.all(all)
})

test('when too many wait, refuses the newest of the caller that has the most of them', async () => {
  const { scan, end, started } = watched()
  const waiting: Promise<unknown>[] = []
  const refused: string[] = []
  const ask = (name: string) =>
    waiting.push(
      scan(name).catch((error: unknown) => {
        assert.ok(error instanceof ApiError && error.code === 'UNAVAILABLE' && error.retryAfter! >= 1)
        refused.push(`${name}: ${error.message}`)
      }),
    )
  // Three run.
  for (let i = 0; i < 1000; i++) ask(`a${i}`)
  for (let i = 0; i < 26; i++) ask(`b${i}`)
  await turn()
  assert.deepEqual(refused, [])
  ask('a1000')
  ask('a1001')
  ask('c1')
  await turn()
  assert.deepEqual(
    refused,
    ['a1001', 'a1000'].map((name) => `${name}: Too many queries at once: try again later.`),
  )
  for (let at = 0; at < started.length; at++) await end(started[at]!)
  await Promise.all(waiting)
  assert.ok(started.includes('c1'))
})

test('refuses what has waited too long', async () => {
  const { scan, end, started } = watched(5)
  const first = [scan('a1'), scan('a2')]
  await assert.rejects(scan('a3'), {
    ...unavailable,
    retryAfter: 5,
    message: 'The server is busy with other queries: try again later.',
  })
  await end('a1')
  await end('a2')
  await Promise.all(first)
  assert.deepEqual(started, ['a1', 'a2'])
})

test('stops a scan at its limit or at its signal, and keeps its place until it has ended', async () => {
  const { scan, end, started, stopped } = watched()
  await assert.rejects(scan('a1', { limitMs: 5 }), {
    ...unavailable,
    retryAfter: 30,
    message: 'The query took longer than 0.005 s and was stopped: narrow it.',
  })
  const client = new AbortController()
  const gone = scan('a2', { signal: client.signal })
  const goneEarly = scan('a3', { signal: client.signal })
  await turn()
  client.abort(new Error('gone'))
  await assert.rejects(gone, /gone/)
  await assert.rejects(goneEarly, /gone/)
  await assert.rejects(scan('a4', { signal: client.signal }), /gone/)
  assert.deepEqual(stopped, ['a1', 'a2'])
  const next = scan('a5')
  await turn()
  assert.deepEqual(started, ['a1', 'a2'])
  await end('a1')
  assert.deepEqual(started, ['a1', 'a2', 'a5'])
  await end('a2')
  await end('a5')
  assert.equal(await next, 'a5')
})

test('where processors are scarce, a caller has one place while further scans wait', async () => {
  const { scan, started, end } = watched(undefined, 1)
  const alone = ['a1', 'a2'].map((name) => scan(name))
  await turn()
  assert.deepEqual(started.splice(0), ['a1', 'a2'], 'both scans of one list')
  const all = ['a3', 'a4', 'a5', 'b1', 'b2'].map((name) => scan(name))
  await turn()
  assert.deepEqual(started.splice(0), ['b1'])
  for (const name of ['a1', 'a2', 'b1']) await end(name)
  assert.deepEqual(started.splice(0), ['a3', 'b2'])
  await end('b2')
  assert.deepEqual(started.splice(0), [])
  await end('a3')
  assert.deepEqual(started.splice(0), ['a4', 'a5'], 'nothing else waits')
  for (const name of ['a4', 'a5']) await end(name)
  await Promise.all([...alone, ...all])
})

test('a scan takes two places only if nothing else scans, and leaves the last one to other callers', async () => {
  const { queue, scan, started, end } = watched()
  const ended = Promise.withResolvers<string>()
  const both = queue.runIfIdle({ caller: 'a' }, () => ended.promise)
  assert.ok(both)
  assert.equal(
    queue.runIfIdle({ caller: 'b' }, () => ended.promise),
    undefined,
  )
  const others = [scan('a1'), scan('b1')]
  await turn()
  assert.deepEqual(started.splice(0), ['b1'])
  ended.resolve('both')
  assert.equal(await both, 'both')
  await turn()
  assert.deepEqual(started.splice(0), ['a1'])
  assert.equal(
    queue.runIfIdle({ caller: 'b' }, () => ended.promise),
    undefined,
  )
  for (const name of ['a1', 'b1']) await end(name)
  await Promise.all(others)
  assert.equal(await queue.runIfIdle({ caller: 'b' }, () => ended.promise), 'both')
  await assert.rejects(
    queue.runIfIdle({ limitMs: 1 }, () => new Promise(() => {}))!,
    unavailable,
  )
})
