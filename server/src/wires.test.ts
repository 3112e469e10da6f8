import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { TSchema } from 'typebox'

import { createValidation } from './http/validation.ts'
import { checkConflicts, checkRoutes } from './kernel/wire/check-routes.ts'
import { checkSchemas } from './kernel/wire/check-schemas.ts'
import { assemble } from './testing/assemble.ts'
import { freePort } from './testing/free-port.ts'
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

// Nor these.
test("the routes of Sixwire's own wires are complete and fit together", async (t) => {
  // With the stand-ins of all providers.
  const environment = { SIXWIRE_SANDBOX: 'on', PORT: String(await freePort()) }
  const { routes: groups } = await assemble(t, { environment })
  for (const { wire, routes } of groups) {
    checkRoutes(wire, routes)
    checkSchemas(wire, routes)
  }
  checkConflicts(groups)
  assert.equal(groups.length, 6)
})
