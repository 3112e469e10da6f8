import assert from 'node:assert/strict'
import { test } from 'node:test'

import { foldCase } from './fold-case.ts'

test('texts whose upper case is the same have one form', () => {
  for (const [form, ...texts] of [
    ['anna@example.com', 'Anna@Example.COM'],
    ['strasse', 'Straße', 'STRASSE', 'STRAẞE'],
    ['οδοσ', 'Οδος', 'ΟΔΟΣ', 'οδοσ'],
    ['i', 'I', 'ı'],
    ['i\u0307', 'İ', 'I\u0307'],
    ['é', 'É', 'E\u0301', 'e\u0301'],
    ['k', 'K', '\u212a'],
    ['ﬃ'.toUpperCase().toLowerCase(), 'ﬃ', 'FFI'],
    ['漢字😀', '漢字😀'],
  ] as const)
    for (const text of [form, ...texts]) assert.equal(foldCase(text), form, text)
  assert.notEqual(foldCase('e'), foldCase('é'))
})

test('of marks in a row the first 30 count, so that no text stops the server', () => {
  const marks = '\u0301\u0323'.repeat(15)
  assert.equal(foldCase(`a${marks.repeat(10_000)}b`), foldCase(`a${marks}b`))
})

test('a form is its own form, for every character', () => {
  for (let code = 0; code <= 0x1ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const text = `a${String.fromCodePoint(code)}`
    const form = foldCase(text)
    const same = [form, text.toLowerCase(), text.toUpperCase(), text.normalize('NFD')].map(foldCase)
    if (same.some((one) => one !== form))
      assert.deepEqual(
        same,
        same.map(() => form),
        code.toString(16),
      )
  }
})
