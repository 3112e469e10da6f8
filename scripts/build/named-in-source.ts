import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const CALL = /\b(asset|packageAsset|moduleAddress|requireModule)\(\s*'([^']+)'/g

/** What src/ names by the functions of base/asset.ts: files that are no code, and modules that are loaded by their address. */
export async function namedInSource(source: URL) {
  const found = { asset: new Set<string>(), packageAsset: new Set<string>(), module: new Set<string>() }
  for await (const file of glob('**/*.ts', { cwd: fileURLToPath(source) })) {
    if (/\.(test|long|fixture)\.ts$|^(testing|e2e)\//.test(file)) continue
    for (const [, call, path] of (await readFile(new URL(file, source), 'utf8')).matchAll(CALL))
      found[call === 'asset' || call === 'packageAsset' ? call : 'module'].add(path!)
  }
  return {
    // What is beside src/ is in the package as it is.
    assets: [...found.asset].filter((path) => !path.startsWith('../')),
    packageAssets: [...found.packageAsset],
    modules: [...found.module],
  }
}
