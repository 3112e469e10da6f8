// Which filters and sorts an index answers, and by what.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { newId } from '../../../../../base/ids.ts'
import type { Index } from '../entries/index-definition.ts'
import { entriesOf, namesOf } from '../entries/entries.ts'
import type { Json } from '../../language/query/filter.ts'
import { parseFilter } from '../../language/query/parse-filter.ts'
import { inIdOrder, parseSort } from '../../language/query/sort.ts'
import { sortKeyOf } from '../../language/query/sort-key.ts'
import { plansOf, type Plan } from './plan.ts'

const indexOf = (fields: string, more: Partial<Index> = {}): Index => ({
  id: 1,
  collection: 'books',
  fields: fields
    .split(',')
    .map((field) => ({ path: field.replace(/^-/, '').split('.'), descending: field.startsWith('-') })),
  isSparse: false,
  isSearch: false,
  ignoreCase: false,
  isUnique: false,
  byOwner: false,
  source: 'declared',
  state: 'ready',
  hasArrays: false,
  hasCutKeys: false,
  ...more,
})

const arrays = { hasArrays: true }

function plans(
  indexes: readonly (string | Index)[],
  filter: unknown,
  sort = '-createdAt',
  owner?: string,
): Plan[] {
  const made = indexes.map((one) => (typeof one === 'string' ? indexOf(one) : one))
  return plansOf(made, {
    filter: parseFilter(JSON.stringify(filter)),
    order: inIdOrder(parseSort(sort)),
    owner,
    isIdOrdered: true,
  })
}

const plan = (index: string | Index, filter: unknown, sort?: string): Plan | undefined =>
  plans([index], filter, sort)[0]

/** The fields that an index is searched by, `=` behind them if the index decides alone. */
const boundsOf = (index: string | Index, filter: unknown): string | undefined => {
  const found = plan(index, filter)
  return found && `${namesOf(found.bounds.map(({ field }) => field))}${found.isExact ? '=' : ''}`
}

/** The key of the only entry of a document. */
function keyIn(index: Index, document: Json): Buffer {
  const [entry, ...others] = entriesOf(document, index).entries
  assert.deepEqual(others, [])
  return entry!.key
}

test('an index is searched by equality of its first fields, then by one range', () => {
  for (const [fields, filter, expected] of [
    ['a', { a: 1 }, 'a='],
    ['a,b', { a: 1 }, 'a='],
    ['a,b', { b: 1 }, undefined],
    ['a,b', { b: 1, a: { $in: [1, 'x', true] } }, 'a,b='],
    ['a,b,c', { a: 1, b: { $gt: 1 }, c: 1 }, 'a,b'],
    ['a,b,c', { a: 1, c: 1 }, 'a'],
    ['a,-b', { $and: [{ a: 1 }, { b: { $gte: 1, $lt: 5 } }] }, 'a,-b='],
    ['a', { a: { $regex: '^x.' } }, 'a'],
    ['a', { a: { $regex: '^x' } }, 'a='],
    ['a', { a: { $regex: 'x' } }, undefined],
    ['a', { a: { x: 1 } }, 'a='],
    ['a', { a: [1] }, undefined],
    ['a', { a: { $in: [1, [1]] } }, undefined],
    ['a', { a: { $in: Array.from({ length: 201 }, (_, i) => i) } }, undefined],
    ['a', { a: { $gt: [1] } }, undefined],
    ['a', { a: { $ne: 1 } }, undefined],
    ['a', { a: { $exists: true } }, undefined],
    ['a', { a: { $not: { $gt: 1 } } }, undefined],
    ['a', { $or: [{ a: 1 }, { b: 1 }] }, undefined],
    ['a', { a: 1, b: 1 }, 'a'],
    ['a.b', { 'a.0.b': 1 }, undefined],
    ['a.b,a.c', { 'a.b': 1, 'a.c': 2 }, 'a.b,a.c='],
  ] as const)
    assert.equal(boundsOf(fields, filter), expected, `${fields} ${JSON.stringify(filter)}`)
})

test('null is also what a field in an array may lack', () => {
  assert.equal(boundsOf('a', { a: null }), 'a=')
  assert.equal(boundsOf('a.b', { 'a.b': null }), 'a.b')
  assert.equal(boundsOf('a.b', { 'a.b': { $in: [1, null] } }), 'a.b')
  assert.equal(boundsOf(indexOf('a', arrays), { a: null }), 'a=')
  assert.equal(boundsOf(indexOf('a.b', arrays), { 'a.b': null }), 'a.b')
})

test('two conditions on an array may be met by two of its elements', () => {
  const both = { a: { $gt: 5, $lt: 9 } }
  assert.equal(plan('a', both)!.ranges!.length, 1)
  assert.equal(boundsOf('a', both), 'a=')
  assert.equal(boundsOf(indexOf('a', arrays), both), 'a')
  assert.deepEqual(plan(indexOf('a', arrays), both)!.ranges![0]!.high, Buffer.from([0x21]))
  assert.equal(boundsOf(indexOf('a', arrays), { a: { $gt: 5 } }), 'a=')
  for (const [fields, filter, expected] of [
    ['a.b,a.c', { 'a.b': 1, 'a.c': 2 }, 'a.b'],
    ['a.b,c', { 'a.b': 1, c: 2 }, 'a.b,c='],
    ['a.b,a.c', { a: { $elemMatch: { b: 1, c: 2 } } }, 'a.b,a.c'],
    ['a.b.x,a.b.y', { a: { $elemMatch: { 'b.x': 1, 'b.y': 2 } } }, 'a.b.x'],
    ['a.b,a.c', { a: { $elemMatch: { b: 1 } }, 'a.c': 2 }, 'a.b'],
    ['a.b,a.c', { $and: [{ a: { $elemMatch: { b: 1 } } }, { a: { $elemMatch: { c: 2 } } }] }, 'a.b'],
    ['a.b.x,a.b.y', { a: { $elemMatch: { b: { $elemMatch: { x: 1, y: 2 } } } } }, 'a.b.x,a.b.y'],
    ['a.b,c,a.d', { 'a.b': 1, c: 2, 'a.d': 3 }, 'a.b,c'],
    ['a', { a: { $elemMatch: { $gt: 5, $lt: 9 } } }, 'a'],
  ] as const)
    assert.equal(boundsOf(indexOf(fields, arrays), filter), expected, `${fields} ${JSON.stringify(filter)}`)
  const { ranges } = plan(indexOf('a', arrays), { a: { $elemMatch: { $gt: 5, $lt: 9 } } })!
  assert.deepEqual(ranges![0]!.high, sortKeyOf(9))
})

test('an element of an array may be counted twice where several keys are searched for', () => {
  assert.equal(plan(indexOf('a', arrays), { a: 1 })!.hasRepeats, false)
  assert.equal(plan(indexOf('a', arrays), { a: { $in: [1, 2] } })!.hasRepeats, true)
  assert.equal(plan(indexOf('a,b', arrays), { a: 1 })!.hasRepeats, true)
  assert.equal(plan('a,b', { a: { $in: [1, 2] } })!.hasRepeats, false)
  // Where the place of a cursor is not known, all entries lead to the documents.
  assert.equal(plan(indexOf('a', arrays), {}, 'a')!.hasRepeats, true)
})

test('several conditions on a field with one key are searched for together', () => {
  const lists = [
    { a: { $in: [1, 3, 5, 'x', 7] } },
    { a: { $in: ['x', 3, 4, 7] } },
    { a: { $gte: 3, $lt: 7 } },
  ]
  assert.deepEqual(
    [1, 2, 3].map((many) => plan('a', { $and: lists.slice(0, many) })!.ranges!.map(({ low }) => low)),
    [[1, 3, 5, 7, 'x'], [3, 7, 'x'], [3]].map((values) => values.map(sortKeyOf)),
  )
})

test('the entries of the documents that match are in the ranges, and no others', () => {
  const long = 'x'.repeat(5000)
  for (const [fields, filter, matching, others] of [
    ['a', { a: { $gt: 3, $lte: 7 } }, [{ a: 4 }, { a: 7 }], [{ a: 3 }, { a: 8 }, { a: 'x' }, {}]],
    ['-a', { a: { $gt: 3, $lte: 7 } }, [{ a: 4 }, { a: 7 }], [{ a: 3 }, { a: 8 }, { a: 'x' }, {}]],
    ['-a', { a: { $gte: 3, $lt: 7 } }, [{ a: 3 }, { a: 6 }], [{ a: 2 }, { a: 7 }]],
    ['-a', { a: { $in: ['x', 2, 3] } }, [{ a: 2 }, { a: 3 }, { a: 'x' }], [{ a: 1 }, { a: 'y' }]],
    ['-a', { a: { $regex: '^x' } }, [{ a: 'x' }, { a: 'xy' }], [{ a: 'w' }, { a: 'y' }]],
    ['-a,b', { a: 1, b: { $gt: 2 } }, [{ a: 1, b: 3 }], [{ a: 1, b: 2 }, { a: 2, b: 3 }, { b: 3 }]],
    [
      '-a,-b',
      { a: { $in: [1, 2] }, b: { $lt: 2 } },
      [{ a: 2, b: 1 }],
      [
        { a: 3, b: 1 },
        { a: 1, b: 2 },
      ],
    ],
    ['a', { a: long }, [{ a: long }], [{ a: `${long}x` }, { a: long.slice(1) }]],
  ] as const) {
    const index = indexOf(fields)
    const { ranges } = plan(index, filter)!
    const isIn = (document: Json): boolean => {
      const key = keyIn(index, document)
      return ranges!.some(({ low, high }) => low.compare(key) <= 0 && key.compare(high) < 0)
    }
    assert.deepEqual(
      [matching.every(isIn), others.some(isIn)],
      [true, false],
      JSON.stringify([fields, filter]),
    )
    const lows = ranges!.map(({ low }) => low)
    assert.deepEqual(
      lows,
      lows.toSorted((one, other) => one.compare(other)),
    )
  }
})

test('contradictions lead to no entries', () => {
  assert.deepEqual(plan('a', { $and: [{ a: 1 }, { a: 2 }] })!.ranges, [])
  assert.deepEqual(plan('a', { a: { $gt: 5, $lt: 5 } })!.ranges, [])
  assert.deepEqual(plan('a', { a: { $in: [1, 2] }, b: { $gt: null } })!.ranges, [])
})

test('the order of a list is that of an index behind its fields with equality', () => {
  for (const [fields, filter, sort, backward] of [
    ['a', {}, 'a', false],
    ['a', {}, '-a', true],
    ['a,-b', {}, '-a,b', true],
    ['a,-b', {}, 'a,b', undefined],
    ['a,b', {}, 'a', undefined],
    ['a,b', { a: 1 }, 'b', false],
    ['a,b', { a: 1 }, 'a,b', false],
    ['a,b', { a: 1, b: { $gt: 2 } }, '-b', true],
    ['a,b', { a: { $in: [1, 2] } }, 'b', undefined],
    ['a,b', { a: { $gt: 1 } }, 'b', undefined],
    ['a', { a: 1 }, '-createdAt', true],
    ['a', { a: 1 }, '_id', false],
    ['a', { a: 1 }, 'b', undefined],
    ['a', { a: { $gt: 1 } }, '-createdAt', undefined],
    ['a,-createdAt', { a: 1 }, '-createdAt', false],
    ['a,b,createdAt', { a: 1 }, 'b', false],
    ['a,b,-createdAt', { a: 1 }, 'b', undefined],
    ['a,b,-createdAt', { a: 1 }, 'b,-_id', false],
  ] as const) {
    const found = plan(fields, filter, sort)
    assert.equal(found?.order?.isBackward, backward, `${fields} ${JSON.stringify(filter)} ${sort}`)
  }
})

test('of a document with several keys the first or last one counts, if all are read', () => {
  assert.equal(plan(indexOf('a', arrays), {}, 'a')!.order!.end, 1)
  assert.equal(plan(indexOf('a', arrays), {}, '-a')!.order!.end, 2)
  assert.equal(plan(indexOf('a', arrays), { a: { $gt: 1 } }, 'a')!.order, undefined)
  assert.ok(plan(indexOf('a', arrays), { a: 1 })!.order)
})

test('keys that are cut are neither in order nor searched beyond what is left of them', () => {
  const cut = { hasCutKeys: true }
  const long = 'x'.repeat(1000)
  assert.equal(plan(indexOf('a', cut), {}, 'a'), undefined)
  assert.equal(plan(indexOf('a', cut), { a: { $gt: long } }), undefined)
  assert.equal(plan(indexOf('a', cut), { a: { $lt: long } }), undefined)
  assert.equal(boundsOf(indexOf('a,b', cut), { a: { $in: ['x', long] } }), undefined)
  assert.equal(boundsOf(indexOf('a', cut), { a: { $gt: 'x' } }), 'a=')
  assert.equal(boundsOf(indexOf('a', cut), { a: 'x'.repeat(5000) }), 'a=')
  assert.equal(boundsOf(indexOf('a,b', cut), { a: long }), undefined)
  assert.equal(boundsOf('a,b', { a: long }), 'a=')
})

test('a position is a key', () => {
  const id = newId(Date.UTC(2026, 0, 1))
  const bytes = sortKeyOf('x')
  const { order } = plan('a,b,createdAt', { a: 1 }, 'b')!
  assert.deepEqual(
    order!.keyOf({ id, bounds: [{ bytes, isCut: false }] }),
    Buffer.concat([1, 'x', '2026-01-01T00:00:00.000Z'].map(sortKeyOf)),
  )
  assert.equal(order!.keyOf({ id, bounds: [{ bytes, isCut: true }] }), undefined)
})

test('the position of a document is the key of its entry', () => {
  const id = newId(Date.UTC(2026, 0, 1))
  const document = { a: 1, b: 'x', c: 2, long: 'x'.repeat(5000) }
  for (const [fields, filter, sort, sorted] of [
    ['-a', { a: 1 }, '-createdAt', []],
    ['-a,b', { a: 1, b: 'x' }, 'createdAt', []],
    ['long', { long: document.long }, '-createdAt', []],
    ['-a,b,-c', { a: 1 }, 'b,-c', ['b', 'c']],
    ['-a,b,-c', { a: 1 }, '-b,c', ['b', 'c']],
    ['-a', {}, 'a', ['a']],
  ] as const) {
    const index = indexOf(fields)
    const { order } = plan(index, filter, sort)!
    const bounds = sorted.map((field) => ({ bytes: sortKeyOf(document[field]), isCut: false }))
    assert.deepEqual(order!.keyOf({ id, bounds }), keyIn(index, document), `${fields} ${sort}`)
  }
})

test('an index without owners decides nothing for a list of one owner', () => {
  const exact = (byOwner: boolean) =>
    plans([indexOf('a', { byOwner })], { a: 1 }, undefined, 'me')[0]!.isExact
  assert.deepEqual([exact(true), exact(false)], [true, false])
  assert.deepEqual(plans(['a'], {}, 'a', 'me'), [])
})

test('a sparse index is used where one key has a value of each field, one without case never', () => {
  const sparse = (fields: string, more: Partial<Index> = {}) => indexOf(fields, { isSparse: true, ...more })
  for (const [index, filter, expected] of [
    [sparse('a'), { a: 1 }, 'a='],
    [sparse('a'), { a: { $gt: 1 } }, 'a='],
    [sparse('a'), { a: { $regex: '^x' }, b: null }, 'a'],
    [sparse('a,b'), { a: { $in: [1, 2] }, b: { $lt: 5 } }, 'a,b='],
    [sparse('a'), { a: { $in: [1, 2] } }, 'a='],
    [sparse('a'), { $and: [{ a: 1 }, { a: { $in: [1, null] } }] }, 'a='],
    [sparse('a'), { a: null }, undefined],
    [sparse('a'), { a: { $in: [1, null] } }, undefined],
    [sparse('a'), { a: { $ne: 1 } }, undefined],
    [sparse('a'), {}, undefined],
    [sparse('a,b'), { a: 1 }, undefined],
    [sparse('a,b'), { a: 1, b: null }, undefined],
    [sparse('a,b'), { a: { $gt: 1 }, b: 1 }, undefined],
    [sparse('l.a,l.b', arrays), { 'l.a': 1, 'l.b': 2 }, undefined],
    [sparse('l.a,l.b', arrays), { l: { $elemMatch: { a: 1, b: 2 } } }, 'l.a,l.b'],
    [indexOf('a', { ignoreCase: true }), { a: 1 }, undefined],
  ] as const)
    assert.equal(boundsOf(index, filter), expected, `${namesOf(index.fields)} ${JSON.stringify(filter)}`)
  assert.equal(plan(sparse('a'), {}, 'a'), undefined)
  assert.equal(plan(sparse('a'), { a: { $gt: 1 } }, '-a')!.order!.isBackward, true)
})

test('the index with the most fields of a filter comes first, one that is not ready never', () => {
  const building = indexOf('a,b,c', { state: 'building' })
  const found = plans(['a', 'b,c', 'a,b', building, indexOf('c', { isUnique: true })], {
    a: 1,
    b: { $gt: 1 },
    c: 1,
  })
  assert.deepEqual(
    found.map(({ index }) => namesOf(index.fields)),
    ['c', 'a,b', 'a', 'b,c'],
  )
  assert.deepEqual(
    plans(['b', 'a,c'], { a: 1 }, 'c').map(({ index, order }) => [
      namesOf(index.fields),
      order !== undefined,
    ]),
    [['a,c', true]],
  )
})
