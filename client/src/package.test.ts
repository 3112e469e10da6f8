// The package `sixwire-client`, as a front end installs it that does not install the server.
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import { startApp } from '../../server/src/testing/app.ts'
import { anyEngine, endOfSuite, temporaryFolder } from '../../server/src/testing/engines.ts'
import { packedArchive, run } from '../../server/src/testing/packed.ts'

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url))
const INDEX_BYTES_MAX = 5_000

describe('the package sixwire-client', () => {
  const ending = endOfSuite()
  let folder: string
  let installed: string

  before(async () => {
    folder = await temporaryFolder(ending)
    installed = join(folder, 'node_modules/sixwire-client')
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', await packedArchive('client'), '--strip-components=1', '-C', installed], folder)
  })

  test('has no dependencies, its licence, and an entry of at most 5 kB compressed', async () => {
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as object
    assert.ok(!('dependencies' in manifest))
    assert.match(await readFile(join(installed, 'LICENSE'), 'utf8'), /MIT License/)
    const { length } = gzipSync(await readFile(join(installed, 'dist/index.js')))
    assert.ok(length <= INDEX_BYTES_MAX, `${length} bytes`)
  })

  test('type-checks in the strictest project without types of Node', async () => {
    await writeFile(
      join(folder, 'page.ts'),
      `import { createClient, isError } from 'sixwire-client'
const six = createClient('http://localhost:3000', { storage: localStorage })
export const titles = async (): Promise<string[]> =>
  (await six.collection<{ title: string }>('books').list()).data.map(({ title }) => title)
// @ts-expect-error: there is no such route
six.call('GET /nowhere').catch((error) => isError(error))
`,
    )
    const options = { strict: true, noEmit: true, skipLibCheck: false, types: [], lib: ['es2023', 'dom'] }
    const compilerOptions = { ...options, target: 'es2023', module: 'esnext', moduleResolution: 'bundler' }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['page.ts'] }))
    await run(TSC, [], folder)
  })

  anyEngine((engine) => {
    test('stores and lists a document', async (t) => {
      const app = await startApp(t, engine)
      const { token } = await app.register()
      await writeFile(
        join(folder, 'program.mjs'),
        `import { createClient } from 'sixwire-client'
const six = createClient(process.argv[2], { token: process.argv[3] })
const books = six.collection('books')
await books.create({ title: 'Momo' })
console.log((await books.list()).data.map(({ title }) => title).join())
`,
      )
      const output = await run(process.execPath, ['program.mjs', app.url, token], folder)
      assert.equal(output.trim(), 'Momo')
    })
  })
})
