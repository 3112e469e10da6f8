import type { Progress } from '../../base/progress.ts'
import type { Database, Snapshot } from '../../db/database.ts'
import { copiedTables } from '../move/copied-tables.ts'
import { sourceOf, type ReportRead } from '../move/row-source.ts'
import type { SealedColumn } from '../secret/sealed.ts'
import type { TableCopies } from '../wire/table-copy.ts'
import type { WireExport } from '../wire/table-export.ts'
import { openExportFolder, type OpenFolder } from './export-folder.ts'
import { exportedFiles, type ExportedFile } from './exported-files.ts'
import { readmeOf } from './readme.ts'
import { rowLines } from './row-lines.ts'

/** What an application writes, and what of it is sealed. */
export type ExportSource = {
  readonly db: Database
  /** `SIXWIRE_SECRET` */
  readonly secret: string
  readonly copies: TableCopies
  readonly exports: readonly WireExport[]
  readonly sealed: readonly SealedColumn[]
}

export type ExportOptions = {
  /** Whether hashes and keys are written. */
  readonly hasSecrets: boolean
  /** For the README: when, and of what. */
  readonly heading: string
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
}

export type Exported = {
  readonly files: number
  readonly rows: number
  /** A line for each record of which something is missing. */
  readonly missing: readonly string[]
}

/**
 * Writes every record of every wire into a folder, as all was at one moment. The folder has its name once it is whole.
 *
 * @throws StartError if it is there already and not empty, or cannot be written
 */
export async function exportAll(
  context: ExportSource,
  dir: string,
  options: ExportOptions,
): Promise<Exported> {
  const { exports } = context
  const folder = await openExportFolder(dir, options.signal)
  try {
    const exported = await context.db.snapshot(async (snapshot) => {
      const files = await writeRows(context, folder, snapshot, options)
      const missing: string[] = []
      for (const { forms = [] } of exports)
        for (const form of forms) missing.push(...(await form.write(folder, snapshot, options.onProgress)))
      return { files, missing }
    })
    await folder.write('README.md', [readmeOf({ ...exported, exports }, options)])
    const { files } = folder
    await folder.commit()
    return { files, rows: exported.files.reduce((sum, { rows }) => sum + rows, 0), missing: exported.missing }
  } finally {
    await folder.remove()
  }
}

/** Writes a file for each table that has rows. */
async function writeRows(
  { db, secret, copies, exports, sealed }: ExportSource,
  folder: OpenFolder,
  snapshot: Snapshot,
  { hasSecrets, onProgress, signal }: ExportOptions,
): Promise<(ExportedFile & { rows: number })[]> {
  const source = sourceOf(db.dialect, snapshot)
  const catalogue = await source.catalogue()
  const tables = copiedTables(catalogue, catalogue, copies)
  const files: (ExportedFile & { rows: number })[] = []
  for (const file of exportedFiles(tables, exports, sealed, db.dialect)) {
    const rows = await source.count(file.table)
    if (rows > 0) files.push({ ...file, rows })
  }
  const total = files.reduce((sum, { rows }) => sum + rows, 0)
  let [done, bytes] = [0, 0]
  const report: ReportRead = (read) => {
    signal.throwIfAborted()
    done += read.rows
    bytes += read.bytes
    onProgress({ phase: 'Records', done, total, unit: 'rows', bytes })
  }
  for (const file of files)
    for await (const { rows } of source.read([file.table], report))
      await folder.write(file.path, rowLines(rows, file, { secret, hasSecrets }))
  return files
}
