// What `npm test` runs first: writes the modules that it gives to `node --test`, which starts a process for each.
// The first test of a process is the slowest: modules are loaded, and nothing is optimised yet. So neighbouring test files
// share a process. Those that start programs or a browser would only wait for each other, and have one of their own.
import { globSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const FILES_MAX = 6
const STARTS_PROGRAMS = /\/testing\/(?:program|browser|chromium)\.ts'/

const root = new URL('../../', import.meta.url)
const folder = new URL('.cache/tests/', root)

async function startsPrograms(file: string): Promise<boolean> {
  return STARTS_PROGRAMS.test(await readFile(new URL(file, root), 'utf8'))
}

/** Runs the tests of the files one after the other in one process. */
async function writeBatch(files: readonly string[]): Promise<void> {
  const name = files[0]!.replaceAll('/', '.').replace(/\.ts$/, '.mjs')
  const imports = files.map((file) => `import ${JSON.stringify(new URL(file, root).href)}\n`)
  await writeFile(new URL(name, folder), imports.join(''))
}

await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
const batch: string[] = []
for (const file of globSync(['src/**/*.test.ts', 'examples/**/*.test.ts'], {
  cwd: fileURLToPath(root),
  exclude: ['**/node_modules/**'],
}).toSorted()) {
  if (await startsPrograms(file)) await writeBatch([file])
  else if (batch.push(file) === FILES_MAX) await writeBatch(batch.splice(0))
}
if (batch.length > 0) await writeBatch(batch)
