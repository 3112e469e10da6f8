import { createHash } from 'node:crypto'

import { ApiError } from '../../../base/errors.ts'
import { parseStrictJson } from '../../../base/json.ts'
import { readTar, type ReadTarOptions } from '../../../base/tar/read-tar.ts'
import type { TarEntry } from '../../../base/tar/tar-entry.ts'
import { TarFault } from '../../../base/tar/tar-fault.ts'
import { withSha256 } from '../../../base/with-sha256.ts'
import { createValidation } from '../../../http/validation.ts'
import {
  collectionEntry,
  DEFINITIONS_BYTES_MAX,
  DEFINITIONS_ENTRY,
  FILES_ENTRY,
  FORMAT,
  FORMAT_WITH_DEFINITIONS,
  Manifest,
  MANIFEST_ENTRY,
} from './archive-format.ts'
import {
  linesOf,
  readDefinitionLine,
  readDocumentLine,
  readFileLine,
  type ArchivedDefinition,
  type ArchivedDocument,
  type ArchivedFile,
} from './archive-lines.ts'
import { damaged } from './damaged-archive.ts'

const COLLECTION_ENTRY = /^collections\/([a-zA-Z][a-zA-Z0-9_-]{0,63})\.jsonl$/
const FILE_ENTRY = /^files\/([0-9a-hjkmnp-tv-z]{26})$/
const MANIFEST_BYTES_MAX = 16 * 1_048_576
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const BATCH_LINES = 1_000
const BATCH_BYTES = 524_288

/** Takes what an archive holds, as it is read. What it throws ends the reading, and is thrown as it is. */
export type ArchiveSink = {
  documents?(collection: string, documents: readonly ArchivedDocument[]): Promise<void>
  definitions?(definitions: readonly ArchivedDefinition[]): Promise<void> | void
  files?(files: readonly ArchivedFile[]): Promise<void>
  /** Must read `bytes` to its end. They are only known to be those of the file when `readArchive` resolves. */
  content?(file: { id: string; size: number }, bytes: AsyncIterable<Buffer>): Promise<void>
}

/** Lines of an entry, as the manifest has them. */
type Lines = { lines: number; size: number; sha256: string }

/**
 * Reads an archive and checks all of it: the compression and its checksum, the entries with their names and order, each
 * line, and every count, size and SHA-256. Memory does not grow with the archive, whatever is in it; nothing of what
 * `sink` got may be used before this resolves.
 *
 * @throws BACKUP_DAMAGED; the error of `bytes`, of `sink` or of the signal as it is
 */
export async function readArchive(
  bytes: AsyncIterable<Buffer>,
  sink: ArchiveSink = {},
  options: ReadTarOptions = {},
): Promise<Manifest> {
  return readTar(bytes, (entries) => readEntries(entries, sink), options).catch((error: unknown) => {
    throw error instanceof TarFault ? damaged(error.place, error.fault) : error
  })
}

async function readEntries(entries: AsyncGenerator<TarEntry>, sink: ArchiveSink): Promise<Manifest> {
  /** Of the lines of `files.jsonl` and of the entries `files/<id>`, which must be the same. */
  const [announced, contents] = [createHash('sha256'), createHash('sha256')]
  const collections: (Lines & { name: string })[] = []
  let definitions: Lines | undefined
  let files: (Lines & { bytes: number }) | undefined
  let contentsRead = 0
  let contentBytes = 0
  let lastContent = ''

  for await (const entry of entries) {
    const place = JSON.stringify(entry.name)
    if (entry.name === MANIFEST_ENTRY) {
      if (!files) throw damaged(place, `${FILES_ENTRY} is missing before it`)
      if (contentsRead !== files.lines) throw damaged(place, 'the bytes of a file are missing before it')
      if (announced.digest('hex') !== contents.digest('hex'))
        throw damaged(FILES_ENTRY, 'it does not have the sizes and checksums of the files')
      const manifest = await readManifest(entry)
      compare(manifest, { collections, definitions, files })
      const { done } = await entries.next()
      if (!done) throw damaged('the archive', 'an entry follows the manifest')
      return manifest
    }
    if (files) {
      const id = FILE_ENTRY.exec(entry.name)?.[1]
      if (id === undefined || id <= lastContent) throw damaged(place, 'it is not expected here')
      if (++contentsRead > files.lines) throw damaged(place, `it is not in ${FILES_ENTRY}`)
      if ((contentBytes += entry.size) > files.bytes)
        throw damaged(place, `it is longer than ${FILES_ENTRY} says`)
      lastContent = id
      contents.update(`${id} ${entry.size} ${await readContent(id, entry, sink)}\n`)
      continue
    }
    if (entry.name === DEFINITIONS_ENTRY && !definitions) {
      if (entry.size > DEFINITIONS_BYTES_MAX) throw damaged(place, 'it is too large')
      definitions = await readLines(entry, readDefinitionLine, async (batch) => sink.definitions?.(batch))
      continue
    }
    if (entry.name === FILES_ENTRY) {
      let bytes = 0
      const lines = await readLines(entry, readFileLine, async (batch) => {
        for (const { id, size, sha256 } of batch) {
          bytes += size
          announced.update(`${id} ${size} ${sha256}\n`)
        }
        await sink.files?.(batch)
      })
      files = { ...lines, bytes }
      continue
    }
    const name = COLLECTION_ENTRY.exec(entry.name)?.[1]
    if (name === undefined || definitions || name <= (collections.at(-1)?.name ?? ''))
      throw damaged(place, 'it is not expected here')
    if (collections.length * 100 > MANIFEST_BYTES_MAX)
      throw damaged(place, 'there are more collections than a manifest can name')
    collections.push({
      name,
      ...(await readLines(entry, readDocumentLine, async (batch) => sink.documents?.(name, batch))),
    })
  }
  throw damaged('the archive', `${MANIFEST_ENTRY} is missing`)
}

/** Reads JSON lines in the order of their ids, in batches. */
async function readLines<L extends { id: string }>(
  { name, size, pieces }: TarEntry,
  read: (line: Buffer, place: string) => L,
  take: (batch: readonly L[]) => Promise<void>,
): Promise<Lines> {
  const hashed = withSha256(pieces)
  let count = 0
  let last = ''
  let batch: L[] = []
  let batchBytes = 0
  for await (const { first, lines } of linesOf(hashed.bytes, name))
    for (const [at, bytes] of lines.entries()) {
      const place = `${name}, line ${first + at}`
      const line = read(bytes, place)
      if (line.id <= last) throw damaged(place, 'its id does not sort after the one before it')
      last = line.id
      count++
      batch.push(line)
      batchBytes += bytes.length
      if (batch.length < BATCH_LINES && batchBytes < BATCH_BYTES) continue
      await take(batch)
      batch = []
      batchBytes = 0
    }
  if (batch.length > 0) await take(batch)
  return { lines: count, size, sha256: hashed.digest() }
}

async function readToEnd(bytes: AsyncIterable<Buffer>): Promise<void> {
  const iterator = bytes[Symbol.asyncIterator]()
  while (!(await iterator.next()).done);
}

/** @returns the SHA-256 of the bytes */
async function readContent(id: string, { size, pieces }: TarEntry, sink: ArchiveSink): Promise<string> {
  const { bytes, digest } = withSha256(pieces)
  if (sink.content) await sink.content({ id, size }, bytes)
  else await readToEnd(bytes)
  return digest()
}

async function readManifest({ size, pieces }: TarEntry): Promise<Manifest> {
  if (size > MANIFEST_BYTES_MAX) throw damaged(MANIFEST_ENTRY, 'it is too large')
  const parts: Buffer[] = []
  for await (const piece of pieces) parts.push(piece)
  let value: unknown
  try {
    value = parseStrictJson(Buffer.concat(parts).toString(), { at: '' })
  } catch (error) {
    if (error instanceof ApiError) throw damaged(MANIFEST_ENTRY, 'it is not JSON')
    throw error
  }
  const format = (value as { format?: unknown } | null)?.format
  if (typeof format === 'string' && format !== FORMAT && format !== FORMAT_WITH_DEFINITIONS)
    throw damaged(MANIFEST_ENTRY, 'it is of a format that this version of Sixwire does not read')
  const checked = createValidation()('body', Manifest)(value)
  if ('error' in checked || !ISO_TIME.test((checked.value as Manifest).createdAt))
    throw damaged(MANIFEST_ENTRY, 'it is not a manifest')
  return checked.value as Manifest
}

/** @throws BACKUP_DAMAGED unless the manifest says of all entries what was read of them */
function compare(
  manifest: Manifest,
  {
    collections,
    definitions,
    files,
  }: {
    collections: readonly (Lines & { name: string })[]
    definitions: Lines | undefined
    files: Lines & { bytes: number }
  },
): void {
  if (manifest.collections.length !== collections.length)
    throw damaged(MANIFEST_ENTRY, 'it does not name the collections of the archive')
  for (const [at, read] of collections.entries()) {
    const { name, ...lines } = manifest.collections[at]!
    if (name !== read.name) throw damaged(MANIFEST_ENTRY, 'it does not name the collections of the archive')
    compareLines(collectionEntry(name), lines, read)
  }
  compareLines(DEFINITIONS_ENTRY, manifest.definitions ?? NO_LINES, definitions ?? NO_LINES)
  compareLines(FILES_ENTRY, manifest.files, files)
  if (manifest.files.bytes !== files.bytes)
    throw damaged(MANIFEST_ENTRY, 'it does not have the bytes of all files')
}

const NO_LINES: Lines = { lines: 0, size: 0, sha256: '' }

function compareLines(entry: string, announced: Lines, read: Lines): void {
  for (const name of ['lines', 'size', 'sha256'] as const)
    if (announced[name] !== read[name]) throw damaged(entry, `its ${name} is not what ${MANIFEST_ENTRY} says`)
}
