import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../../base/errors.ts'
import { and, everything, type FilterTree, type Json, type Test, type ValueTest } from './filter.ts'
import { parseFilter } from './parse-filter.ts'

function refusal(text: string): { path: string; message: string } {
  try {
    parseFilter(text)
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 400, String(error))
    return (error.details as { issues: [{ path: string; message: string }] }).issues[0]
  }
  assert.fail(`${text} is not refused`)
}

const nested = (depth: number): unknown => (depth === 0 ? { a: 1 } : { $and: [nested(depth - 1)] })
const negated = (depth: number): unknown => (depth === 0 ? { $gt: 1 } : { $not: negated(depth - 1) })
const elements = (depth: number): unknown => ({ a: depth === 0 ? 1 : { $elemMatch: elements(depth - 1) } })
const fields = (count: number): unknown =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 1]))

describe('a filter is refused where it stands', () => {
  const cases: [why: string, filter: unknown, path: string, message: RegExp][] = [
    ['an array', [], '', /is an object/],
    ['text', 'a', '', /is an object/],
    ['null', null, '', /is an object/],
    ['an operator nobody knows', { v: { $foo: 1 } }, '/v/$foo', /"\$foo".*\$eq.*\$not \$exists/],
    ['a join nobody knows', { $foo: 1 }, '/$foo', /"\$foo".*\$and \$or \$nor/],
    ['code', { $where: 'sleep(1000)' }, '/$where', /\$where/],
    [
      'an expression of a field',
      { $expr: '$a' },
      '/$expr',
      /one comparison.*\$eq \$ne \$gt \$gte \$lt \$lte/,
    ],
    ['an expression that computes', { $expr: { $add: ['$a', 1] } }, '/$expr', /one comparison/],
    ['expressions that are joined', { $expr: { $and: [] } }, '/$expr', /join several by \$and/],
    ['two comparisons', { $expr: { $gt: ['$a', 1], $lt: ['$a', 2] } }, '/$expr', /one comparison/],
    ['a comparison of three', { $expr: { $gt: ['$a', '$b', '$c'] } }, '/$expr/$gt', /array of two/],
    ['a comparison of a field', { $expr: { $gt: '$a' } }, '/$expr/$gt', /array of two/],
    ['a computed side', { $expr: { $gt: ['$a', { $add: [1] }] } }, '/$expr/$gt/1', /\$literal/],
    ['a field in an array', { $expr: { $eq: [['$a'], '$b'] } }, '/$expr/$eq/0', /\$literal/],
    ['a variable', { $expr: { $eq: ['$$ROOT.a', 1] } }, '/$expr/$eq/0', /is a variable/],
    ['an empty part', { $expr: { $eq: ['$a..b', 1] } }, '/$expr/$eq/0', /is empty/],
    ['an empty field', { $expr: { $eq: ['$', 1] } }, '/$expr/$eq/0', /is empty/],
    [
      'an expression of elements',
      { v: { $elemMatch: { a: 1, $or: [{ $expr: { $gt: ['$a', '$b'] } }] } } },
      '/v/$elemMatch/$or/0/$expr',
      /whole document/,
    ],
    ['a negative mask', { v: { $bitsAllSet: -1 } }, '/v/$bitsAllSet', /not negative/],
    ['a mask with a fraction', { v: { $bitsAnySet: 1.5 } }, '/v/$bitsAnySet', /whole number/],
    ['a mask beyond 64 bits', { v: { $bitsAnySet: 2 ** 63 } }, '/v/$bitsAnySet', /64 bits/],
    ['a mask of text', { v: { $bitsAllClear: 'AQ==' } }, '/v/$bitsAllClear', /array of the positions/],
    ['a negative position', { v: { $bitsAnyClear: [0, -1] } }, '/v/$bitsAnyClear', /array of the positions/],
    ['a function', { v: { $function: { body: '' } } }, '/v/$function', /\$function/],
    ['a schema', { $jsonSchema: {} }, '/$jsonSchema', /\$jsonSchema/],
    ['an operator of a field at the top', { $gt: 5 }, '/$gt', /\$gt/],
    ['a join inside a field', { v: { $and: [{}] } }, '/v/$and', /\$and/],
    ['a join inside $not', { v: { $not: { $or: [{}] } } }, '/v/$not/$or', /\$or/],
    ['an operator with an inherited name', { $constructor: 1 }, '/$constructor', /not supported/],
    ['an inherited name after an operator', { v: { $gt: 1, toString: 2 } }, '/v/toString', /not supported/],
    ['$and of an object', { $and: { a: 1 } }, '/$and', /an array/],
    ['$and of nothing', { $and: [] }, '/$and', /at least one/],
    ['$or of nothing', { $or: [] }, '/$or', /at least one/],
    ['$nor of text', { $nor: 'a' }, '/$nor', /an array/],
    ['$or of what is no filter', { $or: [{ a: 1 }, 5] }, '/$or/1', /is an object/],
    [
      'a fault deep inside',
      { $or: [{ a: 1 }, { $nor: [{ 'a/b~c': { $x: 1 } }] }] },
      '/$or/1/$nor/0/a~1b~0c/$x',
      /\$x/,
    ],
    ['$in of a value', { v: { $in: 5 } }, '/v/$in', /an array/],
    ['$nin of a value', { v: { $nin: 'a' } }, '/v/$nin', /an array/],
    ['operators inside $in', { v: { $in: [1, { $gt: 1 }] } }, '/v/$in/1', /no operator/],
    ['operators inside $all', { v: { $all: [1, { $gt: 1 }] } }, '/v/$all/1', /no operator/],
    ['$all of a value', { v: { $all: 1 } }, '/v/$all', /an array/],
    ['$elemMatch after a value', { v: { $all: [1, { $elemMatch: {} }] } }, '/v/$all/0', /either values/],
    ['a value after $elemMatch', { v: { $all: [{ $elemMatch: {} }, 1] } }, '/v/$all/1', /either values/],
    ['a fault in $all', { v: { $all: [{ $elemMatch: { $x: 1 } }] } }, '/v/$all/0/$elemMatch/$x', /\$x/],
    ['$elemMatch of a value', { v: { $elemMatch: 5 } }, '/v/$elemMatch', /\$elemMatch takes/],
    ['$elemMatch of an array', { v: { $elemMatch: [1] } }, '/v/$elemMatch', /\$elemMatch takes/],
    ['a field in $elemMatch', { v: { $elemMatch: { $gt: 1, b: 1 } } }, '/v/$elemMatch/b', /"b"/],
    ['a join in $elemMatch', { v: { $elemMatch: { $gt: 1, $or: [] } } }, '/v/$elemMatch/$or', /"\$or"/],
    ['an operator in it', { v: { $elemMatch: { $or: [{}], $gt: 1 } } }, '/v/$elemMatch/$gt', /"\$gt"/],
    [
      'patterns of too many characters together',
      { $or: Array.from({ length: 4 }, () => ({ v: { $regex: '\\p{L}'.repeat(9) } })) },
      '/$or/3/v/$regex',
      /too large together/,
    ],
    ['$size of text', { v: { $size: '1' } }, '/v/$size', /whole number/],
    ['$size below 0', { v: { $size: -1 } }, '/v/$size', /not negative/],
    ['$size of a fraction', { v: { $size: 1.5 } }, '/v/$size', /whole number/],
    ['$mod of a number', { v: { $mod: 4 } }, '/v/$mod', /divisor and remainder/],
    ['$mod of one number', { v: { $mod: [4] } }, '/v/$mod', /divisor and remainder/],
    ['$mod of three numbers', { v: { $mod: [4, 0, 0] } }, '/v/$mod', /divisor and remainder/],
    ['a divisor of 0', { v: { $mod: [0, 1] } }, '/v/$mod/0', /is 0/],
    ['a divisor that is cut to 0', { v: { $mod: [-0.9, 1] } }, '/v/$mod/0', /is 0/],
    ['a divisor of text', { v: { $mod: ['2', 0] } }, '/v/$mod/0', /a number/],
    ['a remainder of null', { v: { $mod: [2, null] } }, '/v/$mod/1', /a number/],
    ['a divisor beyond 64 bits', { v: { $mod: [2 ** 63, 0] } }, '/v/$mod/0', /64 bits/],
    [
      'a type nobody knows',
      { v: { $type: 'text' } },
      '/v/$type',
      /"text" is not a type: give double, string/,
    ],
    ['a number of no type', { v: { $type: [2, 0] } }, '/v/$type/1', /1 to 19/],
    ['a number between types', { v: { $type: 2.5 } }, '/v/$type', /1 to 19/],
    ['no type', { v: { $type: [] } }, '/v/$type', /at least one/],
    ['null for a type', { v: { $type: null } }, '/v/$type', /takes a name/],
    ['$regex of a number', { v: { $regex: 1 } }, '/v/$regex', /text of a regular/],
    ['$options alone', { v: { $options: 'i' } }, '/v/$options', /beside a \$regex/],
    ['$options of a number', { v: { $regex: 'a', $options: 1 } }, '/v/$options', /\$options takes/],
    ['an option nobody knows', { v: { $options: 'g', $regex: 'a' } }, '/v/$options', /i.*m.*s.*x/],
    ['no regular expression', { v: { $not: { $regex: '(' } } }, '/v/$not/$regex', /./],
    ['a field after an operator', { v: { $gt: 2, b: 1 } }, '/v/b', /"b"/],
    ['a number after an operator', { v: { $gt: 2, 0: 1 } }, '/v/0', /"0"/],
    ['$not of text', { v: { $not: 'a' } }, '/v/$not', /\$not takes/],
    ['$not of nothing', { v: { $not: {} } }, '/v/$not', /\$not takes/],
    ['$not of an object', { v: { $not: { b: 1 } } }, '/v/$not', /\$not takes/],
    ['$not of an array', { v: { $not: [{ $gt: 1 }] } }, '/v/$not', /\$not takes/],
    ['$exists of text', { v: { $exists: 'true' } }, '/v/$exists', /true or false/],
    ['$exists of null', { v: { $exists: null } }, '/v/$exists', /true or false/],
    ['an empty part at the end of a path', { 'a.': 1 }, '/a.', /"a\." is empty/],
    ['an empty part inside of a path', { $or: [{ 'a..b': 1 }] }, '/$or/0/a..b', /"a\.\.b" is empty/],
    ['an operator in a path', { 'a.$b': 1 }, '/a.$b', /begins with \$/],
    [
      '9 numeric parts inside of one another',
      { 'a.0.1.2.3': { $all: [{ $elemMatch: { '0.1.2.3': { $not: { $elemMatch: { 0: 1 } } } } }] } },
      '/a.0.1.2.3/$all/0/$elemMatch/0.1.2.3/$not/$elemMatch/0',
      /8 numeric/,
    ],
    ['a path of 9 numeric parts', { 'a.0.1.2.3.4.5.6.7.8': 1 }, '/a.0.1.2.3.4.5.6.7.8', /8 numeric/],
    [
      'a path of 65 parts',
      { [Array(65).fill('a').join('.')]: 1 },
      `/${Array(65).fill('a').join('.')}`,
      /64 parts/,
    ],
    ['201 values in $all', { v: { $all: Array(200).fill(1) } }, '/v/$all/199', /200 conditions/],
    ['21 times $elemMatch', elements(21), `${'/a/$elemMatch'.repeat(21)}/a`, /20 levels/],
    ['1001 values', { v: { $in: Array(1001).fill(1) } }, '/v/$in', /1000 values/],
    ['201 conditions', fields(201), '/f200', /200 conditions/],
    [
      '201 conditions in one $or',
      { $or: Array.from({ length: 200 }, () => ({ a: 1 })) },
      '/$or/199/a',
      /200 conditions/,
    ],
    [
      '1000 conditions in one $and',
      { $and: Array.from({ length: 1000 }, () => ({ a: 1 })) },
      '/$and/199/a',
      /200 conditions/,
    ],
    ['21 joins inside one another', nested(21), `${'/$and/0'.repeat(21)}/a`, /20 levels/],
    ['21 times $not', { v: negated(21) }, `/v${'/$not'.repeat(21)}/$gt`, /20 levels/],
  ]
  for (const [why, filter, path, message] of cases) {
    test(why, () => {
      const issue = refusal(JSON.stringify(filter))
      assert.equal(issue.path, `/query/filter${path}`)
      assert.match(issue.message, message)
    })
  }
})

describe('a filter whose text is not strict JSON is refused', () => {
  for (const [why, text] of [
    ['empty', ''],
    ['not JSON', '{v: 5}'],
    ['cut short', '{"v":'],
    ['more than JSON', '{} {}'],
    ['a key twice', '{"v":1,"v":2}'],
    ['an operator twice', '{"v":{"$gt":1,"$gt":2}}'],
    ['NUL in a value', '{"v":"a\\u0000"}'],
    ['NUL in a name', '{"v\\u0000":1}'],
    ['half a character', '{"v":"\\ud800"}'],
    ['a number without end', '{"v":1e999}'],
    ['nested without end', '{"$and":['.repeat(1000)],
    ['longer than 16384 characters', `{"v":"${'x'.repeat(16_384)}"}`],
  ] as const) {
    test(why, () => {
      assert.match(refusal(text).path, /^\/query\/filter/)
    })
  }
})

test('an error repeats only the beginning of a long name', () => {
  assert.ok(refusal(JSON.stringify({ v: { [`$${'x'.repeat(10_000)}`]: 1 } })).message.length < 300)
})

test('a filter may be as large as it is allowed to be', () => {
  parseFilter(JSON.stringify(fields(200)))
  parseFilter(JSON.stringify(nested(20)))
  parseFilter(JSON.stringify({ v: negated(20) }))
  parseFilter(JSON.stringify({ v: { $in: Array(1000).fill('value') } }))
  parseFilter(JSON.stringify({ [Array(64).fill('a').join('.')]: 1 }))
  parseFilter(JSON.stringify(elements(20)))
  parseFilter(`{"v":${'['.repeat(64)}${']'.repeat(64)}}`)
})

const NUMBERS_AND_TEXT = ['double', 'int', 'long', 'string'] as const

describe('a filter becomes the tree that both engines print', () => {
  const field = (test: Test, ...path: string[]): FilterTree => ({ kind: 'field', path, test })
  const equal = (...values: Json[]): ValueTest => ({ kind: 'in', values })
  const cases: [why: string, filter: string, tree: FilterTree][] = [
    ['nothing', '{}', everything],
    ['a value', '{"a.b":5}', field(equal(5), 'a', 'b')],
    ['an object', '{"a":{"b":1,"$gt":2}}', field(equal({ b: 1, $gt: 2 }), 'a')],
    ['an empty object', '{"a":{}}', field(equal({}), 'a')],
    ['an empty name', '{"":1}', field(equal(1), '')],
    ['the prototype', '{"__proto__.constructor":1}', field(equal(1), '__proto__', 'constructor')],
    ['the prototype alone', '{"__proto__":{"$ne":1}}', { kind: 'not', of: field(equal(1), '__proto__') }],
    ['a whole double', '{"a":1152921504606847000}', field(equal(2 ** 60), 'a')],
    ['$all', '{"a":{"$all":[1,[2]]}}', { kind: 'and', of: [field(equal(1), 'a'), field(equal([2]), 'a')] }],
    ['$all of one', '{"a":{"$all":[null]}}', field(equal(null), 'a')],
    ['$all of none', '{"a":{"$all":[]}}', field(equal(), 'a')],
    ['$size', '{"a":{"$size":2}}', field({ kind: 'size', size: 2 }, 'a')],
    ['a size beyond all arrays', '{"a":{"$size":4294967296}}', field(equal(), 'a')],
    ['$mod, cut', '{"a":{"$mod":[-4.9,0.9]}}', field({ kind: 'mod', divisor: -4, remainder: 0 }, 'a')],
    ['$type', '{"a":{"$type":["number",16,2]}}', field({ kind: 'type', types: NUMBERS_AND_TEXT }, 'a')],
    ['a type that JSON has not', '{"a":{"$type":["date",-1,127]}}', field(equal(), 'a')],
    [
      '$regex',
      '{"a":{"$options":"im","$regex":"b"}}',
      field(
        {
          kind: 'pattern',
          pattern: {
            source: 'b',
            engine: 'javascript',
            expression: '[Bb]',
            postgres: '[Bb]',
            cost: 1,
            prefix: undefined,
          },
        },
        'a',
      ),
    ],
    [
      '$elemMatch of operators',
      '{"a":{"$elemMatch":{"$ne":1,"$exists":true,"$not":{"$exists":true}}}}',
      field(
        {
          kind: 'element',
          of: {
            kind: 'and',
            of: [
              { kind: 'not', of: { kind: 'value', test: equal(1) } },
              { kind: 'value', test: { kind: 'exists' } },
              { kind: 'not', of: { kind: 'value', test: { kind: 'exists' } } },
            ],
          },
        },
        'a',
      ),
    ],
    [
      '$elemMatch of a filter',
      '{"a":{"$all":[{"$elemMatch":{"b":1}}]}}',
      field({ kind: 'elementMatches', of: field(equal(1), 'b') }, 'a'),
    ],
    [
      '$elemMatch of an index and joined filters',
      '{"a":{"$elemMatch":{"$or":[{"b":1}],"0":2}}}',
      field({ kind: 'elementMatches', of: and([field(equal(2), '0'), field(equal(1), 'b')]) }, 'a'),
    ],
    [
      '$elemMatch of joined filters',
      '{"a":{"$elemMatch":{"$nor":[{"b":1}]}}}',
      field({ kind: 'elementMatches', of: { kind: 'not', of: field(equal(1), 'b') } }, 'a'),
    ],
  ]
  for (const [why, filter, tree] of cases) {
    test(why, () => {
      assert.deepEqual(parseFilter(filter), tree)
    })
  }
})
