import assert from 'node:assert/strict'
import { test } from 'node:test'

import { embedded } from './answered-schemas.ts'

test('definitions are written in place of references, and any value in place of what refers to itself', () => {
  const node = { type: 'object', title: 'Node', properties: { next: { $ref: '#/$defs/node' } } }
  assert.deepEqual(embedded({ properties: { first: { $ref: '#/$defs/node' } }, $defs: { node } }), {
    properties: { first: { type: 'object', properties: { next: {} } } },
  })
})

test('twelve definitions that refer to each other are not written out in all orders', () => {
  const names = Array.from({ length: 12 }, (_, i) => `d${i}`)
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]))
  const $defs = Object.fromEntries(names.map((name) => [name, { type: 'object', properties }]))
  assert.ok(JSON.stringify(embedded({ properties, $defs })).length < 100_000)
})
