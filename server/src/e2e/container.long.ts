// What deploy/Containerfile says, without an image: the command as process 1 of a file system that cannot be written to,
// as a user without rights. The file system has Node, its libraries and the application, from this machine.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { chown, copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { readContainerfile, type Containerfile } from '../testing/containerfile.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { createPackedApplication, resizedImage, run } from '../testing/packed.ts'
import { startPostgres } from '../testing/postgres.ts'
import { startProgram } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const SECRET = 'Zk3r0Wq8sT1vYx5cB7nM2pLd9fGh4jKa6eRuQiOo'
const FILE = new URL('../../deploy/Containerfile', import.meta.url)
// Three arguments, then the command: the user, the group, the folder.
const START = `
set -eu
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
mount --bind "$DATA" "$ROOT/data"
mount -t proc proc "$ROOT/proc"
mount -o remount,bind,ro "$ROOT"
unshare=$(command -v unshare) uid=$1 gid=$2 folder=$3
shift 3
PATH=$INSIDE_PATH
exec "$unshare" --root "$ROOT" --wd "$folder" --setuid "$uid" --setgid "$gid" "$@"
`

const isPermitted =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', '--pid', '--fork', 'mount', '--make-rprivate', '/']).status === 0
const skip = !isPermitted && 'needs root and namespaces: "unshare --mount --pid --fork true" has to work'

/** Makes a root file system with Node and an application, at the paths of the image. */
async function makeRoot(root: string, folder: string): Promise<void> {
  const application = join(root, folder)
  await rename(await createPackedApplication(root), application)
  // As .dockerignore keeps it out of the image.
  await rm(join(application, '.env'))
  const modules = globSync('node_modules/**/*.node', { cwd: application }).map((path) =>
    join(application, path),
  )
  const { stdout } = spawnSync('ldd', [process.execPath, ...modules], { encoding: 'utf8' })
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!)
  const copies = libraries.filter((path) => !path.startsWith(root)).map((path) => [path, path] as const)
  for (const [from, to] of [[process.execPath, '/usr/local/bin/node'] as const, ...copies]) {
    await mkdir(join(root, dirname(to)), { recursive: true })
    await copyFile(from, join(root, to))
  }
  for (const name of ['data', 'proc', 'dev']) await mkdir(join(root, name))
  await run('mknod', ['-m', '666', join(root, 'dev/null'), 'c', '1', '3'], root)
  await run('mknod', ['-m', '666', join(root, 'dev/urandom'), 'c', '1', '9'], root)
}

/** Runs a command in the container whose process 1 has this number, as the user of the container. */
function inside(pid: number, container: Containerfile, words: string[], environment = {}) {
  const [uid, gid] = container.user.split(':') as [string, string]
  const options = { encoding: 'utf8' as const, env: { ...container.environment, ...environment } }
  const place = ['--target', String(pid), '--mount', '--pid', '--root', '--setuid', uid, '--setgid', gid]
  return spawnSync('nsenter', [...place, '--', ...words], options)
}

const WRITES = `
for (const folder of ['/', '/app', '/app/node_modules', '/usr/local/bin', '/data'])
  try {
    fs.writeFileSync(folder + '/written', '')
    console.log(folder)
  } catch {}
`

test(
  'the container runs as process 1, as no root, writes to its volume only, and stops in order',
  { skip },
  async (t) => {
    const container = await readContainerfile(FILE)
    const folder = await temporaryFolder(t)
    const [root, volume] = [join(folder, 'root'), join(folder, 'volume')]
    await mkdir(root)
    await mkdir(volume, { mode: 0o700 })
    const [uid, gid] = container.user.split(':').map(Number) as [number, number]
    assert.ok(uid > 0 && gid > 0)
    await chown(volume, uid, gid)
    assert.deepEqual(container.volumes, ['/data'])
    await makeRoot(root, container.folder)

    const PORT = String(await freePort())
    const env = {
      ...container.environment,
      ROOT: root,
      DATA: volume,
      INSIDE_PATH: container.environment['PATH'],
      PATH: process.env['PATH'],
      PORT,
      SIXWIRE_SECRET: SECRET,
      PUBLIC_URL: 'https://api.example.com',
    }
    const place = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', START, 'sh']
    const words = [...container.user.split(':'), container.folder, ...container.command]
    const outer = spawn('unshare', [...place, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(async () => {
      if (outer.exitCode === null && outer.kill('SIGKILL')) await once(outer, 'exit')
    })
    let output = ''
    outer.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    outer.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    const url = `http://127.0.0.1:${PORT}`
    await until(async () => {
      assert.equal(outer.exitCode, null, output)
      return (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200
    })
    const pid = Number(await readFile(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8'))
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    assert.match(status, new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'))
    assert.match(status, /^NSpid:\t\d+\t1$/m)

    assert.equal(inside(pid, container, container.healthCheck, { PORT }).status, 0)
    const nobody = inside(pid, container, container.healthCheck, { PORT: String(await freePort()) })
    assert.deepEqual([nobody.status, nobody.stderr], [1, ''])
    assert.deepEqual(inside(pid, container, ['node', '-e', WRITES]).stdout, '/data\n')

    const json = { 'content-type': 'application/json' }
    const body = JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' })
    const registered = await fetch(`${url}/auth/register`, { method: 'POST', headers: json, body })
    assert.equal(registered.status, 201)
    const { token } = (await registered.json()) as { token: string }
    const form = new FormData()
    form.set('file', new Blob([Buffer.alloc(5_000_000, 7)]), 'f.bin')
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await fetch(`${url}/store/upload`, { method: 'POST', headers, body: form })).status, 201)
    assert.equal((await resizedImage(url, token)).status, 200)

    process.kill(pid, container.stopSignal)
    const ended = await Promise.race([once(outer, 'exit'), delay(20_000, undefined, { ref: false })])
    assert.deepEqual(ended, [0, null], output)
  },
)

test('the liveness probe of Kubernetes goes on while the database is away, unlike /health', async (t) => {
  const manifest = await readFile(new URL('../../deploy/kubernetes.yaml', import.meta.url), 'utf8')
  const [, path] = /livenessProbe:\s+httpGet: \{ path: (\S+),/.exec(manifest)!
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const program = startProgram(t, ['start'], {
    folder: await temporaryFolder(t),
    environment: { NODE_ENV: 'production', SIXWIRE_SECRET: SECRET, DATABASE_URL: postgres.url },
  })
  const [, port] = await program.until(/runs at http:\/\/localhost:(\d+)/)
  const statusOf = async (route: string) => (await fetch(`http://127.0.0.1:${port}${route}`)).status
  assert.deepEqual([await statusOf(path!), await statusOf('/health')], [200, 200])
  await postgres.stop()
  await until(async () => (await statusOf('/health')) === 503)
  assert.equal(await statusOf(path!), 200)
})
