// A frontend as vite's own template makes one, with the client as a package.
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { temporaryFolder, type Ending } from './engines.ts'
import { packedArchive, run } from './packed.ts'
import { startScriptedServer } from './scripted-http.ts'

const require = createRequire(import.meta.url)
const BIN = fileURLToPath(new URL('../../../node_modules/.bin/', import.meta.url))

const folderOf = (name: string): string => dirname(require.resolve(`${name}/package.json`))

/** Puts the packed archive into the `node_modules` of a folder, without its dependencies: the client has none. */
async function installClient(folder: string): Promise<void> {
  const target = join(folder, 'node_modules/sixwire')
  await mkdir(target, { recursive: true })
  await run('tar', ['-xzf', await packedArchive(), '--strip-components=1', '-C', target], folder)
}

/** The strictest checks, of the declarations of the client too, without the types of Node or vite. */
const STRICT = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023', 'dom'],
    types: [],
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    skipLibCheck: false,
    noEmit: true,
    jsx: 'react-jsx',
  },
  include: ['src/*.ts', 'react/*.tsx'],
  // It imports a style sheet.
  exclude: ['src/main.ts'],
}

/** A folder with vite's template for TypeScript and the client; `files` are added or take the place of its own. */
export async function frontendFolder(ending: Ending, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(ending)
  await cp(join(folderOf('create-vite'), 'template-vanilla-ts'), folder, { recursive: true })
  await installClient(folder)
  await writeFile(join(folder, 'tsconfig.strict.json'), JSON.stringify(STRICT))
  await mkdir(join(folder, 'node_modules/@types'))
  for (const name of ['vite', 'react', 'react-dom', '@types/react', '@types/react-dom'])
    await symlink(folderOf(name), join(folder, 'node_modules', name))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

/**
 * Checks the types of the folder with the template's own configuration, and with the strictest; then builds it, as the
 * template's script `build` does.
 */
export async function buildFrontend(folder: string): Promise<void> {
  await run(join(BIN, 'tsc'), [], folder)
  await run(join(BIN, 'tsc'), ['--project', 'tsconfig.strict.json'], folder)
  await run(join(BIN, 'vite'), ['build', '--logLevel', 'error'], folder)
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
