import fc from 'fast-check'

import type { Json } from '../../language/query/filter.ts'
import { anyFilter, anyValue } from '../../language/query/filters.fixture.ts'

type JsonObject = { [name: string]: Json }

// Few paths and values, so that documents, indexes, filters and sorts meet; and values at the limits of an index's keys.

/** `n` is another number in each document. */
const path = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('a', 'b') },
  { weight: 4, arbitrary: fc.constantFrom('c', 'a.a', 'a.b', 'b.a') },
  { weight: 1, arbitrary: fc.constant('n') },
)

// A key of 1,024 bytes or more is cut; two of them are the type and the end of a text.
const LONG = [500, 990, 1021, 1022, 3000].flatMap((length) =>
  ['', '1', '2'].map((end) => 'x'.repeat(length) + end),
)

const scalar: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Json>(1, 2, 3) },
  { weight: 4, arbitrary: fc.constantFrom<Json>('a', 'A', 'ab', 'x', '') },
  { weight: 2, arbitrary: fc.constantFrom<Json>(null, true, false) },
  { weight: 2, arbitrary: fc.constantFrom<Json>(0, -0, -1, 2.5, 2 ** 53, 1e300, -1e300) },
  { weight: 1, arbitrary: fc.constantFrom<Json>('\u0001', 'a\u0001', 'é', '\uffff', '😀') },
  { weight: 1, arbitrary: fc.constantFrom<Json>(...LONG) },
)

const scalars = fc.array(scalar, { maxLength: 3 })
const object = fc.record(
  {
    a: fc.oneof({ weight: 3, arbitrary: scalar }, { weight: 1, arbitrary: scalars }),
    b: scalar,
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<JsonObject>

// A range may lie between their elements.
const numbers = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 2, maxLength: 3 })

const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 2, arbitrary: scalars },
  { weight: 2, arbitrary: numbers },
  { weight: 2, arbitrary: object },
  { weight: 2, arbitrary: fc.array(fc.oneof(object, scalar), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.array(scalars, { maxLength: 2 }) },
  { weight: 1, arbitrary: anyValue },
)

export const document = fc.record(
  { a: value, b: value, c: value },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<JsonObject>

/** Fields of an index as they are declared, without a path twice. */
const fields = (maxLength: number) =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom('', '-'), path), {
      minLength: 1,
      maxLength,
      selector: ([, name]) => name,
    })
    .map((parts) => parts.map((part) => part.join('')))

const other = (name: string): string => (name.startsWith('-') ? name.slice(1) : `-${name}`)

/** Up to four indexes, no two with the same fields; with all directions turned they are the same. */
export const indexes = fc.uniqueArray(fields(4), {
  minLength: 1,
  maxLength: 4,
  selector: (names) => String(names[0]!.startsWith('-') ? names.map(other) : names),
})

// An operand is like a document's values, and flat more often than not.
const operand = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 1, arbitrary: value },
  { weight: 1, arbitrary: fc.constant(null) },
)

const holder = (operator: string, inside: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> =>
  inside.map((one) => ({ [operator]: one }))

const ends: fc.Arbitrary<JsonObject> = fc
  .uniqueArray(fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), operand), {
    minLength: 1,
    maxLength: 2,
    selector: ([operator]) => operator,
  })
  .map((conditions) => Object.fromEntries(conditions))
const between: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.constantFrom('$gt', '$gte'),
    fc.nat({ max: 3 }),
    fc.constantFrom('$lt', '$lte'),
    fc.nat({ max: 4 }),
  )
  .map(([low, one, high, other]) => ({ [low]: one, [high]: other }))
const range = fc.oneof(ends, between)
const equality = fc.oneof(holder('$eq', operand), holder('$in', fc.array(operand, { maxLength: 4 })))
const bounds = fc.oneof(equality, range)

/** What is asked of a field: mostly what an index can answer. */
const asked: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: operand },
  { weight: 4, arbitrary: equality },
  { weight: 6, arbitrary: range },
  { weight: 1, arbitrary: holder('$ne', operand) },
  { weight: 1, arbitrary: holder('$exists', fc.boolean()) },
  { weight: 1, arbitrary: holder('$all', fc.array(operand, { maxLength: 2 })) },
  { weight: 1, arbitrary: holder('$size', fc.integer({ min: 0, max: 2 })) },
  { weight: 1, arbitrary: holder('$regex', fc.constantFrom('^a', '^x', '^xxxxxxxx', 'x$', '^', '^(?:a|x)')) },
  { weight: 1, arbitrary: holder('$not', bounds) },
  {
    weight: 3,
    arbitrary: holder('$elemMatch', fc.oneof(bounds, holder('a', fc.oneof(bounds, operand)))),
  },
)

const condition = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: path },
      { weight: 1, arbitrary: fc.constantFrom('a.0', 'a.1.a', 'a.a.b') },
    ),
    asked,
  )
  .map(([name, one]): JsonObject => ({ [name]: one }))

const filter: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 4, arbitrary: condition },
  {
    weight: 4,
    arbitrary: fc
      .array(condition, { minLength: 2, maxLength: 3 })
      .map((parts) => Object.assign({}, ...parts) as JsonObject),
  },
  ...['$and', '$or', '$nor'].map((join) => ({
    weight: 1,
    arbitrary: holder(join, fc.array(condition, { minLength: 1, maxLength: 3 })),
  })),
  {
    weight: 1,
    arbitrary: fc
      .tuple(condition, holder('$or', fc.array(condition, { minLength: 1, maxLength: 2 })))
      .map(([one, other]) => ({ ...one, ...other })),
  },
  { weight: 1, arbitrary: anyFilter },
)

type Indexes = readonly (readonly string[])[]
/** A filter or sort that goes by what the indexes are. */
type Aimed<T> = (indexes: Indexes) => T

const always =
  <T>(one: T): Aimed<T> =>
  () =>
    one

const point = fc.oneof({ weight: 6, arbitrary: equality }, holder('$elemMatch', bounds))

/** A filter of the first fields of an index: equalities, and a range at last. */
const prefix = fc
  .tuple(fc.nat(), fc.array(point, { maxLength: 3 }), fc.option(range, { nil: undefined }))
  .map(([which, equalities, last]): Aimed<JsonObject> => (indexes) => {
    const names = indexes[which % indexes.length]!.map((name) => name.replace('-', ''))
    const tests = last ? [...equalities, last] : equalities
    return Object.fromEntries(names.slice(0, tests.length).map((name, i) => [name, tests[i]!]))
  })

/** A sort by fields of an index that stand side by side, in its order or the other way round. */
const sortOfIndex = fc
  .tuple(fc.nat(), fc.nat(), fc.nat(), fc.boolean())
  .map(([which, start, length, isReversed]): Aimed<string> => (indexes) => {
    const index = indexes[which % indexes.length]!
    const from = start % index.length
    const names = index.slice(from, from + 1 + (length % 3))
    return names.map((name) => (isReversed ? other(name) : name)).join(',')
  })

/** The first fields of an index are equal to something, and the list is sorted by the others. */
const along = fc
  .tuple(fc.nat(), fc.nat(), fc.array(operand, { minLength: 4, maxLength: 4 }), fc.boolean())
  .map(([which, count, values, isReversed]) => {
    const parts = (indexes: Indexes): [string[], string[]] => {
      const index = indexes[which % indexes.length]!
      const at = count % index.length
      return [index.slice(0, at), index.slice(at).map((name) => (isReversed ? other(name) : name))]
    }
    return {
      filterOf: (indexes: Indexes) =>
        Object.fromEntries(parts(indexes)[0].map((name, i) => [name.replace('-', ''), { $eq: values[i]! }])),
      sortOf: (indexes: Indexes) => parts(indexes)[1].join(','),
    }
  })

const list = fc.record({
  filterOf: fc.oneof(
    { weight: 4, arbitrary: filter.map(always) },
    { weight: 4, arbitrary: prefix },
    { weight: 1, arbitrary: fc.constant(always(undefined)) },
  ),
  sortOf: fc.oneof(
    { weight: 2, arbitrary: fields(3).map((names) => always(names.join(','))) },
    { weight: 4, arbitrary: sortOfIndex },
    { weight: 1, arbitrary: fc.constant(always(undefined)) },
  ),
  limit: fc.integer({ min: 1, max: 12 }),
  offset: fc.nat({ max: 8 }),
  /** Whether it is asked by an administrator, whose lists are those of all owners. */
  isOfAll: fc.boolean(),
})

/** What is asked of a collection. */
export type List = {
  readonly filter: JsonObject | undefined
  readonly sort: string | undefined
  readonly limit: number
  readonly offset: number
  readonly isOfAll: boolean
}

/** A list, for the indexes that its collection has. */
export const anyList: fc.Arbitrary<Aimed<List>> = fc
  .tuple(list, fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, along))
  .map(([one, aimed]) => ({ ...one, ...aimed }))
  .map(({ filterOf, sortOf, ...one }) => (indexes) => ({
    ...one,
    filter: filterOf(indexes),
    sort: sortOf(indexes),
  }))
