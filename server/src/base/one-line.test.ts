import assert from 'node:assert/strict'
import { test } from 'node:test'

import { oneLine } from './one-line.ts'

for (const [text, max, line] of [
  ['as it is', 20, 'as it is'],
  [' several\r\n\tlines\0 ', 20, 'several lines'],
  ['exactly', 7, 'exactly'],
  ['too long', 7, 'too lo…'],
  ['a\ud800b', 20, 'a\ufffdb'],
  ['ab😀cd', 4, 'ab\ufffd…'],
  ['', 5, ''],
] as const)
  test(`${JSON.stringify(text)} in ${max} characters is ${JSON.stringify(line)}`, () => {
    assert.equal(oneLine(text, max), line)
  })
