// A frontend as vite's own template makes one, with the client as a package.
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { temporaryFolder, type Ending } from './engines.ts'
import { startScriptedServer } from './scripted-http.ts'

const run = promisify(execFile)
const require = createRequire(import.meta.url)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BIN = join(ROOT, 'node_modules/.bin')

const folderOf = (name: string): string => dirname(require.resolve(`${name}/package.json`))

/** Runs a program of a package; fails with what it printed. */
async function runBin(name: string, words: readonly string[], cwd: string): Promise<string> {
  try {
    return (await run(join(BIN, name), words, { cwd })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${name} ${words.join(' ')}: ${stdout}${stderr}`, { cause: error })
  }
}

/**
 * Puts the package `sixwire` into the `node_modules` of a folder, as its users have it: modules and declarations.
 * Its sources are compiled for browsers, without the types of Node and with the strictest checks.
 */
export async function installClient(folder: string): Promise<void> {
  const target = join(folder, 'node_modules/sixwire')
  await mkdir(target, { recursive: true })
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'dom'],
    types: [],
    module: 'esnext',
    moduleResolution: 'bundler',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
    declaration: true,
    rootDir: join(ROOT, 'src/client'),
    outDir: join(target, 'client'),
  }
  const project = { compilerOptions, files: [join(ROOT, 'src/client/index.ts')] }
  await writeFile(join(target, 'tsconfig.json'), JSON.stringify(project))
  await runBin('tsc', ['--project', target], folder)
  const entry = { types: './client/index.d.ts', default: './client/index.js' }
  const manifest = { name: 'sixwire', version: '0.0.0', type: 'module', exports: { './client': entry } }
  await writeFile(join(target, 'package.json'), JSON.stringify(manifest))
}

/** A folder with vite's template for TypeScript and the client; `files` are added or take the place of its own. */
export async function frontendFolder(ending: Ending, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(ending)
  await cp(join(folderOf('create-vite'), 'template-vanilla-ts'), folder, { recursive: true })
  await installClient(folder)
  await symlink(folderOf('vite'), join(folder, 'node_modules/vite'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

/** Checks the types of the folder with the template's own configuration, then builds it: as its script `build` does. */
export async function buildFrontend(folder: string): Promise<void> {
  await runBin('tsc', [], folder)
  await runBin('vite', ['build', '--logLevel', 'error'], folder)
}

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** Serves what was built, the page at every other path; returns the origin. */
export async function serveFrontend(ending: Ending, folder: string): Promise<string> {
  const fileAt = (path: string) => readFile(join(folder, 'dist', path))
  const { port } = await startScriptedServer(ending, ({ path }, response) => {
    const answer = (type: string | undefined, bytes: Buffer) =>
      response.writeHead(200, { 'content-type': type ?? 'application/octet-stream' }).end(bytes)
    fileAt(path)
      .then((bytes) => answer(TYPES[extname(path)], bytes))
      .catch(async () => answer('text/html', await fileAt('index.html')))
      .catch((error: unknown) => response.destroy(error as Error))
  })
  return `http://localhost:${port}`
}
