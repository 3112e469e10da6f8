import fc from 'fast-check'
import { anyText } from '../../../../../testing/any-text.ts'
import type { Json } from './filter.ts'

type JsonObject = { [name: string]: Json }

// Few names and values, so that documents and filters meet; among them all that one engine or another takes for
// something else.

const NAMES = ['a', 'b', '0', '1', '', 'a"b', 'é', '00', '$'.slice(1), 'toString', 'length'] as const
const name = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('a', 'b') },
  { weight: 4, arbitrary: fc.constantFrom('0', '1') },
  { weight: 1, arbitrary: fc.constantFrom(...NAMES) },
)

const NUMBERS = [0, -0, 1, -1, 2, 5, 0.1, 4.7, -4.7, 2 ** 31, 2 ** 53, 2 ** 53 + 2, 2 ** 60]
const EDGES = [
  2 ** 60 + 256,
  2 ** 63,
  -(2 ** 63),
  2 ** 63 - 1024,
  2 ** 64,
  1e21,
  1e300,
  -1e300,
  5e-324,
  1 / 3,
]
const number = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(1, 2) },
  { weight: 4, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 2, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
)

const TEXTS = ['', '0', '1', 'B', 'true', 'null', '{}', '[1]', '[]', '{"a":1}', '"', '\\', 'é', 'e\u0301']
const ODD = ['a\nb', '\u0001', '\u007f', "'", '%', '$a', '?', '@']
// JavaScript sorts these in another order than UTF-8 does.
const WIDE = ['\ud7ff', '\ue000', '\uffff', '😀']
const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('a', 'ab') },
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  { weight: 2, arbitrary: fc.constantFrom(...WIDE) },
  { weight: 1, arbitrary: anyText({ maxLength: 3 }).filter((one) => !one.includes('\0')) },
)

const scalar: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: number },
  { weight: 3, arbitrary: text },
  { weight: 1, arbitrary: fc.boolean() },
  { weight: 2, arbitrary: fc.constant(null) },
)

const together = (parts: readonly JsonObject[]): JsonObject => Object.assign({}, ...parts) as JsonObject

const object = (value: fc.Arbitrary<Json>, maxKeys: number): fc.Arbitrary<JsonObject> =>
  fc.dictionary(name, value, { maxKeys, noNullPrototype: true })

/** Values nested up to so many levels. */
function valueOf(levels: number): fc.Arbitrary<Json> {
  if (levels === 0) return scalar
  const inner = valueOf(levels - 1)
  return fc.oneof(
    { weight: 2, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(inner, { maxLength: 3 }) },
    { weight: 2, arbitrary: object(inner, 3) },
  )
}

export const anyValue: fc.Arbitrary<Json> = valueOf(3)

/** A document as a request may hold it, without `_id`. */
export const anyDocument: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.record({ a: anyValue, b: anyValue }, { requiredKeys: ['a'], noNullPrototype: true }),
    fc.oneof({ weight: 1, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: object(anyValue, 3) }),
  )
  .map(together)

// An operand is like a document's values, and flat more often than not.
const operand = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 1, arbitrary: valueOf(1) },
  { weight: 1, arbitrary: valueOf(2) },
)

const path = fc
  .oneof(
    { weight: 4, arbitrary: fc.constant(['a']) },
    { weight: 2, arbitrary: name.map((one) => [one]) },
    { weight: 4, arbitrary: fc.array(name, { minLength: 2, maxLength: 2 }) },
    { weight: 1, arbitrary: fc.array(name, { minLength: 3, maxLength: 4 }) },
  )
  // A name without characters cannot be in a longer path.
  .map((parts) => (parts.length === 1 ? parts : parts.filter((part) => part !== '')).join('.'))

const TYPES = [
  'double',
  'string',
  'object',
  'array',
  'bool',
  'null',
  'int',
  'long',
  'number',
  'date',
] as const
const CODES = [1, 2, 3, 4, 8, 10, 16, 18, 9, -1] as const
const oneType = fc.constantFrom(...TYPES, ...CODES)

// They mean the same to PCRE and to JavaScript.
const PATTERNS = [
  'a',
  '^a',
  'b$',
  '^$',
  '',
  'a|B',
  '[ab]+',
  '^.$',
  'a.b',
  '\\\\',
  'é',
  '^[^a]',
  '(?:a|b){2}',
  '"',
]
const regex = fc
  .record({
    $regex: fc.constantFrom(...PATTERNS),
    $options: fc.option(fc.constantFrom('', 'i', 's', 'm', 'is'), { nil: undefined }),
  })
  .map(({ $regex, $options }): JsonObject => ($options === undefined ? { $regex } : { $options, $regex }))

const divisor = fc.constantFrom(1, 2, -2, 3, 4.9, 1000, 1000, 2 ** 53, 2 ** 60)
const remainder = fc.constantFrom(0, 0, 1, -1, 2, 0.5)

// More than 8 bits are compared in another way by PostgreSQL.
const mask = fc.oneof(
  fc.constantFrom(0, 1, 2, 3, 5, 2 ** 31, 2 ** 53 - 1, 2 ** 60, 2 ** 62),
  fc.array(fc.oneof(fc.constantFrom(0, 1, 2, 63), fc.integer({ min: 0, max: 70 })), { maxLength: 10 }),
)

const holder = (operator: string, inside: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> =>
  inside.map((one) => ({ [operator]: one }))

const values = fc.array(operand, { maxLength: 4 })

const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
  ...['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'].map((operator) => holder(operator, operand)),
  holder('$in', values),
  holder('$nin', values),
  holder('$all', fc.array(operand, { maxLength: 2 })),
  holder('$exists', fc.boolean()),
  holder('$size', fc.integer({ min: 0, max: 3 })),
  holder('$type', fc.oneof(oneType, fc.array(oneType, { minLength: 1, maxLength: 3 }))),
  holder(
    '$mod',
    fc.tuple(divisor, remainder).map((pair) => [...pair]),
  ),
  ...['$bitsAllSet', '$bitsAllClear', '$bitsAnySet', '$bitsAnyClear'].map((operator) =>
    holder(operator, mask),
  ),
  regex,
)

const join = (filter: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(fc.constantFrom('$and', '$or', '$nor'), fc.array(filter, { minLength: 1, maxLength: 3 }))
    .map(([operator, filters]) => ({ [operator]: filters }))

const { filter } = fc.letrec<{ operators: JsonObject; elementMatch: JsonObject; filter: JsonObject }>(
  (tie) => ({
    elementMatch: holder(
      '$elemMatch',
      fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        { weight: 3, arbitrary: tie('operators') },
        { weight: 2, arbitrary: tie('filter') },
        // An array is asked by index.
        { weight: 1, arbitrary: holder('0', leaf) },
      ),
    ),
    operators: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 16, arbitrary: leaf },
      // One operator most times: of several, one that fails hides the others.
      { weight: 1, arbitrary: fc.tuple(leaf, tie('operators')).map(together) },
      { weight: 1, arbitrary: holder('$not', tie('operators')) },
      { weight: 3, arbitrary: tie('elementMatch') },
      { weight: 1, arbitrary: holder('$all', fc.array(tie('elementMatch'), { minLength: 1, maxLength: 2 })) },
    ),
    filter: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      {
        weight: 12,
        arbitrary: fc
          .tuple(
            path,
            fc.oneof({ weight: 1, arbitrary: operand }, { weight: 3, arbitrary: tie('operators') }),
          )
          .map(([one, asked]) => ({ [one]: asked })),
      },
      { weight: 1, arbitrary: fc.tuple(tie('filter'), tie('filter')).map(together) },
      { weight: 2, arbitrary: join(tie('filter')) },
    ),
  }),
)

const side: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: path.filter((one) => one !== '').map((one) => `$${one}`) },
  { weight: 1, arbitrary: operand.map(($literal) => ({ $literal })) },
  { weight: 1, arbitrary: scalar.filter((one) => typeof one !== 'string' || !one.startsWith('$')) },
)

const expression: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte'),
    fc.tuple(side, side).map((pair) => [...pair]),
  )
  .map(([operator, sides]) => ({ $expr: { [operator]: sides } }))

/** A filter as a request may hold it: of all operators, with operands that the documents hold too. */
export const anyFilter: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 8, arbitrary: filter },
  { weight: 2, arbitrary: expression },
  { weight: 1, arbitrary: join(fc.oneof(filter, expression)) },
  { weight: 1, arbitrary: fc.tuple(filter, expression).map(together) },
)
