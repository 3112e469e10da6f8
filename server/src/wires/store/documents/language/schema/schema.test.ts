import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as typebox from 'typebox'
import { Type } from '../../../../../base/schema.ts'
import { StartError } from '../../../../../base/start-error.ts'
import { compileSchema } from './compile-schema.ts'
import { isRequired } from './required-fields.ts'

const AT = 'store.collections.projects.schema'

const faults = (schema: unknown, document: unknown): string[] =>
  compileSchema(schema, AT)(document).map(({ path, message }) => `${path}: ${message}`)

/** Of one field. */
const takes = (schema: object, value: unknown): boolean =>
  faults({ properties: { v: schema } }, { v: value }).length === 0

const pair = { type: 'object', required: ['a'], properties: { a: { type: 'string' } } }

describe('a document is checked by its schema', () => {
  const project = Type.Object(
    {
      title: Type.String({ minLength: 1, maxLength: 5 }),
      price: Type.Integer({ minimum: 0 }),
      state: Type.Optional(Type.Enum(['open', 'closed'])),
      'a/b': Type.Optional(Type.Array(Type.Object({ n: Type.Number() }))),
    },
    { additionalProperties: false },
  )
  const cases: [why: string, document: unknown, faults: string[]][] = [
    ['one that fits', { title: 'x', price: 1, state: 'open', 'a/b': [{ n: 1.5, more: true }] }, []],
    [
      'each fault with its place',
      { price: -1, state: 'secret', 'a/b': [{ n: 1 }, { n: 'secret' }], secret: 1 },
      [
        '/body/title: is required',
        '/body/secret: is not a known field',
        '/body/price: must be >= 0',
        '/body/state: must be one of open, closed',
        '/body/a~1b/1/n: must be number',
      ],
    ],
    [
      'text for a number, which is not converted',
      { title: 'x', price: '1' },
      ['/body/price: must be integer'],
    ],
    [
      'a name that objects inherit',
      { title: 'x', price: 1, toString: 1 },
      ['/body/toString: is not a known field'],
    ],
  ]
  for (const [why, document, expected] of cases) {
    test(why, () => {
      const before = structuredClone(document)
      assert.deepEqual(faults(project, document).toSorted(), expected.toSorted())
      assert.deepEqual(document, before)
    })
  }

  test('no default is written', () => {
    const document = {}
    assert.deepEqual(faults(Type.Object({ a: Type.String({ default: 'x' }) }), document), [
      '/body/a: is required',
    ])
    assert.deepEqual(document, {})
  })

  test('the document may be a part of the body', () => {
    const check = compileSchema(pair, AT)
    assert.deepEqual(check({ a: 1 }, '/body/3'), [{ path: '/body/3/a', message: 'must be string' }])
  })

  test('a field that an object inherits is missing', () => {
    assert.deepEqual(faults({ required: ['toString'] }, {}), ['/body/toString: is required'])
  })

  test('alternatives beside named patterns', () => {
    const schema = { oneOf: [{ properties: { a: false } }], patternProperties: { '^b': { type: 'string' } } }
    assert.deepEqual(faults(schema, { a: 1, b: 2 }), [
      '/body/a: is not allowed',
      '/body: must match exactly one schema in oneOf',
      '/body/b: must be string',
    ])
  })

  test('a name with a fault', () => {
    const schema = { properties: { v: { propertyNames: { pattern: '^[a-z]+$', maxLength: 2 } } } }
    assert.deepEqual(faults(schema, { v: { a: 1, BCD: 1 } }), [
      '/body/v/BCD: the name must NOT have more than 2 characters',
      '/body/v/BCD: the name must match pattern "^[a-z]+$"',
    ])
  })

  test('the first 20 faults are listed', () => {
    const names = Array.from({ length: 30 }, (_, i) => `f${i}`)
    assert.equal(faults({ required: names }, {}).length, 20)
    const lines = { type: 'array', items: { $ref: '#/$defs/Line' } }
    const schema = { $defs: { Line: { required: ['a'] } }, properties: { lines } }
    assert.equal(faults(schema, { lines: Array.from({ length: 3_000 }, () => ({})) }).length, 20)
  })

  test('what one alternative refuses is no fault where another one accepts it', () => {
    const list = { anyOf: [{ items: { type: 'number' } }, {}] }
    const document = { list: Array.from({ length: 2_000 }, () => 'x') }
    assert.deepEqual(faults({ properties: { list }, required: ['a'] }, document), ['/body/a: is required'])
  })

  test('a very long name is not repeated', () => {
    const [fault] = faults({ additionalProperties: false }, { ['x'.repeat(100_000)]: 1 })
    assert.equal(fault, '/body: is not a known field')
  })

  test('the builders of TypeBox make the same schema', () => {
    const { Type: Builders } = typebox
    const schema = Builders.Object({
      id: Builders.Union([Builders.String({ format: 'uuid' }), Builders.Null()]),
      tags: Builders.Record(Builders.String({ pattern: '^[a-z]+$' }), Builders.Integer()),
    })
    assert.deepEqual(faults(schema, { id: null, tags: { a: 1 } }), [])
    assert.deepEqual(faults(schema, { id: 1, tags: { a: 'x' } }), [
      '/body/id: must be string or null',
      '/body/tags/a: must be integer',
    ])
  })

  test('a reference leads into the schema', () => {
    const schema = {
      $defs: {
        'a/b': { type: 'object', properties: { next: { $ref: '#/$defs/a~1b' }, n: { type: 'number' } } },
      },
      properties: { first: { $ref: '#/$defs/a~1b' }, self: { $ref: '#' } },
    }
    assert.deepEqual(faults(schema, { first: { next: { n: 'x' } }, self: { first: { n: 'y' } } }), [
      '/body/first/next/n: must be number',
      '/body/self/first/n: must be number',
    ])
  })
})

test('keywords of 2020-12 mean what the standard says', () => {
  const cases: [schema: object, value: unknown, fits: boolean][] = [
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['x', 1], true],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['x', 'y'], false],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, false],
    [{ contains: { type: 'number' }, minContains: 2 }, [1, 'x', 2], true],
    [{ contains: { type: 'number' }, minContains: 2 }, [1, 'x'], false],
    [{ contains: { type: 'number' }, maxContains: 1 }, [1, 'x', 2], false],
    [{ contains: { anyOf: [{ const: 1 }, { const: 2 }] } }, [3, 2], true],
    [{ oneOf: [{ minimum: 1 }, { maximum: 5 }] }, 3, false],
    [{ if: { type: 'string' }, else: { minimum: 2 } }, 1, false],
    [{ multipleOf: 0.01 }, 19.99, true],
    [{ multipleOf: 0.01 }, 19.999, false],
    [{ multipleOf: 0.01 }, -0.07, true],
    [{ multipleOf: 0.123456789 }, 1e15, false],
    [{ multipleOf: 0.123456789 }, 1e308, false],
    [{ multipleOf: 1e-8 }, 1e308, true],
    [{ multipleOf: 1.5e300 }, 3e300, true],
    [{ type: 'integer' }, 1.0, true],
    [{ maxLength: 1 }, '😀', true],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, false],
  ]
  for (const [schema, value, fits] of cases)
    assert.equal(takes(schema, value), fits, JSON.stringify([schema, value]))
})

test('elements are unique as JSON Schema compares them', () => {
  const cases: [value: unknown, fits: boolean][] = [
    [[1, '1', true, 'true', null, 'null', [1], ['1'], { a: 1 }, { a: '1' }, {}], true],
    [[1, 2, 1.0], false],
    [[0, -0], false],
    [
      [
        { a: 1, b: { c: 2, d: 3 } },
        { b: { d: 3, c: 2 }, a: 1 },
      ],
      false,
    ],
    [
      [
        [1, 2],
        [2, 1],
      ],
      true,
    ],
    [[['a,b'], ['a', 'b'], '["a","b"]'], true],
  ]
  for (const [value, fits] of cases)
    assert.equal(takes({ uniqueItems: true }, value), fits, JSON.stringify(value))
  assert.ok(takes({ uniqueItems: false }, [1, 1]))
})

test('patterns match as those of JavaScript', () => {
  const cases: [pattern: string, text: string][] = [
    ['^[A-Z]{3}-\\d+$', 'ABC-1'],
    ['^[A-Z]{3}-\\d+$', 'ABC-1\n'],
    ['^(?:a$|b)', 'a'],
    ['^.$', '\r'],
    ['^.$', '😀'],
    ['^[.$]$', '$'],
    ['^[.$]$', 'x'],
    ['^[\\]$]+$', ']$'],
    ['^[[]$', '['],
    ['^\\$\\.$', '$.'],
    ['^\\u00e4\\u{1f600}[\\u00e4]$', 'ä😀ä'],
    ['b', 'abc'],
    ['^(a+)+$', 'aaa'],
  ]
  for (const [pattern, text] of cases)
    assert.equal(
      takes({ pattern }, text),
      new RegExp(pattern, 'u').test(text),
      JSON.stringify([pattern, text]),
    )
  const named = { patternProperties: { '^x-.+$': { type: 'number' } }, additionalProperties: false }
  assert.ok(takes(named, { 'x-1': 1 }))
  assert.ok(!takes(named, { 'x-1': '1' }))
  assert.ok(!takes(named, { 'x-': 1 }))
})

describe('a schema with a fault stops the start', () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) })
  const circular: Record<string, unknown> = {}
  circular['not'] = circular
  const cases: [why: string, schema: unknown, message: RegExp][] = [
    ['no schema', undefined, /^give a JSON schema/],
    ['true', true, /^give a JSON schema/],
    ['an array', [], /^give a JSON schema/],
    ['a schema that holds itself', circular, /circular/],
    ['a number without end in JSON', { const: 1n }, /BigInt/],
    [
      'an unknown keyword',
      { properties: { a: { minLenght: 1 } } },
      /^\/properties\/a: "minLenght" is no keyword here: did you mean minLength\?$/,
    ],
    ['an inherited name as a keyword', { constructor: 1 }, /"constructor" is no keyword/],
    ['a keyword of another version', { items: { nullable: true } }, /^\/items: "nullable" is no keyword/],
    ['another version', { $schema: 'http://json-schema.org/draft-07/schema#' }, /^\/\$schema: .*2020-12/],
    ['an array of schemas as items', { items: [{}] }, /^\/items: .*prefixItems/],
    [
      'a tuple of TypeBox',
      typebox.Type.Object({ a: typebox.Type.Tuple([]) }),
      /^\/properties\/a\/additionalItems: .*"prefixItems"/,
    ],
    ['text as a schema', { properties: { a: 'string' } }, /^\/properties\/a: give a schema/],
    ['no objects', { type: 'array' }, /^\/type: a document is an object/],
    [
      'an unknown type',
      { properties: { a: { type: 'strng' } } },
      /^\/properties\/a\/type: give one of array, /,
    ],
    ['no type', { type: [] }, /^\/type: give one of/],
    [
      'an unknown format',
      { properties: { a: { format: 'phone' } } },
      /^\/properties\/a\/format: give one of the formats date, .*uuid/,
    ],
    ['an inherited name as a format', { format: 'toString' }, /^\/format: /],
    ['a length below 0', { minLength: -1 }, /^\/minLength: give a whole number/],
    ['a limit of text', { minimum: '1' }, /^\/minimum: give a number/],
    ['a multiple of 0', { multipleOf: 0 }, /^\/multipleOf: give a number above 0/],
    ['an empty enum', { enum: [] }, /^\/enum: give an array/],
    ['a required text', { required: 'a' }, /^\/required: give an array of names/],
    ['a name required twice', { required: ['a', 'a'] }, /^\/required: .*once/],
    ['a field of the service', { required: ['_id'] }, /^\/required: the service adds "_id"/],
    ['a dependency on a name', { dependentRequired: { a: 'b' } }, /^\/dependentRequired: give an object/],
    [
      'what Ajv does not do rightly',
      { unevaluatedProperties: false },
      /^\/unevaluatedProperties: is not supported: write "additionalProperties"/,
    ],
    ['alternatives of nothing', { anyOf: [] }, /^\/anyOf: .*at least one schema/],
    ['else without if', { else: {} }, /^\/else: does nothing without "if"/],
    ['if alone', { if: {} }, /^\/if: does nothing without "then" or "else"/],
    ['minContains alone', { minContains: 1 }, /^\/minContains: does nothing without "contains"/],
    [
      'look-around',
      { pattern: '^(?=a)' },
      /^\/pattern: "\^\(\?=a\)": The look-around "\(\?=" is not supported\.$/,
    ],
    ['a back reference', { pattern: '(a)\\1' }, /^\/pattern: .*back reference/],
    [
      'a pattern in a name',
      { patternProperties: { '(?!x)': {} } },
      /^\/patternProperties: "\(\?!x\)": The look-around/,
    ],
    ['what is no pattern', { pattern: '(' }, /^\/pattern: .*has no \)/],
    ['a pattern that costs too much', { pattern: '(?:x{0,200}y){9}' }, /^\/pattern: .*too large/],
    ['a class of nothing', { pattern: '[^]' }, /^\/pattern: .*has no \]/],
    ['a reference to a file', { $ref: 'common.json' }, /^\/\$ref: give a reference into this schema/],
    [
      'a reference to a server',
      { items: { $ref: 'https://example.com/a' } },
      /^\/items\/\$ref: give a reference/,
    ],
    ['a reference that cannot be read', { $ref: '#/%' }, /^\/\$ref: give a reference/],
    ['a reference to nothing', { $ref: '#/$defs/a' }, /^\/\$ref: there is no schema at "#\/\$defs\/a"/],
    ['a reference to what is no schema', { enum: [{}], $ref: '#/enum/0' }, /^\/\$ref: there is no schema/],
    ['an id inside', { $defs: { a: { $id: 'a' } } }, /^\/\$defs\/a: "\$id" is no keyword/],
    ['a reference to itself', { $ref: '#' }, /refers to itself/],
    [
      'references in a circle',
      { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
      /^\/\$defs\/a: .*refers to itself/,
    ],
    ['65 levels', deep(65), /64 levels/],
  ]
  for (const [why, schema, message] of cases) {
    test(why, () => {
      assert.throws(
        () => compileSchema(schema, AT),
        (error) => {
          assert.ok(error instanceof StartError)
          assert.doesNotMatch(error.message, /\n/)
          assert.ok(error.message.startsWith(`${AT}: `), error.message)
          assert.match(error.message.slice(AT.length + 2), message)
          return true
        },
      )
    })
  }
})

// What takes time that is not linear here would take minutes.
describe('a hostile document of 1 MiB is checked soon', () => {
  const SIZE = 1_048_576
  const numbers = (length: number): number[] => Array.from({ length }, (_, i) => i)

  test('20,000 objects and 50,000 numbers, each once', () => {
    assert.ok(
      takes(
        { uniqueItems: true },
        numbers(20_000).map((id) => ({ id, name: 'x' })),
      ),
    )
    assert.ok(takes({ uniqueItems: true }, numbers(50_000)))
    assert.ok(!takes({ uniqueItems: true }, [...numbers(50_000), 49_999]))
  })

  test('a pattern that backtracks elsewhere', () => {
    for (const length of [28, 100_000, SIZE])
      assert.ok(!takes({ pattern: '^(a+)+$' }, `${'a'.repeat(length)}!`))
    assert.ok(!takes({ patternProperties: { '^(a+)+$': false } }, { ['a'.repeat(100_000)]: 1 }))
  })

  test('300,000 faults, of which the first 20 are listed', () => {
    const first = Array.from({ length: 20 }, (_, i) => `/body/v/${i}`)
    const isText = { type: 'string' }
    const cases: [schema: object, value: object, paths: string[]][] = [
      [{ items: isText }, numbers(300_000), first],
      [{ additionalProperties: isText }, Object.fromEntries(numbers(300_000).entries()), first],
      [{ additionalProperties: false }, Object.fromEntries(numbers(300_000).entries()), first],
      [{ contains: { anyOf: [isText, { type: 'null' }] } }, numbers(300_000), ['/body/v']],
      [{ items: { anyOf: [isText, { type: 'null' }] } }, numbers(300_000), first],
    ]
    for (const [schema, value, paths] of cases) {
      const issues = compileSchema({ properties: { v: schema } }, AT)({ v: value })
      assert.deepEqual(
        issues.map(({ path }) => path),
        paths,
      )
    }
  })

  test('a schema that refers to itself in two alternatives, which each level would double', () => {
    const e = { $ref: '#/$defs/e' }
    const alternative = (op: string) => ({
      type: 'object',
      required: ['op'],
      properties: { a: e, op: { const: op } },
    })
    const schema = {
      properties: { e },
      $defs: { e: { anyOf: [alternative('and'), alternative('or'), { type: 'string' }] } },
    }
    const nested = (levels: number, inner: unknown): unknown =>
      levels === 0 ? inner : { op: levels % 2 === 0 ? 'and' : 'or', a: nested(levels - 1, inner) }
    assert.deepEqual(faults(schema, { e: nested(8, 'x') }), [])
    assert.equal(faults(schema, { e: nested(12, 5) }).length, 20)
    assert.deepEqual(faults(schema, { e: nested(60, 5) }), [
      '/body: takes too long to check against the schema: nest fewer levels',
    ])
  })

  test('texts that are nearly of a format', () => {
    const texts = [
      'a',
      '1',
      '-',
      '.',
      '1.',
      'a.',
      ':',
      '@',
      'a@',
      '%20',
      '2026-11-26T07:47:24.',
      'a:',
      'a://',
      'a://a@',
      'a:#',
      '::',
    ]
    const formats = ['date', 'date-time', 'time', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid']
    const checks = formats.map((format) => compileSchema({ properties: { v: { format } } }, AT))
    for (const start of texts)
      for (const more of ['', ...texts]) {
        const text = `${start}${(more || start).repeat(SIZE / (more || start).length / 4)}\n`
        for (const check of checks) assert.equal(check({ v: text }).length, 1, `${start} ${more}`)
      }
  })
})

test('whether a schema requires a field can be read', () => {
  const schema = {
    required: ['a'],
    properties: {
      a: { type: 'object', allOf: [{ required: ['b'] }], properties: { b: {}, c: {} } },
      lines: { type: 'array', items: { $ref: '#/$defs/line' } },
    },
    $defs: { line: { type: 'object', required: ['product'] } },
    anyOf: [{ required: ['d'] }, { required: ['e'] }],
  }
  compileSchema(schema, AT)
  for (const [path, expected] of [
    ['a', true],
    ['a.b', true],
    ['a.c', false],
    ['lines', false],
    ['lines.product', true],
    ['lines.more', false],
    ['d', false],
    ['x.y', false],
  ] as const)
    assert.equal(isRequired(schema, path.split('.')), expected, path)
})
