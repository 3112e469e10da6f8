// Where Sixwire's own files are. From source this is server/src/base/asset.ts; `npm run build` puts it into a file of dist/lib/, and
// copies what is named here. Paths are written as text in one piece, because the build reads them from the source.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../', import.meta.url)
/** Whether this is the built package, not the source. */
export const isBuilt = import.meta.url.endsWith('.js')
const require = createRequire(import.meta.url)

/**
 * The address of a file, or of a folder with a slash at its end, that is no code: migrations, pages, templates.
 *
 * @param path from `src/`
 */
export const asset = (path: string): URL => new URL(path, ROOT)

/**
 * The address of a module that a thread runs or a statement calls.
 *
 * @param path from `src/`, without its extension
 */
export const moduleAddress = (path: string): URL => asset(path + (isBuilt ? '.js' : '.ts'))

/**
 * Loads a module where a promise can't be waited for, so that a start does not pay for what many servers never use.
 *
 * @param path as of `moduleAddress`
 */
export const requireModule = (path: string): unknown => require(fileURLToPath(moduleAddress(path)))

/** The address of a file of a package, such as `a-package/words.json`. */
export const packageAsset = (path: string): URL =>
  isBuilt ? asset(`packages/${path}`) : new URL(import.meta.resolve(path))
