// Writes build/sixwire, one executable for this platform, with Node, the package and its modules with machine code inside.
// https://nodejs.org/api/single-executable-applications.html
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, glob, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { constants, zstdCompressSync } from 'node:zlib'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const OUTPUT = join(ROOT, 'build')
// What only type-checks, or only documents.
const NOT_RUN = /\.d\.[cm]?ts$|\.map$|^node_modules\/(@types|undici-types|typebox)\/|(?<!licen[cs]e)\.md$/i

const run = promisify(execFile)

/** Installs the package as an application does, without the scripts of packages. */
async function install(folder: string, archive: string | undefined): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{}')
  const file =
    archive ??
    join(
      folder,
      (
        await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: join(ROOT, 'server') })
      ).stdout
        .trim()
        .split('\n')
        .at(-1)!,
    )
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', file], { cwd: folder })
}

async function filesOf(folder: string): Promise<string[]> {
  const found: string[] = []
  for await (const path of glob('node_modules/{*,@*/*}/**/*', { cwd: folder }))
    if (!NOT_RUN.test(path) && (await stat(join(folder, path))).isFile()) found.push(path)
  return found.toSorted()
}

const folder = await mkdtemp(join(tmpdir(), 'sixwire-binary-'))
try {
  await install(folder, process.argv[2])
  const paths = await filesOf(folder)
  const contents = await Promise.all(paths.map((path) => readFile(join(folder, path))))
  const files = paths.map((path, at) => ({
    path,
    bytes: contents[at]!.length,
    sha256: createHash('sha256').update(contents[at]!).digest('hex'),
  }))
  const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 32)
  await writeFile(join(folder, 'manifest.json'), JSON.stringify({ hash, files }))
  await writeFile(
    join(folder, 'content'),
    zstdCompressSync(Buffer.concat(contents), { params: { [constants.ZSTD_c_compressionLevel]: 12 } }),
  )
  const config = {
    main: fileURLToPath(new URL('build/one-file.cjs', import.meta.url)),
    output: join(folder, 'sixwire'),
    disableExperimentalSEAWarning: true,
    assets: { 'manifest.json': join(folder, 'manifest.json'), content: join(folder, 'content') },
  }
  await writeFile(join(folder, 'sea.json'), JSON.stringify(config))
  await run(process.execPath, ['--build-sea', join(folder, 'sea.json')])
  await mkdir(OUTPUT, { recursive: true })
  await cp(config.output, join(OUTPUT, 'sixwire'))
  const { size } = await stat(join(OUTPUT, 'sixwire'))
  console.log(`build/sixwire: ${Math.round(size / 1e6)} MB, ${files.length} files inside`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
