// What an application gets from the archive that `npm pack` makes, in a folder that has nothing else.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, lstatSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { bundlePages } from '../../../scripts/build/pages.ts'
import { temporaryFolder } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { createPackedApplication, resizedImage, run, startInstalled } from '../testing/packed.ts'
import { until } from '../testing/until.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const { version: PLATFORM } = JSON.parse(readFileSync(join(ROOT, 'server/package.json'), 'utf8')) as {
  version: string
}
const TSC = join(ROOT, 'node_modules/.bin/tsc')
const PACKAGES_MAX = 130
const BYTES_MAX = 110e6

const CONFIG = `
import { defineConfig, defineWire, json, route, Type } from 'sixwire'
import { smtp } from 'sixwire/smtp'

const Greeting = Type.Object({ text: Type.String() })

export const hello = defineWire({
  name: 'hello',
  setup: () => ({
    routes: [
      route(
        'POST /hello',
        { summary: 'Greet', access: 'public', body: json(Type.Object({ name: Type.String() })), reply: { 200: Greeting } },
        async ({ body }) => ({ text: 'Hello ' + body.name.toUpperCase() }),
      ),
    ],
    service: { greet: (name: string) => name },
  }),
})

const mail = process.env['MAIL_URL']

export default defineConfig({
  name: 'shop',
  ...(mail !== undefined && { messaging: { email: [smtp({ url: mail, appUrl: 'http://localhost' })] } }),
  wires: [hello()],
})
`

test('every package of the lock file has a hash, so that none is installed that was changed', async () => {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; link?: true }>
  }
  // The workspaces aside.
  const without = Object.keys(packages).filter(
    (path) => path.startsWith('node_modules/') && !packages[path]!.link && !packages[path]!.integrity,
  )
  assert.deepEqual(without, [])
})

describe('the packed archive, installed in an empty folder', () => {
  let folder: string
  const ends: (() => unknown)[] = []

  after(async () => {
    for (const end of ends) await end()
  })

  before(async () => {
    folder = await createPackedApplication(await temporaryFolder({ after: (end) => void ends.push(end) }))
  })

  test('has the pages that a checkout bundles, byte for byte', async () => {
    const { files } = await bundlePages()
    const packed = join(folder, 'node_modules/sixwire/dist/pages')
    assert.deepEqual(globSync('*', { cwd: packed }).toSorted(), [...files.keys()].toSorted())
    for (const [name, bytes] of files)
      assert.ok(bytes.equals(await readFile(join(packed, name))), `${name} differs`)
  })

  test('brings few packages, and those that the documentation lists', async () => {
    const installed = globSync('node_modules/{*,@*/*}/package.json', { cwd: folder })
    const packages = await Promise.all(
      installed.map(async (file) => {
        const { name, license } = JSON.parse(await readFile(join(folder, file), 'utf8')) as Record<
          string,
          string
        >
        return { name: name!, license: license! }
      }),
    )
    assert.ok(packages.some(({ name }) => name === 'sixwire'))
    assert.ok(packages.length <= PACKAGES_MAX, `${packages.length} packages`)
    const bytes = globSync('node_modules/**/*', { cwd: folder })
      .map((file) => lstatSync(join(folder, file)))
      .reduce((sum, { size }) => sum + size, 0)
    assert.ok(bytes <= BYTES_MAX, `${bytes} bytes`)
    const page = await readFile(join(ROOT, 'docs/install.md'), 'utf8')
    // On another platform other packages with machine code.
    const listed = (name: string): string => name.replace(/-(?:linux|darwin|win32)-.*$/, '-…')
    for (const { name, license } of packages)
      assert.ok(
        page.includes(`| \`${listed(name)}\` | ${license} |`),
        `docs/install.md lacks ${name}, ${license}`,
      )
  })

  test('has what it runs, and no source, test or tool', async () => {
    const files = globSync(['**/*', 'deploy/.*'], { cwd: join(folder, 'node_modules/sixwire') })
    for (const file of [
      'README.md',
      'LICENSE',
      'bin/sixwire.js',
      'deploy/Containerfile',
      'deploy/.dockerignore',
      'dist/THIRD-PARTY-LICENSES.txt',
    ])
      assert.ok(files.includes(file), `${file} is missing`)
    assert.deepEqual(
      // The application that `sixwire init` writes is TypeScript.
      files.filter(
        (file) =>
          !file.startsWith('dist/commands/init/') &&
          /^src\/|\.(test|fixture|long)\.|(?<!\.d)\.ts$|^testing\//.test(file),
      ),
      [],
    )
    const { scripts, dependencies } = JSON.parse(
      await readFile(join(folder, 'node_modules/sixwire/package.json'), 'utf8'),
    ) as Record<string, Record<string, string>>
    assert.deepEqual(Object.keys(dependencies!), ['@node-rs/bcrypt', '@types/node', 'sharp', 'typebox'])
    // An exact version would be a second one beside that of the application, whose types then are not found.
    for (const [name, range] of Object.entries(dependencies!)) assert.match(range, /^(\^|>=)/, name)
    for (const step of ['preinstall', 'install', 'postinstall', 'prepare'])
      assert.equal(scripts![step], undefined)
  })

  test('type-checks in the project of tsc --init, all declarations included', async () => {
    // As pnpm installs: the packages that Sixwire depends on can't be found from the project itself.
    const project = join(dirname(folder), 'checked')
    await mkdir(join(project, 'node_modules'), { recursive: true })
    await symlink(join(folder, 'node_modules/sixwire'), join(project, 'node_modules/sixwire'), 'dir')
    await writeFile(join(project, 'package.json'), '{"type":"module"}')
    await copyFile(join(ROOT, 'server/src/e2e/exports.fixture.ts'), join(project, 'exports.ts'))
    await writeFile(join(project, 'config.ts'), CONFIG)
    await writeFile(
      join(project, 'wrong.ts'),
      `import { defineConfig } from 'sixwire'\n// @ts-expect-error: a port is a number\ndefineConfig({ port: 'x' })\n`,
    )
    await run(TSC, ['--init'], project)
    await run(TSC, ['--project', project, '--noEmit', '--skipLibCheck', 'false'], project)
    await rm(project, { recursive: true })
  })

  test('has an init whose application type-checks, and whose test passes', async () => {
    await run(TSC, ['--project', folder], folder)
    assert.match(await run(process.execPath, ['--test'], folder), /pass 1\n/)
  })

  test('npx sixwire start runs all wires and the sandbox, and shuts down cleanly after npx gets SIGTERM', async (t) => {
    const { server: npx, url } = await startNpx(t, folder, await freePort())
    const send = async (path: string, body?: object, token = ''): Promise<Response> =>
      fetch(url + path, {
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          ...(token && { authorization: `Bearer ${token}` }),
        },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      })
    const { platform, version, wires } = (await (await send('/info')).json()) as Record<string, unknown>
    assert.deepEqual(
      { platform, version, wires },
      {
        platform: PLATFORM,
        version: '0.1.0',
        wires: ['core', 'messaging', 'onchain', 'auth', 'pay', 'store', 'notes'],
      },
    )
    for (const page of [
      '/docs',
      '/docs/static/swagger-ui.css',
      '/openapi.json',
      '/console',
      '/sandbox',
      '/sandbox/page/base.css',
    ])
      assert.equal((await send(page)).status, 200, page)
    const account = { email: 'ada@example.com', password: 'correct horse battery' }
    const { token, user } = (await (await send('/auth/register', account)).json()) as {
      token: string
      user: { _id: string }
    }
    assert.equal((await send('/store/books', { title: 'Momo' }, token)).status, 201)
    const project = { title: 'House', slug: 'house', members: [user._id] }
    assert.equal((await send('/store/projects', project, token)).status, 201)
    assert.equal((await send('/store/projects', project, token)).status, 409)
    assert.equal((await send('/store/projects', { ...project, slug: 'My house' }, token)).status, 400)
    assert.equal((await send('/notes', { text: 'Buy milk' }, token)).status, 201)
    const resized = await resizedImage(url, token)
    assert.deepEqual([resized.status, resized.headers.get('content-type')], [200, 'image/webp'])
    const chain = await send(`/onchain/balance/0x${'1'.repeat(40)}`, undefined, token)
    assert.match(await chain.text(), /anvil is not installed.*npm install --save-dev @foundry-rs\/anvil/)

    npx.kill('SIGTERM')
    await once(npx, 'close')
    await until(async () => !(await isListening(url)))
    // What closes last removes the file of the write-ahead log.
    await until(() => !existsSync(join(folder, 'data/sixwire.db-wal')))
  })

  test('refuses to start in production if it can hash no password', async () => {
    for (const part of globSync('node_modules/@node-rs/bcrypt-*', { cwd: folder }))
      await rm(join(folder, part), { recursive: true })
    const program = join(folder, 'node_modules/sixwire/bin/sixwire.js')
    const environment = { NODE_ENV: 'production', PORT: '0', PUBLIC_URL: 'https://shop.example' }
    const { stderr, status } = spawnSync(process.execPath, [program, 'start'], {
      cwd: folder,
      env: environment,
      encoding: 'utf8',
    })
    assert.match(
      stderr,
      /^sixwire: passwords: @node-rs\/bcrypt has no machine code for this platform: install .*\n$/,
    )
    assert.equal(status, 1)
  })
})

function startNpx(t: TestContext, folder: string, port: number) {
  const { HOME, TMPDIR } = process.env
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  const environment = { PATH, HOME, TMPDIR, PORT: String(port), npm_config_update_notifier: 'false' }
  return startInstalled(t, ['npx', 'sixwire', 'start'], { folder, environment })
}

const isListening = (url: string): Promise<boolean> =>
  fetch(`${url}/ready`).then(
    () => true,
    () => false,
  )
