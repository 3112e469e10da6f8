import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { eachEngine } from '../../../../testing/engines.ts'
import { filterText, openDocuments, type Document, type Documents } from './documents.fixture.ts'

// What the engines are compared with: the language's rules said once more, as plainly as JavaScript can.

const MISSING = Symbol('missing')

function valueAt(document: unknown, path: string): unknown {
  let value = document
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return MISSING
    value = (value as Document)[part]
  }
  return value
}

const bytes = (text: string): Buffer => Buffer.from(text)

/** Below, at or above zero as `a` is below, at or above `b`; NaN where they are of different types. */
function compare(a: unknown, b: unknown): number {
  if (a === MISSING) a = null
  if (a === null && b === null) return 0
  if (typeof a !== typeof b) return NaN
  if (typeof a === 'string') return Buffer.compare(bytes(a), bytes(b as string))
  if (typeof a === 'number' || typeof a === 'boolean') return Number(a) - Number(b)
  return NaN
}

const asks: Record<string, (value: unknown, operand: unknown) => boolean> = {
  $eq: (value, operand) => compare(value, operand) === 0,
  $ne: (value, operand) => compare(value, operand) !== 0,
  $gt: (value, operand) => compare(value, operand) > 0,
  $gte: (value, operand) => compare(value, operand) >= 0,
  $lt: (value, operand) => compare(value, operand) < 0,
  $lte: (value, operand) => compare(value, operand) <= 0,
  $in: (value, operand) => (operand as unknown[]).some((one) => compare(value, one) === 0),
  $nin: (value, operand) => !(operand as unknown[]).some((one) => compare(value, one) === 0),
  $exists: (value, operand) => (value !== MISSING) === operand,
  $not: (value, operand) => !meets(value, operand as Document),
}

const meets = (value: unknown, operators: Document): boolean =>
  Object.entries(operators).every(([name, operand]) => asks[name]!(value, operand))

const isOperators = (operand: unknown): operand is Document =>
  typeof operand === 'object' && operand !== null && Object.keys(operand)[0]!.startsWith('$')

function matches(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([key, operand]) => {
    const filters = operand as Document[]
    if (key === '$and') return filters.every((one) => matches(document, one))
    if (key === '$or') return filters.some((one) => matches(document, one))
    if (key === '$nor') return !filters.some((one) => matches(document, one))
    return meets(valueAt(document, key), isOperators(operand) ? operand : { $eq: operand })
  })
}

const rank = (value: unknown): number =>
  value === MISSING || value === null
    ? 0
    : ['number', 'string', 'object', 'boolean'].indexOf(typeof value) + 1

function sorted(documents: readonly Document[], sort: string): number[] {
  const keys = sort
    .split(',')
    .map((key) => ({ path: key.replace(/^-/, ''), sign: key.startsWith('-') ? -1 : 1 }))
  return documents
    .map((document, i) => ({ document, i }))
    .toSorted((a, b) => {
      for (const { path, sign } of keys) {
        const [one, other] = [valueAt(a.document, path), valueAt(b.document, path)]
        const order = rank(one) - rank(other) || compare(one, other)
        if (order) return sign * order // NaN: two objects
      }
      return keys[0]!.sign * (a.i - b.i)
    })
    .map(({ i }) => i)
}

// Few names and values, so that they meet; among them all that is taken for something else by one engine or another.

const name = fc.constantFrom('a', 'b', 'c', '0', 'a"b', 'é')
const number = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 5, 0.1, 2 ** 53, 2 ** 53 + 2, 2 ** 60, 2 ** 60 + 256, 2 ** 64, 1e300, 5e-324),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const text = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    'a',
    'B',
    'true',
    'null',
    '{}',
    '[1]',
    '{"a":1}',
    '"',
    '\\',
    'é',
    'e\u0301',
    '\uffff',
    '😀',
  ),
  fc.string({ unit: 'grapheme', maxLength: 3 }).filter((s) => s.isWellFormed() && !s.includes('\0')),
)
const scalar = fc.oneof(number, text, fc.boolean(), fc.constant(null))
const object = (value: fc.Arbitrary<unknown>) =>
  fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true })
const document = object(fc.oneof(scalar, object(fc.oneof(scalar, object(scalar)))))
const documentList = fc.array(document, { minLength: 1, maxLength: 12 })

const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'))
const { filter } = fc.letrec<{ operators: Document; filter: Document }>((tie) => ({
  operators: fc
    .record(
      {
        $eq: scalar,
        $ne: scalar,
        $gt: scalar,
        $gte: scalar,
        $lt: scalar,
        $lte: scalar,
        $in: fc.array(scalar, { maxLength: 4 }),
        $nin: fc.array(scalar, { maxLength: 4 }),
        $exists: fc.boolean(),
        $not: tie('operators'),
      },
      { requiredKeys: [], noNullPrototype: true },
    )
    // One operator at most times: of several, one that fails hides the others.
    .chain((all) => fc.subarray(Object.entries(all), { maxLength: Math.min(2, Object.keys(all).length) }))
    .map((some) => (some.length > 0 ? Object.fromEntries(some) : { $exists: true })),
  filter: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.dictionary(path, fc.oneof(scalar, tie('operators')), { maxKeys: 2, noNullPrototype: true }),
    fc.record({ $or: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }, { noNullPrototype: true }),
    fc.record({ $and: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }, { noNullPrototype: true }),
    fc.record({ $nor: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }, { noNullPrototype: true }),
  ),
}))
const sort = fc
  .uniqueArray(fc.record({ path, minus: fc.constantFrom('', '-') }), {
    minLength: 1,
    maxLength: 3,
    selector: (k) => k.path,
  })
  .map((keys) => keys.map(({ path, minus }) => minus + path).join(','))

eachEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  test('any filter finds what the rules say', async () => {
    await fc.assert(
      fc.asyncProperty(
        documentList,
        fc.array(filter, { minLength: 1, maxLength: 8 }),
        async (rows, filters) => {
          const collection = await documents.collection(rows)
          for (const one of filters) {
            const expected = rows.flatMap((row, i) => (matches(row, one) ? [i] : []))
            assert.deepEqual(await documents.matching(collection, one), expected, filterText(one))
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  test('any sort, walked by cursors in pages of any size, gives every document once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        documentList,
        sort,
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
        async (rows, sort, sizes) => {
          const collection = await documents.collection(rows)
          const expected = sorted(rows, sort)
          assert.deepEqual((await documents.page(collection, { sort })).numbers, expected)
          const walked: number[] = []
          for (let cursor: string | undefined, turn = 0; walked.length < expected.length; turn++) {
            const page = await documents.page(collection, { sort, cursor }, sizes[turn % sizes.length])
            assert.notEqual(page.cursor, undefined, `ends after ${walked.join()}`)
            walked.push(...page.numbers)
            cursor = page.cursor
          }
          assert.deepEqual(walked, expected)
        },
      ),
      { numRuns: 100 },
    )
  })
})
