import type { Progress } from '../../../base/progress.ts'
import { withSha256 } from '../../../base/with-sha256.ts'
import type { Snapshot } from '../../../db/database.ts'
import type { InstalledFile, InstalledFiles } from '../../../kernel/archive/installed-files.ts'
import { NoSuchObject, type ObjectStorage } from '../objects/storage.ts'
import { storageFault } from './storage-fault.ts'

const AT_ONCE = 8

export type CopyFilesOptions = {
  /** Which of the files that are there already have the right bytes: those that were read and have their sum, or all. */
  readonly trusts: 'sum' | 'all'
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
}

export type CopiedFiles = { files: number; bytes: number; copied: number }

/**
 * Copies the files of a snapshot into another storage, but those that are there. A copy has the size and the SHA-256 of its record,
 * or there is none.
 *
 * @throws StartError with a file whose bytes are missing or wrong
 */
export async function copyFiles(
  snapshot: Snapshot,
  { files, to }: { files: InstalledFiles; to: ObjectStorage },
  { trusts, onProgress, signal }: CopyFilesOptions,
): Promise<CopiedFiles> {
  const { bytes: total } = await files.count(snapshot)
  const sum: CopiedFiles = { files: 0, bytes: 0, copied: 0 }
  const all = files.list(snapshot)
  const isThere = trusts === 'sum' ? hasBytes : hasObject
  async function copyNext(): Promise<void> {
    for await (const file of all) {
      signal.throwIfAborted()
      if (!(await isThere(to, file))) {
        await to.write(file.key, files.read(file), { signal })
        sum.copied++
      }
      sum.files++
      sum.bytes += file.size
      onProgress({ phase: 'Files', done: sum.bytes, total, unit: 'bytes' })
    }
  }
  // One that fails ends the list for the others, which finish what they write.
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, copyNext))
  for (const one of ended) if (one.status === 'rejected') throw storageFault(one.reason)
  return sum
}

const absent = (error: unknown): undefined => {
  if (!(error instanceof NoSuchObject)) throw error
}

async function hasObject(storage: ObjectStorage, { key, size }: InstalledFile): Promise<boolean> {
  const range = size > 0 ? { start: 0, end: 0 } : undefined
  const bytes = await storage.read(key, range).catch(absent)
  bytes?.destroy()
  return bytes !== undefined
}

async function hasBytes(storage: ObjectStorage, { key, size, sha256 }: InstalledFile): Promise<boolean> {
  const stream = await storage.read(key).catch(absent)
  if (!stream) return false
  const { bytes, digest } = withSha256(stream as AsyncIterable<Buffer>)
  let passed = 0
  for await (const piece of bytes) passed += piece.length
  return passed === size && digest() === sha256
}
