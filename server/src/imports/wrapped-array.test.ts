import assert from 'node:assert/strict'
import { test } from 'node:test'

import { wrappedArray } from './wrapped-array.ts'

test('an array in an object is found wherever its bytes are cut', async () => {
  const array = '[{"a":"]}"},{"b":[[1]]}]'
  for (const text of [`{"users": ${array}}\n`, `{ "results" :${array} \n } \n\n`]) {
    const bytes = Buffer.from(text)
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      }
      const found = Buffer.concat(await Array.fromAsync(wrappedArray(pieces())))
      assert.equal(found.toString(), array, `pieces of ${size} bytes`)
    }
  }
})
