// The end with npx itself is in server/src/e2e/package.test.ts.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { urlLiteral } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const CHECKS_MS = 2_500 // two checks of the parent

const PROGRAM = `
import { onPackageManagerEnd } from ${urlLiteral('commands/parent.ts')}

onPackageManagerEnd(() => process.exit())
console.log(process.pid)
setTimeout(() => undefined, 60_000)
`

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('what a script of npm leaves in the background goes on', async (t) => {
  const file = join(await temporaryFolder(t), 'program.mjs')
  await writeFile(file, PROGRAM)
  const script = spawn('bash', ['-c', '"$0" "$1" & sleep 1', process.execPath, file], {
    env: { ...process.env, npm_command: 'run-script' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  script.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(() => output.includes('\n'))
  const pid = Number(output)
  t.after(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
  await once(script, 'exit')
  await new Promise((resolve) => setTimeout(resolve, CHECKS_MS))
  assert.ok(isRunning(pid))
})
