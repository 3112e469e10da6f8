import { all, nothing, testCases, type Case } from './cases.fixture.ts'
import type { Document } from './documents.fixture.ts'

// https://www.mongodb.com/docs/manual/reference/operator/query/bitsAllSet/
const manual: Document[] = [{ a: 54 }, { a: 20 }, { a: 20.0 }, { a: 102 }]

const numbers: Document[] = [
  { a: -1 },
  { a: -5 },
  { a: 0 },
  { a: 4.5 },
  { a: '54' },
  { a: null },
  {},
  { a: 2 ** 53 },
  { a: 1152921504606847000 }, // 2^60, with the digits that JSON writes
  { a: -(2 ** 63) }, // its digits do not fit into 64 bits
  { a: 2 ** 63 },
  { a: 1e300 },
  { a: [4.5, 6] },
  { a: [[6]] },
  { a: true },
]
const integers = [0, 1, 2, 7, 8, 12]

const cases: Case[] = [
  ['$bitsAllSet of positions', manual, { a: { $bitsAllSet: [1, 5] } }, [0, 3]],
  ['$bitsAllSet of a mask', manual, { a: { $bitsAllSet: 50 } }, [0]],
  ['$bitsAllClear of positions', manual, { a: { $bitsAllClear: [1, 5] } }, [1, 2]],
  ['$bitsAllClear of a mask', manual, { a: { $bitsAllClear: 35 } }, [1, 2]],
  ['$bitsAnySet of positions', manual, { a: { $bitsAnySet: [1, 5] } }, [0, 3]],
  ['$bitsAnySet of a mask', manual, { a: { $bitsAnySet: 35 } }, [0, 3]],
  ['$bitsAnyClear of positions', manual, { a: { $bitsAnyClear: [1, 5] } }, [1, 2]],
  ['$bitsAnyClear of a mask', manual, { a: { $bitsAnyClear: 35 } }, all(manual)],
  ['negative numbers are two’s complement', numbers, { a: { $bitsAllSet: [0, 1, 3, 62, 63] } }, [0, 1]],
  ['the sign is at all positions from 63 on', numbers, { a: { $bitsAnySet: [200] } }, [0, 1]],
  ['clear bits of a negative number', numbers, { a: { $bitsAllClear: 4 } }, [1, 2, 7, 8]],
  ['no bit is any', numbers, { a: { $bitsAnySet: 0 } }, nothing],
  ['no bit, of which all are set, of integers only', numbers, { a: { $bitsAllSet: [] } }, integers],
  ['integers beyond 2^53 have the bits of their digits', numbers, { a: { $bitsAllSet: [3, 4] } }, [0, 1, 8]],
  ['the bits of 2^53', numbers, { a: { $bitsAllSet: 2 ** 53 } }, [0, 1, 7]],
  ['more than eight bits', numbers, { a: { $bitsAllClear: 1023 } }, [2, 7]],
  [
    '$not',
    numbers,
    { a: { $not: { $bitsAnySet: [1] } } },
    all(numbers).filter((i) => ![0, 1, 12].includes(i)),
  ],
  ['of elements', numbers, { a: { $elemMatch: { $bitsAllSet: 6 } } }, [12]],
  ['by an index', numbers, { 'a.1': { $bitsAllSet: 6 } }, [12]],
]

testCases(cases)
