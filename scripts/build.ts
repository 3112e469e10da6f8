// Writes server/dist/, what the package on npm consists of beside bin/: see docs/decisions/060-package.md.
import { copyFile, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown, type OutputChunk } from 'rolldown'

import manifest from '../server/package.json' with { type: 'json' }
import { ascii } from './build/ascii.ts'
import { writeDeclarations } from './build/declarations.ts'
import { lateBuiltins } from './build/late-builtins.ts'
import { licensesOf } from './build/licenses.ts'
import { namedInSource } from './build/named-in-source.ts'
import { bundlePages } from './build/pages.ts'
import { startChunks } from './build/start-chunk.ts'

const ROOT = new URL('../', import.meta.url)
const PACKAGE = new URL('server/', ROOT)
const DIST = new URL('dist/', PACKAGE)
const SOURCE = new URL('src/', PACKAGE)
const SANDBOX = new URL('sandbox/src/', ROOT)
// Of dist/: `asset()` finds its root one folder above its own file.
const LIB = 'lib'

// They have machine code, so they are installed as packages. Anvil is optional.
const NATIVE = ['sharp', '@node-rs/bcrypt']

const pathTo = (path: string, from: URL): string => fileURLToPath(new URL(path, from))

/** The modules that applications import, by the names of their files in dist/lib/. */
const doors = Object.entries(manifest.exports).flatMap(([name, entry]): [string, string][] =>
  'sixwire-source' in entry
    ? [[`${LIB}/${name === '.' ? 'index' : name.slice(2)}`, entry['sixwire-source']]]
    : [],
)

async function bundle(named: Awaited<ReturnType<typeof namedInSource>>): Promise<OutputChunk[]> {
  const build = await rolldown({
    cwd: fileURLToPath(PACKAGE),
    input: {
      [`${LIB}/cli`]: 'src/cli.ts',
      ...Object.fromEntries(doors),
      ...Object.fromEntries(named.modules.map((path) => [path, `src/${path}.ts`])),
    },
    platform: 'node',
    external: NATIVE,
    plugins: [lateBuiltins, ascii],
    // As the chunks of a start need it: an entry may export more than its source does.
    preserveEntrySignatures: 'allow-extension',
  })
  try {
    const { output } = await build.write({
      dir: fileURLToPath(DIST),
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: `${LIB}/[name]-[hash].js`,
      // Names stay, so that the stack of an error can be read.
      minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
      comments: { legal: false },
      codeSplitting: { groups: startChunks(SOURCE, named.modules) },
    })
    return output.filter((one) => one.type === 'chunk')
  } finally {
    await build.close()
  }
}

async function copyAssets({
  assets,
  sandboxAssets,
  packageAssets,
}: Awaited<ReturnType<typeof namedInSource>>): Promise<void> {
  for (const path of assets) await cp(new URL(path, SOURCE), new URL(path, DIST), { recursive: true })
  for (const path of sandboxAssets)
    await cp(new URL(path, SANDBOX), new URL(`sandbox/${path}`, DIST), { recursive: true })
  for (const path of packageAssets) {
    const to = new URL(`packages/${path}`, DIST)
    await mkdir(dirname(fileURLToPath(to)), { recursive: true })
    await cp(new URL(import.meta.resolve(path)), to, { recursive: true })
  }
}

await rm(DIST, { recursive: true, force: true })
const named = await namedInSource([SOURCE, SANDBOX])
const chunks = await bundle(named)
await copyAssets(named)
const pages = await bundlePages()
await mkdir(pathTo('pages/', DIST))
for (const [name, bytes] of pages.files) await writeFile(pathTo(`pages/${name}`, DIST), bytes)
await writeFile(
  pathTo('THIRD-PARTY-LICENSES.txt', DIST),
  await licensesOf([...chunks, ...pages.chunks], named.packageAssets),
)
await writeDeclarations(
  PACKAGE,
  doors.map(([, source]) => source),
)
// npm packs those of the package's own folder.
for (const name of ['README.md', 'LICENSE']) await copyFile(new URL(name, ROOT), new URL(name, PACKAGE))
