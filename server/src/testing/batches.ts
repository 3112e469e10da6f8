// The modules that `npm test` gives to `node --test`, which starts a process for each.
// The first test of a process is the slowest: modules are loaded, and nothing is optimised yet. So neighbouring test files
// share a process. Those that open pages share two browsers. Those that start programs would only wait for each other, and
// have a process of their own; they come last, so that no long batch runs alone at the end.
import { globSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const BROWSERS = 2
const FILES_MAX = 14

const ALL = ['client', 'console', 'examples', 'sandbox', 'server']

const root = new URL('../../../', import.meta.url)
const folder = new URL('.cache/tests/', root)

function kindOf(file: string): 'browser' | 'plain' | 'program' {
  const text = readFileSync(new URL(file, root), 'utf8')
  if (text.includes("/testing/chromium.ts'")) return 'browser'
  return /\b(?:startProgram|runProgram|startScript|startWatched)\b/.test(text) ? 'program' : 'plain'
}

function inBatches(files: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, at) =>
    files.slice(at * size, (at + 1) * size),
  )
}

/** Writes a module that runs the tests of the files one after the other; answers its path. */
async function writeBatch(files: readonly string[], at: number): Promise<string> {
  const place = String(at).padStart(3, '0') // they run in the order of their names
  const name = `${place}.${files[0]!.replaceAll('/', '.').replace(/\.ts$/, '.mjs')}`
  const imports = files.map((file) => `import ${JSON.stringify(new URL(file, root).href)}\n`)
  await writeFile(new URL(name, folder), imports.join(''))
  return fileURLToPath(new URL(name, folder))
}

/**
 * Writes the modules of all test files.
 *
 * @param folders of the root: the workspaces and the examples, if none are named
 * @returns for the path of each module the paths of its test files */
export async function writeBatches(folders: readonly string[] = []): Promise<Map<string, string[]>> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const tests = (folders.length > 0 ? folders : ALL).map((one) => `${one}/**/*.test.ts`)
  const files = globSync(tests, {
    cwd: fileURLToPath(root),
    exclude: ['**/node_modules/**'],
  })
  const { browser = [], plain = [], program = [] } = Object.groupBy(files.toSorted(), kindOf)
  const batches = [
    ...inBatches(browser, Math.ceil(browser.length / BROWSERS)),
    ...inBatches(plain, FILES_MAX),
    ...inBatches(program, 1),
  ]
  const modules = await Promise.all(batches.map(writeBatch))
  return new Map(
    modules.map((path, at) => [path, batches[at]!.map((file) => fileURLToPath(new URL(file, root)))]),
  )
}
