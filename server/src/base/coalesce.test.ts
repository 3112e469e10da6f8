import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import { until } from '../testing/until.ts'
import { Coalescer, type CoalescerOptions } from './coalesce.ts'

/** A coalescer of numbers whose groups end when the test says so. */
function controlled(options: Omit<CoalescerOptions<number, number>, 'answer'> = {}) {
  const groups: { items: readonly number[]; end: (results?: (number | Promise<number>)[]) => void }[] = []
  const coalescer = new Coalescer<number, number>({
    ...options,
    answer: (items) =>
      new Promise((resolve) => {
        groups.push({ items, end: (results = items.map((item) => item * 10)) => resolve(results) })
      }),
  })
  return { coalescer, groups, items: () => groups.map((group) => group.items) }
}

describe('calls go together', () => {
  test('if they arrive in one turn, each with its own result', async () => {
    const { coalescer, groups, items } = controlled()
    const calls = [1, 2, 3].map((n) => coalescer.call(n))
    assert.deepEqual(items(), [])
    await nextTurn()
    assert.deepEqual(items(), [[1, 2, 3]])
    groups[0]!.end()
    assert.deepEqual(await Promise.all(calls), [10, 20, 30])
  })

  test('if they arrive while as many groups as may be are under way', async () => {
    const { coalescer, groups, items } = controlled({ groups: 2 })
    for (const n of [1, 2, 3, 4]) {
      void coalescer.call(n)
      await nextTurn()
    }
    assert.deepEqual(items(), [[1], [2]])
    groups[1]!.end()
    await nextTurn()
    await nextTurn()
    assert.deepEqual(items(), [[1], [2], [3, 4]])
  })

  test('and are answered as soon as a group has ended, if that is asked for', async () => {
    const { coalescer, groups, items } = controlled({ isEager: true })
    const first = coalescer.call(1)
    await nextTurn()
    for (const n of [2, 3]) void coalescer.call(n)
    let isTurnOver = false
    setImmediate(() => (isTurnOver = true))
    groups[0]!.end()
    await first
    await Promise.resolve()
    assert.equal(isTurnOver, false)
    assert.deepEqual(items(), [[1], [2, 3]])
  })

  test('only within their lane', async () => {
    const { coalescer, items } = controlled({ laneOf: (n) => n % 2 })
    for (const n of [1, 2, 3, 4]) void coalescer.call(n)
    await nextTurn()
    assert.deepEqual(items(), [
      [1, 3],
      [2, 4],
    ])
  })

  for (const [what, options, expected] of [
    ['so many', { largest: 2, groups: 9 }, [[1, 2], [3, 4], [5]]],
    ['so many after the first', { largest: (n: number) => n, groups: 9 }, [[1], [2, 3], [4, 5]]],
    ['as heavy', { heaviest: 5, weightOf: (n: number) => n, groups: 9 }, [[1, 2], [3], [4], [5]]],
    ['as heavy, or alone', { heaviest: 1, weightOf: () => Infinity, groups: 9 }, [[1], [2], [3], [4], [5]]],
    [
      'of different keys',
      { keyOf: (n: number) => (n > 4 ? undefined : `${n % 3}`), groups: 9 },
      [
        [1, 2, 3],
        [4, 5],
      ],
    ],
  ] as const)
    test(what, async () => {
      const { coalescer, items } = controlled(options)
      for (const n of [1, 2, 3, 4, 5]) void coalescer.call(n)
      await nextTurn()
      assert.deepEqual(items(), expected)
    })
})

test('a group that takes long leaves its place to the next', async () => {
  const { coalescer, groups, items } = controlled({ slowMs: 5 })
  const slow = coalescer.call(1)
  await nextTurn()
  const quick = coalescer.call(2)
  await until(() => groups.length === 2)
  assert.deepEqual(items(), [[1], [2]])
  groups[1]!.end()
  assert.equal(await quick, 20)
  assert.equal(coalescer.isBusy, true)
  groups[0]!.end()
  assert.equal(await slow, 10)
})

test('a group that fails fails its calls alone', async () => {
  const fault = new Error('no 1')
  const coalescer = new Coalescer<number, number>({
    laneOf: (n) => n,
    answer: (items) => (items.includes(1) ? Promise.reject(fault) : Promise.resolve(items)),
  })
  const [one, two] = await Promise.allSettled([coalescer.call(1), coalescer.call(2)])
  assert.deepEqual(one, { status: 'rejected', reason: fault })
  assert.deepEqual(two, { status: 'fulfilled', value: 2 })
  assert.equal(await coalescer.call(3), 3)
})

test('a result may be a promise: it settles its call, and the group is under way until then', async () => {
  const { coalescer, groups } = controlled()
  const [one, two] = [coalescer.call(1), coalescer.call(2)]
  await nextTurn()
  const own = Promise.withResolvers<number>()
  groups[0]!.end([7, own.promise])
  assert.equal(await one, 7)
  void coalescer.call(3)
  await nextTurn()
  assert.equal(groups.length, 1)
  own.reject(new Error('only the second'))
  await assert.rejects(two, /only the second/)
  await nextTurn()
  await nextTurn()
  assert.equal(groups.length, 2)
})

test('idle waits for what waits, what is under way and what it leads to', async () => {
  const results: number[] = []
  const coalescer = new Coalescer<number, number>({
    async answer(items) {
      await sleep(2)
      if (items[0] === 1) void coalescer.call(2).then((n) => results.push(n))
      return items
    },
  })
  await coalescer.idle()
  void coalescer.call(1).then((n) => results.push(n))
  assert.equal(coalescer.isBusy, true)
  await coalescer.idle()
  assert.equal(coalescer.isBusy, false)
  assert.deepEqual(new Set(results), new Set([1, 2]))
})
