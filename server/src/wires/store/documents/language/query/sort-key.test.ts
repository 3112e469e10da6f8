import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../../../testing/any-text.ts'
import { compareValues } from './compare.fixture.ts'
import type { Json } from './filter.ts'
import { keyOf } from './key.ts'
import { EMPTY_ARRAY_KEY, sortKeyOf, sortTextOf } from './sort-key.ts'

const double = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, -1, 5e-324, -5e-324, 2 ** 53, -(2 ** 63), Number.MAX_VALUE),
)
const text = fc.oneof(anyText({ maxLength: 4 }), fc.constantFrom('', 'a', 'ab', '\0', '\x01', '\uffff', '😀'))
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    double,
    text,
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .uniqueArray(fc.tuple(text, tie('value')), { maxLength: 3, selector: ([name]) => name })
      .map((fields) => Object.fromEntries(fields) as Json),
  ),
}))

// Of -0 and 0 the difference is -0.
const signOf = (a: Json, b: Json): number => Math.sign(compareValues(a, b)) || 0

test('keys compare as values do, also keys joined to one', () => {
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 2, maxLength: 2 }),
      fc.array(value, { minLength: 2 }),
      (a, b) => {
        const compared = Buffer.compare(sortKeyOf(a[0]!), sortKeyOf(b[0]!))
        assert.equal(compared, signOf(a[0]!, b[0]!))
        const joined = Buffer.compare(
          Buffer.concat([sortKeyOf(a[0]!), sortKeyOf(a[1]!)]),
          Buffer.concat([sortKeyOf(b[0]!), sortKeyOf(b[1]!)]),
        )
        assert.equal(joined, compared || signOf(a[1]!, b[1]!))
      },
    ),
    { numRuns: 3000 },
  )
})

test('beside a key, as much of a value as the key is long decides', () => {
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  fc.assert(
    fc.property(value, value, (one, bound) => {
      const key = sortTextOf(bound)
      assert.equal(order(sortTextOf(one, key.length), key), Math.sign(compareValues(one, bound)) || 0) // no -0
    }),
  )
  const most = sortTextOf([null, 0]).length
  for (const large of [
    Array.from({ length: 500_000 }, () => 0),
    'a'.repeat(1_000_000),
    { a: ['b'.repeat(1_000_000)] },
  ])
    assert.ok(sortTextOf(large, most).length < 3 * most)
})

test('values stand in order', () => {
  const ordered: Json[] = [
    null,
    -Number.MAX_VALUE,
    -1.5,
    -5e-324,
    0,
    5e-324,
    1,
    2 ** 53,
    1e300,
    '',
    '\0',
    '\x01',
    'B',
    'a',
    'a\0',
    'a\x01',
    'ab',
    '\uffff',
    '😀',
    {},
    { b: null }, // the type of the value comes before the name
    { a: 1 },
    { a: 1, b: null },
    { a: 2 },
    { b: 1 },
    { a: 'x' },
    { a: {} },
    { a: [] },
    { a: true },
    [],
    [null],
    [1],
    [1, 1],
    [2],
    ['a'],
    [{}],
    [[]],
    [false],
    false,
    true,
  ]
  for (const [i, one] of ordered.entries())
    for (const [j, other] of ordered.entries())
      assert.equal(
        Buffer.compare(sortKeyOf(one), sortKeyOf(other)),
        Math.sign(i - j),
        `${JSON.stringify(one)} and ${JSON.stringify(other)}`,
      )
  assert.equal(Buffer.compare(EMPTY_ARRAY_KEY, sortKeyOf(null)), -1)
  assert.deepEqual(sortKeyOf(-0), sortKeyOf(0))
})

test('the bytes stay as they are stored', () => {
  const value = { n: [-1, 1.5], t: 'é\x01', b: { yes: true, no: false, null: null } }
  assert.equal(
    sortKeyOf(value).toString('hex'),
    '40506e00' +
      '20400fffffffffffff20bff800000000000000' +
      '307400c3a9010200' +
      '406200607965730001606e6f0000106e756c6c0000' +
      '00',
  )
})

test('a long text beside a long array is read once', () => {
  const keys = ['a', 'b'].map((name) => ({ path: [name], descending: false }))
  const text = 'x'.repeat(500_000)
  // Read for each element, it would take minutes.
  const key = keyOf({ a: Array.from({ length: 200_000 }, (_, i) => i % 2), b: text }, keys)
  assert.deepEqual(key, [sortKeyOf(0), sortKeyOf(text)])
})
