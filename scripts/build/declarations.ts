import { execFile } from 'node:child_process'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const IMPORT = /(?:from |import\()['"](\.[^'"]+)\.ts['"]/g
// Of packages that load types by name alone, a project has only those that it names itself.
const NODE_TYPES = '/// <reference types="node" />\n'
// It is for browsers too, whose projects have no types of Node.
const CLIENT = './src/client.ts'

/**
 * Writes the declarations of modules and of all that they import to dist/types/, and none of what they do not.
 *
 * @param server the folder of the package
 * @param modules from that folder
 */
export async function writeDeclarations(server: URL, modules: readonly string[]): Promise<void> {
  const folder = fileURLToPath(new URL('dist/types/', server))
  const project = fileURLToPath(new URL('dist/tsconfig.json', server))
  await writeFile(project, JSON.stringify(projectOf(modules)))
  await promisify(execFile)('tsc', ['--project', project])
  await rm(project)
  // The client lies in a folder of the server's declarations.
  const emitted = fileURLToPath(new URL('dist/emitted/', server))
  await rename(join(emitted, 'server/src'), folder)
  await rename(join(emitted, 'client/src'), join(folder, 'client'))
  await rm(emitted, { recursive: true })
  const door = join(folder, 'client.d.ts')
  await writeFile(door, (await readFile(door, 'utf8')).replace('../../client/src/', './client/'))
  const reached = new Set<string>()
  for (const module of modules) {
    const file = join(folder, module.replace(/^\.\/src\//, '').replace(/\.ts$/, '.d.ts'))
    await reach(file, reached)
    if (module !== CLIENT) await writeFile(file, NODE_TYPES + (await readFile(file, 'utf8')))
  }
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name)
    if (file.isFile() && !reached.has(path)) await rm(path)
  }
}

const projectOf = (modules: readonly string[]) => ({
  extends: '../../tsconfig.json',
  compilerOptions: {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    noCheck: true, // that is for `npm run check`, and takes a quarter of the time
    stripInternal: true,
    rootDir: '../..',
    outDir: 'emitted',
  },
  include: [],
  files: modules.map((module) => `../${module}`),
})

async function reach(file: string, reached: Set<string>): Promise<void> {
  if (reached.has(file)) return
  reached.add(file)
  for (const [, path] of (await readFile(file, 'utf8')).matchAll(IMPORT))
    await reach(resolve(dirname(file), `${path}.d.ts`), reached)
}
