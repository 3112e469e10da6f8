import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { freePort } from '../../server/src/testing/free-port.ts'
import { defineScenario, type Bench } from '../bench.ts'
import { compare, type Side } from '../compare.ts'
import { idle, memoryOf, startListener } from '../process.ts'
import { ask } from '../servers.ts'

const ROOT = new URL('../../', import.meta.url)
const pathOf = (path: string): string => fileURLToPath(new URL(path, ROOT))
const IDLE_MS = 10_000

/** A start outside production, with the sandbox, as a developer has it: the first of its folder warms up. */
const sideOf = (bench: Bench, name: string, program: string): Side => ({
  async measure() {
    const home = join(bench.folder, name)
    await mkdir(home, { recursive: true })
    const port = await freePort()
    const env = { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: String(port), DATA_DIR: home }
    const isReady = async () => (await ask(`http://127.0.0.1:${port}`, 'GET /ready')).status === 200
    const server = await startListener(
      [program, 'start'],
      { cwd: home, env, log: join(home, 'log') },
      isReady,
    )
    return { 'ms until ready': server.startMs, 'idle MB': await idleMemoryOf(bench, server) }
  },
})

const emptyNode: (bench: Bench) => Side = (bench) => ({
  async measure() {
    const begun = performance.now()
    await once(spawn(process.execPath, ['-e', '0']), 'exit')
    const startMs = performance.now() - begun
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e9)'])
    const stop = async () => {
      child.kill()
      await once(child, 'exit')
    }
    return { 'ms until ready': startMs, 'idle MB': await idleMemoryOf(bench, { pid: child.pid!, stop }) }
  },
})

async function idleMemoryOf(
  { settings }: Bench,
  { pid, stop }: { pid: number; stop: () => Promise<void> },
): Promise<number> {
  await delay(settings.isQuick ? 0 : IDLE_MS)
  await idle(pid)
  const { now } = memoryOf(pid)
  await stop()
  return now
}

export default defineScenario({
  name: 'package',
  summary:
    'start and idle memory of the built package with its sandbox, against the source and an empty Node',

  /** The package as it is installed, without sources. @returns its program; undefined if it was not built */
  async prepare(bench) {
    if (!existsSync(pathOf('server/dist/lib/cli.js'))) {
      bench.fault('server/dist/ is missing: npm run build')
      return undefined
    }
    const bin = join(bench.folder, 'package', 'bin')
    await mkdir(bin, { recursive: true })
    await copyFile(pathOf('server/bin/sixwire.js'), join(bin, 'sixwire.js'))
    await symlink(pathOf('server/dist'), join(bin, '../dist'))
    return join(bin, 'sixwire.js')
  },

  async *run(bench, program) {
    if (program === undefined) return
    const built = sideOf(bench, 'built', program)
    yield* compare(bench, 'package', ['empty Node', emptyNode(bench)], built)
    yield* compare(
      bench,
      'package',
      ['source', sideOf(bench, 'source', pathOf('server/bin/sixwire.js'))],
      built,
    )
  },
})
