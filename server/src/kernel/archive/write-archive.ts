import { createHash } from 'node:crypto'

import { isoTime, type Clock } from '../../base/clock.ts'
import { platformVersion } from '../../base/platform-version.ts'
import { StartError } from '../../base/start-error.ts'
import { writeTar, type NewEntry } from '../../base/tar/write-tar.ts'
import type { Database, Snapshot } from '../../db/database.ts'
import type { AppliedMigration } from '../../db/pending-migrations.ts'
import { sql } from '../../db/sql.ts'
import type { LoadedRow } from '../../db/table-loader.ts'
import { COMMAND_LINE } from '../../http/actor.ts'
import { createAudit } from '../audit/audit.ts'
import { copiedTables, strayTables, type CopiedTable } from '../move/copied-tables.ts'
import { progressOf, refusingForeign, type CopyOptions } from '../move/copy-tables.ts'
import { sourceOf, type RowSource } from '../move/row-source.ts'
import type { TableCopies } from '../wire/table-copy.ts'
import {
  fileLine,
  FILES,
  FORMAT,
  HEADER_ENTRY,
  MANIFEST_ENTRY,
  partsOf,
  SECRET_ENTRY,
  type Header,
  type ContentManifest,
} from './archive-format.ts'
import type { InstalledFile, InstalledFiles } from './installed-files.ts'

const PART_CHARACTERS = 1_048_576
// With `tables/` and the number of a part it must fit into the header of a tar.
const TABLE_NAME = /^[\w.-]{1,70}$/

export type ArchiveContext = {
  readonly db: Database
  readonly clock: Clock
  readonly copies: TableCopies
  /** Absent: they are left out. */
  readonly files?: InstalledFiles | undefined
}

export type ArchivingOptions = CopyOptions & {
  /** That of the installation, without which its keys and hashes are worth nothing. */
  readonly secret: string
  /** Tables that may be left out. */
  readonly leave?: readonly string[] | undefined
  /** What the audit log calls the archive. */
  readonly name: string
}

export type Archived = { tables: number; rows: number; files: number; bytes: number }

/**
 * Writes an installation as it is at one moment, while servers go on.
 *
 * @param write takes the tar of the archive, encrypts it, and makes it durable
 * @throws StartError with what can't be archived
 */
export async function archiveInstallation(
  context: ArchiveContext,
  options: ArchivingOptions,
  write: (tar: AsyncIterable<Buffer>) => Promise<void>,
): Promise<Archived> {
  const { db, clock, files } = context
  const { name } = options
  await db.write(
    createAudit(clock).entrySql(COMMAND_LINE, { action: 'installation.archived', target: `file:${name}` }),
  )
  const archive = (signal: AbortSignal): Promise<Archived> =>
    db.snapshot((snapshot) => writeSnapshot(snapshot, context, { ...options, signal }, write))
  if (!files) return archive(options.signal)
  return files.hold((held) => archive(AbortSignal.any([held, options.signal])))
}

async function writeSnapshot(
  snapshot: Snapshot,
  { db, clock, copies, files }: ArchiveContext,
  options: ArchivingOptions,
  write: (tar: AsyncIterable<Buffer>) => Promise<void>,
): Promise<Archived> {
  const now = clock.now()
  const source = sourceOf(db.dialect, snapshot)
  const tables = await tablesToArchive(source, copies, options.leave ?? [])
  const header: Header = {
    format: FORMAT,
    sixwire: platformVersion(),
    createdAt: isoTime(now),
    engine: db.dialect,
    migrations: [
      ...(await snapshot.all(sql<AppliedMigration>`
      select wire, name, checksum from sixwire_migrations order by applied_at, wire, name`)),
    ],
    tables: [],
    ...(files && { files: await files.count(snapshot) }),
  }
  for (const table of tables) {
    const { name, columns } = table
    const [rows, last] = [await source.count(table), await source.lastOf(name)]
    header.tables.push({ name, columns: [...columns], rows, last })
  }
  const manifest: ContentManifest = { tables: [] }
  const entries = entriesOf({ snapshot, source, tables, files, header, manifest }, options)
  await write(writeTar(entries, now))
  return {
    tables: tables.length,
    rows: manifest.tables.reduce((sum, one) => sum + one.rows, 0),
    files: manifest.files?.files ?? 0,
    bytes: manifest.files?.bytes ?? 0,
  }
}

/** Every table but those that no database needs of another one. @throws StartError with one that nobody knows how to copy */
async function tablesToArchive(
  source: RowSource,
  copies: TableCopies,
  leave: readonly string[],
): Promise<CopiedTable[]> {
  const catalogue = await source.catalogue()
  for (const { name } of strayTables(catalogue, catalogue, copies))
    if (!leave.includes(name) && (await source.hasRows(name)))
      throw new StartError(
        `the table ${name} has rows, and is a virtual one that can't be copied: add --leave ${name}`,
      )
  return copiedTables(catalogue, catalogue, copies).filter(({ name }) => {
    if (leave.includes(name)) return false
    if (!TABLE_NAME.test(name))
      throw new StartError(`the table ${name} has a name that no archive takes: add --leave`)
    return true
  })
}

type Content = {
  snapshot: Snapshot
  source: RowSource
  tables: readonly CopiedTable[]
  files: InstalledFiles | undefined
  header: Header
  /** Filled while the entries are read. */
  manifest: ContentManifest
}

async function* entriesOf(content: Content, options: ArchivingOptions): AsyncGenerator<NewEntry> {
  const { header, manifest } = content
  yield textEntry(HEADER_ENTRY, `${JSON.stringify(header, undefined, 2)}\n`)
  yield textEntry(SECRET_ENTRY, options.secret)
  yield* tableEntries(content, options)
  yield* fileEntries(content, options)
  yield textEntry(MANIFEST_ENTRY, `${JSON.stringify(manifest, undefined, 2)}\n`)
}

async function* tableEntries(
  { source, tables, manifest }: Content,
  options: ArchivingOptions,
): AsyncGenerator<NewEntry> {
  const report = await progressOf('Archive', source, tables, options)
  for await (const { table, rows } of source.read(tables, report)) {
    const hash = createHash('sha256')
    let count = 0
    let part = 0
    const batches = rows[Symbol.asyncIterator]()
    for (let text = ''; ;) {
      const next = await refusingForeign(table, batches.next())
      if (!next.done) {
        count += next.value.length
        text += linesOf(next.value)
        if (text.length < PART_CHARACTERS) continue
      }
      if (text !== '') {
        hash.update(text)
        yield textEntry(`${partsOf(table.name)}${++part}.ndjson`, text)
      }
      if (next.done) break
      text = ''
    }
    manifest.tables.push({ name: table.name, rows: count, sha256: hash.digest('hex') })
  }
}

const linesOf = (rows: readonly LoadedRow[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

async function* fileEntries(
  { snapshot, files, header, manifest }: Content,
  { onProgress, signal }: ArchivingOptions,
): AsyncGenerator<NewEntry> {
  if (!files || !header.files) return
  const hash = createHash('sha256')
  const total = header.files.bytes
  let [count, done] = [0, 0]
  async function* counted(file: InstalledFile): AsyncGenerator<Buffer> {
    for await (const piece of files!.read(file)) {
      signal.throwIfAborted()
      done += piece.length
      onProgress({ phase: 'Files', done, total, unit: 'bytes' })
      yield piece
    }
  }
  for await (const file of files.list(snapshot)) {
    const { key, size, sha256 } = file
    hash.update(fileLine(key, { size, sha256 }))
    count++
    yield { name: `${FILES}${key}`, size, bytes: counted(file) }
  }
  manifest.files = { files: count, bytes: done, sha256: hash.digest('hex') }
}

function textEntry(name: string, text: string): NewEntry {
  const bytes = Buffer.from(text)
  return { name, size: bytes.length, bytes: one(bytes) }
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
