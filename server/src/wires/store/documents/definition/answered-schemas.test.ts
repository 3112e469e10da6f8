import assert from 'node:assert/strict'
import { test } from 'node:test'

import { embedded, schemasOf } from './answered-schemas.ts'

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

test('fields of files are described beside those of the schema, unless it names them or takes no others', () => {
  const schema = { properties: { title: { type: 'string' }, cover: { type: 'string' } } }
  const files = { cover: {}, photo: {}, photos: { max: 3 }, 'lines.scan': {} }
  const closed = { ...schema, additionalProperties: false }
  const schemas = schemasOf({ open: { schema, files }, closed: { schema: closed, files } })
  const { photo, photos, ...others } = schemas.get('open')!['properties'] as Record<string, { type: unknown }>
  assert.deepEqual(others, schema.properties)
  assert.deepEqual(
    [photo!.type, photos!.type],
    [
      ['string', 'null'],
      ['array', 'null'],
    ],
  )
  assert.deepEqual(schemas.get('closed'), closed)
})
