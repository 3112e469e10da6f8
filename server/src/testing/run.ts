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
  '--test-timeout=120000',
]

/** The files that were named, by the modules that run them: a workspace is a folder of the root. */
async function modulesOf(names: readonly string[]): Promise<Map<string, readonly string[]>> {
  const isWorkspace = (name: string): boolean => existsSync(name) && statSync(name).isDirectory()
  if (names.every(isWorkspace)) return writeBatches(names)
  return new Map(names.map((name) => [resolve(name), [resolve(name)]]))
}

// `npm test -w server` begins in the folder of the workspace.
process.chdir(fileURLToPath(new URL('../../../', import.meta.url)))
const { code, lines } = await runTests(await modulesOf(process.argv.slice(2)), OPTIONS)
for (const line of lines) process.stdout.write(`${line}\n`)
process.exitCode = code
