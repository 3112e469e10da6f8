import type { TarEntry } from '../../base/tar/tar-entry.ts'
import { damaged } from './archive-format.ts'

const TEXT_BYTES_MAX = 16 * 1_048_576

/** The entries of an archive, in their order. Each must be read to its end before the next one is taken. */
export type ArchiveEntries = {
  /** The next entry; undefined if it is another one, which stays the next. */
  takeIf(isExpected: (entry: TarEntry) => boolean): Promise<TarEntry | undefined>
  /** The text of the next entry, which must have this name. @throws StartError if it has not */
  takeText(name: string): Promise<string>
  /** @throws StartError if an entry follows */
  end(): Promise<void>
}

export function createArchiveEntries(entries: AsyncGenerator<TarEntry>): ArchiveEntries {
  let next: Promise<IteratorResult<TarEntry, unknown>> | undefined

  async function takeIf(isExpected: (entry: TarEntry) => boolean): Promise<TarEntry | undefined> {
    next ??= entries.next()
    const { done, value } = await next
    if (done || !isExpected(value)) return undefined
    next = undefined
    return value
  }

  return {
    takeIf,
    async takeText(name) {
      const entry = await takeIf((one) => one.name === name && one.size <= TEXT_BYTES_MAX)
      if (!entry) throw damaged(name, 'it is not where it must be')
      const pieces: Buffer[] = []
      for await (const piece of entry.pieces) pieces.push(piece)
      return Buffer.concat(pieces).toString()
    },
    async end() {
      if (await takeIf(() => true)) throw damaged('its end', 'an entry follows the manifest')
    },
  }
}
