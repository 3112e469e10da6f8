import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { TSchema } from 'typebox'

import { createValidation } from './http/validation.ts'
import { configuredWires } from './wires.ts'

type Found = { path: string; schema: TSchema & { default: unknown } }

/** Every schema with a default, at whatever depth. */
const withDefaults = (schema: unknown, path: string): Found[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const inner = Object.entries(schema)
    .filter(([name]) => name !== 'default')
    .flatMap(([name, one]) => withDefaults(one, `${path}/${name}`))
  return 'default' in schema ? [{ path, schema }, ...inner] : inner
}

// A start does not check them.
test("the defaults of Sixwire's own wires fit their schemas", () => {
  const found = configuredWires({}).flatMap(({ name, optionsSchema }) => withDefaults(optionsSchema, name))
  assert.ok(found.length > 20)
  for (const { path, schema } of found)
    assert.ok(!('error' in createValidation()('body', schema)(structuredClone(schema.default))), path)
})
