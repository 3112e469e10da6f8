import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { elementsIn, openArray } from './json-elements.ts'

const blank = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 3 })
const element = fc.record({
  before: blank,
  value: fc.jsonValue({ maxDepth: 3 }),
  after: blank,
  space: fc.constantFrom(0, 1),
})

test('an array is read as its elements, each with its line, however its bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      blank,
      fc.array(element, { maxLength: 6 }),
      fc.infiniteStream(fc.nat(9)),
      async (first, list, cuts) => {
        let text = `${first}[`
        const lines: number[] = []
        for (const [i, { before, value, after, space }] of list.entries()) {
          text += `${i > 0 ? ',' : ''}${before}`
          lines.push(text.split('\n').length)
          text += JSON.stringify(value, null, space) + after
        }
        const bytes = Buffer.from(`${text}] \n`)
        async function* pieces(): AsyncGenerator<Buffer> {
          const one = Buffer.alloc(16)
          for (let at = 0; at < bytes.length;) {
            const length = bytes.copy(one, 0, at, at + 1 + cuts.next().value)
            // The same bytes again and again, as of a file that is read.
            yield one.subarray(0, length)
            at += length
          }
        }
        const opened = await openArray(pieces())
        assert.equal(opened.isArray, true)
        const fault = (line: number) => new Error(`line ${line}`)
        const found = (await Array.fromAsync(elementsIn(opened.pieces, { bytes: 1e6, fault }))).flat()
        assert.deepEqual(
          found.map(({ bytes: one }) => JSON.parse(one.toString())),
          list.map(({ value }) => JSON.parse(JSON.stringify(value))),
        )
        assert.deepEqual(
          found.map(({ line }) => line),
          lines,
        )
      },
    ),
  )
})
