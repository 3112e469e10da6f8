import assert from 'node:assert/strict'
import { test } from 'node:test'

import { asciiDigits } from './decimal-digits.ts'

test('decimal digits of all scripts have the value that Unicode gives them', () => {
  assert.equal(asciiDigits('٣٤٥ ９३६𝟛 12 x½²'), '345 9363 12 x½²')
  // Each script has a zero, and nine digits after it.
  const digits = Array.from({ length: 0x11_0000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((text) => /\p{Nd}/u.test(text))
  assert.ok(digits.length >= 600)
  assert.equal(digits.map(asciiDigits).join(''), '0123456789'.repeat(digits.length / 10))
})
