import { asset, isBuilt } from '../../server/src/base/asset.ts'

/**
 * The address of a file of the sandbox that is no code, or of a folder with a slash at its end.
 *
 * @param path from `sandbox/src/`, as text in one piece: the build reads it from the source
 */
export const sandboxAsset = (path: string): URL =>
  isBuilt ? asset(`sandbox/${path}`) : new URL(path, import.meta.url)
