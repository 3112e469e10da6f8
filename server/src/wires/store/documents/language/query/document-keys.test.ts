import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachKey, type KeyPart } from './document-keys.ts'
import type { Json } from './filter.ts'

function keysOf(document: Json, paths: string): KeyPart[][] {
  const keys: KeyPart[][] = []
  eachKey(
    document,
    paths.split(',').map((path) => path.split('.')),
    (key) => {
      if (!keys.some((other) => JSON.stringify(other) === JSON.stringify(key))) keys.push([...key])
    },
  )
  return keys
}

const nothing = undefined

for (const [document, paths, ...keys] of [
  [{ a: { b: 4 } }, 'a.b', [4]],
  [{ a: { b: 4 } }, 'b,a.c,a', [null, null, { b: 4 }]],
  [{ a: 1 }, 'a.b', [null]],
  [{ a: [1, 2, 1] }, 'a', [1], [2]],
  [{ a: [] }, 'a', [nothing]],
  [{ a: [] }, 'a.b', [null]],
  [{ a: [] }, 'a,a.b', [nothing, null]],
  [{ a: [[2], []] }, 'a', [[2]], [[]]],
  [{ a: [[{ b: 1 }]] }, 'a.b', [null]],
  [{ a: [1, { b: 2 }, {}] }, 'a.b', [null], [2]],
  [{ a: [1, 2], b: 3 }, 'b,a', [3, 1], [3, 2]],
  [{ a: [{ b: 1 }, { c: 2 }] }, 'a.b,a.c', [1, null], [null, 2]],
  [{ a: [{ b: [1, 3] }, { b: [] }] }, 'a.b', [1], [3], [nothing]],
  [{ a: [1, { b: [2, 3] }] }, 'a,a.b', [1, null], [{ b: [2, 3] }, 2], [{ b: [2, 3] }, 3]],
  [{ a: [7, 8] }, 'a.1', [8]],
  [{ a: [7, 8] }, 'a.2', [null]],
  [{ a: [7, 8] }, 'a.01', [null]],
  [{ a: [7, 8] }, 'a.length', [null]],
  [{ a: { 0: 1 } }, 'a.0', [1]],
  [{ a: [[1]] }, 'a.0', [[1]]],
  [{ a: [[1, 2]] }, 'a.0.1', [2]],
  [{ a: [[]] }, 'a.0', [nothing]],
  [{ a: [[]] }, 'a.0.0', [null]],
  [{ a: [[{ b: 1 }, { b: 2 }]] }, 'a.0.b', [1], [2]],
  [{ a: [{ b: [1] }] }, 'a.0.b.0', [1]],
  [{ a: [{ 2: 5 }] }, 'a.2', [5]],
  [{ a: [[1, 2, 5], { 2: 6 }] }, 'a.2', [null], [6]],
  [{ a: [{ b: [1, 2] }, { b: 3 }] }, 'a.b,a.0.b', [1, 1], [2, 2], [3, 1], [3, 2]],
  [
    { a: [1, { b: [2, { c: [3, { d: 1 }], e: 4 }, 5, { f: 6 }], g: 7 }] },
    'a.b.c.d,a.g,a.b.f,a.b.c,a.b.e',
    [null, null, null, null, null],
    [null, 7, null, null, null],
    [null, 7, null, 3, 4],
    [1, 7, null, { d: 1 }, 4],
    [null, 7, 6, null, null],
  ],
] as [Json, string, ...KeyPart[][]][])
  test(`${JSON.stringify(document)} by ${paths}`, () => assert.deepEqual(keysOf(document, paths), keys))

for (const [document, paths, message] of [
  [{ a: [1], b: [2] }, 'a,b', 'no key: parallel 0 1'],
  [{ a: [], b: [] }, 'c,a,b', 'no key: parallel 1 2'],
  [{ a: [{ b: [1], c: [2] }] }, 'a.b,a.c', 'no key: parallel 0 1'],
  [{ a: [1], b: [2] }, 'a,b.0', 'no key: parallel 0 1'],
  [{ a: [{ 0: 1 }] }, 'a.0', 'no key: ambiguous 0'],
  [{ a: [1, { 0: 2 }] }, 'b,a.0', 'no key: ambiguous 1'],
] as [Json, string, string][])
  test(`${JSON.stringify(document)} by ${paths}: ${message}`, () =>
    assert.throws(() => keysOf(document, paths), { message }))

test('a document with more keys than can be counted is refused in time', () => {
  const many = Array.from({ length: 50_000 }, (_, b) => ({ b }))
  const document = { a: [many, ...many] }
  assert.throws(
    () =>
      eachKey(
        document,
        [
          ['a', '0', 'b'],
          ['a', 'b'],
        ],
        () => {},
      ),
    {
      message: 'no key: too-many 0 1',
    },
  )
  assert.equal(keysOf({ a: [many, ...many.map(({ b }) => b)] }, 'a.0.c').length, 1)
})
