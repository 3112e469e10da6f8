// Writes client/dist/, the package `sixwire-client`: the client alone, for a front end that does not install the server.
import { execFile } from 'node:child_process'
import { copyFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { rolldown } from 'rolldown'

const ROOT = new URL('../', import.meta.url)
const CLIENT = new URL('client/', ROOT)
const pathTo = (path: string): string => fileURLToPath(new URL(path, CLIENT))

await rm(pathTo('dist'), { recursive: true, force: true })
const build = await rolldown({ input: pathTo('src/index.ts'), platform: 'neutral' })
await build.write({
  dir: pathTo('dist'),
  entryFileNames: 'index.js',
  format: 'esm',
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  comments: { legal: false },
})
await build.close()
const project = fileURLToPath(new URL('scripts/build/client.tsconfig.json', ROOT))
await promisify(execFile)('tsc', ['--project', project])
await copyFile(new URL('LICENSE', ROOT), pathTo('LICENSE'))
