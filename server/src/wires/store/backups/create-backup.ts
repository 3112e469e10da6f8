import { createHash } from 'node:crypto'

import { isoTime } from '../../../base/clock.ts'
import { platformVersion } from '../../../base/platform-version.ts'
import type { Progress } from '../../../base/progress.ts'
import type { Snapshot } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import { NoSuchObject } from '../objects/storage.ts'
import {
  collectionEntry,
  DEFINITIONS_BYTES_MAX,
  DEFINITIONS_ENTRY,
  fileEntry,
  FILES_ENTRY,
  FORMAT,
  FORMAT_WITH_DEFINITIONS,
  MANIFEST_ENTRY,
  type Manifest,
} from './archive-format.ts'
import {
  selectCollectionsSql,
  selectDefinitionLinesSql,
  selectDefinitionsSizeSql,
  selectDocumentLinesSql,
  selectFileLinesSql,
  selectFilesSizeSql,
  selectFilesSql,
  type StoredFile,
} from './archive-rows.ts'
import { writeTar, type NewEntry } from '../../../base/tar/write-tar.ts'
import { objectOf, type ArchiveSummary } from './backup-rows.ts'

const FILES_AT_ONCE = 1_000
const LOOKED_FOR_AT_ONCE = 16

/** A backup cannot be made, with a sentence for the operator. */
export class BackupFault extends Error {
  override name = 'BackupFault'
}

class LostFile extends BackupFault {}

export type ArchiveOptions = {
  signal: AbortSignal
  onProgress?: (progress: Progress) => void
  /** Leaves out files whose objects do not exist, instead of failing. */
  skipsLost: boolean
}

/** Writes the archive of a backup into the backups storage; it is deleted unless it is claimed. `lost` are left out. */
export type CreateArchive = (
  id: string,
  options: ArchiveOptions,
) => Promise<{ archive: NewObject; summary: ArchiveSummary; lost: readonly string[] }>

export function createArchives(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { objects }: { objects: Objects },
): CreateArchive {
  return (id, options) =>
    db.snapshot(async (snapshot) => {
      try {
        return await write(id, options, snapshot, [])
      } catch (error) {
        if (!(error instanceof LostFile && options.skipsLost)) throw error
      }
      // The list of files is written before their bytes, so a second pass is needed. Lost files are rare: only then are all checked.
      return write(id, options, snapshot, await lostFiles(objects, snapshot, options.signal))
    })

  async function write(
    id: string,
    { signal, onProgress }: ArchiveOptions,
    snapshot: Snapshot,
    lost: readonly string[],
  ) {
    const createdAt = clock.now()
    const skipped = new Set(lost)
    const collections = await snapshot.all(selectCollectionsSql())
    const definitions = (await snapshot.get(selectDefinitionsSizeSql()))!
    if (definitions.size > DEFINITIONS_BYTES_MAX)
      throw new BackupFault(
        `The definitions of collections take more than ${DEFINITIONS_BYTES_MAX} bytes: remove some.`,
      )
    const files = (await snapshot.get(selectFilesSizeSql(lost)))!
    const total = collections.reduce(
      (sum, { size }) => sum + size,
      definitions.size + files.size + files.bytes,
    )
    let done = 0

    /** Passes bytes on, and hashes and counts them on the way. */
    async function* pass(bytes: AsyncIterable<Buffer>, end: (sha256: string, size: number) => void) {
      const hash = createHash('sha256')
      let size = 0
      for await (const piece of bytes) {
        signal.throwIfAborted()
        hash.update(piece)
        size += piece.length
        done += piece.length
        onProgress?.({ phase: 'Backup', done, total, unit: 'bytes' })
        yield piece
      }
      end(hash.digest('hex'), size)
    }

    async function* entries(): AsyncGenerator<NewEntry, void, undefined> {
      const manifest: Manifest = {
        format: definitions.lines > 0 ? FORMAT_WITH_DEFINITIONS : FORMAT,
        sixwire: platformVersion(),
        createdAt: isoTime(createdAt),
        collections: [],
        files: { ...files, sha256: '' },
      }
      for (const collection of collections)
        yield {
          name: collectionEntry(collection.name),
          size: collection.size,
          bytes: pass(snapshot.lines(selectDocumentLinesSql(collection.name)), (sha256) =>
            manifest.collections.push({ ...collection, sha256 }),
          ),
        }
      if (definitions.lines > 0)
        yield {
          name: DEFINITIONS_ENTRY,
          size: definitions.size,
          bytes: pass(
            snapshot.lines(selectDefinitionLinesSql()),
            (sha256) => (manifest.definitions = { ...definitions, sha256 }),
          ),
        }
      yield {
        name: FILES_ENTRY,
        size: files.size,
        bytes: pass(snapshot.lines(selectFileLinesSql(lost)), (sha256) => (manifest.files.sha256 = sha256)),
      }
      for await (const file of storedFiles(snapshot)) {
        if (skipped.has(file.id)) continue
        yield {
          name: fileEntry(file.id),
          size: file.size,
          bytes: pass(contentOf(objects, file), (sha256, size) => {
            if (sha256 !== file.sha256 || size !== file.size)
              throw new BackupFault(
                `The bytes of the file ${file.id} are not those that were uploaded: put the object ${file.object} back, or delete the file.`,
              )
          }),
        }
      }
      const text = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)
      yield { name: MANIFEST_ENTRY, size: text.length, bytes: one(text) }
    }

    const archive = await objects.write('backups', writeTar(entries(), createdAt), {
      key: objectOf(id),
      signal,
      maxBytes: archiveBytesMax(total, collections.length + files.lines),
    })
    const documents = collections.reduce((sum, { lines }) => sum + lines, 0)
    const { size, sha256 } = archive
    return {
      archive,
      summary: { size, sha256, collections: collections.length, documents, files: files.lines },
      lost,
    }
  }
}

/** How long an archive may become: headers, padding, the manifest, and what zstd adds to what it cannot compress. */
const archiveBytesMax = (contentBytes: number, entries: number): number =>
  (contentBytes + 2_048 * (entries + 16)) * 1.01

/** The ids of the files of the snapshot whose objects do not exist. */
async function lostFiles(objects: Objects, snapshot: Snapshot, signal: AbortSignal): Promise<string[]> {
  const lost: string[] = []
  const files = storedFiles(snapshot)
  async function lookForNext(): Promise<void> {
    for await (const { id, object, size } of files) {
      signal.throwIfAborted()
      try {
        const bytes = await objects.read('uploads', object, size > 0 ? { start: 0, end: 0 } : undefined)
        bytes.destroy()
      } catch (error) {
        if (!(error instanceof NoSuchObject)) throw error
        lost.push(id)
      }
    }
  }
  await Promise.all(Array.from({ length: LOOKED_FOR_AT_ONCE }, lookForNext))
  return lost.toSorted()
}

/** All files of the snapshot, by id. */
async function* storedFiles(snapshot: Snapshot): AsyncGenerator<StoredFile, void, undefined> {
  for (let after = ''; ;) {
    const files = await snapshot.all(selectFilesSql(after, FILES_AT_ONCE))
    yield* files
    if (files.length < FILES_AT_ONCE) return
    after = files.at(-1)!.id
  }
}

/** @throws BackupFault if the bytes are missing */
async function* contentOf(
  objects: Objects,
  { id, object }: StoredFile,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* await objects.read('uploads', object)
  } catch (error) {
    if (!(error instanceof NoSuchObject)) throw error
    throw new LostFile(
      `The bytes of the file ${id} are missing: put the object ${object} back, or delete the file.`,
    )
  }
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield bytes
}
