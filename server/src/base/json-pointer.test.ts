import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { boundedPointer, pointerTo, valueAtPointer } from './json-pointer.ts'

// RFC 6901, section 5.
const DOCUMENT = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
}
for (const [pointer, value] of [
  ['', DOCUMENT],
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
  ['/foo/2', undefined],
  ['/foo/0/1', undefined],
  ['/toString', undefined],
] as const)
  test(`"${pointer}" in the document of RFC 6901`, () => {
    assert.deepEqual(valueAtPointer(DOCUMENT, pointer), value)
  })

for (const pointer of ['foo', '#/foo', '/~', '/~2', '/a~'])
  test(`"${pointer}" is not a JSON pointer`, () => {
    assert.throws(() => valueAtPointer(DOCUMENT, pointer), new RegExp(`"${pointer}" is not a JSON pointer`))
  })

test('a pointer is built of the keys that lead to a value', () => {
  assert.equal(pointerTo('/body', 'a/b~c'), '/body/a~1b~0c')
  assert.equal(pointerTo('/body', '~1'), '/body/~01')
  assert.equal(pointerTo('/body/list', 3), '/body/list/3')
  assert.equal(pointerTo('', '\ud800'), '/\ufffd')
})

test('property: a pointer leads back to the value that it was built for', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.jsonValue(), (keys, leaf) => {
      const value = keys.reduceRight<unknown>((inner, key) => ({ other: 0, [key]: inner }), leaf)
      assert.deepEqual(valueAtPointer(value, boundedPointer('', keys)), leaf)
      assert.equal(keys.reduce<string>(pointerTo, '/body'), boundedPointer('/body', keys))
    }),
  )
})

test('a pointer too long to answer ends at the innermost container that fits', () => {
  const long = 'x'.repeat(400)
  assert.equal(boundedPointer('/body', ['a', long, long, long, 'b']), `/body/a/${long}/${long}`)
  assert.equal(boundedPointer('/body', ['x'.repeat(10_000), 'b']), '/body')
})
