import { all, but, nothing, testCases, type Case } from './cases.fixture.ts'
import type { Document } from './documents.fixture.ts'

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
const nestedIn = (depth: number, filter: unknown): unknown =>
  depth === 0 ? filter : { [depth % 2 === 0 ? '$and' : '$or']: [nestedIn(depth - 1, filter), { v: 5 }] }

const times = (count: number, filter: object): object[] => Array.from({ length: count }, () => filter)

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

testCases(cases)
