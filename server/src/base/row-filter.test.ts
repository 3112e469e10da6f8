import assert from 'node:assert/strict'
import { test } from 'node:test'

import { allRows, includesOwner, ownRows, type RowFilter } from './row-filter.ts'

const filters: [RowFilter<string>, owners: string[]][] = [
  [allRows, ['', 'ada', 'bob']],
  [ownRows('ada'), ['ada']],
  [{ rows: 'none' }, []],
  [{ rows: 'matching', condition: 'n = 1', alsoOf: 'ada' }, ['ada']],
  [{ rows: 'matching', condition: 'n = 1', alsoOf: undefined }, []],
]

for (const [rowFilter, owners] of filters)
  test(`${JSON.stringify(rowFilter)} includes all rows of ${owners.join(', ') || 'nobody'}`, () => {
    assert.deepEqual(
      ['', 'ada', 'bob'].filter((owner) => includesOwner(rowFilter, owner)),
      owners,
    )
  })
