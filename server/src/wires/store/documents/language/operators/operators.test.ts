import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError, type Issue } from '../../../../../base/errors.ts'
import type { Fields } from '../document-json.ts'
import { applyOperators } from './apply-operators.ts'
import { parseFilter } from '../query/parse-filter.ts'
import { isOperatorPatch, parseOperators } from './operators.ts'

const NOW = '2026-12-01T09:20:20.000Z'

/** As JSON, in which the order of fields counts. */
const patched = (document: Fields, body: Fields, isInsert = false): string => {
  const before = structuredClone(document)
  const result = applyOperators(document, parseOperators(body), { isInsert, now: NOW })
  assert.deepEqual(document, before)
  return JSON.stringify(result)
}

function refusal(work: () => unknown): Issue {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 'VALIDATION_ERROR', String(error))
    return (error.details as { issues: [Issue] }).issues[0]
  }
  assert.fail('it is not refused')
}

const numbers = (length: number): number[] => Array.from({ length }, (_, i) => i)
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])

describe('a patch changes a document as in MongoDB', () => {
  const quizzes = [
    { wk: 5, score: 8 },
    { wk: 6, score: 7 },
    { wk: 7, score: 6 },
  ]
  const results = [
    { item: 'A', score: 5 },
    { item: 'B', score: 8 },
  ]
  const cases: [why: string, document: Fields, patch: Fields, result: Fields][] = [
    ['$set replaces in place', { a: 1, b: 2 }, { $set: { a: [3] } }, { a: [3], b: 2 }],
    ['$set of null stores null', { a: 1 }, { $set: { a: null } }, { a: null }],
    ['$set of nothing', { a: 1 }, { $set: {} }, { a: 1 }],
    ['$set inside of an object', { a: { b: 1, c: 2 } }, { $set: { 'a.b': 3 } }, { a: { b: 3, c: 2 } }],
    ['$set makes the objects on the way', {}, { $set: { 'a.b.0': 1 } }, { a: { b: { 0: 1 } } }],
    ['$set of an element', { a: ['x', 'y'] }, { $set: { 'a.1': 'z' } }, { a: ['x', 'z'] }],
    ['$set inside of an element', { a: [{ b: 1 }] }, { $set: { 'a.0.b': 2 } }, { a: [{ b: 2 }] }],
    ['$set behind the end fills with null', { a: [1] }, { $set: { 'a.3': 4 } }, { a: [1, null, null, 4] }],
    [
      '$set of 1,000 behind the end',
      { a: [] },
      { $set: { 'a.1000': 1 } },
      { a: [...Array(1000).fill(null), 1] },
    ],
    ['a name that is a number with a zero', { a: {} }, { $set: { 'a.00': 1 } }, { a: { '00': 1 } }],
    [
      'new fields come last, by their names over all operators, and indexes by their values',
      { z: 1 },
      { $set: { d: 1, b: 1, 'l.10': 1, 'l.9': 1 }, $inc: { c: 1 }, $push: { a: 1 } },
      { z: 1, a: [1], b: 1, c: 1, d: 1, l: { 9: 1, 10: 1 } },
    ],
    [
      'an element and one far behind it',
      { a: [] },
      { $set: { 'a.2': 2, 'a.10': 10 } },
      {
        a: [null, null, 2, null, null, null, null, null, null, null, 10],
      },
    ],
    ['$unset removes a field', { a: 1, b: 2 }, { $unset: { a: '' } }, { b: 2 }],
    ['$unset of what is missing', { a: { b: 1 } }, { $unset: { 'a.c': 1, 'x.y': 1 } }, { a: { b: 1 } }],
    ['$unset leaves an empty object', { a: { b: 1 } }, { $unset: { 'a.b': 1 } }, { a: {} }],
    ['$unset through text', { a: 'x' }, { $unset: { 'a.b': 1 } }, { a: 'x' }],
    ['$unset makes an element null', { a: [1, 2, 3] }, { $unset: { 'a.1': 1 } }, { a: [1, null, 3] }],
    ['$unset behind the end', { a: [1] }, { $unset: { 'a.5': 1, 'a.x': 1 } }, { a: [1] }],
    ['$inc', { a: 1, b: { c: 2.5 } }, { $inc: { a: -2, 'b.c': 0.25 } }, { a: -1, b: { c: 2.75 } }],
    ['$inc of a missing field', {}, { $inc: { 'a.b': 5 } }, { a: { b: 5 } }],
    ['$inc to 2^53', { a: 2 ** 53 - 1 }, { $inc: { a: 1 } }, { a: 2 ** 53 }],
    [
      '$inc beyond 2^53 by what the digits have',
      { a: 1152921504606847000 },
      { $inc: { a: 1000 } },
      {
        a: 1152921504606848000,
      },
    ],
    ['$push', { a: [89] }, { $push: { a: 90 } }, { a: [89, 90] }],
    ['$push of an array adds it as one', { a: [1] }, { $push: { a: [2, 3] } }, { a: [1, [2, 3]] }],
    ['$push to a missing field', {}, { $push: { 'a.b': 1 } }, { a: { b: [1] } }],
    ['$push with $each', { a: [1] }, { $push: { a: { $each: [2, 3] } } }, { a: [1, 2, 3] }],
    ['$push of none to a missing field', {}, { $push: { a: { $each: [] } } }, { a: [] }],
    ['$position', { a: [100] }, { $push: { a: { $each: [50, 60], $position: 0 } } }, { a: [50, 60, 100] }],
    [
      '$position in the middle',
      { a: [1, 4] },
      { $push: { a: { $each: [2, 3], $position: 1 } } },
      { a: [1, 2, 3, 4] },
    ],
    ['$position behind the end', { a: [1] }, { $push: { a: { $each: [2], $position: 9 } } }, { a: [1, 2] }],
    [
      '$position from the end',
      { a: [50, 60, 70] },
      { $push: { a: { $each: [90, 80], $position: -2 } } },
      {
        a: [50, 90, 80, 60, 70],
      },
    ],
    [
      '$position before the beginning',
      { a: [1] },
      { $push: { a: { $each: [0], $position: -9 } } },
      { a: [0, 1] },
    ],
    [
      '$slice keeps the first',
      { a: [89, 90] },
      { $push: { a: { $each: [100, 20], $slice: 3 } } },
      { a: [89, 90, 100] },
    ],
    [
      '$slice keeps the last',
      { a: [40, 50] },
      { $push: { a: { $each: [80, 78], $slice: -3 } } },
      { a: [50, 80, 78] },
    ],
    ['$slice alone', { a: [1, 2] }, { $push: { a: { $each: [], $slice: 9 } } }, { a: [1, 2] }],
    ['$slice of 0', { a: [1] }, { $push: { a: { $each: [2], $slice: 0 } } }, { a: [] }],
    [
      '$sort by a field',
      { quizzes },
      { $push: { quizzes: { $each: [{ wk: 1, score: 10 }], $sort: { score: 1 } } } },
      {
        quizzes: [...quizzes.toReversed(), { wk: 1, score: 10 }],
      },
    ],
    [
      '$sort of values by type',
      { a: [{}, 'b', [], true, 2] },
      { $push: { a: { $each: [null, 'a', -1], $sort: 1 } } },
      {
        a: [null, -1, 2, 'a', 'b', {}, [], true],
      },
    ],
    [
      '$sort down',
      { a: [89, 70, 89] },
      { $push: { a: { $each: [40, 60], $sort: -1 } } },
      { a: [89, 89, 70, 60, 40] },
    ],
    [
      '$sort by several fields; what is missing is null, and an array is compared as a whole',
      { a: [{ x: { y: 2 }, z: 1 }, 5, { x: { y: 1 }, z: 1 }, { z: 2 }, { x: { y: [0] }, z: 1 }] },
      { $push: { a: { $each: [], $sort: { z: -1, 'x.y': 1 } } } },
      { a: [{ z: 2 }, { x: { y: 1 }, z: 1 }, { x: { y: 2 }, z: 1 }, { x: { y: [0] }, z: 1 }, 5] },
    ],
    [
      'first $position, then $sort, then $slice',
      { a: [3, 1] },
      { $push: { a: { $slice: 2, $sort: 1, $position: 0, $each: [2, 4] } } },
      { a: [1, 2] },
    ],
    ['$addToSet of a new value', { a: ['x'] }, { $addToSet: { a: 'y' } }, { a: ['x', 'y'] }],
    ['$addToSet of one that is there', { a: ['x', 'x'] }, { $addToSet: { a: 'x' } }, { a: ['x', 'x'] }],
    ['$addToSet of an array', { a: [1] }, { $addToSet: { a: [1] } }, { a: [1, [1]] }],
    ['$addToSet with $each', { a: [1] }, { $addToSet: { a: { $each: [2, 1, 2, 3] } } }, { a: [1, 2, 3] }],
    ['$addToSet to a missing field', {}, { $addToSet: { a: { $each: [1, 1] } } }, { a: [1] }],
    [
      '$addToSet tells objects apart by the order of fields, and numbers by value',
      { a: [{ x: 1, y: 2 }, -0] },
      { $addToSet: { a: { $each: [{ y: 2, x: 1 }, { x: 1.0, y: 2 }, 0] } } },
      { a: [{ x: 1, y: 2 }, 0, { y: 2, x: 1 }] },
    ],
    ['$pull of a value', { a: [1, 2, 1, '1'] }, { $pull: { a: 1 } }, { a: [2, '1'] }],
    ['$pull of null', { a: [null, 0, {}] }, { $pull: { a: null } }, { a: [0, {}] }],
    [
      '$pull of an array, as a whole',
      { a: [[1, 2], [2, 1], 1] },
      { $pull: { a: [1, 2] } },
      { a: [[2, 1], 1] },
    ],
    ['$pull by a condition', { a: [3, 5, 6, 7, 'x'] }, { $pull: { a: { $gte: 6 } } }, { a: [3, 5, 'x'] }],
    ['$pull of several values', { a: [1, 2, 3] }, { $pull: { a: { $in: [1, 3] } } }, { a: [2] }],
    [
      '$pull asks the elements of elements',
      { a: [[1, 9], [1]] },
      { $pull: { a: { $gte: 6 } } },
      { a: [[1]] },
    ],
    [
      '$pull by a filter of objects',
      { results },
      { $pull: { results: { score: 8, item: 'B' } } },
      {
        results: [results[0]],
      },
    ],
    [
      '$pull by joined filters',
      { results },
      { $pull: { results: { $or: [{ score: { $lt: 6 } }] } } },
      {
        results: [results[1]],
      },
    ],
    [
      '$pull compares objects in fields with their order',
      { a: [{ b: { x: 1, y: 2 } }] },
      { $pull: { a: { b: { y: 2, x: 1 } } } },
      {
        a: [{ b: { x: 1, y: 2 } }],
      },
    ],
    ['$pull of every object', { a: [1, {}, { b: 1 }, []] }, { $pull: { a: {} } }, { a: [1, []] }],
    ['$pull from what is missing', { a: [] }, { $pull: { b: 1, 'c.d': 1, 'a.3': 1 } }, { a: [] }],
    ['$min takes a smaller value', { a: 5, b: 1 }, { $min: { a: 3, b: 3 } }, { a: 3, b: 1 }],
    ['$max takes a larger value', { a: 5, b: 1 }, { $max: { a: 3, b: 3 } }, { a: 5, b: 3 }],
    ['$min and $max of a missing field', {}, { $min: { 'a.b': 9 }, $max: { c: -9 } }, { a: { b: 9 }, c: -9 }],
    [
      '$min compares by type: null, numbers, text, objects, arrays, booleans',
      { a: 5, b: 'x', c: {}, d: [], e: false, f: null },
      { $min: { a: null, b: 9, c: 'z', d: { x: 9 }, e: [9], f: -9 } },
      { a: null, b: 9, c: 'z', d: { x: 9 }, e: [9], f: null },
    ],
    [
      '$max compares by type',
      { a: null, b: 5, c: 'x', d: { x: 9 }, e: [9], f: false },
      { $max: { a: -9, b: '', c: {}, d: [], e: false, f: true } },
      { a: -9, b: '', c: {}, d: [], e: false, f: true },
    ],
    [
      '$max compares objects by types, names and values of their fields, and arrays as a whole',
      { a: { x: 1, y: 2 }, b: [1, 2, 3], c: '2026-01-02' },
      { $max: { a: { x: 1, z: 0 }, b: [1, 3], c: '2026-01-10' } },
      { a: { x: 1, z: 0 }, b: [1, 3], c: '2026-01-10' },
    ],
    ['$min of an equal value', { a: 0 }, { $min: { a: -0 } }, { a: 0 }],
    [
      '$mul',
      { a: 3, b: { c: 2.5 }, d: 2 },
      { $mul: { a: -2, 'b.c': 4, d: 0.5 } },
      { a: -6, b: { c: 10 }, d: 1 },
    ],
    ['$mul of a missing field is 0', {}, { $mul: { 'a.b': 5, c: -1.5 } }, { a: { b: 0 }, c: 0 }],
    ['$mul of a fraction beyond 2^53', { a: 0.1 }, { $mul: { a: 1e300 } }, { a: 1e299 }],
    ['$pop of the last', { a: [8, 9, 10] }, { $pop: { a: 1 } }, { a: [8, 9] }],
    ['$pop of the first', { a: { b: [8, 9, 10] } }, { $pop: { 'a.b': -1 } }, { a: { b: [9, 10] } }],
    ['$pop of none', { a: [], b: [1] }, { $pop: { a: 1, b: -1 } }, { a: [], b: [] }],
    ['$pop from what is missing', { a: [] }, { $pop: { b: 1, 'c.d': 1, 'a.3': -1 } }, { a: [] }],
    ['$pullAll of values', { a: [0, 2, 5, 5, 1, 0] }, { $pullAll: { a: [0, 5] } }, { a: [2, 1] }],
    [
      '$pullAll compares objects and arrays as a whole, with the order of their fields',
      { a: [{ x: 1, y: 2 }, { y: 2, x: 1 }, { x: 1 }, [1], 1, null] },
      { $pullAll: { a: [{ x: 1, y: 2 }, [1], null] } },
      { a: [{ y: 2, x: 1 }, { x: 1 }, 1] },
    ],
    ['$pullAll takes no conditions', { a: [9, { $gt: 5 }] }, { $pullAll: { a: [{ $gt: 5 }] } }, { a: [9] }],
    ['$pullAll from what is missing', {}, { $pullAll: { a: [1], 'b.c': [] } }, {}],
    ['$rename', { a: 1, b: 2 }, { $rename: { a: 'c' } }, { b: 2, c: 1 }],
    ['$rename over another field', { a: 1, b: 2, c: 3 }, { $rename: { c: 'a' } }, { a: 3, b: 2 }],
    [
      '$rename into and out of objects',
      { a: { b: 1, c: 2 }, d: 3 },
      { $rename: { 'a.b': 'x.y', d: 'a.d' } },
      { a: { c: 2, d: 3 }, x: { y: 1 } },
    ],
    ['$rename of an array', { a: [1], b: [2] }, { $rename: { a: 'b' } }, { b: [1] }],
    ['$rename of what is missing', { b: 1 }, { $rename: { a: 'b', 'x.y': 'b2' } }, { b: 1 }],
    ['$rename of an element that is missing', { a: [1] }, { $rename: { 'a.1.b': 'c' } }, { a: [1] }],
    ['several $rename at once', { a: 1, b: 2 }, { $rename: { a: 'c', b: 'd' } }, { c: 1, d: 2 }],
    [
      '$currentDate sets the time as text',
      { a: 'x' },
      { $currentDate: { a: true, 'b.c': { $type: 'date' } } },
      { a: NOW, b: { c: NOW } },
    ],
    [
      '$setOnInsert of a document that is there',
      { a: 'x' },
      { $setOnInsert: { 'a.b': 2, c: 1 } },
      { a: 'x' },
    ],
    ['$[] of values', { a: [1, 2] }, { $inc: { 'a.$[]': 10 } }, { a: [11, 12] }],
    [
      '$[] of fields, of which several change',
      { a: [{ b: 1 }, { b: 2, c: 0 }] },
      { $mul: { 'a.$[].b': 3 }, $set: { 'a.$[].c': 1 }, $unset: { 'a.$[].d': 1 } },
      {
        a: [
          { b: 3, c: 1 },
          { b: 6, c: 1 },
        ],
      },
    ],
    [
      '$[] of arrays in arrays',
      { a: [[1], [], [2, 3]] },
      { $max: { 'a.$[].$[]': 2 } },
      { a: [[2], [], [2, 3]] },
    ],
    ['$[] of no elements', { a: [] }, { $set: { 'a.$[].b': 1 } }, { a: [] }],
    ['$[] with $unset makes null', { a: [1, 2] }, { $unset: { 'a.$[]': 1 } }, { a: [null, null] }],
    [
      '$[] and an index behind it',
      { a: [[1], [2]] },
      { $set: { 'a.$[].1': 0 } },
      {
        a: [
          [1, 0],
          [2, 0],
        ],
      },
    ],
    [
      '$[] with $push',
      { a: [{ b: [1] }, {}] },
      { $push: { 'a.$[].b': 2 } },
      { a: [{ b: [1, 2] }, { b: [2] }] },
    ],
  ]
  for (const [why, document, patch, result] of cases) {
    test(why, () => {
      assert.equal(patched(document, patch), JSON.stringify(result))
    })
  }
})

const deep = Array(63).fill('a').join('.')

describe('a patch is refused where its fault is', () => {
  const cases: [why: string, patch: Fields, path: string, message: RegExp][] = [
    [
      'another operator',
      { $bit: { a: { and: 1 } } },
      '/$bit',
      /"\$bit".*: \$set \$setOnInsert \$unset \$inc \$mul .* \$pullAll \$rename\.$/,
    ],
    ['an inherited name', { $constructor: {} }, '/$constructor', /not supported/],
    ['an operand that is no object', { $set: [1] }, '/$set', /\$set takes an object/],
    ['null as an operand', { $inc: null }, '/$inc', /\$inc takes an object/],
    ['a parent and its part', { $set: { 'a.b': 1, a: 1 } }, '/$set/a.b', /\$set of "a"/],
    [
      'a part and its parent in another operator',
      { $set: { 'a.b.c': 1 }, $push: { 'a.b': 1 } },
      '/$set/a.b.c',
      /\$push of "a\.b"/,
    ],
    ['a path twice', { $inc: { 'a/b': 1 }, $set: { 'a/b': 2 } }, '/$set/a~1b', /\$inc of "a\/b"/],
    ['the matched element without a filter', { $set: { 'a.$': 1 } }, '/$set/a.$', /no.*index.*bulk/],
    ['a position at the beginning', { $set: { '$[].a': 1 } }, '/$set/$[].a', /begins with a position/],
    ['filtered elements', { $pull: { 'a.$[x]': 1 } }, '/$pull/a.$[x]', /arrayFilters are not supported/],
    ['an element and all', { $set: { 'a.0': 1, 'a.$[]': 2 } }, '/$set/a.$[]', /\$set of "a\.0"/],
    ['all and a part of an element', { $inc: { 'a.$[].b': 1, 'a.c': 1 } }, '/$inc/a.c', /"a\.\$\[\]\.b"/],
    ['an array and its elements', { $inc: { 'a.$[]': 1 }, $pop: { a: 1 } }, '/$inc/a.$[]', /\$pop of "a"/],
    ['$mul by text', { $mul: { a: '2' } }, '/$mul/a', /takes a number/],
    ['$pop of 2', { $pop: { a: 2 } }, '/$pop/a', /1 for the last.*-1 for the first/],
    ['$pullAll of a value', { $pullAll: { a: 1 } }, '/$pullAll/a', /array of the values/],
    [
      '$currentDate of false',
      { $currentDate: { a: false } },
      '/$currentDate/a',
      /true or \{"\$type": "date"\}/,
    ],
    ['a timestamp', { $currentDate: { a: { $type: 'timestamp' } } }, '/$currentDate/a', /as text/],
    ['$rename to a number', { $rename: { a: 1 } }, '/$rename/a', /new path as text/],
    ['$rename to itself', { $rename: { 'a.b': 'a.b' } }, '/$rename/a.b', /into one another/],
    ['$rename to a part of itself', { $rename: { a: 'a.b' } }, '/$rename/a', /into one another/],
    ['$rename of elements', { $rename: { 'a.$[].b': 'c' } }, '/$rename/a.$[].b', /has a position/],
    ['$rename to a service field', { $rename: { a: '_id' } }, '/$rename/a', /service itself/],
    ['$rename to what is set', { $rename: { a: 'b' }, $set: { b: 1 } }, '/$set/b', /\$rename of "b"/],
    ['$rename of what is set', { $set: { 'a.b': 1 }, $rename: { a: 'c' } }, '/$set/a.b', /\$rename of "a"/],
    ['$min too deep for its path', { $min: { [deep]: [[1]] } }, `/$min/${deep}`, /64 levels/],
    ['a name that begins with $', { $set: { 'a.$b': 1 } }, '/$set/a.$b', /never begins with \$/],
    ['__proto__', { $set: { 'a.__proto__.b': 1 } }, '/$set/a.__proto__.b', /"__proto__"/],
    ['constructor', { $unset: { constructor: 1 } }, '/$unset/constructor', /"constructor"/],
    ['prototype', { $inc: { 'a.prototype': 1 } }, '/$inc/a.prototype', /"prototype"/],
    ['the id', { $set: { _id: 'a' } }, '/$set/_id', /service itself/],
    ['the time of making', { $unset: { createdAt: 1 } }, '/$unset/createdAt', /service itself/],
    ['a part of the time of change', { $set: { 'updatedAt.x': 1 } }, '/$set/updatedAt.x', /service itself/],
    ['an empty path', { $set: { '': 1 } }, '/$set/', /is empty/],
    ['an empty part', { $set: { 'a..b': 1 } }, '/$set/a..b', /is empty/],
    ['a path of 65 parts', { $set: { [`${deep}.a.a`]: 1 } }, `/$set/${deep}.a.a`, /64 parts/],
    ['a value too deep for its path', { $set: { [deep]: [[1]] } }, `/$set/${deep}`, /64 levels/],
    ['an array too deep for its path', { $push: { [`${deep}.a`]: 1 } }, `/$push/${deep}.a`, /64 levels/],
    [
      'an element too deep for its path',
      { $addToSet: { [deep]: { $each: [[]] } } },
      `/$addToSet/${deep}/$each`,
      /64 levels/,
    ],
    ['$inc by text', { $inc: { a: '1' } }, '/$inc/a', /takes a number/],
    ['$inc by null', { $inc: { a: null } }, '/$inc/a', /takes a number/],
    ['a modifier without $each', { $push: { a: { $slice: 1 } } }, '/$push/a/$each', /an array/],
    ['$each of a value', { $push: { a: { $each: 1 } } }, '/$push/a/$each', /an array/],
    [
      'an unknown modifier',
      { $push: { a: { $each: [], $max: 1 } } },
      '/$push/a/$max',
      /"\$max".*\$each \$position \$slice \$sort/,
    ],
    ['a field beside $each', { $push: { a: { b: 1, $each: [] } } }, '/$push/a/b', /"b"/],
    [
      'a modifier of $push in $addToSet',
      { $addToSet: { a: { $each: [], $slice: 1 } } },
      '/$addToSet/a/$slice',
      /\$each/,
    ],
    ['a fraction as $slice', { $push: { a: { $each: [], $slice: 1.5 } } }, '/$push/a/$slice', /whole number/],
    [
      'text as $position',
      { $push: { a: { $each: [], $position: '0' } } },
      '/$push/a/$position',
      /whole number/,
    ],
    ['$sort of 2', { $push: { a: { $each: [], $sort: 2 } } }, '/$push/a/$sort', /1 \(ascending\)/],
    ['$sort of null', { $push: { a: { $each: [], $sort: null } } }, '/$push/a/$sort', /1 \(ascending\)/],
    ['$sort by nothing', { $push: { a: { $each: [], $sort: {} } } }, '/$push/a/$sort', /1 to 8 fields/],
    [
      '$sort by text',
      { $push: { a: { $each: [], $sort: { b: 'x' } } } },
      '/$push/a/$sort/b',
      /1 \(ascending\)/,
    ],
    [
      '$sort by an empty part',
      { $push: { a: { $each: [], $sort: { 'b.': 1 } } } },
      '/$push/a/$sort/b.',
      /is empty/,
    ],
    ['an unknown condition', { $pull: { a: { $near: 1 } } }, '/$pull/a/$near', /"\$near"/],
    ['a fault in a condition', { $pull: { a: { b: { $in: 1 } } } }, '/$pull/a/b/$in', /an array/],
    ['a pattern with look-around', { $pull: { a: { $regex: '(?=x)' } } }, '/$pull/a/$regex', /look-around/],
    ['a pattern that takes long', { $pull: { a: { $regex: '(?:x{0,200}y){3}' } } }, '/$pull/a', /too large/],
    [
      'conditions that are too many together',
      { $pull: Object.fromEntries(numbers(201).map((i) => [`a${i}`, { $gt: i }])) },
      '/$pull/a200/$gt',
      /200 conditions/,
    ],
  ]
  for (const [why, patch, path, message] of cases) {
    test(why, () => {
      const issue = refusal(() => parseOperators(patch))
      assert.equal(issue.path, `/body${path}`)
      assert.match(issue.message, message)
    })
  }
})

describe('a patch that does not fit the document is refused', () => {
  const cases: [why: string, document: Fields, patch: Fields, path: string, message: RegExp][] = [
    ['$inc of text', { a: '1' }, { $inc: { a: 1 } }, '/$inc/a', /has text here/],
    ['$inc of null', { a: null }, { $inc: { a: 1 } }, '/$inc/a', /has null here/],
    ['$inc to infinity', { a: 1e308 }, { $inc: { a: 1e308 } }, '/$inc/a', /too large/],
    ['$inc that would not count', { a: 2 ** 53 }, { $inc: { a: 1 } }, '/$inc/a', /beyond 2\^53/],
    ['$mul of text', { a: '1' }, { $mul: { a: 1 } }, '/$mul/a', /has text here/],
    ['$mul of null', { a: null }, { $mul: { a: 1 } }, '/$mul/a', /has null here/],
    ['$mul to infinity', { a: 1e200 }, { $mul: { a: 1e200 } }, '/$mul/a', /too large/],
    [
      '$mul that would not be exact',
      { a: 2 ** 31 + 1 },
      { $mul: { a: 2 ** 31 + 1 } },
      '/$mul/a',
      /beyond 2\^53/,
    ],
    ['$pop from text', { a: 'x' }, { $pop: { a: 1 } }, '/$pop/a', /has text here/],
    ['$pop through text', { a: 'x' }, { $pop: { 'a.b': 1 } }, '/$pop/a.b', /leads through text/],
    ['$pullAll from an object', { a: {} }, { $pullAll: { a: [1] } }, '/$pullAll/a', /has an object here/],
    ['$min in an array without an index', { a: [1] }, { $min: { 'a.b': 1 } }, '/$min/a.b', /index for "b"/],
    [
      '$rename of an element',
      { a: [{ b: 1 }] },
      { $rename: { 'a.0.b': 'c' } },
      '/$rename/a.0.b',
      /into an array/,
    ],
    [
      '$rename into an array',
      { a: 1, b: [] },
      { $rename: { a: 'b.0' } },
      '/$rename/a',
      /"b\.0" leads into an array/,
    ],
    ['$rename through text', { a: 'x' }, { $rename: { 'a.b': 'c' } }, '/$rename/a.b', /leads through text/],
    ['$rename into text', { a: 1, b: 'x' }, { $rename: { a: 'b.c' } }, '/$rename/a', /leads through text/],
    [
      '$rename that makes a document too deep',
      { b: [[]] },
      { $rename: { b: deep } },
      '/$rename/b',
      /64 levels/,
    ],
    ['$[] of what is missing', {}, { $set: { 'a.$[]': 1 } }, '/$set/a.$[]', /none at "a"/],
    [
      '$[] of an object',
      { a: { b: {} } },
      { $unset: { 'a.b.$[].c': 1 } },
      '/$unset/a.b.$[].c',
      /none at "a\.b"/,
    ],
    ['$[] of text', { a: 'x' }, { $inc: { 'a.$[]': 1 } }, '/$inc/a.$[]', /none at "a"/],
    [
      '$[] that does not fit an element',
      { a: [1, 'x'] },
      { $inc: { 'a.$[]': 1 } },
      '/$inc/a.$[]',
      /has text/,
    ],
    [
      '$[] that would write much',
      { a: numbers(1000) },
      { $set: { 'a.$[]': 'x'.repeat(20_000) } },
      '/$set/a.$[]',
      /too many elements/,
    ],
    ['$push to an object', { a: { b: {} } }, { $push: { 'a.b': 1 } }, '/$push/a.b', /has an object here/],
    ['$push to null', { a: null }, { $push: { a: 1 } }, '/$push/a', /has null here/],
    ['$addToSet to a number', { a: 1 }, { $addToSet: { a: 1 } }, '/$addToSet/a', /has a number here/],
    ['$pull from true', { a: true }, { $pull: { a: 1 } }, '/$pull/a', /has a boolean here/],
    [
      '$set through text',
      { a: 'x' },
      { $unset: { 'a.a': 1 }, $set: { 'a.b.c': 1 } },
      '/$set/a.b.c',
      /"a\.b\.c" leads through text/,
    ],
    ['$pull through null', { a: null }, { $pull: { 'a.b': 1 } }, '/$pull/a.b', /leads through null/],
    ['a name in an array', { a: [{}] }, { $set: { 'a.b': 1 } }, '/$set/a.b', /index for "b"/],
    ['an index far behind the end', { a: [1] }, { $inc: { 'a.1002': 1 } }, '/$inc/a.1002', /more than 1000/],
    [
      'an index in steps behind the end',
      { a: [] },
      { $set: { 'a.1000': 1, 'a.1001': 1 } },
      '/$set/a.1001',
      /more than 1000/,
    ],
    [
      'an index beyond all arrays',
      { a: [] },
      { $set: { 'a.99999999999999999999.b': 1 } },
      '/$set/a.99999999999999999999.b',
      /more than 1000/,
    ],
    [
      'more paths than one patch has',
      {},
      { $set: Object.fromEntries(numbers(10_001).map((i) => [`a.${i}`, 1])) },
      '/$set',
      /at most 10000 paths/,
    ],
    [
      'gaps that are too many together',
      { a: numbers(101).map(() => []) },
      { $set: Object.fromEntries(numbers(101).map((i) => [`a.${i}.1000`, 1])) },
      '/$set/a.100.1000',
      /more than 100000/,
    ],
  ]
  for (const [why, document, patch, path, message] of cases) {
    test(why, () => {
      const issue = refusal(() => patched(document, patch))
      assert.equal(issue.path, `/body${path}`)
      assert.match(issue.message, message)
    })
  }
})

test('$setOnInsert sets in a document that is created', () => {
  assert.equal(patched({}, { $setOnInsert: { 'a.b': 1 }, $inc: { n: 1 } }, true), '{"a":{"b":1},"n":1}')
})

describe('$ is the first element that meets the condition of the filter', () => {
  const lines = [
    { sku: 'a', n: 1, tags: ['x'] },
    { sku: 'b', n: 5 },
    { sku: 'b', n: 9 },
  ]
  const document = { lines, grades: [80, 85, 90], of: { grades: [1] } }
  const cases: [filter: object, path: string, index: number | RegExp][] = [
    [{ 'lines.sku': 'b' }, 'lines.$.n', 1],
    [{ 'lines.n': { $gt: 5 } }, 'lines.$.n', 2],
    [{ lines: { $elemMatch: { sku: 'b', n: { $gte: 9 } } } }, 'lines.$.n', 2],
    [{ 'lines.tags': 'x', open: true, grades: 90 }, 'lines.$.n', 0],
    [{ grades: { $elemMatch: { $gt: 80, $lt: 95 } } }, 'grades.$', 1],
    [{ grades: 80 }, 'grades.$', 0],
    [{ $and: [{ 'of.grades': { $gte: 1 } }] }, 'of.grades.$', 0],
    [{ 'lines.sku': 'z' }, 'lines.$.n', /No element of "lines".*meets/],
    [{ 'none.sku': 'z' }, 'none.$.n', /No element of "none".*meets/],
    [{ grades: 80 }, 'lines.$.n', /no condition that an element of "lines"/],
    [{ 'lines.sku': { $ne: 'b' } }, 'lines.$.n', /no condition/],
    [{ lines: { $size: 3 } }, 'lines.$.n', /no condition/],
    [{ 'lines.0.sku': 'a' }, 'lines.$.n', /no condition/],
    [{ 'lines.sku': 'b', 'lines.n': 9 }, 'lines.$.n', /several conditions.*\$elemMatch/],
    [{ 'lines.sku': 'b' }, 'lines.$.parts.$.n', /position \$ twice/],
  ]
  for (const [filter, path, expected] of cases)
    test(`${JSON.stringify(filter)} ${path}`, () => {
      const update = () => {
        const tree = parseFilter(JSON.stringify(filter))
        const patch = parseOperators({ $set: { [path]: 'new' } }, '/body', tree)
        return applyOperators(document, patch, { isInsert: false, now: NOW })
      }
      if (typeof expected === 'number')
        assert.deepEqual(
          update(),
          JSON.parse(patched(document, { $set: { [path.replace('$', String(expected))]: 'new' } })),
        )
      else assert.match(refusal(update).message, expected)
    })

  test('beside the same element by its index it is refused', () => {
    const tree = parseFilter('{"grades":85}')
    const patch = parseOperators({ $inc: { 'grades.$': 1, 'grades.1': 1 } }, '/body', tree)
    assert.match(
      refusal(() => applyOperators(document, patch, { isInsert: false, now: NOW })).message,
      /too: write/,
    )
  })
})

test('operators make a patch; fields, and nothing, a merge patch; both together are refused', () => {
  assert.equal(isOperatorPatch({ $set: {}, $anything: 1 }), true)
  assert.equal(isOperatorPatch({ a: 1 }), false)
  assert.equal(isOperatorPatch({}), false)
  const issue = refusal(() => isOperatorPatch({ $inc: { a: 1 }, b: 1 }))
  assert.equal(issue.path, '/body/b')
  assert.match(issue.message, /"\$inc".*\$set/)
})

test('the paths that a patch writes can be read', () => {
  const patch = parseOperators({ $set: { 'b.c': 1 }, $unset: { a: 1 }, $pull: { 'b.0': 1 } })
  assert.deepEqual(
    patch.map(({ path }) => path),
    [['a'], ['b', '0'], ['b', 'c']],
  )
})

test('a path and its value may be as deep as a document', () => {
  const path = Array(60).fill('a').join('.')
  parseOperators({ $set: { [path]: nested(4) }, $push: { b: { $each: [nested(62)] } } })
})

// A cost that grows with the square of these would take minutes.
describe('a large patch takes time in line with its size', () => {
  const half = numbers(50_000)

  test('10,000 operators on one array', () => {
    const patch = { $set: Object.fromEntries(numbers(10_000).map((i) => [`a.${i * 5}`, 'x'])) }
    const { a } = JSON.parse(patched({ a: half }, patch)) as { a: unknown[] }
    assert.equal(a.filter((element) => element === 'x').length, 10_000)
  })

  test('10,000 operators on new fields', () => {
    const patch = { $inc: Object.fromEntries(numbers(10_000).map((i) => [`a.b${i}.c`, i])) }
    assert.match(patched({}, patch), /"b9999":\{"c":9999\}/)
  })

  test('50,000 elements in $addToSet, and as many in the array', () => {
    const objects = (from: number): unknown[] => half.map((i) => ({ id: from + i }))
    const patch = { $addToSet: { a: { $each: objects(25_000) } } }
    const { a } = JSON.parse(patched({ a: objects(0) }, patch)) as { a: unknown[] }
    assert.equal(a.length, 75_000)
  })

  test('50,000 elements by $[]', () => {
    const { a } = JSON.parse(patched({ a: half }, { $inc: { 'a.$[]': 1 } })) as { a: number[] }
    assert.equal(a[49_999], 50_000)
  })

  test('50,000 elements in $pullAll', () => {
    const patch = { $pullAll: { a: half.map((i) => ({ id: i })) } }
    assert.equal(patched({ a: half.map((i) => ({ id: i + 1 })) }, patch), '{"a":[{"id":50000}]}')
  })

  test('50,000 elements in $push, placed and sorted', () => {
    const patch = { $push: { a: { $each: half, $position: 25_000, $sort: -1, $slice: 3 } } }
    assert.equal(patched({ a: half }, patch), '{"a":[49999,49999,49998]}')
  })

  test('a pattern that backtracks elsewhere', () => {
    const text = 'a'.repeat(500_000)
    assert.equal(
      patched({ a: [`${text}!`, text] }, { $pull: { a: { $regex: '^(a+)+$' } } }),
      `{"a":["${text}!"]}`,
    )
  })
})
