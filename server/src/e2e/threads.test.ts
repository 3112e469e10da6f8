import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'

import { startApp } from '../testing/app.ts'
import { anyEngine } from '../testing/engines.ts'

anyEngine((engine) => {
  for (const [what, sandbox] of [
    ['without a sandbox', false],
    ['with one', true],
  ] as const)
    test(`a server ${what} has one thread beside its own, which writes to SQLite`, async (t) => {
      let threads = 0
      const count = (): void => void threads++
      subscribe('worker_threads', count)
      t.after(() => unsubscribe('worker_threads', count))
      await startApp(t, engine, { sandbox })
      // It may be that of a server before it.
      assert.ok(threads <= 1, String(threads))
    })
})
