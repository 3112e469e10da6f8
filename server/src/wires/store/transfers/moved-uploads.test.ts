import assert from 'node:assert/strict'
import { test } from 'node:test'

import { systemClock } from '../../../base/clock.ts'
import { moveDatabase } from '../../../kernel/move/move.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { append, create } from '../files/resumable/resumable.fixture.ts'

eachEngine((engine) => {
  test('the room of an upload under way is free after a move, which leaves it behind', async (t) => {
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
    assert.ok(await create(moved, token, 1000))
  })
})
