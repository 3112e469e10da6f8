import assert from 'node:assert/strict'
import { test } from 'node:test'

import { declaredIndexes } from './definition.ts'

const plain = { isSparse: false, ignoreCase: false, isUnique: false, byOwner: false }

test('fields are read as in a sort', () => {
  const declared = declaredIndexes(
    { books: ['year,-author.name', { fields: 'isbn', unique: true }], notes: ['tag'] },
    (collection) => collection === 'notes',
  )
  assert.deepEqual(declared, [
    {
      collection: 'books',
      fields: [
        { path: ['year'], descending: false },
        { path: ['author', 'name'], descending: true },
      ],
      ...plain,
    },
    { collection: 'books', fields: [{ path: ['isbn'], descending: false }], ...plain, isUnique: true },
    { collection: 'notes', fields: [{ path: ['tag'], descending: false }], ...plain, byOwner: true },
  ])
})

for (const [fields, message] of [
  [['a,$c'], /^store\.indexes\.books\[0\]: .*a field name never begins with \$/],
  [['a', 'a'], /^store\.indexes\.books\[1\]: there is an index of a already$/],
  [['a,-a'], /^store\.indexes\.books\[0\]: a is in it twice$/],
  [['a,'], /^store\.indexes\.books\[0\]: a field of "a," is empty$/],
  [['a.0'], /^store\.indexes\.books\[0\]: a\.0 has a numeric part/],
  [
    [Array.from({ length: 17 }, (_, i) => `f${i}`).join()],
    /^store\.indexes\.books\[0\]: .* at most 16 fields$/,
  ],
] as const)
  test(`${fields.join(' ')} cannot be declared`, () => {
    assert.throws(() => declaredIndexes({ books: [...fields] }, () => false), { name: 'StartError', message })
  })
