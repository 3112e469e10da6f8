import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

import { StartError } from '../../base/start-error.ts'
import { readTar } from '../../base/tar/read-tar.ts'
import { TarFault } from '../../base/tar/tar-fault.ts'
import type { Migration } from '../../db/database.ts'
import { withChecksum } from '../../db/migrations.ts'
import { openTableLoader } from '../../db/open.ts'
import type { Dialect } from '../../db/sql.ts'
import type { TableLoader } from '../../db/table-loader.ts'
import { copyTables, planCopy, type Copied, type CopyOptions, type Tables } from '../move/copy-tables.ts'
import { createArchiveEntries, type ArchiveEntries } from './archive-entries.ts'
import {
  damaged,
  fileLine,
  FILES,
  HEADER_ENTRY,
  MANIFEST_ENTRY,
  readHeader,
  readManifest,
  SECRET_ENTRY,
  type Header,
  type ContentManifest,
} from './archive-format.ts'
import { createArchiveSource } from './archive-source.ts'
import type { FileTarget } from './installed-files.ts'

export type UnarchiveContext = {
  /** The tables of wires, as an engine has them. @throws StartError if one of the wires is not loaded */
  readonly tablesOf: (wires: readonly string[], dialect: Dialect) => Promise<Tables>
  readonly files: FileTarget
}

export type UnarchiveOptions = CopyOptions & {
  /** The address of the new database. */
  readonly to: string
  readonly leave?: readonly string[] | undefined
  /** Called before anything is loaded. @throws StartError if the secret has no place */
  readonly checkSecret: (secret: string) => Promise<void>
  /** Called when all is there, before the database is used. */
  readonly keepSecret: (secret: string) => Promise<void>
}

export type Unarchived = Copied & {
  readonly createdAt: string
  /** Undefined if the archive has none. */
  readonly files: { readonly files: number; readonly bytes: number } | undefined
  /** How many migrations are later than the archive, which is then of an earlier version. */
  readonly migrations: number
}

/**
 * Reads an archive into a new database, and its files into a storage. If it fails or its process is killed, there is no database;
 * files that were written have keys that nobody uses, and are replaced when it is repeated.
 *
 * @param tar the archive, decrypted
 * @throws StartError with one line that says why there is none
 */
export async function unarchive(
  context: UnarchiveContext,
  tar: AsyncIterable<Buffer>,
  options: UnarchiveOptions,
): Promise<Unarchived> {
  const { to, signal, keepSecret } = options
  const loader = await openTableLoader(to)
  try {
    const load = (entries: ArchiveEntries) => loadAll(context, entries, loader, options)
    const { copied, header, secret, newer, later } = await readTar(
      tar,
      (entries) => load(createArchiveEntries(entries)),
      { signal },
    ).catch((error: unknown) => {
      throw error instanceof TarFault ? damaged(error.place, error.fault) : error
    })
    // All of it was read, and is as it was written.
    await loader.migrate(newer)
    signal.throwIfAborted()
    await keepSecret(secret)
    await loader.commit()
    return { ...copied, createdAt: header.createdAt, files: header.files, migrations: later }
  } finally {
    await loader.close()
  }
}

async function loadAll(
  { tablesOf, files }: UnarchiveContext,
  entries: ArchiveEntries,
  loader: TableLoader,
  options: UnarchiveOptions,
): Promise<{ copied: Copied; header: Header; secret: string; newer: Migration[]; later: number }> {
  const header = readHeader(await entries.takeText(HEADER_ENTRY))
  const secret = await entries.takeText(SECRET_ENTRY)
  await options.checkSecret(secret)
  const wires = [...new Set(header.migrations.map(({ wire }) => wire))]
  const { migrations: known } = await tablesOf(wires, header.engine)
  refuseNewer(header, known)
  const tables = await tablesOf(wires, loader.dialect)
  const { older, newer } = byAge(header, tables.migrations)
  await loader.migrate(older)
  const source = createArchiveSource({ header, entries })
  const plan = await planCopy({ source, loader }, tables, options)
  const copied = await copyTables(source, loader, plan, options)
  const passed: ContentManifest = {
    tables: source.passed,
    ...(await loadFiles(entries, header, files, options)),
  }
  if (!isDeepStrictEqual(readManifest(await entries.takeText(MANIFEST_ENTRY)), passed))
    throw damaged(MANIFEST_ENTRY, 'it does not have the rows and files of the archive')
  await entries.end()
  // All that the archive has are known. Its engine tells how many are later: the other one may have more of its own.
  return { copied, header, secret, newer, later: known.length - header.migrations.length }
}

/** @throws StartError if the archive's tables were made by migrations that this program does not have */
function refuseNewer({ sixwire, migrations }: Header, own: readonly Migration[]): void {
  const checksums = new Map(own.map((one) => [`${one.wire}/${one.name}`, withChecksum(one).checksum]))
  for (const { wire, name, checksum } of migrations) {
    const known = checksums.get(`${wire}/${name}`)
    if (known === undefined)
      throw new StartError(
        `the archive is newer than this program: it has the migration ${wire}/${name}, which this program does not have. Use Sixwire ${sixwire}, which made it, or a newer one`,
      )
    if (known !== checksum)
      throw new StartError(
        `the migration ${wire}/${name} is not the one that the tables of the archive were made by: put its text back`,
      )
  }
}

/** Which migrations of an engine the archive's tables have; the other engine may have more of them, and their numbers tell. */
function byAge(
  { migrations }: Header,
  own: readonly Migration[],
): { older: Migration[]; newer: Migration[] } {
  const last = new Map<string, string>()
  for (const { wire, name } of migrations) if (name > (last.get(wire) ?? '')) last.set(wire, name)
  const isOlder = ({ wire, name }: Migration): boolean => name <= (last.get(wire) ?? '')
  return { older: own.filter(isOlder), newer: own.filter((one) => !isOlder(one)) }
}

async function loadFiles(
  entries: ArchiveEntries,
  header: Header,
  target: FileTarget,
  { onProgress, signal }: UnarchiveOptions,
): Promise<Pick<ContentManifest, 'files'>> {
  if (!header.files) return {}
  const hash = createHash('sha256')
  const total = header.files.bytes
  let [files, bytes] = [0, 0]
  async function* counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      signal.throwIfAborted()
      bytes += piece.length
      onProgress({ phase: 'Files', done: bytes, total, unit: 'bytes' })
      yield piece
    }
  }
  for (;;) {
    const entry = await entries.takeIf(({ name }) => name.startsWith(FILES))
    if (!entry) break
    const key = entry.name.slice(FILES.length)
    hash.update(fileLine(key, await target.write(key, counted(entry.pieces))))
    files++
  }
  return { files: { files, bytes, sha256: hash.digest('hex') } }
}
