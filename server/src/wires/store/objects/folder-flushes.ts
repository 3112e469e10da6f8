import { open } from 'node:fs/promises'

import { Coalescer } from '../../../base/coalesce.ts'

/** Flushes to the disk which names a folder has; calls that come together share one flush. */
export type FolderFlushes = {
  /** Resolves once everything that was renamed, created or deleted in the folder before the call survives a power cut. */
  flush(folder: string): Promise<void>
}

export function createFolderFlushes(): FolderFlushes {
  const flushes = new Coalescer<string, void>({
    laneOf: (folder) => folder,
    async answer(folders) {
      await using handle = await open(folders[0]!, 'r')
      await handle.sync()
      return folders.map(() => undefined)
    },
  })
  return { flush: (folder) => flushes.call(folder) }
}
