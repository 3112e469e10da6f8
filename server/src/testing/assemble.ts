import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { createApp, type App, type AppOptions } from '../app.ts'
import { temporaryFolder } from './engines.ts'

const SECRET = 'a secret of the tests that is long enough'

/** Puts an application together on a new folder, without starting it. */
export async function assemble(t: TestContext, options: AppOptions = {}): Promise<App> {
  const folder = await temporaryFolder(t)
  const app = await createApp({
    folder,
    ...options,
    environment: { PORT: '0', LOG_LEVEL: 'silent', SIXWIRE_SECRET: SECRET, ...options.environment },
  })
  t.after(() => app.close())
  return app
}

/** Asserts that an application cannot be put together, for a reason of one line. */
export const refused = (t: TestContext, line: RegExp, options: AppOptions | (() => AppOptions)) =>
  assert.rejects(
    async () => assemble(t, typeof options === 'function' ? options() : options),
    (error: Error) => {
      assert.equal(error.name, 'StartError', String(error.stack))
      assert.match(error.message, line)
      assert.doesNotMatch(error.message, /\n/)
      return true
    },
  )
