import { open } from 'node:fs/promises'

/** Flushes to the disk which names a folder has; calls that come together share one flush. */
export type FolderFlushes = {
  /** Resolves once everything that was renamed, created or deleted in the folder before the call survives a power cut. */
  flush(folder: string): Promise<void>
}

type Flush = { running: Promise<void>; next?: Promise<void> }

async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function createFolderFlushes(): FolderFlushes {
  const flushes = new Map<string, Flush>()

  function start(folder: string): Promise<void> {
    const flush: Flush = { running: flushFolder(folder) }
    flushes.set(folder, flush)
    const ended = (): void => {
      if (flush.next === undefined) flushes.delete(folder)
    }
    flush.running.then(ended, ended)
    return flush.running
  }

  return {
    flush(folder) {
      const flush = flushes.get(folder)
      if (!flush) return start(folder)
      // The one that runs may have begun before the change.
      flush.next ??= flush.running.then(
        () => start(folder),
        () => start(folder),
      )
      return flush.next
    },
  }
}
