import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import type { Answered } from '../testing/app.ts'
import type { Ending } from '../testing/engines.ts'
import { applicationFolder, startProgram } from '../testing/program.ts'

type Json = Answered['body']

// Writes down every module that the program asks for, before it is loaded.
const WITNESS = `
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    appendFileSync(process.env.WITNESS_FILE, resolved.url + '\\n')
    return resolved
  },
})
`

/** A real server in a folder of its own, and the modules that it has loaded once it has answered. */
async function start(t: Ending, environment: Record<string, string>) {
  const folder = await applicationFolder(t, { 'witness.mjs': WITNESS })
  const file = join(folder, 'loaded')
  const program = startProgram(t, ['start'], {
    folder,
    environment: {
      DATA_DIR: join(folder, 'data'),
      NODE_OPTIONS: `--import=${join(folder, 'witness.mjs')}`,
      WITNESS_FILE: file,
      SIXWIRE_SECRET: 'a secret of the tests that is long enough',
      ...environment,
    },
  })
  const url = await program.url()
  return {
    url,
    output: () => program.output(),
    async loaded(): Promise<string[]> {
      const urls = [...new Set((await readFile(file, 'utf8')).trim().split('\n'))]
      return urls.filter((one) => /\/src\/sandbox\/|\/(smtp-server|postal-mime)\//.test(one))
    },
  }
}

describe('the sandbox', () => {
  for (const [where, environment] of [
    ['in production', { NODE_ENV: 'production' }],
    ['where it is switched off', { SIXWIRE_SANDBOX: 'off' }],
  ] as const)
    test(`is not there ${where}: nothing of it is loaded, and nothing answers`, async (t) => {
      const server = await start(t, environment)
      for (const path of ['/sandbox', '/sandbox/', '/sandbox/api', '/sandbox/api/mail', '/sandbox/phone/x']) {
        const answered = await fetch(server.url + path)
        assert.equal(answered.status, 404, path)
        assert.equal(((await answered.json()) as Json).error.code, 'NOT_FOUND')
      }
      assert.equal((await fetch(`${server.url}/health`)).status, 200)
      assert.deepEqual(await server.loaded(), [])
      assert.doesNotMatch(server.output(), /sandbox/)
    })

  test('is there everywhere else, and this test would see it', async (t) => {
    const server = await start(t, {})
    assert.equal((await fetch(`${server.url}/sandbox/api/mail`)).status, 200)
    const loaded = (await server.loaded()).join('\n')
    assert.match(loaded, /\/src\/sandbox\/index\.ts/)
    assert.match(loaded, /\/smtp-server\//)
    assert.match(loaded, /\/postal-mime\//)
  })

  test('cannot be switched on in production', async (t) => {
    const folder = await applicationFolder(t, {})
    const program = startProgram(t, ['start'], {
      folder,
      environment: {
        NODE_ENV: 'production',
        SIXWIRE_SANDBOX: 'on',
        SIXWIRE_SECRET: 'a secret of the tests that is long enough',
      },
    })
    assert.notEqual(await program.ended, 0)
    assert.match(program.errors(), /SIXWIRE_SANDBOX: there is no sandbox in production/)
  })
})
