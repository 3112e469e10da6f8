import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withRule } from '../base/with-rule.ts'
import { Type } from '../base/schema.ts'
import type { TSchema } from 'typebox'
import { ApiError, type Issue } from '../base/errors.ts'
import { createValidation, type RequestPart } from './validation.ts'

/** The value where it is valid, else its issues as `path: message`. */
function check(part: RequestPart, schema: TSchema, value: unknown): unknown {
  const checked = createValidation()(part, schema)(value)
  if ('value' in checked) return checked.value
  assert.ok(checked.error instanceof ApiError)
  assert.equal(checked.error.code, 'VALIDATION_ERROR')
  const issues = checked.error.details!['issues'] as Issue[]
  assert.ok(checked.error.message.startsWith(`${issues[0]!.path}: ${issues[0]!.message}`))
  return issues.map(({ path, message }) => `${path}: ${message}`)
}

const Person = Type.Object({
  name: Type.String({ minLength: 2 }),
  age: Type.Optional(Type.Integer({ minimum: 0 })),
  address: Type.Optional(Type.Object({ city: Type.String() })),
  tags: Type.Optional(Type.Array(Type.String())),
})

describe('a body', () => {
  const cases: [name: string, body: unknown, expected: unknown][] = [
    ['is taken as it is', { name: 'Ann', age: 3 }, { name: 'Ann', age: 3 }],
    ['may hold fields that nobody asked for', { name: 'Ann', other: [1] }, { name: 'Ann', other: [1] }],
    ['must have what is required', {}, ['/body/name: is required']],
    ['must be there', undefined, ['/body: must be object']],
    ['must be an object', [], ['/body: must be object']],
    [
      'names every fault',
      { name: 'x', age: -1.5 },
      [
        '/body/name: must NOT have fewer than 2 characters',
        '/body/age: must be integer',
        '/body/age: must be >= 0',
      ],
    ],
    ['names faults deep inside', { name: 'Ann', address: {} }, ['/body/address/city: is required']],
    ['names the element of a list', { name: 'Ann', tags: ['a', 1] }, ['/body/tags/1: must be string']],
  ]
  for (const [name, body, expected] of cases)
    test(name, () => assert.deepEqual(check('body', Person, body), expected))

  // An object where a text belongs is how queries are smuggled in.
  for (const value of [{ $ne: null }, ['Ann'], 5, true, null])
    test(`takes no ${JSON.stringify(value)} for a text`, () => {
      assert.deepEqual(check('body', Person, { name: value }), ['/body/name: must be string'])
    })
  for (const value of ['3', '', true, null, [3], 3.5])
    test(`takes no ${JSON.stringify(value)} for a whole number`, () => {
      assert.deepEqual(check('body', Person, { name: 'Ann', age: value }), ['/body/age: must be integer'])
    })

  test('says in words what a pattern is for, where the schema does', () => {
    const Code = Type.Object({
      code: Type.String({ pattern: '^[A-Z]{3}$', description: 'Three capital letters.' }),
      other: Type.Optional(Type.String({ pattern: '^x$' })),
    })
    assert.deepEqual(check('body', Code, { code: 'ab', other: 'y' }), [
      '/body/code: does not fit: Three capital letters. (pattern ^[A-Z]{3}$)',
      '/body/other: must match pattern "^x$"',
    ])
  })

  test('does not inherit what it has to hold', () => {
    const schema = Type.Object({ toString: Type.String(), constructor: Type.String() })
    assert.deepEqual(check('body', schema, {}), [
      '/body/toString: is required',
      '/body/constructor: is required',
    ])
  })

  test('is given the defaults of what it leaves out', () => {
    const schema = Type.Object({
      limit: Type.Integer({ default: 20 }),
      deep: Type.Object({ a: Type.String({ default: 'b' }) }, { default: {} }),
    })
    assert.deepEqual(check('body', schema, {}), { limit: 20, deep: { a: 'b' } })
    assert.deepEqual(check('body', schema, { limit: 5, deep: { a: 'c' } }), { limit: 5, deep: { a: 'c' } })
    assert.deepEqual(check('body', schema, {}), { limit: 20, deep: { a: 'b' } }) // nothing of the last one is left
  })

  test('points to keys as JSON pointers do', () => {
    const schema = Type.Object({ 'a/b~c': Type.Object({ '': Type.String(), 'd/e~f': Type.String() }) })
    assert.deepEqual(check('body', schema, { 'a/b~c': { '': 1 } }), [
      '/body/a~1b~0c/d~1e~0f: is required',
      '/body/a~1b~0c/: must be string',
    ])
  })
})

describe('a rule added to a schema', () => {
  const Name = withRule(Type.String({ maxLength: 5 }), (name) =>
    name === name.toLowerCase() ? undefined : 'must be in lower case',
  )
  const schema = withRule(
    Type.Object({
      name: Name,
      names: Type.Optional(Type.Union([Name, Type.Array(Name)])),
      other: Type.Optional(Name),
      count: Type.Integer(),
    }),
    ({ name, other }) => (name === other ? { path: '/other', message: 'must be another one' } : undefined),
  )
  const cases: [name: string, body: unknown, expected: unknown][] = [
    ['takes what it takes', { name: 'a', names: ['b'], count: 1 }, { name: 'a', names: ['b'], count: 1 }],
    [
      'names its fault with all others',
      { name: 'A', count: 'x', names: ['b', 'C'] },
      [
        '/body/count: must be integer',
        '/body/name: must be in lower case',
        '/body/names/1: must be in lower case',
      ],
    ],
    [
      'is asked inside of alternatives',
      { name: 'a', names: 'B', count: 1 },
      ['/body/names: must be in lower case'],
    ],
    [
      'is not asked of another type',
      { name: ['A'], names: 5, count: 1 },
      ['/body/name: must be string', '/body/names: must be string or array'],
    ],
    ['is not asked of null', null, ['/body: must be object']],
    [
      'says nothing of what the schema refuses',
      { name: 'ABCDEF', count: 1 },
      ['/body/name: must NOT have more than 5 characters'],
    ],
    [
      'may be about several fields',
      { name: 'a', other: 'a', count: 1 },
      ['/body/other: must be another one'],
    ],
  ]
  for (const [name, body, expected] of cases)
    test(name, () => assert.deepEqual(check('body', schema, body), expected))

  test('does not show in the schema', () => {
    assert.equal(JSON.stringify(Name), '{"type":"string","maxLength":5}')
  })
})

const KINDS = {
  'an enumeration': Type.Enum(['open', 'closed']),
  'a union of literals': Type.Union([Type.Literal('open'), Type.Literal('closed')]),
}
for (const [written, Kind] of Object.entries<TSchema>(KINDS))
  describe(`of alternatives, as ${written}`, () => {
    const schema = Type.Object({
      kind: Kind,
      kinds: Type.Optional(Type.Array(Kind)),
      only: Type.Optional(Type.Literal('this')),
      nullable: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      rule: Type.Optional(Type.Union([Kind, Type.Object({ create: Kind })])),
    })
    const cases: [name: string, body: Record<string, unknown>, expected: unknown][] = [
      [
        'each is taken',
        { kind: 'closed', nullable: null, rule: { create: 'open' } },
        { kind: 'closed', nullable: null, rule: { create: 'open' } },
      ],
      ['values are named in one line', { kind: 'shut' }, ['/body/kind: must be one of open, closed']],
      ['also where a number is given', { kind: 5 }, ['/body/kind: must be one of open, closed']],
      [
        'also in each element of a list',
        { kind: 'open', kinds: ['open', 'x', 'y'] },
        ['/body/kinds/1: must be one of open, closed', '/body/kinds/2: must be one of open, closed'],
      ],
      ['a single one is named', { kind: 'open', only: 'that' }, ['/body/only: must be this']],
      [
        'types are named in one line',
        { kind: 'open', nullable: 5 },
        ['/body/nullable: must be string or null'],
      ],
      [
        'values and types are named together',
        { kind: 'open', rule: 'x' },
        ['/body/rule: must be one of open, closed, or object'],
      ],
      [
        'a fault inside one is named where it is',
        { kind: 'open', rule: { create: 'x' } },
        ['/body/rule/create: must be one of open, closed'],
      ],
    ]
    for (const [name, body, expected] of cases)
      test(name, () => assert.deepEqual(check('body', schema, body), expected))
  })

describe('many faults', () => {
  const schema = Type.Object({ list: Type.Array(Type.Union([Type.Literal('a'), Type.Literal('b')])) })

  test('are named up to twenty', () => {
    const issues = check('body', schema, { list: Array.from({ length: 50 }, () => 1) }) as string[]
    assert.equal(issues.length, 20)
  })

  test('of a large body are not all looked for', () => {
    // Each fault is an object of its own: half a million of them took a second and 370 MB.
    const issues = check('body', schema, { list: Array.from({ length: 500_000 }, () => 1) })
    assert.deepEqual(issues, ['/body/list/0: must be one of a, b'])
  })
})

describe('text in an address or a header', () => {
  const Query = Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, default: 20 })),
    price: Type.Optional(Type.Number()),
    all: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String()),
  })
  const cases: [query: Record<string, unknown>, expected: unknown][] = [
    [{}, { limit: 20 }],
    [{ limit: '5' }, { limit: 5 }],
    [{ limit: '007' }, { limit: 7 }],
    [{ limit: '999999999999999' }, { limit: 999_999_999_999_999 }],
    [{ limit: '0' }, ['/query/limit: must be >= 1']],
    [{ limit: '-5' }, ['/query/limit: must be >= 1']],
    [{ limit: '' }, ['/query/limit: must be integer']],
    [{ limit: ' 5' }, ['/query/limit: must be integer']],
    [{ limit: '5\n' }, ['/query/limit: must be integer']],
    [{ limit: '5.0' }, ['/query/limit: must be integer']],
    [{ limit: '5e0' }, ['/query/limit: must be integer']],
    [{ limit: '0x5' }, ['/query/limit: must be integer']],
    [{ limit: '٥' }, ['/query/limit: must be integer']],
    [{ limit: '9'.repeat(30) }, { limit: Number.MAX_SAFE_INTEGER }],
    [{ limit: 'Infinity' }, ['/query/limit: must be integer']],
    [{ limit: ['1', '2'] }, ['/query/limit: may be given only once']],
    [{ name: ['a', 'b'] }, ['/query/name: may be given only once']],
    [{ name: { $ne: 'a' } }, ['/query/name: may be given only once']],
    [{ price: '1.50' }, { limit: 20, price: 1.5 }],
    [{ price: '-3' }, { limit: 20, price: -3 }],
    [{ price: '1.' }, ['/query/price: must be number']],
    [{ price: 'NaN' }, ['/query/price: must be number']],
    [{ all: 'true' }, { limit: 20, all: true }],
    [{ all: 'false' }, { limit: 20, all: false }],
    [{ all: '1' }, ['/query/all: must be boolean']],
    [{ all: '' }, ['/query/all: must be boolean']],
    [{ name: '5' }, { limit: 20, name: '5' }],
    [{ name: 'true' }, { limit: 20, name: 'true' }],
    [{ name: 'a\0b' }, ['/query/name: holds a character that is not allowed']],
    [{ name: '\ud800' }, ['/query/name: holds a character that is not allowed']],
    [{ unknown: ['x', 'y'], other: '\0' }, { limit: 20 }],
  ]
  for (const [query, expected] of cases)
    test(JSON.stringify(query), () => assert.deepEqual(check('query', Query, query), expected))

  test('is read from objects without a prototype, as servers make them', () => {
    const query = Object.assign(Object.create(null) as object, { limit: '3', __proto__: 'x' })
    assert.deepEqual(check('query', Query, query), { limit: 3 })
  })

  test('has the name of its part', () => {
    const schema = Type.Object({ number: Type.Integer() })
    assert.deepEqual(check('params', schema, { number: 'x' }), ['/params/number: must be integer'])
    assert.deepEqual(check('headers', schema, {}), ['/headers/number: is required'])
  })

  test('is not found where it is an id of another form', () => {
    const text = Type.String({ pattern: '^[a-z]+$' })
    const refused = (schema: TSchema, value: unknown) => {
      const checked = createValidation()('params', schema)(value)
      return 'error' in checked && (checked.error as ApiError).code
    }
    assert.equal(refused(Type.Object({ id: text }), { id: '1' }), 'NOT_FOUND')
    assert.equal(refused(Type.Object({ orderId: text }), { orderId: 'a\0' }), 'NOT_FOUND')
    assert.equal(refused(Type.Object({ id: text, name: text }), { id: '1', name: '1' }), 'VALIDATION_ERROR')
    assert.equal(refused(Type.Object({ valid: text }), { valid: '1' }), 'VALIDATION_ERROR')
  })
})
