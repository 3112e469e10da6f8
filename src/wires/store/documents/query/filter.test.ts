import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eachEngine } from '../../../../testing/engines.ts'
import type { Json } from './filter.ts'
import { compileMatcher } from './matcher.ts'
import { parseFilter } from './parse.ts'
import { matches } from './reference.fixture.ts'
import { openDocuments, type Document, type Documents } from './documents.fixture.ts'

// Numbered from 0: one value of every kind, and none at all.
const values: Document[] = [
  { v: 5 },
  { v: '5' },
  { v: null },
  {},
  { v: true },
  { v: false },
  { v: 0 },
  { v: 1 },
  { v: '' },
  { v: { x: 1 } },
  { v: -2.5 },
  { v: 'é' },
  { v: {} },
]
const people: Document[] = [
  { name: 'Ada', address: { city: 'London', zip: 'N1' }, age: 36 },
  { name: 'Bo', address: { city: 'Malmö' }, age: 17 },
  { name: 'Cy', address: 'London', age: '36' },
  { name: 'Di', address: null, age: null },
  { name: 'Ed', age: 64, active: true },
  { 'address.city': 'London' },
]
const nothing: number[] = []
const all = (documents: readonly unknown[]): number[] => documents.map((_, i) => i)
const but = (documents: readonly unknown[], ...without: number[]): number[] =>
  all(documents).filter((i) => !without.includes(i))

const nestedIn = (depth: number, filter: unknown): unknown =>
  depth === 0 ? filter : { [depth % 2 === 0 ? '$and' : '$or']: [nestedIn(depth - 1, filter), { v: 5 }] }

const times = (count: number, filter: object): object[] => Array.from({ length: count }, () => filter)

type Case = [behaviour: string, documents: Document[], filter: unknown, numbers: number[]]

const cases: Case[] = [
  ['empty members of $and say nothing', values, { $and: [...times(1000, {}), { v: 5 }] }, [0]],
  ['$and of nothing but empty ones matches everything', values, { $and: times(1000, {}) }, all(values)],
  ['an empty member of $or matches everything', values, { $or: [...times(1000, {}), { v: 5 }] }, all(values)],
  ['an empty member of $nor matches nothing', values, { $nor: [{ v: 5 }, ...times(1000, {})] }, nothing],
  [
    'empty members deep inside say nothing',
    values,
    { $and: [{ $or: [{ $and: times(1000, {}) }] }, { $nor: [{ v: { $ne: 5 } }] }] },
    [0],
  ],
  ['as many conditions as there may be', values, { $or: times(199, { v: 5 }) }, [0]],
  ['as deep as they may be', values, nestedIn(20, { v: 5 }), [0]],
  ['as many values as there may be', values, { v: { $nin: Array(1000).fill(5) } }, but(values, 0)],
  ['an empty filter matches everything', values, {}, all(values)],
  ['a number equals only that number', values, { v: 5 }, [0]],
  ['text equals only that text', values, { v: '5' }, [1]],
  ['0 is not false', values, { v: 0 }, [6]],
  ['1 is not true', values, { v: { $eq: 1 } }, [7]],
  ['true is not 1', values, { v: true }, [4]],
  ['false is not 0', values, { v: false }, [5]],
  ['-0 is 0', values, { v: -0 }, [6]],
  ['empty text is a value', values, { v: '' }, [8]],
  ['null equals null and missing', values, { v: null }, [2, 3]],
  ['$ne matches other types and missing', values, { v: { $ne: 5 } }, but(values, 0)],
  ['$ne null leaves what is there', values, { v: { $ne: null } }, but(values, 2, 3)],
  ['$gt compares numbers with numbers', values, { v: { $gt: 0 } }, [0, 7]],
  ['$gte includes its bound', values, { v: { $gte: 1 } }, [0, 7]],
  ['$lt compares below zero', values, { v: { $lt: 0 } }, [10]],
  ['$lt passes false and null by', values, { v: { $lt: 100 } }, [0, 6, 7, 10]],
  ['$lte includes its bound', values, { v: { $lte: 0 } }, [6, 10]],
  ['$gt compares text with text', values, { v: { $gt: '' } }, [1, 11]],
  ['$lt of text does not match numbers', values, { v: { $lt: 'a' } }, [1, 8]],
  ['text of an object is not text', values, { v: { $gte: 'a' } }, [11]],
  ['an object is not equal to its text', values, { v: '{"x":1}' }, nothing],
  ['an object is not equal to its text in a list', values, { v: { $in: ['{}', '5'] } }, [1]],
  ['$gt false is true', values, { v: { $gt: false } }, [4]],
  ['$gte false is any boolean', values, { v: { $gte: false } }, [4, 5]],
  ['$gte true is true', values, { v: { $gte: true } }, [4]],
  ['$lte false is false', values, { v: { $lte: false } }, [5]],
  ['$lt true is false', values, { v: { $lt: true } }, [5]],
  ['$lte true is any boolean', values, { v: { $lte: true } }, [4, 5]],
  ['$lt false is nothing', values, { v: { $lt: false } }, nothing],
  ['$gt null is nothing', values, { v: { $gt: null } }, nothing],
  ['$lt null is nothing', values, { v: { $lt: null } }, nothing],
  ['$gte null is null or missing', values, { v: { $gte: null } }, [2, 3]],
  ['$lte null is null or missing', values, { v: { $lte: null } }, [2, 3]],
  ['$in takes values of several types', values, { v: { $in: [5, '', true, null] } }, [0, 2, 3, 4, 8]],
  ['$in tells 0 and 1 from false and true', values, { v: { $in: [0, 1] } }, [6, 7]],
  ['$in takes both booleans', values, { v: { $in: [true, false, true] } }, [4, 5]],
  ['$in of nothing is nothing', values, { v: { $in: [] } }, nothing],
  ['$nin of nothing is everything', values, { v: { $nin: [] } }, all(values)],
  ['$nin matches other types and missing', values, { v: { $nin: [5, 'é'] } }, but(values, 0, 11)],
  ['$nin with null leaves what is there', values, { v: { $nin: [null, 0] } }, but(values, 2, 3, 6)],
  ['$exists tells null from missing', values, { v: { $exists: true } }, but(values, 3)],
  ['$exists: false is missing', values, { v: { $exists: false } }, [3]],
  ['$exists takes 0 and 1', values, { v: { $exists: 0 } }, [3]],
  ['$not turns the whole match around', values, { v: { $not: { $gt: 0 } } }, but(values, 0, 7)],
  ['$not of text comparison matches numbers', values, { v: { $not: { $lt: 'z' } } }, but(values, 1, 8)],
  ['$not of several operators', values, { v: { $not: { $gte: 0, $lte: 1 } } }, but(values, 6, 7)],
  ['$not twice', values, { v: { $not: { $not: { $eq: null } } } }, [2, 3]],
  ['several operators must all be met', values, { v: { $gt: -3, $lt: 1 } }, [6, 10]],
  ['operators of two types meet nothing', values, { v: { $gt: 0, $lt: 'z' } }, nothing],
  ['an operator beside $not', values, { v: { $gte: 0, $not: { $gte: 5 } } }, [6, 7]],

  ['a dotted path leads into objects', people, { 'address.city': 'London' }, [0]],
  ['a path through text leads nowhere', people, { 'address.city': null }, [2, 3, 4, 5]],
  ['a path through null leads nowhere', people, { 'address.city': { $exists: false } }, [2, 3, 4, 5]],
  ['a key with a dot is not the path', people, { 'address.city': { $in: ['London'] } }, [0]],
  ['deeper than the document', people, { 'address.city.name.first': { $ne: 'x' } }, all(people)],
  ['several fields must all match', people, { name: 'Ada', age: { $gte: 18 } }, [0]],
  ['$and', people, { $and: [{ age: { $gte: 18 } }, { active: { $ne: true } }] }, [0]],
  ['$or', people, { $or: [{ name: 'Bo' }, { age: 64 }] }, [1, 4]],
  ['$nor', people, { $nor: [{ age: { $gte: 18 } }, { 'address.zip': { $exists: true } }] }, [1, 2, 3, 5]],
  ['$nor of what is null for SQL', people, { $nor: [{ 'address.zip': 'N1' }] }, but(people, 0)],
  ['$or beside a field', people, { $or: [{ name: 'Bo' }, { name: 'Ed' }], age: { $lt: 18 } }, [1]],
  [
    'joins nest',
    people,
    { $or: [{ $and: [{ name: 'Bo' }, { age: 17 }] }, { $nor: [{ name: { $exists: 1 } }] }] },
    [1, 5],
  ],
  ['an empty filter in $or', people, { $or: [{ name: 'Bo' }, {}] }, all(people)],
  ['an empty filter in $nor', people, { $nor: [{}] }, nothing],
  ['the identifier', people, { _id: '1'.padStart(26, '0') }, [1]],
  ['identifiers', people, { _id: { $in: ['4'.padStart(26, '0'), '0'.repeat(26), 'none', 7, null] } }, [0, 4]],
  ['not the identifier', people, { _id: { $ne: '0'.repeat(26) } }, but(people, 0)],
  ['identifiers that are none', people, { _id: { $nin: [null, 7] } }, all(people)],
  ['the identifier is never null', people, { _id: null }, nothing],
  ['the identifier compared', people, { _id: { $gt: '3'.padStart(26, '0') } }, [4, 5]],
]

const numbers: Document[] = [
  9007199254740991,
  -9007199254740991,
  9007199254740992,
  9007199254740994,
  1.152921504606847e18,
  2 ** 63,
  2 ** 64,
  1e21,
  1e300,
  5e-324,
  0.1,
  0.30000000000000004,
  0.3,
  -1e300,
  1.7976931348623157e308,
  -(2 ** 60) - 256,
].map((n) => ({ n }))
for (const [i, { n }] of numbers.entries()) {
  const one = n as number
  const where = (test: (other: number) => boolean) =>
    all(numbers).filter((k) => test(numbers[k]!.n as number))
  cases.push([`${one} equals itself alone`, numbers, { n }, [i]])
  cases.push([`${one} in a list`, numbers, { n: { $in: [n, 'x'] } }, [i]])
  cases.push([`above ${one}`, numbers, { n: { $gt: n } }, where((other) => other > one)])
  cases.push([`${one} and below`, numbers, { n: { $lte: n } }, where((other) => other <= one)])
  cases.push([`below ${one}`, numbers, { n: { $lt: n } }, where((other) => other < one)])
  cases.push([`${one} and above`, numbers, { n: { $gte: n } }, where((other) => other >= one)])
}

// In the order of code points, which is not the one of UTF-16 nor of any language.
const words: Document[] = ['', 'B', 'Ba', 'a', 'b', 'ba', '~', 'é', 'z\u0301', '\uffff', '😀'].map((v) => ({
  v,
}))
words.sort((a, b) => Buffer.compare(Buffer.from(a.v as string), Buffer.from(b.v as string)))
for (const [i, { v }] of words.entries()) {
  cases.push([`text after ${JSON.stringify(v)}`, words, { v: { $gt: v } }, all(words).slice(i + 1)])
  cases.push([`text up to ${JSON.stringify(v)}`, words, { v: { $lte: v } }, all(words).slice(0, i + 1)])
}

const oddKeys = [
  ' ',
  '"',
  '\\',
  '\\"',
  'a"b',
  '[0]',
  'a[0]',
  '0',
  '-1',
  'a$',
  '#',
  '*',
  "'",
  "' or 1=1 --",
  '?',
  '$1'.slice(1),
  ':a',
  '@',
  'é',
  '😀',
  '\n',
  '\t',
  '\u0001',
  '\u007f',
  '\u2028',
  'a b',
  '\\u0061',
  '{a,b}',
  'null',
  'toString',
]
for (const key of oddKeys) {
  const documents = [{ [key]: 'here', o: { [key]: 7 } }, { other: 'here' }, { a: 'here', '0': 1 }]
  const mine = documents.flatMap((document, i) => (Object.hasOwn(document, key) ? [i] : []))
  cases.push([`a field named ${JSON.stringify(key)}`, documents, { [key]: { $exists: true } }, mine])
  cases.push([`a field named ${JSON.stringify(key)} in an object`, documents, { [`o.${key}`]: 7 }, [0]])
}

// Numbered from 0: arrays of everything, beside what is no array.
const arrays: Document[] = [
  { v: 5 },
  { v: [5] },
  { v: [1, 7] },
  { v: [[5]] },
  { v: [] },
  { v: [[]] },
  { v: null },
  { v: [null] },
  {},
  { v: ['a', true, null] },
  { v: [{ x: 1 }, { x: 5, y: 2 }] },
  { v: [{ x: [1, 5] }] },
  { v: { x: [1, 5] } },
  { v: { 0: 5 } },
  { v: [{ 0: 5 }] },
]
const typed: Document[] = [
  1,
  2147483647,
  2147483648,
  -2147483649,
  1.5,
  2 ** 53,
  2 ** 60,
  2 ** 63,
  -(2 ** 63),
  1e300,
  '1',
  true,
  null,
  {},
  [],
  [1.5, 'a'],
].map((v) => ({ v }))
const remainders: Document[] = [4, 4.7, -4, -4.7, 7, 0, 0.5, '4', [4], [[4]], 2 ** 60, 1e300, null, 5].map(
  (v) => ({ v }),
)
const objects: Document[] = [
  { v: { x: 1, y: 2 } },
  { v: { y: 2, x: 1 } },
  { v: { x: 1, y: 2, z: 3 } },
  { v: [{ x: 1, y: 2 }] },
  { v: { x: 1 } },
  { v: { x: '1' } },
  { v: {} },
  { v: [1, 2] },
  { v: [[1, 2]] },
  { v: [2, 1] },
  { v: { x: [1, { z: null }] } },
]
const named: Document[] = [
  { '': 1 },
  { a: { '': 2 } },
  { '': { '': 3 } },
  { a: [{ '': 4 }] },
  { prototype: 5 },
  { a: 1 },
]
const lines: Document[] = ['az', '\naz', 'x\naz', 'AZ', 5, ['b', 'az'], [['az']], null].map((v) => ({ v }))

cases.push(
  ['a value equals an element, and an element only', arrays, { v: 5 }, [0, 1]],
  ['an array equals itself and an element', arrays, { v: [5] }, [1, 3]],
  ['an empty array equals itself and an element', arrays, { v: [] }, [4, 5]],
  ['null equals an element and what is missing', arrays, { v: null }, [6, 7, 8, 9]],
  ['$ne excludes what has such an element', arrays, { v: { $ne: 5 } }, but(arrays, 0, 1)],
  ['$ne null excludes what has null in it', arrays, { v: { $ne: null } }, but(arrays, 6, 7, 8, 9)],
  ['$nin excludes all that $in finds', arrays, { v: { $nin: [7, []] } }, but(arrays, 2, 4, 5)],
  ['$in takes arrays', arrays, { v: { $in: [[5], [[]], 'a'] } }, [1, 3, 5, 9]],
  ['two elements may meet two operators', arrays, { v: { $gt: 5, $lt: 5 } }, [2]],
  ['$gt compares arrays with arrays', arrays, { v: { $gt: [5] } }, [3, 5, 9, 10, 11, 14]],
  ['$lte of an array', arrays, { v: { $lte: [1, 7] } }, [2, 4, 5, 7]],
  ['$not turns around what any element meets', arrays, { v: { $not: { $gte: 5 } } }, but(arrays, 0, 1, 2)],
  ['$exists is true of an empty array', arrays, { v: { $exists: false } }, [8]],
  ['a path goes into the elements', arrays, { 'v.x': 5 }, [10, 11, 12]],
  ['a path finds no elements in elements', arrays, { 'v.x': [1, 5] }, [11, 12]],
  ['null at a path into elements', arrays, { 'v.y': null }, [0, 6, 8, 10, 11, 12, 13, 14]],
  ['nothing at a path into elements', arrays, { 'v.x': { $exists: false } }, but(arrays, 10, 11, 12)],
  ['$ne at a path into elements', arrays, { 'v.x': { $ne: 5 } }, but(arrays, 10, 11, 12)],
  ['an index, or a field so named', arrays, { 'v.0': 5 }, [1, 13, 14]],
  ['an index is not looked into', arrays, { 'v.0': [5] }, [3]],
  ['an index of an index', arrays, { 'v.0.0': 5 }, [3, 14]],
  ['an index and a path into the element', arrays, { 'v.1.x': 5 }, [10]],
  ['an index and a path, or a field so named', arrays, { 'v.0.x': null }, [0, 6, 8, 10, 11, 12, 13, 14]],
  ['no element at the index', arrays, { 'v.1': { $exists: true } }, [2, 9, 10]],
  ['null at the index', arrays, { 'v.0': null }, [0, 6, 7, 8, 10, 11, 12]],
  ['an index is written without zeros before it', arrays, { 'v.00': 5 }, nothing],
  ['$size', arrays, { v: { $size: 1 } }, [1, 3, 5, 7, 11, 14]],
  ['$size does not ask the elements', arrays, { v: { $size: 0 } }, [4]],
  ['$size at an index', arrays, { 'v.0': { $size: 1 } }, [3]],
  ['$size at a path into elements', arrays, { 'v.x': { $size: 2 } }, [11, 12]],
  ['a length is no field', arrays, { 'v.length': 1 }, nothing],
  ['$all needs each value', arrays, { v: { $all: [7, 1] } }, [2]],
  ['$all of one value is the value', arrays, { v: { $all: [5] } }, [0, 1]],
  ['$all of an array', arrays, { v: { $all: [[5]] } }, [1, 3]],
  ['$all of null', arrays, { v: { $all: [null] } }, [6, 7, 8, 9]],
  ['$all of nothing', arrays, { v: { $all: [] } }, nothing],
  ['$all of elements', arrays, { v: { $all: [{ $elemMatch: { x: 1 } }, { $elemMatch: { y: 2 } }] } }, [10]],
  ['$elemMatch of operators', arrays, { v: { $elemMatch: { $gte: 5, $lt: 7 } } }, [1]],
  ['$elemMatch asks one element', arrays, { v: { $elemMatch: { $gt: 1, $lt: 7 } } }, [1]],
  ['$elemMatch of null', arrays, { v: { $elemMatch: { $eq: null } } }, [7, 9]],
  ['$elemMatch of $ne', arrays, { v: { $elemMatch: { $ne: null } } }, [1, 2, 3, 5, 9, 10, 11, 14]],
  ['$elemMatch of $not', arrays, { v: { $elemMatch: { $not: { $lt: 6 } } } }, [2, 3, 5, 7, 9, 10, 11, 14]],
  ['$elemMatch of $elemMatch', arrays, { v: { $elemMatch: { $elemMatch: { $eq: 5 } } } }, [3]],
  ['$elemMatch of $size', arrays, { v: { $elemMatch: { $size: 0 } } }, [5]],
  ['$elemMatch of $all', arrays, { v: { $elemMatch: { $all: [5] } } }, [1]],
  ['$elemMatch of an array', arrays, { v: { $elemMatch: { $in: [[5], true] } } }, [3, 9]],
  ['$elemMatch of $exists', arrays, { v: { $elemMatch: { $exists: false } } }, nothing],
  ['$elemMatch of fields', arrays, { v: { $elemMatch: { x: 5, y: 2 } } }, [10]],
  ['$elemMatch asks arrays by index', arrays, { v: { $elemMatch: { 0: 5 } } }, [3, 14]],
  ['$elemMatch of a missing field', arrays, { v: { $elemMatch: { z: null } } }, [3, 5, 10, 11, 14]],
  ['$elemMatch of nothing', arrays, { v: { $elemMatch: {} } }, [3, 5, 10, 11, 14]],
  ['$elemMatch of $or', arrays, { v: { $elemMatch: { $or: [{ y: 2 }, { 0: 5 }] } } }, [3, 10, 14]],
  ['$elemMatch of $nor', arrays, { v: { $elemMatch: { $nor: [{ x: 1 }] } } }, [3, 5, 10, 14]],
  ['$elemMatch at a path', arrays, { 'v.x': { $elemMatch: { $gt: 1 } } }, [11, 12]],
  ['$elemMatch in $elemMatch', arrays, { v: { $elemMatch: { x: { $elemMatch: { $eq: 5 } } } } }, [11]],
  ['$not of $elemMatch', arrays, { v: { $not: { $elemMatch: {} } } }, but(arrays, 3, 5, 10, 11, 14)],

  ['objects are equal field by field in their order', objects, { v: { x: 1, y: 2 } }, [0, 3]],
  ['an empty object equals an empty one only', objects, { v: {} }, [6]],
  ['objects differ by types inside', objects, { v: { x: '1' } }, [5]],
  ['objects deep inside', objects, { v: { x: [1, { z: null }] } }, [10]],
  ['$in takes objects', objects, { v: { $in: [{ y: 2, x: 1 }, {}] } }, [1, 6]],
  ['$ne of an object', objects, { v: { $ne: { x: 1 } } }, but(objects, 4)],
  ['an object with an operator behind a field', objects, { v: { x: 1, $gt: 0 } }, nothing],
  ['$gt of an object', objects, { v: { $gt: { x: 1, y: 2 } } }, [1, 2, 5, 10]],
  ['$lte of an object', objects, { v: { $lte: { x: 1 } } }, [4, 6]],
  ['$gte of an empty object', objects, { v: { $gte: {} } }, [0, 1, 2, 3, 4, 5, 6, 10]],
  ['arrays are equal in their order', objects, { v: [1, 2] }, [7, 8]],
  ['$lt of an array', objects, { v: { $lt: [2] } }, [7, 8]],

  ['$type int', typed, { v: { $type: 'int' } }, [0, 1]],
  ['$type long', typed, { v: { $type: 18 } }, [2, 3, 5, 6]],
  ['$type double', typed, { v: { $type: 'double' } }, [4, 7, 8, 9, 15]],
  ['$type number', typed, { v: { $type: 'number' } }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15]],
  ['$type of several', typed, { v: { $type: ['bool', 10, 'string'] } }, [10, 11, 12, 15]],
  ['$type array', typed, { v: { $type: 'array' } }, [14, 15]],
  ['$type object', typed, { v: { $type: 3 } }, [13]],
  ['$type that JSON has not', typed, { v: { $type: 'date' } }, nothing],
  ['$type of missing', typed, { w: { $type: 'null' } }, nothing],

  ['$mod cuts the number', remainders, { v: { $mod: [3, 1] } }, [0, 1, 4, 8, 10]],
  ['$mod has the sign of the number', remainders, { v: { $mod: [3, -1] } }, [2, 3]],
  ['$mod cuts divisor and remainder', remainders, { v: { $mod: [-4.9, 0.9] } }, [0, 1, 2, 3, 5, 6, 8, 10]],
  ['$mod reads whole doubles as they are written', remainders, { v: { $mod: [1000, 0] } }, [5, 6, 10]],
  ['$not of $mod', remainders, { v: { $not: { $mod: [1, 0] } } }, [7, 9, 11, 12]],

  ['$regex looks into texts and elements', lines, { v: { $regex: 'z' } }, [0, 1, 2, 5]],
  ['$regex from the beginning', lines, { v: { $regex: '^a' } }, [0, 5]],
  ['$regex from a line on', lines, { v: { $regex: '^a', $options: 'm' } }, [0, 1, 2, 5]],
  ['$regex of any case', lines, { v: { $options: 'i', $regex: 'AZ' } }, [0, 1, 2, 3, 5]],
  ['$regex across lines', lines, { v: { $regex: 'x.az', $options: 's' } }, [2]],
  ['$regex with spaces', lines, { v: { $regex: 'a z', $options: 'x' } }, [0, 1, 2, 5]],
  ['$not of $regex', lines, { v: { $not: { $regex: 'z' } } }, [3, 4, 6, 7]],
  ['$regex beside another operator', lines, { v: { $regex: 'z', $gt: 'b' } }, [2]],

  ['a field without a name', named, { '': 1 }, [0]],
  ['a field without a name is there', named, { '': { $exists: true } }, [0, 2]],
  ['an empty part at the end', named, { 'a.': { $gt: 0 } }, [1, 3]],
  ['two empty parts', named, { '.': 3 }, [2]],
  ['a prototype is a name', named, { prototype: 5 }, [4]],
  ['__proto__ is not', named, { ['__proto__']: { $exists: true } }, nothing],
  ['so everything is without it', named, { 'a.__proto__.b': { $exists: false } }, all(named)],
  ['so nothing equals it', named, { ['__proto__']: { $ne: 1 } }, all(named)],
  ['nor a constructor', named, { 'constructor.name': 'Object' }, nothing],
  ['a constructor is missing', named, { constructor: null }, all(named)],
)

const whole: Document[] = [2 ** 53 + 2, 2 ** 60, 2 ** 63, 123456789012345680000].map((v) => ({ v }))
for (const [i, { v }] of whole.entries())
  cases.push(
    [`${String(v)} as it is answered`, whole, { v }, [i]],
    [`${String(v)} in an array`, whole, { v: { $in: [[v], v] } }, [i]],
  )

eachEngine((engine) => {
  let documents: Documents
  before(async () => {
    documents = await openDocuments(engine)
  })
  after(() => documents.close())

  const collections = new Map<Document[], Promise<string>>()
  const collectionOf = (rows: Document[]): Promise<string> => {
    const made = collections.get(rows) ?? documents.collection(rows)
    collections.set(rows, made)
    return made
  }

  for (const [behaviour, rows, filter, numbers] of cases) {
    test(behaviour, async () => {
      assert.deepEqual(await documents.matching(await collectionOf(rows), filter), numbers)
    })
  }
})

// The rules that random documents are judged by are judged by these.
for (const [behaviour, rows, filter, numbers] of cases)
  if (!JSON.stringify(filter).includes('_id'))
    test(`the rules say so: ${behaviour}`, () => {
      const stored = JSON.parse(JSON.stringify(rows)) as Json[]
      const matcher = compileMatcher(parseFilter(JSON.stringify(filter)))
      assert.deepEqual(
        stored.flatMap((row, i) => (matches(row, filter as Record<string, Json>) ? [i] : [])),
        numbers,
      )
      assert.deepEqual(
        stored.flatMap((row, i) => (matcher(row) ? [i] : [])),
        numbers,
      )
    })
