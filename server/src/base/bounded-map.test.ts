import assert from 'node:assert/strict'
import { test } from 'node:test'

import { BoundedMap } from './bounded-map.ts'

test('a bounded map lets go of the entry that came first, once it is full', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('c', 3)
  assert.deepEqual(
    [...map],
    [
      ['b', 2],
      ['c', 3],
    ],
  )
})

test('a bounded map lets go of none for an entry that it has already', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3)
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['b', 2],
    ],
  )
})
