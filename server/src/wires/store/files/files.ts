import type { Static } from 'typebox'

import { isoTime } from '../../../base/clock.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Caller } from '../../../http/access.ts'
import { createAccess, type AccessRule } from '../documents/language/rules/audience.ts'
import { noFile } from '../errors.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import { contentUrlOf } from './links.ts'
import type { Quota, Reservation } from '../quota.ts'
import { plainTypeOf } from './sniff.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** A file as it is stored. */
export type FileRow = {
  id: string
  owner: string
  /** The key of its bytes in the uploads storage. */
  object: string
  original_name: string
  content_type: string
  size: number
  sha256: string
  /** A JSON object, as it is answered. */
  metadata: string
  created_at: number
}

export const FILE_COLUMNS = sql.literal(
  'id, owner, object, original_name, content_type, size, sha256, metadata, created_at',
)

/** Which files a caller may see or change: those of the rule, if one is configured, else those of the policy. */
export const createFilesAccess = (
  { policy }: Pick<WireContext, 'policy'>,
  { rule }: { rule: Static<typeof AccessRule> | undefined },
) => ({
  /** @throws unauthorized, forbidden */
  rowFilter: createAccess({ policy }, { declared: rule }),
})

export type FilesAccess = ReturnType<typeof createFilesAccess>

/**
 * The record of a file, as JSON text.
 *
 * @param options.hasOwner whether it says whose it is
 */
export function fileJson(
  row: FileRow,
  { publicUrl, hasOwner }: { publicUrl: string; hasOwner: boolean },
): string {
  const fields = JSON.stringify({
    _id: row.id,
    ...(hasOwner && { owner: row.owner }),
    filename: row.object,
    originalName: row.original_name,
    contentType: plainTypeOf(row.content_type),
    size: row.size,
    sha256: row.sha256,
    url: contentUrlOf(publicUrl, row.id),
    createdAt: isoTime(row.created_at),
  })
  return `${fields.slice(0, -1)},"metadata":${row.metadata}}`
}

export function createFiles(
  { db }: Pick<WireContext, 'db'>,
  { objects, quota }: { objects: Objects; quota: Quota },
) {
  const find = (id: string): Promise<FileRow | undefined> =>
    db.get(sql<FileRow>`select ${FILE_COLUMNS} from store_files where id = ${id}`)

  return {
    /** @throws not_found also if the file is not within the row filter */
    async get(id: string, rowFilter: RowFilter): Promise<FileRow> {
      const found = await find(id)
      if (!found || !includesOwner(rowFilter, found.owner)) throw noFile(id)
      return found
    },

    /**
     * Creates the record of an object, which claims it.
     *
     * @returns the record of another object if one with this id exists: an earlier call was interrupted after its commit
     * @throws QUOTA_EXCEEDED, UNAVAILABLE
     */
    async create(
      row: FileRow,
      { claimSql }: NewObject,
      caller: Caller,
      reservation: Reservation,
    ): Promise<FileRow> {
      const insertSql = sql.insert('store_files', row, ['id'])
      try {
        await db.batch([
          ...quota.claimSql(row, caller, reservation),
          claimSql,
          requireRow(insertSql, () => errors.conflict()),
        ])
        return row
      } catch (error) {
        const existing = error instanceof ApiError && error.status < 500 ? await find(row.id) : undefined
        if (existing) return existing
        throw error
      }
    },

    /** Deletes a file with its variants. @throws not_found */
    async remove(id: string, rowFilter: RowFilter): Promise<void> {
      const mine = rowFilter.rows === 'all' ? sql.literal('') : sql` and owner = ${rowFilter.owner}`
      await db.batch([
        // Locked, so that no variant is added between the next two steps.
        requireRow(sql`select id from store_files where id = ${id}${mine} ${sql.forUpdate}`, () =>
          noFile(id),
        ),
        objects.discardSql(
          'uploads',
          sql`
            select object as key from store_files where id = ${id}
            union all select object from store_variants where file_id = ${id}`,
        ),
        sql`delete from store_variants where file_id = ${id}`,
        sql`delete from store_files where id = ${id}`,
      ])
    },
  }
}

export type Files = ReturnType<typeof createFiles>
