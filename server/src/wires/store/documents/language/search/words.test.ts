import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Json } from '../query/filter.ts'
import { tokensOf } from './tokens.ts'
import { haveSameTexts, wordsOf } from './words.ts'

const fieldsOf = (...names: string[]) => names.map((name) => ({ path: name.split('.'), descending: false }))
const shown = (document: Json, ...names: string[]): string =>
  wordsOf(document, fieldsOf(...names))
    .map(({ token, position, place }) => `${token}:${position}${'ABCD'[place]}`)
    .join(' ')

test('words have the place of their field, and a gap behind each text', () => {
  const document = { title: 'Momo lives', tags: ['a b', 5, 'c', ['d']], n: 1, e: 'f', g: 'h', i: 'j' }
  assert.equal(
    shown(document, 'title', 'tags', 'n', 'e', 'g', 'i'),
    'momo:1A lives:2A a:4B b:5B c:7B f:9D h:11D j:13D',
  )
})

test('paths run through objects and arrays of objects, as those of filters', () => {
  const document = { a: { b: 'one' }, c: [{ d: 'two' }, 5, { d: ['three', null] }, [{ d: 'no' }]], e: 'no' }
  assert.equal(shown(document, 'a.b', 'c.d', 'e.f', 'toString'), 'one:1A two:3B three:5B')
})

test('what PostgreSQL would not keep is left out for both engines', () => {
  const many = wordsOf({ a: 'x '.repeat(300) + 'y' }, fieldsOf('a'))
  assert.deepEqual([many.length, many.at(-1)], [256, { token: 'y', position: 301, place: 0 }])
  const numbers = Array.from({ length: 20_000 }, (_, i) => i).join(' ')
  assert.equal(wordsOf({ a: numbers }, fieldsOf('a')).length, 16_000)
  const long = Array.from({ length: 15_000 }, (_, i) => `東${i}${'ж'.repeat(60)}`).join(' ')
  const bytes = wordsOf({ a: long }, fieldsOf('a')).reduce(
    (sum, { token }) => sum + Buffer.byteLength(token) + 8,
    0,
  )
  assert.ok(bytes > 690_000 && bytes <= 700_000, String(bytes))
})

test('a large text has the words that it has as a whole', () => {
  for (const between of [' ', '\n', ','])
    for (const word of ['abcdef', 'żółć', '𝔞𝔟'.repeat(3)]) {
      const text = Array.from({ length: 2000 }, (_, i) => `${word}${i}`).join(between)
      assert.deepEqual(
        wordsOf({ a: text }, fieldsOf('a')).map(({ token }) => token),
        tokensOf(text),
      )
    }
})

test('a change of other fields leaves the texts the same', () => {
  const fields = fieldsOf('a.b', 'c')
  assert.ok(haveSameTexts({ a: [{ b: 'x' }], n: 1 }, { a: { b: ['x', 2] }, n: 2 }, fields))
  assert.ok(!haveSameTexts({ c: ['x', 'y'] }, { c: ['y', 'x'] }, fields))
  assert.ok(!haveSameTexts({ c: 'x' }, {}, fields))
})
