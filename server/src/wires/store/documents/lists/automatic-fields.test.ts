import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseFilter } from '../language/query/parse-filter.ts'
import { inIdOrder, parseSort } from '../language/query/sort.ts'
import { neededIndex, serves } from './automatic-fields.ts'
import { declaredIndexes } from '../storage/entries/index-definition.ts'

const neededBy = (filter: unknown, sort: string) =>
  neededIndex(parseFilter(JSON.stringify(filter)), inIdOrder(parseSort(sort)))

const dense = { isSearch: false, isSparse: false, ignoreCase: false, hasArrays: false }

describe('the index that a list needs has', () => {
  const cases: [filter: unknown, sort: string, fields: string | undefined][] = [
    // What the filter compares with values, in the order of the names, however it is written.
    [{ year: 1973 }, '-createdAt', 'year'],
    [{ year: 1973, 'author.name': 'Ende' }, '_id', 'author.name,year'],
    [{ $and: [{ b: { $in: [1, 2] } }, { $and: [{ a: 1, c: 2 }] }] }, '_id', 'a,b,c'],
    [{ tags: { $all: ['a', 'b'] } }, '_id', 'tags'],
    // Then a range, of several the first by name.
    [{ year: { $gt: 1970, $lt: 1980 } }, '_id', 'year'],
    [{ b: { $gt: 1 }, a: { $lt: 1 }, z: true }, '_id', 'z,a'],
    [{ title: { $regex: '^Mo' } }, '_id', 'title'],
    // Or the sort, the first field of it in ascending order.
    [{}, 'year', 'year'],
    [{}, '-year,title', 'year,-title'],
    [{ 'author.name': 'Ende' }, '-year,_id', 'author.name,year'],
    [{ year: 1973 }, 'year,-title', 'year,title'],
    [{ year: { $gt: 1970 } }, '-year,title', 'year,-title'],
    // Which is of no use behind several values or a range of another field: what remains is sorted.
    [{ year: { $in: [1973, 1974] } }, 'title', 'year'],
    [{ year: { $gt: 1970 } }, 'title', 'year'],
    // What no index can be searched for is left out.
    [{ a: 1, b: { $ne: 1 }, c: { $exists: false }, d: { $nin: [1] } }, '_id', 'a'],
    [{ a: null, b: [1], c: { x: 1 }, 'd.0': 1, e: { $size: 1 } }, '_id', 'a'],
    [{ a: 1, $or: [{ b: 1 }, { c: 1 }] }, 'e.0', 'a'],
    [{ b: { $ne: 1 } }, 'year', undefined],
    [{ title: { $regex: 'Mo' } }, '_id', undefined],
    [{ $or: [{ a: 1 }, { b: 1 }] }, '_id', undefined],
    [{ a: { $in: [] } }, '_id', undefined],
    [{}, '_id', undefined],
    [{}, '-createdAt', undefined],
    [{ _id: 'x', a: 1 }, 'year', undefined],
  ]
  for (const [filter, sort, fields] of cases)
    test(`${fields}, for ${JSON.stringify(filter)} by ${sort}`, () => {
      const needed = neededBy(filter, sort)
      assert.equal(needed?.names, fields)
      assert.ok(!needed || serves({ ...needed, ...dense }, needed))
    })
})

test('an index that is there serves a list if its first fields do', () => {
  const isServed = (fields: string, filter: unknown, sort: string): boolean =>
    serves({ ...declaredIndexes({ books: [fields] }, () => false)[0]!, ...dense }, neededBy(filter, sort)!)
  for (const fields of ['a,b', 'b,a', '-b,a,c']) assert.ok(isServed(fields, { a: 1, b: 2 }, '_id'), fields)
  for (const fields of ['a', 'a,c', 'c,a,b']) assert.ok(!isServed(fields, { a: 1, b: 2 }, '_id'), fields)
  for (const fields of ['a,b,-c', '-a,-b,c,d']) assert.ok(isServed(fields, { a: 1 }, '-b,c'), fields)
  for (const fields of ['a,b,c', 'a,b', 'b,-c,a']) assert.ok(!isServed(fields, { a: 1 }, '-b,c'), fields)
})

test('a sparse index serves a list that asks for values of all its fields, one without case none', () => {
  const isServed = (fields: string, filter: unknown, sort = '_id', more: object = {}): boolean => {
    const [plain] = declaredIndexes({ books: [fields] }, () => false)
    return serves({ ...plain!, ...dense, isSparse: true, ...more }, neededBy(filter, sort)!)
  }
  assert.ok(isServed('a', { a: 1 }))
  assert.ok(isServed('b,a', { a: 1, b: { $in: [1, 2] } }))
  assert.ok(isServed('a,b', { a: 1, b: { $gt: 1 } }, 'b'))
  assert.ok(isServed('a', { $and: [{ a: 1 }, { a: { $in: [1, null] } }] }))
  assert.ok(isServed('a', { a: 1 }, '_id', { hasArrays: true }))
  assert.ok(!isServed('a,b', { a: 1, b: 2 }, '_id', { hasArrays: true }))
  assert.ok(!isServed('a', { a: null }))
  assert.ok(!isServed('a', { a: { $in: [1, null] } }))
  assert.ok(!isServed('a', {}, 'a'))
  assert.ok(!isServed('a,b', { a: 1 }))
  assert.ok(!isServed('a,b', { a: 1 }, 'b'))
  assert.ok(!isServed('a', { a: 1 }, '_id', { ignoreCase: true }))
})
