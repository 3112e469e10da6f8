import { readdirSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'

const SOURCE = /(^\.env$|(?<!\.test)\.([cm]?[jt]s|json|sql|html|txt)$)/
const SETTLED_MS = 50

/**
 * Watches the source files below a folder, also in folders that are created later: calls `changed` when one is saved,
 * created or deleted. It watches folders, because many editors save by replacing the file.
 *
 * @param skip paths of folders to leave out, beside `node_modules` and hidden ones
 * @param changed gets the last path of those that changed together
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
      watcher.on('error', () => unwatch(path))
      watchers.set(path, watcher)
      for (const one of inside) if (one.isDirectory() && !isHidden(one.name)) add(join(path, one.name))
    } catch {
      // Not a folder, or one that was deleted meanwhile.
      unwatch(path)
    }
  }

  function unwatch(path: string): void {
    watchers.get(path)?.close()
    watchers.delete(path)
  }

  add(folder)
  return () => {
    clearTimeout(settling)
    for (const path of watchers.keys()) unwatch(path)
  }
}

const isHidden = (name: string): boolean => name === 'node_modules' || name.startsWith('.')
