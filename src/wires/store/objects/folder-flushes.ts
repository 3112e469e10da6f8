import { open, type FileHandle } from 'node:fs/promises'

/** Flushes to the disk which names a folder has; calls that come together share one flush. */
export type FolderFlushes = {
  /** Resolves once everything that was renamed, created or deleted in the folder before the call survives a power cut. */
  flush(folder: string): Promise<void>
}

export function createFolderFlushes(): FolderFlushes {
  const folders = new Map<string, Folder>()
  return {
    flush(path) {
      let folder = folders.get(path)
      if (!folder) folders.set(path, (folder = new Folder(path, () => folders.delete(path))))
      return folder.flush()
    },
  }
}

/** A folder that is open as long as one flush follows another. */
class Folder {
  readonly #path: string
  readonly #closed: () => void
  #handle: FileHandle | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(path: string, closed: () => void) {
    this.#path = path
    this.#closed = closed
  }

  flush(): Promise<void> {
    if (!this.#running) return this.#start()
    const start = (): Promise<void> => this.#start()
    // The one that runs may have begun before the change.
    this.#next ??= this.#running.then(start, start)
    return this.#next
  }

  #start(): Promise<void> {
    this.#next = undefined
    const flushing = this.#flush()
    this.#running = flushing
    return flushing
  }

  async #flush(): Promise<void> {
    try {
      this.#handle ??= await open(this.#path, 'r')
      await this.#handle.sync()
    } finally {
      if (!this.#next) {
        this.#closed()
        await this.#handle?.close()
      }
    }
  }
}
