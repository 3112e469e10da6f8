// A process that builds an index is killed in the middle; another one begins it anew.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openDatabase } from '../../../../../db/open.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, testClock } from '../../../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../../../testing/engines.ts'
import { startScript, urlLiteral } from '../../../../../testing/program.ts'
import { until } from '../../../../../testing/until.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

const REQUESTS = 30
const DOCUMENTS_A_REQUEST = 1_000
const KILLS = 3
const LEASE_MS = 61_000

const indexes = { books: ['tags,-year', { fields: 'serial', unique: true }] }

/** A server whose clock is ahead, so that the lease of a process that was killed is over. */
const program = (url: string, folder: string, aheadMs: number): string => `
  import { createApp } from ${urlLiteral('app.ts')}
  import { systemClock } from ${urlLiteral('base/clock.ts')}
  const folder = ${JSON.stringify(folder)}
  const app = await createApp({
    config: { store: { indexes: ${JSON.stringify(indexes)} } },
    environment: {
      PORT: '0', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder,
      SIXWIRE_SECRET: 'a secret of the tests that is long enough', DATABASE_URL: ${JSON.stringify(url)},
    },
    folder,
    clock: { ...systemClock, now: () => Date.now() + ${aheadMs} },
    logTo: { write() {} },
  })
  await app.listen()`

eachEngine((engine) => {
  test('a killed build starts again, and the entries that it inserted stay correct', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const folder = await temporaryFolder(t)
    const writer = await startApp(t, engine, { databaseUrl })
    const { token } = await writer.register()
    for (let request = 0; request < REQUESTS; request++) {
      const body = Array.from({ length: DOCUMENTS_A_REQUEST }, (_, i) => ({
        serial: request * DOCUMENTS_A_REQUEST + i,
        year: i % 50,
        tags: [i % 3, i % 7],
      }))
      assert.equal((await writer.request('POST', '/store/books', { token, body })).status, 201)
    }
    await writer.stop()

    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    const stateOf = async () =>
      (await db.get<{ building: number; inserted: number }>(sql`
        select count(*) as building, cast(coalesce(sum(documents), 0) as bigint) as inserted
        from store_indexes where state = 'building'`))!
    let inTheMiddle = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const child = await startScript(t, program(databaseUrl, folder, kill * LEASE_MS))
      const isRunning = async (): Promise<boolean> => {
        const { building, inserted } = await stateOf()
        return inserted > 0 || (building === 0 && kill > 0)
      }
      await until(isRunning)
      await child.kill()
      if ((await stateOf()).inserted > 0) inTheMiddle++
    }
    t.diagnostic(`${inTheMiddle} of ${KILLS} processes were killed in the middle of a build`)
    assert.ok(inTheMiddle > 0)

    const clock = testClock()
    clock.advance(KILLS * LEASE_MS)
    const last = await startApp(t, engine, { databaseUrl, clock, config: { store: { indexes } } })
    await readyIndexes(last)
    assert.deepEqual(
      (await indexesOf(last)).map(({ state }) => state),
      ['ready', 'ready'],
    )
    await assertEntries(last)
  })
})
