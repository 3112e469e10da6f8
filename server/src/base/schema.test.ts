import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type as TypeBox } from 'typebox'

import { ANY_NAME, Type } from './schema.ts'

/** Every builder, in each way in which it can be called, and each one within others. */
const schemas = (T: typeof Type): Record<string, unknown> => ({
  array: T.Array(T.String({ minLength: 1 }), { maxItems: 2 }),
  boolean: T.Boolean({ default: false }),
  integer: T.Integer({ minimum: 1 }),
  choice: T.Enum(['a', 'b'], { description: 'one of two' }),
  text: T.Literal('a', { description: 'one word' }),
  number: T.Literal(3),
  truth: T.Literal(true),
  null: T.Null(),
  decimal: T.Number({ maximum: 1.5 }),
  empty: T.Object({}),
  optional: T.Optional(T.String({ description: 'not always there' })),
  object: T.Object(
    {
      always: T.String(),
      sometimes: T.Optional(T.Object({ inner: T.Optional(T.Null()) })),
      own: T.Unsafe<string>({ type: 'string', enum: ['a'] }),
      ownSometimes: T.Optional(T.Unsafe<string>({ type: 'string' })),
    },
    { additionalProperties: false },
  ),
  record: T.Record(T.String(), T.Unknown(), { description: 'any' }),
  patterned: T.Record(T.String({ pattern: '^x' }), T.Number()),
  union: T.Union([T.Literal('a'), T.Null()], { default: null }),
  unknown: T.Unknown({ description: 'anything' }),
})

/** A schema with what JSON does not show of it: TypeBox's own marks. Its pattern of any name is ours. */
function whole(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(whole)
  return Object.fromEntries(
    Reflect.ownKeys(value).map((name) => [
      name === '^.*$' ? ANY_NAME : name,
      whole(Reflect.get(value, name)),
    ]),
  )
}

test('schemas are what TypeBox makes of the same words', () => {
  const [made, expected] = [schemas(Type), schemas(TypeBox as unknown as typeof Type)]
  for (const [name, schema] of Object.entries(made)) {
    assert.equal(
      JSON.stringify(schema),
      JSON.stringify(expected[name]).replace('"^.*$"', `"${ANY_NAME}"`),
      name,
    )
    assert.deepEqual(whole(schema), whole(expected[name]), name)
  }
})

test('the keys of a record are text', () => {
  for (const key of [Type.Integer(), Type.Literal('a'), Type.Union([Type.Literal('a')])])
    assert.throws(() => Type.Record(key as never, Type.String()), /Type\.String\(\)/)
})

test('schemas of TypeBox may stand in these, and the other way round', () => {
  for (const [outer, inner] of [
    [Type, TypeBox],
    [TypeBox, Type],
  ] as const)
    assert.deepEqual(outer.Object({ a: inner.String(), b: inner.Optional(inner.String()) }).required, ['a'])
})

test('an optional schema leaves the one that it was made of as it was', () => {
  const text = Type.String()
  Type.Optional(text)
  assert.deepEqual(Type.Object({ text }).required, ['text'])
})
