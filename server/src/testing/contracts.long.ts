import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

test('the bytecode of the contracts is what their sources compile to', async () => {
  const script = fileURLToPath(new URL('../../../scripts/compile-contracts.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [script, '--check'])
})
