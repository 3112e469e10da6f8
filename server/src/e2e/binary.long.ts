// The program in one file, on a machine without Node: it has no PATH.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { temporaryFolder } from '../testing/engines.ts'
import { packedArchive, resizedImage, run, startInstalled } from '../testing/packed.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const PROGRAM = join(ROOT, 'build/sixwire')

const CONFIG = `
import { ApiError, defineConfig, defineWire, route, Type } from 'sixwire'
import { Thrown } from './thrown.ts'

const hello = defineWire({
  name: 'hello',
  setup: () => ({
    routes: [
      route(
        'GET /hello',
        { summary: 'Greet', access: 'public', reply: { 200: Type.Object({ isSame: Type.Boolean() }) } },
        async () => ({ isSame: ApiError === Thrown }),
      ),
    ],
    service: {},
  }),
})
export default defineConfig({ name: 'one', wires: [hello()] })
`

test('the program in one file runs an application without Node, from files that nobody else can change', async (t) => {
  await run('npm', ['run', 'build:binary', '--', await packedArchive()], ROOT)
  const home = await temporaryFolder(t)
  const folder = join(home, 'app')
  await mkdir(folder)
  await writeFile(join(folder, 'sixwire.config.ts'), CONFIG)
  await writeFile(join(folder, 'thrown.ts'), `export { ApiError as Thrown } from 'sixwire'\n`)
  const environment = { HOME: home, PORT: '0' }
  const { server, url } = await startInstalled(t, [PROGRAM, 'start'], { folder, environment })
  assert.deepEqual(await (await fetch(`${url}/hello`)).json(), { isSame: true })
  // Hashes the password by the library with machine code.
  const answer = await fetch(`${url}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
  })
  assert.equal(answer.status, 201)
  const { token } = (await answer.json()) as { token: string }
  const resized = await resizedImage(url, token)
  assert.deepEqual([resized.status, resized.headers.get('content-type')], [200, 'image/webp'])
  server.kill('SIGTERM')
  assert.deepEqual(await once(server, 'exit'), [0, null])

  const version = (environment = {}) =>
    spawnSync(PROGRAM, ['version'], { cwd: folder, env: { HOME: home, ...environment }, encoding: 'utf8' })
  const place = join(home, '.cache/sixwire')
  const [name, ...others] = await readdir(place)
  assert.deepEqual(others, [])
  assert.equal((await stat(join(place, name!))).mode & 0o777, 0o700)
  assert.match(version().stdout, /^sixwire \d/)

  await chmod(join(place, name!), 0o755)
  assert.match(
    version().stderr,
    /^sixwire: the program can't be unpacked: \S+ is not a folder of this user alone .*\n$/,
  )
  await chmod(join(place, name!), 0o700)
  await chmod(place, 0o777)
  assert.match(
    version().stderr,
    /another user may write to one above it\. SIXWIRE_PROGRAM_DIR can name another folder\n$/,
  )
  await chmod(place, 0o700)
  await writeFile(
    join(place, name!, 'node_modules/sixwire/dist/lib/cli.js'),
    'console.log("another program")',
  )
  const changed = version()
  assert.equal(changed.status, 1)
  assert.match(changed.stderr, /cli\.js is not what this program wrote there: remove \S+\. .*\n$/)
  assert.doesNotMatch(changed.stdout, /another program/)

  await rm(place, { recursive: true })
  await writeFile(place, 'no folder')
  assert.match(version().stderr, /^sixwire: the program can't be unpacked: EEXIST: .*\n$/)
  const relative = version({ SIXWIRE_PROGRAM_DIR: 'program' })
  assert.match(relative.stdout, /^sixwire \d/)
})
