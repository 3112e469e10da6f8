// Reads that go together, without a server.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { errors } from '../base/errors.ts'
import { ReadGroups } from './postgres-reads.ts'
import { sql } from './sql.ts'

test('reads that failed together for the server is away are not asked again one by one', async () => {
  let runs = 0
  const reads = new ReadGroups(
    async () => {
      runs++
      throw errors.unavailable({ cause: Object.assign(new Error('it is away'), { code: 'ECONNREFUSED' }) })
    },
    () => false,
  )
  const all = Array.from({ length: 100 }, (_, n) => reads.read(sql`select ${n} as n`, true))
  for (const { status } of await Promise.allSettled(all)) assert.equal(status, 'rejected')
  assert.equal(runs, 1)
})
