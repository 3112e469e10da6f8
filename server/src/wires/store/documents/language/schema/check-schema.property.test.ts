import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { once } from '../../../../../base/once.ts'
import { checkSchema } from './check-schema.ts'
import { compileSchema } from './compile-schema.ts'
import { FORMATS } from './formats.ts'
import { KEYWORDS } from './keywords.ts'
import { SchemaFault } from './schema-fault.ts'

const NAMES = ['a', 'b', 'bc']
const TYPES = ['array', 'integer', 'number', 'object', 'string']
const plain = fc.constantFrom<unknown>(
  null,
  true,
  0,
  1,
  2.5,
  '',
  'a',
  [],
  {},
  ['a', 'a'],
  { a: 1 },
  '2026-11-26',
)
const count = fc.integer({ min: 0, max: 2 })
const names = fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 })

/** Values that mostly are of the keyword. */
const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const inner = tie('schema')
  const list = fc.array(inner, { minLength: 1, maxLength: 2 })
  const of = (keys: string[]): fc.Arbitrary<unknown> =>
    fc.dictionary(fc.constantFrom(...keys), inner, { maxKeys: 2, noNullPrototype: true })
  const likely = (keyword: string): fc.Arbitrary<unknown> => {
    if (/^(?:min|max)[A-Z]/.test(keyword)) return count
    if (/imum$|^multipleOf$/.test(keyword)) return fc.constantFrom(-1, 1, 2)
    if (/^(?:allOf|anyOf|oneOf|prefixItems)$/.test(keyword)) return list
    if (/^(?:\$defs|definitions|properties|dependentSchemas)$/.test(keyword)) return of(NAMES)
    if (keyword === 'patternProperties') return of(['^b', 'c$', '.', '(?!a)'])
    if (/items$|properties$|^(?:not|if|then|else|contains|propertyNames)$/i.test(keyword)) return inner
    if (keyword === 'type') return fc.oneof(fc.constantFrom(...TYPES), fc.subarray(TYPES))
    if (keyword === 'required') return names
    if (keyword === '$ref') return fc.constantFrom('#', '#/$defs/a', '#/properties/a', '#/items', '#/allOf/0')
    if (keyword === 'enum') return fc.array(plain, { maxLength: 3 })
    if (keyword === 'pattern') return fc.constantFrom('^a', '.b$', '(?=a)')
    if (keyword === 'format') return fc.constantFrom('date', 'email', 'none')
    return keyword === 'dependentRequired' ? fc.dictionary(fc.constantFrom(...NAMES), names) : plain
  }
  const entries = Object.keys(KEYWORDS).map((keyword) =>
    fc.tuple(fc.constant(keyword), fc.oneof({ weight: 30, arbitrary: likely(keyword) }, plain)),
  )
  const object = fc
    .array(fc.oneof(...entries), { minLength: 1, maxLength: 4 })
    .map((fields): unknown => Object.fromEntries(fields))
  return { schema: fc.oneof({ maxDepth: 4 }, fc.boolean(), object, object) }
})
const document = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.oneof(plain, fc.array(plain), fc.dictionary(fc.constantFrom(...NAMES), plain)),
  {
    noNullPrototype: true,
  },
)

const standard = once(() => new Ajv2020({ logger: false }))

const isRefused = (schema: unknown): boolean => {
  try {
    checkSchema(schema)
    return false
  } catch (error) {
    assert.ok(error instanceof SchemaFault, String(error))
    return true
  }
}

test('a schema that passes the check is one of the standard, and asks of a document what Ajv does', () => {
  const settings = { strict: false, logger: false, ownProperties: true } as const
  fc.assert(
    fc.property(schema, document, (schema, document) => {
      fc.pre(!isRefused(schema))
      const ajv = new Ajv2020({ ...settings, formats: FORMATS, meta: false, validateSchema: false })
      assert.ok(standard().validateSchema(schema as object), standard().errorsText())
      const fits = ajv.validate(schema as object, document)
      assert.equal(compileSchema(schema, 'schema')(document).length === 0, fits)
    }),
    { numRuns: 150 },
  )
})
