import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { createApp, type App, type AppOptions } from '../app.ts'
import { Type } from '../base/schema.ts'
import { route } from '../http/route.ts'
import { defineWire } from '../kernel/wire/wire.ts'
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

/** A wire with one public route. */
export const routed = (name: string, key: `GET /${string}`, query = Type.Object({})) =>
  defineWire({
    name,
    setup: () => ({
      service: undefined,
      routes: [
        route(key, { summary: 'One', access: 'public', query, reply: { 200: Type.Object({}) } }, () => ({})),
      ],
    }),
  })()
