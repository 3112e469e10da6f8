// What the request log does while its database is away. What it answers is shown in server/src/wires/core/request-log/logs.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pino } from 'pino'

import { openDatabase } from '../../../db/open.ts'
import { startProxy } from '../../../db/postgres-proxy.fixture.ts'
import { sql } from '../../../db/sql.ts'
import { testClock } from '../../../testing/clock.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { openFrame } from '../../../kernel/frame.fixture.ts'
import { isProblemLine } from '../../../kernel/telemetry/log.ts'
import { REQUEST_LOG } from '../../../kernel/config/request-log-option.ts'
import { NO_SIBLINGS } from '../../../base/siblings.ts'
import { createRequestLog } from './request-log.ts'

const ROUNDS = 12
const IN_A_ROUND = 250

const answer = (status: number) => ({
  requestId: 'r',
  method: 'GET',
  route: '/shop',
  path: '/shop',
  status,
  ms: 2,
  ip: '::1',
  caller: undefined,
})

eachEngine((engine) => {
  // SQLite is a file, which is not away for a while.
  if (engine.name === 'sqlite') return
  test('a database that is away: a bounded part waits, the rest is counted, and one line says so', async (t) => {
    const frame = await openFrame(engine)
    await frame.db.close()
    const proxy = await startProxy(frame.url)
    const db = await openDatabase(proxy.url)
    const clock = testClock()
    const lines: string[] = []
    const requestLog = createRequestLog({
      siblings: NO_SIBLINGS,
      db,
      clock,
      process: 'p1',
      settings: REQUEST_LOG,
      log: pino({}, { write: (line: string) => void lines.push(line) }),
    })
    t.after(async () => {
      await requestLog.stop()
      await db.close()
      await proxy.down()
    })
    requestLog.start()
    await proxy.down()
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < IN_A_ROUND; i++) requestLog.answered(answer(404))
      // As the frame does with each of its lines: it must not feed itself.
      for (const line of lines.splice(0)) if (isProblemLine(line)) requestLog.problem(line)
      clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await proxy.up()
    const read = () =>
      db.get<{ rows: number; requests: number; omitted: number }>(sql`
        select (select count(*) from sixwire_log where kind = 'request') as rows,
          (select cast(coalesce(sum(requests), 0) as bigint) from sixwire_log_hours) as requests,
          (select cast(coalesce(sum(omitted), 0) as bigint) from sixwire_log_hours) as omitted`)
    let found: Awaited<ReturnType<typeof read>>
    await until(async () => {
      clock.advance(1_000)
      found = await read().catch(() => undefined)
      // What a failed write leaves out is counted by the next one.
      return found?.requests === ROUNDS * IN_A_ROUND && found.rows + found.omitted === ROUNDS * IN_A_ROUND
    })
    const { rows } = found!
    assert.ok(rows >= 200 && rows <= 1_000, String(rows))
    const problems = await db.all<{ message: string }>(
      sql`select message from sixwire_log where kind = 'problem'`,
    )
    assert.equal(problems.length, 1)
    assert.match(problems[0]!.message, /^the request log could not be written: it is tried again/)
  })
})
