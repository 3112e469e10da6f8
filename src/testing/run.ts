// `npm test`: all test files, or those that are named. A file that fails is run once more, alone, at the end.
import { resolve } from 'node:path'

import { writeBatches } from './batches.ts'
import { runTests } from './rerun.ts'

const OPTIONS = [
  '--conditions=sixwire-source',
  '--import=./src/testing/open-handles.ts',
  '--test-global-setup=src/testing/global.ts',
  '--test-concurrency=5',
  '--test-timeout=120000',
]

const named = process.argv.slice(2).map((file) => resolve(file))
const modules = named.length > 0 ? new Map(named.map((file) => [file, [file]])) : await writeBatches()
const { code, lines } = await runTests(modules, OPTIONS)
for (const line of lines) process.stdout.write(`${line}\n`)
process.exitCode = code
