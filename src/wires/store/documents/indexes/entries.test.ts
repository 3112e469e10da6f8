import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Json } from '../query/filter.ts'
import { sortKeyOf } from '../sort-key.ts'
import { CUT_KEY_BYTES, entriesOf, type IndexField } from './entries.ts'

const fieldsOf = (text: string): IndexField[] =>
  text.split(',').map((field) => ({
    path: field.replace(/^-/, '').split('.'),
    descending: field.startsWith('-'),
  }))
const keysOf = (document: Json, fields: string): string[] =>
  entriesOf(document, fieldsOf(fields)).entries.map(({ key }) => key.toString('hex'))
const bytes = (...values: Json[]): string => values.map((value) => sortKeyOf(value).toString('hex')).join('')

test('a key is the sort keys of its fields, a missing one null', () => {
  assert.deepEqual(keysOf({ a: 1, b: { c: 'x' } }, 'a,b.c,d'), [bytes(1, 'x', null)])
})

test('a document has an entry for each value of an array, in order and once', () => {
  const { entries, hasArrays } = entriesOf({ a: [3, 1, 3, 2], b: 5 }, fieldsOf('a,b'))
  assert.deepEqual(
    entries.map(({ key, ends }) => [key.toString('hex'), ends]),
    [
      [bytes(1, 5), 1],
      [bytes(2, 5), 0],
      [bytes(3, 5), 2],
    ],
  )
  assert.equal(hasArrays, true)
  assert.deepEqual(entriesOf({ a: [3] }, fieldsOf('a')).entries[0]!.ends, 3)
})

test('keys of a descending field compare the other way round', () => {
  const values: Json[] = [null, -5, 0, 7, '', 'a', 'a\0', 'ab', {}, [[]], false, true]
  const inOrder = (fields: string) =>
    values.toSorted((a, b) => (keysOf({ v: a }, fields)[0]! < keysOf({ v: b }, fields)[0]! ? -1 : 1))
  assert.deepEqual(inOrder('v'), values)
  assert.deepEqual(inOrder('-v'), values.toReversed())
})

test('a long key is cut, and is another one for another value', () => {
  const [one, other] = ['1', '2'].map((end) => keysOf({ a: `${'x'.repeat(5000)}${end}` }, 'a'))
  assert.equal(one![0]!.length, 2 * CUT_KEY_BYTES)
  assert.notDeepEqual(one, other)
  assert.deepEqual(
    [500, 5000].map((length) => entriesOf({ a: 'x'.repeat(length) }, fieldsOf('a')).hasCutKeys),
    [false, true],
  )
})

test('a document with two arrays, or with too many values for one index, has no entries', () => {
  for (const [document, fields, message] of [
    [{ a: [1], b: { c: [2] } }, 'a,b.c', 'a and b.c are in two arrays'],
    [{ a: Array.from({ length: 5001 }, (_, i) => i) }, 'a', 'the array at a has too many values'],
    // Each would be hashed with the long text: minutes.
    [
      { a: Array.from({ length: 200_000 }, () => 1), b: 'x'.repeat(500_000) },
      '-b,a',
      'the array at b or a has too many values',
    ],
  ] as const)
    assert.throws(() => entriesOf(document, fieldsOf(fields)), { name: 'UnindexableError', message })
  assert.equal(keysOf({ a: Array.from({ length: 5000 }, (_, i) => i) }, 'a').length, 5000)
})
