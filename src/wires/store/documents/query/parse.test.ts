import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../base/errors.ts'
import { parseFilter } from './parse.ts'

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
    ['expressions', { $expr: { $gt: ['$a', '$b'] } }, '/$expr', /\$expr/],
    ['a function', { v: { $function: { body: '' } } }, '/v/$function', /\$function/],
    ['a schema', { $jsonSchema: {} }, '/$jsonSchema', /\$jsonSchema/],
    ['an operator of a field at the top', { $gt: 5 }, '/$gt', /\$gt/],
    ['a join inside a field', { v: { $and: [{}] } }, '/v/$and', /\$and/],
    ['a join inside $not', { v: { $not: { $or: [{}] } } }, '/v/$not/$or', /\$or/],
    ['an operator with an inherited name', { $constructor: 1 }, '/$constructor', /not supported/],
    ['an inherited name after an operator', { v: { $gt: 1, toString: 2 } }, '/v/toString', /not supported/],
    ['a regular expression, for now', { v: { $regex: 'a' } }, '/v/$regex', /\$regex.*not supported/],
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
    ['operators inside $in', { v: { $in: [1, { $gt: 1 }] } }, '/v/$in/1', /not supported/],
    ['an array as a value', { v: [1] }, '/v', /arrays and objects/],
    ['an object as a value', { v: { x: 1 } }, '/v', /arrays and objects/],
    ['an empty object as a value', { v: {} }, '/v', /arrays and objects/],
    ['an object for $eq', { v: { $eq: {} } }, '/v/$eq', /arrays and objects/],
    ['an array for $gt', { v: { $gt: [1] } }, '/v/$gt', /arrays and objects/],
    ['a field after an operator', { v: { $gt: 2, b: 1 } }, '/v/b', /"b"/],
    ['an operator after a field', { v: { b: 1, $gt: 2 } }, '/v', /arrays and objects/],
    ['$not of text', { v: { $not: 'a' } }, '/v/$not', /\$not takes/],
    ['$not of nothing', { v: { $not: {} } }, '/v/$not', /\$not takes/],
    ['$not of an object', { v: { $not: { b: 1 } } }, '/v/$not', /\$not takes/],
    ['$not of an array', { v: { $not: [{ $gt: 1 }] } }, '/v/$not', /\$not takes/],
    ['$exists of text', { v: { $exists: 'true' } }, '/v/$exists', /true or false/],
    ['$exists of null', { v: { $exists: null } }, '/v/$exists', /true or false/],
    ['a path that is empty', { '': 1 }, '/', /empty/],
    ['a path with an empty part', { 'a..b': 1 }, '/a..b', /empty/],
    ['a path that ends in a dot', { 'a.': 1 }, '/a.', /empty/],
    ['an operator in a path', { 'a.$b': 1 }, '/a.$b', /begins with \$/],
    ['the prototype in a path', { 'a.__proto__.b': 1 }, '/a.__proto__.b', /__proto__/],
    ['a constructor in a path', { 'a.constructor': 1 }, '/a.constructor', /constructor/],
    [
      'a path of 65 parts',
      { [Array(65).fill('a').join('.')]: 1 },
      `/${Array(65).fill('a').join('.')}`,
      /64 parts/,
    ],
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
    ['the prototype', '{"__proto__":{"a":1}}'],
    ['a constructor', '{"constructor":1}'],
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
})
