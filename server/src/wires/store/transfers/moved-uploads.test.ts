import assert from 'node:assert/strict'
import { test } from 'node:test'

import { systemClock } from '../../../base/clock.ts'
import { moveDatabase } from '../../../kernel/move/move.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { storedObjects } from '../files/files.fixture.ts'
import { append, create } from '../files/resumable/resumable.fixture.ts'

const DAY_MS = 86_400_000

eachEngine((engine) => {
  test('what has arrived of an upload under way is deleted after a move, and its room is free at once', async (t) => {
    const folder = await temporaryFolder(t)
    const options = {
      config: { store: { quota: { user: '1000' } } },
      environment: { DATA_DIR: folder },
    }
    const old = await startApp(t, engine, options)
    const { token } = await old.register()
    const path = await create(old, token, 1000)
    assert.equal((await append(old, token, path, { offset: 0, bytes: Buffer.alloc(400) })).status, 204)
    const { db } = old.app
    const url = await engine.freshUrl()
    await moveDatabase(
      { db, clock: systemClock, tablesOf: (dialect) => old.app.tablesOf(dialect) },
      { to: url, drainMs: 0, signal: new AbortController().signal, onProgress: () => undefined },
    )
    const moved = await startApp(t, engine, { ...options, databaseUrl: url })
    assert.equal((await moved.request('HEAD', path, { token })).status, 404)
    await create(moved, token, 1000)
    assert.equal((await storedObjects(folder)).length, 1)
    moved.clock.advance(DAY_MS)
    await until(async () => {
      moved.clock.advance(60_000)
      return (await storedObjects(folder)).length === 0
    })
  })
})
