// The modules that `npm test` gives to `node --test`, which starts a process for each.
// The first test of a process is the slowest: modules are loaded, and nothing is optimised yet. So neighbouring test files
// share a process. Those that open pages share a few browsers, and come first, as they take longest. Those that start
// programs wait for them most of the time: two share a process, and they come last. Within each kind the longest batch
// comes first, by the length of its text, so that none runs alone at the end.
import { globSync, readFileSync, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const BROWSERS = 4
const FILES_MAX = 14
const PROGRAM_FILES_MAX = 2

const ALL = ['client', 'console', 'examples', 'sandbox', 'server']

const root = new URL('../../../', import.meta.url)
const folder = new URL('.cache/tests/', root)

function kindOf(file: string): 'browser' | 'plain' | 'program' {
  const text = readFileSync(new URL(file, root), 'utf8')
  if (text.includes("/testing/chromium.ts'")) return 'browser'
  return /\b(?:startProgram|runProgram|startScript|startWatched)\b/.test(text) ? 'program' : 'plain'
}

const lengthOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + statSync(new URL(file, root)).size, 0)

const longestFirst = (batches: readonly string[][]): string[][] =>
  batches.toSorted((a, b) => lengthOf(b) - lengthOf(a))

function inBatches(files: readonly string[], size: number): string[][] {
  const batches = Array.from({ length: Math.ceil(files.length / size) }, (_, at) =>
    files.slice(at * size, (at + 1) * size),
  )
  return longestFirst(batches)
}

/** Puts each file, the longest first, into the batch that is shortest so far. */
function inEqualBatches(files: readonly string[], count: number): string[][] {
  const batches = Array.from({ length: count }, (): string[] => [])
  for (const [file] of longestFirst(files.map((one) => [one]))) longestFirst(batches).at(-1)!.push(file!)
  return longestFirst(batches).filter((batch) => batch.length > 0)
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
    ...inEqualBatches(browser, BROWSERS),
    ...inBatches(plain, FILES_MAX),
    ...inEqualBatches(program, Math.ceil(program.length / PROGRAM_FILES_MAX)),
  ]
  const modules = await Promise.all(batches.map(writeBatch))
  return new Map(
    modules.map((path, at) => [path, batches[at]!.map((file) => fileURLToPath(new URL(file, root)))]),
  )
}
