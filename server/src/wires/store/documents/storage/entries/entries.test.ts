import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Json } from '../../language/query/filter.ts'
import { sortKeyOf } from '../../language/query/sort-key.ts'
import { CUT_KEY_BYTES, entriesOf, type EntryRules } from './entries.ts'

const rulesOf = (text: string, more: Partial<EntryRules> = {}): EntryRules => ({
  fields: text.split(',').map((field) => ({
    path: field.replace(/^-/, '').split('.'),
    descending: field.startsWith('-'),
  })),
  isSparse: false,
  ignoreCase: false,
  ...more,
})
const keysOf = (document: Json, fields: string, more?: Partial<EntryRules>): string[] =>
  entriesOf(document, rulesOf(fields, more)).entries.map(({ key }) => key.toString('hex'))
const bytes = (...values: Json[]): string => values.map((value) => sortKeyOf(value).toString('hex')).join('')

test('a key is the sort keys of its fields, a missing one null', () => {
  assert.deepEqual(keysOf({ a: 1, b: { c: 'x' } }, 'a,b.c,d'), [bytes(1, 'x', null)])
})

test('a document has an entry for each value of an array, in order and once', () => {
  const { entries, hasArrays } = entriesOf({ a: [3, 1, 3, 2], b: 5 }, rulesOf('a,b'))
  assert.deepEqual(
    entries.map(({ key, ends }) => [key.toString('hex'), ends]),
    [
      [bytes(1, 5), 1],
      [bytes(2, 5), 0],
      [bytes(3, 5), 2],
    ],
  )
  assert.equal(hasArrays, true)
  assert.deepEqual(entriesOf({ a: [3] }, rulesOf('a')).entries[0]!.ends, 3)
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
    [500, 5000].map((length) => entriesOf({ a: 'x'.repeat(length) }, rulesOf('a')).hasCutKeys),
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
    assert.throws(() => entriesOf(document, rulesOf(fields)), { name: 'UnindexableError', message })
  assert.equal(keysOf({ a: Array.from({ length: 5000 }, (_, i) => i) }, 'a').length, 5000)
})

test('a sparse index has no entries where a field is missing, null or an empty array', () => {
  const keys = (document: Json, fields = 'a,b') => keysOf(document, fields, { isSparse: true })
  assert.deepEqual(keys({ a: 1, b: false }), [bytes(1, false)])
  const without: Json[] = [{}, { a: 1 }, { a: 1, b: null }, { a: 1, b: [] }, { a: [null], b: 1 }]
  for (const document of without) assert.deepEqual(keys(document), [], JSON.stringify(document))
  assert.deepEqual(keys({ a: [1, null, 2], b: '' }), [bytes(1, ''), bytes(2, '')])
  assert.deepEqual(keys({ l: [{ a: 1, b: 2 }, { a: 3 }, { b: 4 }, 5] }, 'l.a,l.b'), [bytes(1, 2)])
  const { entries, hasArrays } = entriesOf({ a: [null, 1, null] }, rulesOf('a', { isSparse: true }))
  assert.deepEqual([entries[0]!.ends, hasArrays], [3, true])
})

test('texts have the same key in any case if it is ignored, those inside of objects and arrays of arrays do not', () => {
  const isSame = (one: Json, other: Json): boolean => {
    const [a, b] = [one, other].map((v) => keysOf({ v }, 'v', { ignoreCase: true }))
    return String(a) === String(b)
  }
  assert.ok(isSame('Anna@Example.com', 'anna@example.COM'))
  assert.ok(isSame(['A', 'b', 'a'], ['a', 'B']))
  for (const [one, other] of [
    ['a', 'b'],
    [{ x: 'A' }, { x: 'a' }],
    [[['A']], [['a']]],
  ] as const)
    assert.ok(!isSame(one, other), JSON.stringify(one))
})
