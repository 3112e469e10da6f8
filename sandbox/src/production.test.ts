import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { TestAnswer } from '../../server/src/testing/app.ts'
import { runHere } from '../../server/src/testing/command.ts'
import { startWatched } from '../../server/src/testing/loaded-modules.ts'
import { applicationFolder } from '../../server/src/testing/program.ts'
import { until } from '../../server/src/testing/until.ts'

type Json = TestAnswer['body']

/** Of what a server has loaded: the sandbox, and the packages that only it needs. */
const ofSandbox = (loaded: string[]): string[] =>
  loaded.filter((url) => /\/sandbox\/src\/|\/(smtp-server|postal-mime)\//.test(url))

describe('the sandbox', () => {
  for (const [where, environment] of [
    ['in production', { NODE_ENV: 'production' }],
    ['where it is switched off', { SIXWIRE_SANDBOX: 'off' }],
  ] as const)
    test(`is not there ${where}: nothing of it is loaded, and nothing answers`, async (t) => {
      const server = await startWatched(t, environment)
      for (const path of ['/sandbox', '/sandbox/', '/sandbox/api', '/sandbox/api/mail', '/sandbox/phone/x']) {
        const answered = await fetch(server.url + path)
        assert.equal(answered.status, 404, path)
        assert.equal(((await answered.json()) as Json).error.code, 'NOT_FOUND')
      }
      assert.equal((await fetch(`${server.url}/health`)).status, 200)
      assert.deepEqual(ofSandbox(await server.loaded()), [])
      // What is said at the start; the lines of these requests may be there already, too.
      const [said] = server.output().split('\n{', 1)
      assert.doesNotMatch(said!, /sandbox/)
    })

  test('is there everywhere else, and this test would see it', async (t) => {
    const server = await startWatched(t, {})
    // Its packages are loaded with the first mail.
    const body = JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' })
    const headers = { 'content-type': 'application/json' }
    assert.equal((await fetch(`${server.url}/auth/register`, { method: 'POST', headers, body })).status, 201)
    await until(async () => {
      const { messages } = (await (await fetch(`${server.url}/sandbox/api/mail`)).json()) as Json
      return messages.length === 1
    })
    const loaded = ofSandbox(await server.loaded()).join('\n')
    assert.match(loaded, /\/sandbox\/src\/index\.ts/)
    assert.match(loaded, /\/smtp-server\//)
    assert.match(loaded, /\/postal-mime\//)
  })

  test('cannot be switched on in production', async (t) => {
    const folder = await applicationFolder(t, {})
    const { code, errors } = await runHere(['start'], {
      folder,
      environment: {
        NODE_ENV: 'production',
        SIXWIRE_SANDBOX: 'on',
        SIXWIRE_SECRET: 'a secret of the tests that is long enough',
      },
    })
    assert.notEqual(code, 0)
    assert.match(errors, /SIXWIRE_SANDBOX: there is no sandbox in production/)
  })
})
