import { errors, type ApiError } from '../../../../base/errors.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { requireRow, type Database, type ScanOptions, type Steps } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { Audit } from '../../../../kernel/audit/audit.ts'
import type { FileUses } from '../../documents/file-fields/file-uses.ts'
import type { Objects } from '../../objects/objects.ts'
import { deleteFilesSql } from '../delete-files.ts'
import { filterSql, whereSql, type FileFilter } from './file-filter.ts'

/** So many files are deleted by one call: on SQLite other writes wait for about 10 µs a file. */
export const BULK_MAX = 10_000
const SHOWN_IDS = 20

/** Files by their ids, or by what they have in common. */
export type FileSelection = { readonly ids: readonly string[] } | { readonly filter: FileFilter }

/** Files together. */
export type FileSum = { files: number; bytes: number }

export type FileBulk = {
  /** How many files a selection has, and their bytes. */
  measure(selection: FileSelection, options?: ScanOptions): Promise<FileSum>
  /**
   * Deletes all files of a selection with their variants, or none, in one transaction. What is uploaded meanwhile stays.
   *
   * @param expected how many there are
   * @throws CONFLICT with the number of files if it is another one, or of those that documents have; VALIDATION_ERROR for more than `BULK_MAX`
   */
  remove(selection: FileSelection, expected: number, actor: Actor, options?: ScanOptions): Promise<FileSum>
}

type BulkContext = {
  /** Refuses writes during a restore. */
  readonly db: Database
  readonly objects: Objects
  readonly audit: Audit
  readonly uses: FileUses
}

export function createFileBulk(context: BulkContext): FileBulk {
  return {
    measure: (selection, options) => measure(context.db, selection, options),
    remove: (selection, expected, actor, options) => remove(context, selection, expected, actor, options),
  }
}

const selectedSql = (selection: FileSelection): Sql =>
  whereSql('ids' in selection ? [isOneOf('id', selection.ids)] : filterSql(selection.filter))

async function measure(db: Database, selection: FileSelection, options?: ScanOptions): Promise<FileSum> {
  const [sum] = await db.scan<FileSum>(
    sql`
      select count(*) as files, cast(coalesce(sum(size), 0) as bigint) as bytes
      from store_files ${selectedSql(selection)}`,
    options,
  )
  return sum!
}

async function remove(
  { db, objects, audit, uses }: BulkContext,
  selection: FileSelection,
  expected: number,
  actor: Actor,
  options?: ScanOptions,
): Promise<FileSum> {
  // Not in the transaction: it would hold up the only writer of SQLite. No file changes what it is selected by.
  const matches = await db.scan<{ id: string; size: number }>(
    sql`select id, size from store_files ${selectedSql(selection)} order by id limit ${BULK_MAX + 1}`,
    options,
  )
  if (matches.length !== expected || matches.length > BULK_MAX)
    throw otherNumber((await measure(db, selection, options)).files)
  if (matches.length === 0) return { files: 0, bytes: 0 }
  const ids = matches.map(({ id }) => id)
  const bytes = matches.reduce((sum, { size }) => sum + size, 0)
  const isFound = isOneOf('id', ids)
  const used = errors.conflict()
  const steps: Steps = [
    // Locked in the order of their ids, so that no variant is added, and no document takes one of them meanwhile.
    requireRow(
      sql`
        select 1 as complete from (
          select count(*) as files from (
            select id from store_files where ${isFound} order by id ${sql.forUpdate}) as locked
        ) as counted where files = ${matches.length}`,
      () => otherNumber(undefined),
    ),
    ...(await uses.unusedSteps(ids, () => used)),
    ...deleteFilesSql(objects, ids),
    audit.entrySql(actor, {
      action: 'files.deleted',
      target: 'files',
      before: {
        files: matches.length,
        bytes,
        ...('filter' in selection ? { filter: selection.filter } : { ids: ids.slice(0, SHOWN_IDS) }),
      },
    }),
  ]
  try {
    await db.batch(steps)
  } catch (error) {
    throw error === used ? usedConflict((await uses.usedOf(ids)).size) : error
  }
  return { files: matches.length, bytes }
}

function usedConflict(files: number): ApiError {
  return errors.conflict({
    message: `Documents have ${files} of these files: leave those out, or take them out of the documents first.`,
    details: { used: files },
  })
}

function otherNumber(files: number | undefined): ApiError {
  if (files === undefined)
    return errors.conflict({ message: 'Some of these files were deleted meanwhile: count them again.' })
  return errors.conflict({
    message:
      files > BULK_MAX
        ? `These are ${files} files, and one call deletes at most ${BULK_MAX}: narrow the filter.`
        : `These are ${files} files: send this number as expected to delete all of them.`,
    details: { files },
  })
}
