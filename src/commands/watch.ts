import { readdirSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'

const SOURCE = /(^\.env$|(?<!\.test)\.([cm]?[jt]s|json|sql|html|txt)$)/
const SETTLED_MS = 50

/**
 * Tells when a source file anywhere below a folder is saved, made or removed; folders that are made later count too.
 * Whole folders are watched, because many editors save by putting a new file in the place of the old one.
 *
 * @param skip folders to leave out, by their paths, beside `node_modules` and hidden ones
 * @param changed is given the last path of those that changed together
 */
export function watchSources(
  folder: string,
  skip: readonly string[],
  changed: (path: string) => Promise<void>,
): () => void {
  const watchers = new Map<string, FSWatcher>()
  let settling: NodeJS.Timeout | undefined

  function add(path: string): void {
    if (watchers.has(path) || skip.includes(path)) return
    try {
      const inside = readdirSync(path, { withFileTypes: true })
      const watcher = watch(path, (_event, name) => {
        if (name === null) return
        if (SOURCE.test(name)) {
          clearTimeout(settling)
          settling = setTimeout(() => void changed(join(path, name)), SETTLED_MS)
        } else if (!isHidden(name)) add(join(path, name))
      })
      watcher.on('error', () => forget(path))
      watchers.set(path, watcher)
      for (const one of inside) if (one.isDirectory() && !isHidden(one.name)) add(join(path, one.name))
    } catch {
      // No folder, or one that has just gone.
      forget(path)
    }
  }

  function forget(path: string): void {
    watchers.get(path)?.close()
    watchers.delete(path)
  }

  add(folder)
  return () => {
    clearTimeout(settling)
    for (const path of watchers.keys()) forget(path)
  }
}

const isHidden = (name: string): boolean => name === 'node_modules' || name.startsWith('.')
