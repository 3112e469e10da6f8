import assert from 'node:assert/strict'
import { test } from 'node:test'

import { reportedLimit } from './connection-limit.ts'

test('the limit of connections is found without a lookup of the names of those that are open', (t) => {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  let isExcluded: boolean | undefined
  t.mock.method(report, 'getReport', () => {
    isExcluded = report.excludeNetwork
    return { userLimits: { open_files: { soft: 4096 } } }
  })
  assert.equal(reportedLimit(), 4096)
  assert.equal(isExcluded, true)
  assert.equal(report.excludeNetwork, excludeNetwork)
})
