// The forms of the filter of the grid, and the parts in which a file is imported.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { partsOf } from '../src/screens/data/file-parts.ts'
import {
  builtOf,
  filterOf,
  filterOfText,
  OPERATORS,
  textOfFilter,
  textOfValue,
  valueOfText,
  type BuiltFilter,
  type FilterJson,
  type FilterOperator,
} from '../src/screens/data/filter.ts'

const path = fc.oneof(
  fc.constantFrom('a', 'b', 'a.b', '0', '', 'ä b', '__proto__', 'constructor'),
  fc.string({ maxLength: 4 }).filter((text) => !text.startsWith('$')),
)
const value = fc.jsonValue({ maxDepth: 2 }).map((json) => JSON.parse(JSON.stringify(json)) as FilterJson)
const operators = Object.keys(OPERATORS) as FilterOperator[]
const condition = fc.record(
  { path, operator: fc.constantFrom(...operators), value },
  { noNullPrototype: true },
)
const built: fc.Arbitrary<BuiltFilter> = fc.record(
  {
    match: fc.constantFrom('all' as const, 'any' as const),
    conditions: fc.array(condition, { maxLength: 4 }),
  },
  { noNullPrototype: true },
)

test('conditions, MongoDB’s JSON and the address say the same, in each direction', () => {
  fc.assert(
    fc.property(built, (conditions) => {
      const filter = filterOf(conditions)
      assert.deepEqual(builtOf(filter), conditions)
      const inAddress = new URLSearchParams(new URLSearchParams({ filter: textOfFilter(filter) }).toString())
      const read = filterOfText(inAddress.get('filter')!)
      assert.deepEqual(read, filter)
      assert.deepEqual(filterOf(builtOf(filter)!), filter)
    }),
  )
})

test('a filter that the builder cannot show is not shown in part', () => {
  const others: FilterJson[] = [
    { a: { $gt: 1, $lt: 2 } },
    { a: { $size: 1 } },
    { $or: [{ a: 1, b: 2 }] },
    { $or: [{ $and: [] }] },
    { $nor: [] },
    { $or: [{ a: 1 }], b: 2 },
    { $and: 1 },
    { a: { b: 1 } },
    { a: {} },
  ]
  for (const filter of others) assert.equal(builtOf(filter), undefined, JSON.stringify(filter))
  for (const text of ['{', '[]', '1', 'null']) assert.equal(filterOfText(text), undefined)
})

test('a value is typed as it is shown', () => {
  fc.assert(fc.property(value, (json) => assert.deepEqual(valueOfText(textOfValue(json)), json)))
  for (const text of ['', '1', '-1.5e3', 'true', 'null', '"', '[', '01', '1.', ' 1'])
    assert.equal(valueOfText(textOfValue(text)), text)
})

test('a file is cut into parts of whole records, wherever its pieces end', async () => {
  const cell = fc.constantFrom('a', '"b,\nc"', '"d""\n"', '', 'é')
  const row = fc.array(cell, { minLength: 2, maxLength: 3 }).map((cells) => cells.join(','))
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 30 }),
      async (rows, piece, size) => {
        const text = `x,"y\nz"\n${rows.join('\n')}\n`
        async function* pieces() {
          for (let i = 0; i < text.length; i += piece) yield text.slice(i, i + piece)
        }
        const head = 'x,"y\nz"\n'
        let [whole, line, bytes] = ['', 3, 0]
        for await (const part of partsOf(pieces(), true, size)) {
          assert.ok(part.text.startsWith(head))
          const own = part.text.slice(head.length)
          assert.equal(own.split('"').length % 2, 1, 'it ends within quotes')
          assert.equal(own.at(-1), '\n')
          // A line of the part is this one of the file.
          assert.equal(part.line + 2, line)
          line += own.split('\n').length - 1
          whole += own
          bytes = part.bytes
        }
        assert.equal(head + whole, text)
        assert.equal(bytes, Buffer.byteLength(text))
      },
    ),
  )
})
