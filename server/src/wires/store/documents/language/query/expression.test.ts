import { all, nothing, testCases, type Case } from './cases.fixture.ts'
import type { Document } from './documents.fixture.ts'

// https://www.mongodb.com/docs/manual/reference/operator/query/expr/
const budgets: Document[] = [
  { category: 'food', budget: 400, spent: 450 },
  { category: 'drinks', budget: 100, spent: 150 },
  { category: 'clothes', budget: 100, spent: 50 },
  { category: 'misc', budget: 500, spent: 300 },
  { category: 'travel', budget: 200, spent: 650 },
]

/** In the order of their types: missing, null, numbers, texts, objects, arrays, booleans. */
const ordered: Document[] = [
  {},
  { v: null },
  { v: -1 },
  { v: 2 },
  { v: 10 },
  { v: '' },
  { v: 'B' },
  { v: 'a' },
  { v: '\uffff' },
  { v: '😀' },
  { v: {} },
  { v: { x: 1 } },
  { v: { x: 1, y: 1 } },
  { v: { y: 0 } },
  { v: { x: 'a' } },
  { v: [] },
  { v: [1, 5] },
  { v: [2] },
  { v: ['a'] },
  { v: false },
  { v: true },
]
// In both fields each pair of values.
const pairs = ordered.flatMap(({ v: one }, i) =>
  ordered.map(({ v: other }, j): { document: Document; order: number } => ({
    document: { ...(i > 0 && { one }), ...(j > 0 && { o: { other } }) },
    order: i - j,
  })),
)
const documents = pairs.map(({ document }) => document)
const where = (holds: (order: number) => boolean): number[] =>
  pairs.flatMap(({ order }, i) => (holds(order) ? [i] : []))

const nested: Document[] = [
  { a: { b: 1 }, c: 1 },
  { a: [{ b: 1 }, { b: 2 }, 5, [{ b: 9 }], { x: 1 }], c: [1, 2] },
  { a: [], c: [] },
  { a: 5 },
  { a: [{ b: [{ d: 1 }, { d: 2 }] }, { b: { d: 3 } }], c: [[1, 2], 3] },
  { a: { 0: { b: 7 } }, c: 7 },
]

const cases: Case[] = [
  ['a field compares with another one', budgets, { $expr: { $gt: ['$spent', '$budget'] } }, [0, 1, 4]],
  ['beside other conditions', budgets, { category: 'food', $expr: { $gt: ['$spent', '$budget'] } }, [0]],
  ['in joins', budgets, { $nor: [{ $expr: { $gt: ['$spent', '$budget'] } }, { spent: 50 }] }, [3]],
  ['a field compares with a value', budgets, { $expr: { $lte: ['$spent', 150] } }, [1, 2]],
  ['a value compares with a field', budgets, { $expr: { $lt: [300, '$spent'] } }, [0, 4]],
  ['values compare', budgets, { $expr: { $eq: [1, 1] } }, all(budgets)],
  ['values that are not equal', budgets, { $expr: { $eq: [1, true] } }, nothing],
  [
    'a text that begins with $',
    [{ v: '$a' }, { v: 'a' }],
    { $expr: { $eq: ['$v', { $literal: '$a' }] } },
    [0],
  ],
  ['equal', documents, { $expr: { $eq: ['$one', '$o.other'] } }, where((order) => order === 0)],
  ['not equal', documents, { $expr: { $ne: ['$one', '$o.other'] } }, where((order) => order !== 0)],
  ['greater', documents, { $expr: { $gt: ['$one', '$o.other'] } }, where((order) => order > 0)],
  ['greater or equal', documents, { $expr: { $gte: ['$one', '$o.other'] } }, where((order) => order >= 0)],
  ['less', documents, { $expr: { $lt: ['$one', '$o.other'] } }, where((order) => order < 0)],
  ['less or equal', documents, { $expr: { $lte: ['$one', '$o.other'] } }, where((order) => order <= 0)],
  ['of an array the fields of its objects', nested, { $expr: { $eq: ['$a.b', '$c'] } }, [0, 1, 2, 3]],
  ['of arrays in it, arrays', nested, { $expr: { $eq: ['$a.b.d', [[1, 2], 3]] } }, [4]],
  ['a number is the name of a field', nested, { $expr: { $eq: ['$a.0.b', 7] } }, [5]],
  ['a missing field is less than null', nested, { $expr: { $lt: ['$c', null] } }, [3]],
]
for (const [i, { v }] of ordered.entries())
  if (i > 0) {
    const value = { $literal: v }
    cases.push([
      `less than ${JSON.stringify(v)}`,
      ordered,
      { $expr: { $lt: ['$v', value] } },
      all(ordered).slice(0, i),
    ])
    cases.push([
      `not ${JSON.stringify(v)}`,
      ordered,
      { $expr: { $ne: [value, '$v'] } },
      all(ordered).toSpliced(i, 1),
    ])
  }

testCases(cases)
