import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import type { ApiError, Issue } from './errors.ts'
import { csvLine } from './csv.ts'
import { csvRecords } from './csv-records.ts'

async function read(...pieces: string[]): Promise<[line: number, ...cells: string[]][]> {
  async function* text() {
    yield* pieces
  }
  const records: [number, ...string[]][] = []
  for await (const { line, cells } of csvRecords(text(), 100)) records.push([line, ...cells])
  return records
}

test('quotes, commas and line breaks in cells, with either end of lines', async () => {
  const text = '\ufeffa,b\r\n"x, ""y""\nz",\n\n,"",1\r\n"last"'
  const expected = [
    [1, 'a', 'b'],
    [2, 'x, "y"\nz', ''],
    [5, '', '', '1'],
    [6, 'last'],
  ]
  assert.deepEqual(await read(text), expected)
  assert.deepEqual(await read(...Array.from(text)), expected)
})

test('a heading that comes in many pieces is read once', async (t) => {
  const { prototype } = String
  const iterator = prototype[Symbol.iterator]
  t.after(() => {
    prototype[Symbol.iterator] = iterator
  })
  let characters = 0
  prototype[Symbol.iterator] = function countingIterator() {
    characters += this.length
    return iterator.call(this)
  }
  const [first] = await read(...';'.repeat(90).split(''))
  assert.equal(first!.length, 92)
  // To find the separator of each piece, and of all of them, and to take the cells apart.
  assert.ok(characters <= 4 * 90, String(characters))
})

test('what is no CSV is refused with its line', async () => {
  for (const [text, fault] of [
    ['a\n"b', /line 2: a quote is not closed/],
    ['a\n"b"c', /line 2: text stands behind a closing quote/],
    ['a\nb"c"', /line 2: a quote stands inside/],
    [`a\n${'b'.repeat(101)}`, /line 2: the record is longer than 100 characters/],
  ] as const)
    await assert.rejects(read(text), (error: ApiError) => {
      assert.match((error.details!['issues'] as Issue[])[0]!.message, fault)
      return true
    })
})

test('what csvLine writes is read again, but for the apostrophe before formulas', async () => {
  const cells = fc.array(fc.string({ maxLength: 5, unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ') }), {
    minLength: 2,
    maxLength: 4,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(cells, { maxLength: 3 }), async (rows) => {
      const records = await read(rows.map(csvLine).join(''))
      const expected = rows.map((row) => row.map((cell) => (/^[\r\n]/.test(cell) ? `'${cell}` : cell)))
      assert.deepEqual(
        records.map(([, ...rest]) => rest),
        expected,
      )
    }),
  )
})
