import assert from 'node:assert/strict'

import type { TestApp } from '../../server/src/testing/app.ts'
import { appForAll } from '../../server/src/testing/auth.ts'
import type { Engine } from '../../server/src/testing/engines.ts'

/**
 * One server for all tests of a suite; call it where the suite is described.
 *
 * @returns what a test calls for the server, whose sandbox has forgotten everything but its credentials
 */
export function sandboxForAll(engine: Engine): () => Promise<TestApp> {
  const app = appForAll(engine, { sandbox: true })
  return async () => {
    const { status, text } = await app().request('DELETE', '/sandbox/api')
    assert.equal(status, 200, text)
    return app()
  }
}
