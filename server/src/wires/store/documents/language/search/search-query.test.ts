import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseSearch, type Term } from './search-query.ts'

/** Terms as they would be written. */
const shown = (terms: readonly Term[]): string[] =>
  terms.map(({ tokens, isPrefix }) => `${tokens.join(' ')}${isPrefix ? '*' : ''}`)

for (const [text, wanted, unwanted] of [
  ['Momo ende', ['momo', 'ende'], []],
  ['"the grey gentlemen" momo', ['the grey gentlemen', 'momo'], []],
  ['momo -film -"a play"', ['momo'], ['film', 'a play']],
  ['mom* "grey gen"* -pla*', ['mom*', 'grey gen*'], ['pla*']],
  ['foo-bar a@b.com C++', ['foo bar', 'a b com', 'c'], []],
  ['東京 タワー*', ['東 京', 'タ ワ ー*'], []],
  ['“typed on a telephone”', ['typed on a telephone'], []],
  ['"without an end', ['without an end'], []],
  ['foo"bar baz"qux', ['foo', 'bar baz', 'qux'], []],
  ['a a -b -b a', ['a'], ['b']],
  ['- a --b -', ['a'], ['b']],
  ['*a a**b *', ['a', 'a b'], []],
  ['-a', [], ['a']],
] as const)
  test(`${text} asks for ${wanted.join(', ')}${unwanted.length > 0 ? `, not ${unwanted.join(', ')}` : ''}`, () => {
    const query = parseSearch(text)!
    assert.deepEqual([shown(query.wanted), shown(query.unwanted)], [wanted, unwanted])
  })

for (const text of ['', '  ', '"', '""', '-', '*', '"-*" ()', '🙂 … ^~ \\'])
  test(`${JSON.stringify(text)} asks for nothing`, () => {
    assert.equal(parseSearch(text), undefined)
  })

test('a search is limited in characters and words', () => {
  const refused = (message: string) => ({
    code: 'VALIDATION_ERROR',
    details: { issues: [{ path: '/query/search', message }] },
  })
  assert.throws(() => parseSearch('a'.repeat(1001)), refused('A search has at most 1000 characters.'))
  assert.throws(() => parseSearch('a '.repeat(101)), refused('A search has at most 100 words.'))
})
