import { readdir, readFile } from 'node:fs/promises'
import type { OutputChunk } from 'rolldown'

const FILE = /^(licen[cs]e|copying|notice)/i

/** The folder of the package that a file belongs to; undefined for a file of our own. */
const packageOf = (file: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]

/**
 * The licences of all packages whose code is in the bundle, as their terms require.
 *
 * @throws Error for a package without a licence
 */
export async function licensesOf(
  chunks: readonly OutputChunk[],
  packageAssets: readonly string[],
): Promise<string> {
  const files = [
    ...chunks.flatMap(({ moduleIds }) => moduleIds),
    ...packageAssets.map((path) => new URL(import.meta.resolve(path)).pathname),
  ]
  const folders = new Set(files.flatMap((file) => packageOf(file) ?? []))
  const texts = await Promise.all([...folders].map(licenseOf))
  return ['Sixwire contains code of these packages.', ...texts.toSorted()].join(`\n\n${'='.repeat(80)}\n`)
}

async function licenseOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8')) as Record<
    string,
    string
  >
  const names = (await readdir(folder)).filter((file) => FILE.test(file)).toSorted()
  if (names.length === 0 && license === undefined)
    throw new Error(`${name}: there is no licence in ${folder}`)
  const texts = await Promise.all(
    names.map(async (file) => (await readFile(`${folder}/${file}`, 'utf8')).trim()),
  )
  return [`${name} ${version} (${license ?? 'see below'})`, ...texts].join('\n\n')
}
