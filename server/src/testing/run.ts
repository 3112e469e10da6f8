// `npm test`: all test files, or those that are named: files, or workspaces such as `server`. A file that fails is run once more,
// alone, at the end.
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { resolve } from 'node:path'

import { writeBatches } from './batches.ts'
import { runTests } from './rerun.ts'

const OPTIONS = [
  '--conditions=sixwire-source',
  '--import=./server/src/testing/open-handles.ts',
  '--test-global-setup=server/src/testing/global.ts',
  '--test-concurrency=5',
  '--test-timeout=600000', // of a test, and of a whole batch of files
]

/** The test files that were named, by the modules that run them. @param names of files, or of folders, from the root */
async function modulesOf(names: readonly string[]): Promise<Map<string, readonly string[]>> {
  if (names.every((name) => statSync(name).isDirectory())) return writeBatches(names)
  return new Map(names.map((name) => [resolve(name), [resolve(name)]]))
}

// `npm test -w server` begins in the folder of the workspace.
process.chdir(fileURLToPath(new URL('../../../', import.meta.url)))
const names = process.argv.slice(2)
const missing = names.find((name) => !existsSync(name))
if (missing === undefined) {
  const { code, lines } = await runTests(await modulesOf(names), OPTIONS)
  for (const line of lines) process.stdout.write(`${line}\n`)
  process.exitCode = code
} else {
  process.stderr.write(`${missing}: there is no such file or folder: name it from the root of the checkout\n`)
  process.exitCode = 1
}
