import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { tokensOf } from './tokens.ts'

for (const [text, ...words] of [
  ['The Lord of the Rings', 'the', 'lord', 'of', 'the', 'rings'],
  ['Crème brûlée, naïve, ŻÓŁĆ', 'creme', 'brulee', 'naive', 'zolc'],
  ['Łódź smørrebrød Đ ÞÓR œuvre Æ ħ ŋ', 'lodz', 'smorrebrod', 'd', 'thor', 'oeuvre', 'ae', 'h', 'n'],
  ['Donau\u00addampf\u2060schiff zero\u200bwidth', 'donaudampfschiff', 'zero', 'width'],
  ['٣٤٥ ४२ ๓๔ 𑛞𑛡', '345', '42', '34', '47'],
  ['Straße STRASSE', 'strasse', 'strasse'],
  ['ΣΊΣΥΦΟΣ Σίσυφος', 'σισυφοσ', 'σισυφοσ'],
  ['İstanbul ISTANBUL ıstanbul', 'istanbul', 'istanbul', 'istanbul'],
  ['Ёлка Йод', 'елка', 'иод'],
  ['كِتَاب מִלָּה', 'كتاب', 'מלה'],
  ['हिन्दी', 'हिन्दी'],
  ['ﬁnd ① ½ ｆｕｌｌ ㎏', 'find', '1', '1', '2', 'full', 'kg'],
  ['東京都 トウキョー がか', '東', '京', '都', 'ト', 'ウ', 'キ', 'ョ', 'ー', 'が', 'か'],
  ['한국어 사전', '한국어', '사전'],
  ['ไทย', 'ไ', 'ท', 'ย'],
  ['ABC東京12', 'abc', '東', '京', '12'],
  ['foo-bar C++ x_y a@b.com', 'foo', 'bar', 'c', 'x', 'y', 'a', 'b', 'com'],
  ["don't https://six.example/a?b=ü#c", 'don', 't', 'https', 'six', 'example', 'a', 'b', 'u', 'c'],
  ['2026-11-26T10:00 3.14', '2026', '11', '26t10', '00', '3', '14'],
  ['…  🙂 \\ "\'` () *^~ \u200b\u0000'],
  [`${'é'.repeat(70)} b`, 'e'.repeat(64), 'b'],
] as const)
  test(`the words of ${JSON.stringify(text).slice(0, 60)}`, () => {
    assert.deepEqual(tokensOf(text), words)
  })

test('marks without end stop nothing', () => {
  // Accents; vowels that are no accents; and some with what search takes away from between them.
  for (const marks of ['\u0301\u0323', '\u0f72\u0f71', '\u0f73\u200d', '\u0301\uff9e', '\u0f72\u00ad'])
    assert.equal(tokensOf(`a${marks.repeat(150_000)} b`).at(-1), 'b')
})

test('words are the same however their characters are composed, in upper case too, and taken apart again', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', size: 'max', maxLength: 60 }), (text) => {
      const words = tokensOf(text)
      assert.deepEqual(tokensOf(text.normalize('NFC')), words)
      assert.deepEqual(tokensOf(text.normalize('NFD')), words)
      assert.deepEqual(tokensOf(words.join(' ')), words)
      for (const word of words) assert.match(word, /^[\p{L}\p{N}\p{M}]+$/u)
    }),
    { numRuns: 1000 },
  )
})
