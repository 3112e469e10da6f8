import assert from 'node:assert/strict'
import { test } from 'node:test'

import { declaredIndexes, mergeDefinitions, type Definition } from './index-definition.ts'

const plain = { isSparse: false, ignoreCase: false, isUnique: false, byOwner: false, isSearch: false }

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

test('definitions with the same entries are one index, which does what each is for', () => {
  const one = (more: Partial<Definition> = {}): Definition => ({
    collection: 'books',
    fields: [{ path: ['author'], descending: false }],
    ...plain,
    ...more,
  })
  const others = [
    one({ collection: 'notes' }),
    one({ fields: [{ path: ['editor'], descending: false }] }),
    one({ isSparse: true }),
    one({ ignoreCase: true }),
  ]
  assert.deepEqual(
    mergeDefinitions([one({ isUnique: true }), ...others, one({ byOwner: true, requiredBy: 'an option' })]),
    [one({ isUnique: true, byOwner: true, requiredBy: 'an option' }), ...others],
  )
})
