import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { temporaryFolder } from '../testing/engines.ts'
import { SqliteScanners } from './sqlite-scanners.ts'
import { SqliteWorker } from './sqlite-worker.ts'

const ONE = { text: 'select 1 as one', params: [] }
const never = new AbortController().signal

test('threads that scan end when they are not needed any more, but for one', async (t) => {
  const file = join(await temporaryFolder(t), 'test.db')
  const workers: SqliteWorker[] = []
  const start = (): SqliteWorker => {
    const worker = new SqliteWorker(file, 'scanner')
    workers.push(worker)
    return worker
  }
  const scanners = new SqliteScanners(start, 20)
  t.after(() => scanners.close())
  for (const round of [1, 2]) {
    const scans = Array.from({ length: 3 }, () => scanners.run(ONE, never))
    assert.equal(scanners.size, 3)
    assert.deepEqual(await Promise.all(scans), [[{ one: 1 }], [{ one: 1 }], [{ one: 1 }]])
    const running = (): number => workers.filter(({ brokenBy }) => !brokenBy).length
    while (running() > 1) await delay(5)
    assert.equal(scanners.size, 1)
    // The one that is left is used again.
    assert.deepEqual(await scanners.run(ONE, never), [{ one: 1 }])
    assert.equal(workers.length, round * 2 + 1)
  }
})
