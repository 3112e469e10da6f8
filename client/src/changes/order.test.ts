import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import {
  document,
  sort,
  sorted,
} from '../../../server/src/wires/store/documents/language/query/sort.fixture.ts'
import { orderOf, sortKeys } from './order.ts'

const isIndex = (part: string) => /^\d+$/.test(part)

/** Whether a path leads to an array, or through one, in any of some documents. */
function meetsArray(value: unknown, parts: readonly string[]): boolean {
  if (Array.isArray(value)) return true
  const [name, ...rest] = parts
  if (name === undefined || typeof value !== 'object' || value === null) return false
  return meetsArray((value as Record<string, unknown>)[name], rest)
}

test('documents are in the order of the server', () => {
  fc.assert(
    fc.property(fc.array(document, { minLength: 2, maxLength: 6 }), sort, (documents, sort) => {
      const paths = sort.split(',').map((key) => key.replace(/^-/, '').split('.'))
      const inArrays = paths.filter((path) => documents.some((one) => meetsArray(one, path)))
      // Not so with several fields in arrays, and numbers in paths that lead through arrays.
      fc.pre(inArrays.length < 2 && !inArrays.flat().some(isIndex))
      const order = orderOf(sortKeys(sort))
      const mine = documents
        .map((one, i) => ({ ...one, _id: String(i) }))
        .toSorted(order)
        .map(({ _id }) => Number(_id))
      assert.deepEqual(mine, sorted(documents, sort))
    }),
    { numRuns: 3_000 },
  )
})

test('a sort may be given in each form that a list takes', () => {
  const keys = [
    { path: 'year', sign: -1 },
    { path: 'author.name', sign: 1 },
  ]
  const up = { path: '_id', sign: 1 }
  const down = { path: '_id', sign: -1 }
  assert.deepEqual(sortKeys('-year,author.name'), [...keys, down])
  assert.deepEqual(sortKeys(['-year', 'author.name']), [...keys, down])
  assert.deepEqual(sortKeys({ year: -1, 'author.name': 1 }), [...keys, down])
  const newest = { path: 'createdAt', sign: -1 }
  for (const one of [undefined, [], '-createdAt']) assert.deepEqual(sortKeys(one), [newest, down])
  for (const one of ['_id', '_id,year']) assert.deepEqual(sortKeys(one), [up])
  assert.deepEqual(sortKeys('-year,createdAt'), [keys[0], { path: 'createdAt', sign: 1 }, up])
})
