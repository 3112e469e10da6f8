import assert from 'node:assert/strict'
import { test } from 'node:test'

import { declaredIndexes } from '../entries/index-definition.ts'
import { namesOf } from '../entries/entries.ts'
import { uniqueIndexes } from './unique-indexes.ts'

test('a unique field, fields that are unique together, and one without case are indexes', () => {
  const option = [
    'slug',
    ['team', 'address.no'],
    { fields: ['email'], ignoreCase: true },
    { fields: ['phone'] },
  ]
  const made = uniqueIndexes(
    'people',
    option,
    declaredIndexes({ people: ['slug'] }, () => true),
  )
  assert.deepEqual(
    made.map(({ fields, ignoreCase }) => [namesOf(fields), ignoreCase]),
    [
      ['slug', false],
      ['team,address.no', false],
      ['email', true],
      ['phone', false],
    ],
  )
  for (const one of made)
    assert.partialDeepStrictEqual(one, {
      collection: 'people',
      isUnique: true,
      isSparse: true,
      byOwner: false,
      requiredBy: 'store.collections.people.unique',
    })
})

for (const [option, message] of [
  [['a', 'a'], '[1]: a is in the list already'],
  [['a', { fields: ['a'], ignoreCase: true }], '[1]: a is in the list already'],
  [
    [
      ['a', 'b'],
      ['b', 'a'],
    ],
    '[1]: b,a is in the list already',
  ],
  [['isbn'], /^\[0\]: isbn is unique in store\.indexes\.books already, where a missing field is null/],
  [['lines.0.no'], /^\[0\]: lines\.0\.no has a numeric part/],
  [['a,b'], "[0]: a,b is one field: write those that are unique together as ['a', 'b']"],
  [['-a'], '[0]: a unique field has no order: write a'],
  [[['a', 'b', 'a']], '[0]: a is in it twice'],
  [['$a'], /^\[0\]: .*a field name never begins with \$/],
] as const)
  test(`${JSON.stringify(option)} is refused`, () => {
    const declared = declaredIndexes({ books: [{ fields: 'isbn', unique: true }] }, () => false)
    assert.throws(
      () => uniqueIndexes('books', option as never, declared),
      (error: Error) => {
        const at = 'store.collections.books.unique'
        assert.equal(error.name, 'StartError')
        assert.ok(error.message.startsWith(at), error.message)
        const rest = error.message.slice(at.length)
        if (typeof message === 'string') assert.equal(rest, message)
        else assert.match(rest, message)
        return true
      },
    )
  })
