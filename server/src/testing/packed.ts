import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import sharp from 'sharp'

import { tryLock } from '../db/file-lock.ts'
import type { Ending } from './engines.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FOLDER = join(ROOT, '.cache/package')
const SOURCES = [
  '{client,console,sandbox,server}/src/**',
  'sandbox/page/**',
  'server/bin/*',
  'server/deploy/{*,.*}',
  'scripts/**',
  '{client,server}/package.json',
  'package*.json',
  'tsconfig.json',
]
const WAIT_MS = 200
const LIMIT_MS = 300_000

/** Runs a program to its end, with the Node of the tests; rejects with what it printed if it fails. */
export async function run(program: string, words: readonly string[], folder: string): Promise<string> {
  // What npm tells its scripts, and the test runner its files, is not for others; the rest may say how the registry is reached.
  const environment = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_TEST)/.test(name))
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  const { stdout } = await promisify(execFile)(program, words, {
    cwd: folder,
    env: { ...Object.fromEntries(environment), PATH, npm_config_update_notifier: 'false' },
    timeout: LIMIT_MS,
    maxBuffer: 64 * 1_048_576,
  }).catch((error: unknown) => {
    const { stdout: output, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} ${words.join(' ')} failed:\n${output}\n${stderr}`, { cause: error })
  })
  return stdout
}

/**
 * The archive that `npm pack` makes of a workspace. Test files that need it share one, made anew if a source is newer.
 *
 * @param workspace `server` for the package `sixwire`, `client` for `sixwire-client`
 */
export async function packedArchive(workspace: 'client' | 'server' = 'server'): Promise<string> {
  const folder = join(FOLDER, workspace)
  await mkdir(folder, { recursive: true })
  let unlock = tryLock(join(folder, 'lock'))
  while (!unlock) {
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
    unlock = tryLock(join(folder, 'lock'))
  }
  try {
    const [archive] = globSync('*.tgz', { cwd: folder })
    if (archive !== undefined && timeOf(join(folder, archive)) > newestSource()) return join(folder, archive)
    if (archive !== undefined) await rm(join(folder, archive))
    await run('npm', ['pack', '--pack-destination', folder], join(ROOT, workspace))
    return join(folder, globSync('*.tgz', { cwd: folder })[0]!)
  } finally {
    unlock()
  }
}

const timeOf = (file: string): number => statSync(file).mtimeMs

const newestSource = (): number =>
  Math.max(...globSync(SOURCES, { cwd: ROOT }).map((file) => timeOf(join(ROOT, file))))

/**
 * Makes an application by `sixwire init` of the archive, with the packages of this checkout, so that no release of
 * another package changes what a test sees. {@link installPackedApplication} installs what the registry has.
 *
 * @returns its folder
 */
export async function createPackedApplication(parent: string): Promise<string> {
  const packages = join(parent, 'packages/node_modules')
  const sixwire = join(packages, 'sixwire')
  await mkdir(join(packages, '.bin'), { recursive: true })
  await mkdir(sixwire)
  await run('tar', ['-xzf', await packedArchive(), '--strip-components=1', '-C', sixwire], parent)
  await symlink('../sixwire/bin/sixwire.js', join(packages, '.bin/sixwire'))
  for (const name of await productionPackages())
    await cp(join(ROOT, 'node_modules', name), join(packages, name), { recursive: true })
  await run(process.execPath, [join(sixwire, 'bin/sixwire.js'), 'init', 'shop'], parent)
  const folder = join(parent, 'shop')
  await rename(packages, join(folder, 'node_modules'))
  return folder
}

/** The names of all packages that an application installs with Sixwire on this platform. */
async function productionPackages(): Promise<string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; devOptional?: true; link?: true }>
  }
  return Object.keys(packages)
    .filter((path) => path.startsWith('node_modules/'))
    .filter((path) => !packages[path]!.dev && !packages[path]!.devOptional && !packages[path]!.link)
    .map((path) => path.slice('node_modules/'.length))
    .filter((name) => existsSync(join(ROOT, 'node_modules', name)))
}

/**
 * Makes an application as docs/install.md says: by `sixwire init` of the archive, and `npm install`, from an empty cache of npm.
 *
 * @returns its folder
 */
export async function installPackedApplication(parent: string): Promise<string> {
  const archive = await packedArchive()
  const folder = join(parent, 'shop')
  const cache = ['--cache', join(parent, 'npm-cache')]
  await run('npm', ['exec', '--yes', ...cache, '--package', archive, '--', 'sixwire', 'init', 'shop'], parent)
  await run('npm', ['install', ...cache, '--omit=dev', '--no-audit', '--no-fund', archive], folder)
  await rm(join(parent, 'npm-cache'), { recursive: true, force: true })
  return folder
}

/**
 * Starts an installed server in a process group of its own, with these variables only.
 *
 * @returns once it prints its address
 */
export async function startInstalled(
  ending: Ending,
  [program, ...words]: readonly [string, ...string[]],
  options: { folder: string; environment: Record<string, string | undefined> },
): Promise<{ server: ChildProcess; url: string }> {
  const { folder: cwd, environment: env } = options
  const server = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  ending.after(async () => {
    try {
      process.kill(-server.pid!, 'SIGKILL')
    } catch {
      // No process of the group is left.
    }
  })
  let output = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(() => /runs at \S+/.test(output))
  return { server, url: /runs at (\S+)/.exec(output)![1]! }
}

/** Uploads an image, and asks an installed server for a smaller one, in WebP. */
export async function resizedImage(url: string, token: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` }
  const image = sharp({ create: { width: 200, height: 100, channels: 3, background: 'green' } })
  const body = new FormData()
  body.set('file', new File([new Uint8Array(await image.png().toBuffer())], 'a.png', { type: 'image/png' }))
  const uploaded = await fetch(`${url}/store/upload`, { method: 'POST', headers, body })
  const { _id } = (await uploaded.json()) as { _id: string }
  return fetch(`${url}/store/files/${_id}/content?size=64&format=webp`, { headers })
}
