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

test('statements that run together see the same moment, or do not run', async (t) => {
  const file = join(await temporaryFolder(t), 'test.db')
  const writer = new SqliteWorker(file, 'writer')
  const scanners = new SqliteScanners(() => new SqliteWorker(file, 'scanner'))
  t.after(() => Promise.all([writer.close(), scanners.close()]))
  await writer.askOne({
    kind: 'exec',
    text: 'create table seats (row integer); insert into seats values (1)',
  })
  const takenIn = (row: string) => ({
    text: `select count(*) as seats from seats where row ${row} and sixwire_tick()`,
    params: [],
  })
  const halves = [takenIn('= 1'), takenIn('<> 1')]
  // One that has to be started first is there the next time.
  while (!(await scanners.runTogether(halves, never)));
  let isMoving = true
  const moves = (async () => {
    for (let move = 0; move < 200; move++)
      await writer.askOne({ kind: 'exec', text: 'update seats set row = 1 - row' })
    isMoving = false
  })()
  while (isMoving) {
    const rows = await scanners.runTogether(halves, never)
    if (rows)
      assert.equal(
        rows.flat().reduce((sum, row) => sum + Number(row['seats']), 0),
        1,
      )
  }
  await moves
  // None has kept a snapshot.
  assert.deepEqual(await scanners.runTogether(halves, never), [[{ seats: 1 }], [{ seats: 0 }]])
  await writer.askOne({ kind: 'exec', text: 'update seats set row = 1 - row' })
  assert.deepEqual(await scanners.runTogether(halves, never), [[{ seats: 0 }], [{ seats: 1 }]])
})

test('statements that run together are stopped together', async (t) => {
  const file = join(await temporaryFolder(t), 'test.db')
  const scanners = new SqliteScanners(() => new SqliteWorker(file, 'scanner'))
  t.after(() => scanners.close())
  while (!(await scanners.runTogether([ONE, ONE], never)));
  const endless = {
    text: `with recursive n (i) as (select 1 union all select i + 1 from n) select max(i) as one from n where sixwire_tick()`,
    params: [],
  }
  for (const statements of [
    [endless, endless],
    [ONE, endless],
  ]) {
    const stop = new AbortController()
    const run = scanners.runTogether(statements, stop.signal)
    setImmediate(() => stop.abort())
    await assert.rejects(run)
  }
  assert.deepEqual(await scanners.runTogether([ONE, ONE], never), [[{ one: 1 }], [{ one: 1 }]])
})
