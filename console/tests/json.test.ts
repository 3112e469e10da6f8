// What the document editor of the console makes of JSON, without a browser.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { textOf, treeOf } from '../src/screens/data/document/tree.ts'
import { changesOf, isSameJson, mergeJson, withValueAt } from '../src/parts/json-changes.ts'
import { diffLines, hunksOf } from '../src/parts/json-lines.ts'
import { readJson } from '../src/parts/json-text.ts'

const isName = (name: string): boolean => !/^(?:\$|(?:__proto__|constructor)$)/.test(name)
const name = fc.string({ unit: 'grapheme', maxLength: 6 }).filter(isName)
const number = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const moment = fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
const { value: anyJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    number.map((one) => (Object.is(one, -0) ? 0 : one)),
    fc.string({ unit: 'grapheme' }),
    moment,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: true }),
}))
const fields = fc.dictionary(name, anyJson, { noNullPrototype: true })

const read = (text: string): unknown => {
  const result = readJson(text)
  assert.ok('value' in result, `${JSON.stringify(result.faults)} in ${text}`)
  return result.value
}

describe('the form and the JSON of a document', () => {
  test('keep every value, and the order that the store keeps', () => {
    fc.assert(
      fc.property(fields, (document) => {
        const fromForm = read(textOf(treeOf(document)))
        assert.equal(JSON.stringify(fromForm), JSON.stringify(document))
        const again = read(textOf(treeOf(read(JSON.stringify(document, null, 2)))))
        assert.equal(JSON.stringify(again), JSON.stringify(document))
      }),
      { numRuns: 500 },
    )
  })

  test('a text is read as JSON.parse reads it, or refused by both', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '1',
      '-',
      '0',
      '.5',
      'e3',
      'true',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('')
        let expected: { value: unknown } | undefined
        try {
          expected = { value: JSON.parse(text) as unknown }
        } catch {
          // Not JSON.
        }
        const result = readJson(text)
        if ('value' in result) assert.deepEqual(result.value, expected!.value)
        else if (expected) assert.match(result.faults[0]!.message, /twice|too large/)
      }),
      { numRuns: 2000 },
    )
  })

  test('what the server would refuse or change is named at its place', () => {
    for (const [text, at, message] of [
      ['{"a":1,"a":2}', '"a"', /twice/],
      ['{"n":9007199254740993}', '9007199254740993', /would be changed to 9007199254740992/],
      ['[1e999]', '1e999', /too large/],
      ['{"$set":1}', '"$set"', /begin with \$/],
      ['{"__proto__":{}}', '"__proto__"', /No field can have/],
      ['["a\\u0000"]', '"a\\u0000"', /U\+0000/],
      ['["\\ud800"]', '"\\ud800"', /surrogate/],
      ['{"a":1,}', '}', /comma too many/],
      ["{'a':1}", "'", /double quotes/],
      ['[tru]', 'tru', /needs double quotes/],
      ['[01]', '01', /not a number/],
      ['["a]', '"', /quote that ends/],
      ['{"a" 1}', '1', /colon/],
      ['[1] 2', '2', /after the value/],
      [`${'['.repeat(65)}${']'.repeat(65)}`, '[', /64 levels/],
      ['', '', /value is missing/],
    ] as const) {
      const { faults } = readJson(text)
      const [{ from, to, message: said } = { from: 0, to: 0, message: '' }] = faults
      assert.match(said, message, text)
      assert.equal(text.slice(from, to), at, text)
    }
    assert.deepEqual(read('[1152921504606847000, 1e23, -0]'), [1152921504606847000, 1e23, -0])
  })
})

describe('two versions of a document', () => {
  test('differ in lines that make one out of the other', () => {
    const line = fc.constantFrom('a', 'b', 'c', 'd')
    fc.assert(
      fc.property(fc.array(line), fc.array(line), (one, other) => {
        const lines = diffLines(one.join('\n'), other.join('\n'))
        const side = (left: string) => lines.filter(({ kind }) => kind !== left).map(({ text }) => text)
        assert.deepEqual(side('added'), one.join('\n').split('\n'))
        assert.deepEqual(side('removed'), other.join('\n').split('\n'))
        const shown = hunksOf(lines).flatMap((hunk) => hunk.lines)
        assert.deepEqual(
          shown.filter(({ kind }) => kind !== 'same'),
          lines.filter(({ kind }) => kind !== 'same'),
        )
      }),
      { numRuns: 1000 },
    )
    assert.deepEqual(
      diffLines('a\nb\nc', 'a\nx\nc').map(({ kind, text }) => `${kind} ${text}`),
      ['same a', 'removed b', 'added x', 'same c'],
    )
    const numbers = Array.from({ length: 30 }, (_, i) => String(i))
    const [hunk, ...others] = hunksOf(diffLines(numbers.join('\n'), numbers.with(20, 'x').join('\n')))
    assert.deepEqual([hunk!.skipped, hunk!.lines.length, others.length], [17, 8, 0])
  })

  test('of thousands of lines that all differ are compared at once', () => {
    const lines = (mark: string) => Array.from({ length: 20_000 }, (_, i) => `${mark}${i}`).join('\n')
    assert.equal(diffLines(lines('a'), lines('b')).length, 40_000)
  })

  test('differ at paths, which applied to one make the other', () => {
    fc.assert(
      fc.property(fields, fields, (before, after) => {
        const changed = changesOf(before, after).reduce(
          (all, { path, after: value }) => withValueAt(all, path, value),
          before,
        )
        assert.ok(isSameJson(changed, after), JSON.stringify(changed))
      }),
    )
  })

  test('are merged as far as nobody changed the same value', () => {
    const base = { a: 1, b: { c: 2, d: 3 }, e: [1], gone: 1 }
    const mine = { x: 0, a: 2, b: { c: 2, d: 4 }, e: [1], gone: 1 }
    const theirs = { a: 1, b: { c: 5, d: 3, n: 1 }, e: [1, 2] }
    assert.deepEqual(mergeJson(base, mine, theirs), {
      merged: { x: 0, a: 2, b: { c: 5, d: 4, n: 1 }, e: [1, 2] },
      conflicts: [],
    })
    const { merged, conflicts } = mergeJson({ a: 1, b: 1 }, { a: 2, b: 1 }, { a: 3 })
    assert.deepEqual(merged, { a: 2 })
    assert.deepEqual(conflicts, [{ path: ['a'], base: 1, mine: 2, theirs: 3 }])
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        assert.deepEqual(mergeJson(one, one, other), {
          merged: mergeJson(one, other, one).merged,
          conflicts: [],
        })
      }),
    )
  })
})
