import assert from 'node:assert/strict'
import { test } from 'node:test'

import { partsIn } from '../../../language/query/filter.ts'
import { parseFilter } from '../../../language/query/parse-filter.ts'
import { bytesOfPattern } from '../../../language/query/patterns/pattern-matcher.ts'
import { createConstants } from './constants.ts'

const patternsIn = (filter: object) =>
  [...partsIn(parseFilter(JSON.stringify(filter)))].flatMap((part) =>
    part.kind === 'pattern' ? [part.pattern] : [],
  )

test('of the values of statements, the last few megabytes stay', () => {
  const made: string[] = []
  const constants = createConstants((text) => {
    made.push(text)
    return { value: `value of ${text}`, bytes: text === 'small' ? 0 : 1_000_000 }
  })
  const small = constants.numberOf('small')
  for (let i = 0; i < 20; i++) {
    const large = constants.numberOf(`large ${i}`)
    assert.equal(constants.numberOf('small'), small)
    assert.equal(constants.value(Number(small)), 'value of small')
    assert.equal(constants.value(Number(large)), `value of large ${i}`)
  }
  assert.equal(made.length, 21)
  constants.numberOf('large 19')
  assert.equal(made.length, 21)
  assert.equal(constants.value(Number(constants.numberOf('large 0'))), 'value of large 0')
  assert.equal(made.length, 22)
})

test('a pattern is taken for as large as it is when compiled, wherever it stands in a filter', () => {
  const choices = Array.from({ length: 50 }, (_, i) => `(?:ab|c)${i}`).join('|')
  const classes = String.raw`\p{L}\d`.repeat(25)
  for (const $regex of [choices, classes]) {
    const [pattern] = patternsIn({
      $nor: [{ a: { $elemMatch: { $or: [{ b: 1 }, { 'c.d': { $regex } }] } } }],
    })
    assert.ok(bytesOfPattern(pattern!) > 150_000)
  }
  const [pattern, ...others] = patternsIn({ a: { $elemMatch: { $not: { $regex: '^Mo' } } }, b: { $gt: 'x' } })
  assert.deepEqual([pattern!.source, others], ['^Mo', []])
  assert.ok(bytesOfPattern(pattern!) < 10_000)
})
