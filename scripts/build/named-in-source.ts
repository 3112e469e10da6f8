import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const CALL = /\b(asset|sandboxAsset|packageAsset|moduleAddress|requireModule)\(\s*'([^']+)'/g

/**
 * What the sources of the server and the sandbox name by the functions of `asset.ts`: files that are no code, and modules
 * that are loaded by their address.
 *
 * @param sources the addresses of `server/src/` and `sandbox/src/`
 */
export async function namedInSource(sources: readonly URL[]) {
  const named = {
    asset: new Set<string>(),
    sandboxAsset: new Set<string>(),
    packageAsset: new Set<string>(),
    module: new Set<string>(),
  }
  for (const source of sources)
    for await (const file of glob('**/*.ts', { cwd: fileURLToPath(source) })) {
      if (/\.(test|long|fixture)\.ts$|^(testing|e2e)\//.test(file)) continue
      for (const [, call, path] of (await readFile(new URL(file, source), 'utf8')).matchAll(CALL))
        named[
          call === 'moduleAddress' || call === 'requireModule' ? 'module' : (call as keyof typeof named)
        ].add(path!)
    }
  return {
    // What is beside the source is in the package as it is.
    assets: [...named.asset].filter((path) => !path.startsWith('../')),
    sandboxAssets: [...named.sandboxAsset],
    packageAssets: [...named.packageAsset],
    modules: [...named.module],
  }
}
