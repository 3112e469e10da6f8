import { randomBytes } from 'node:crypto'

import type { Static } from 'typebox'

import { isoTime } from '../../../base/clock.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { createAccess, type AccessRule } from '../documents/language/rules/audience.ts'
import { noFile } from '../errors.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import { contentUrlOf } from './links.ts'
import type { FileOwner, Quota, Reservation } from '../quota.ts'
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
  /** Who may read it: those of the rules, or everybody who knows its public address. */
  access: 'private' | 'public'
  /** What its public address ends with. */
  public_key: string
  /** Only a ready one is served. */
  status: 'ready' | 'pending' | 'refused'
  /** Why it is refused. */
  refusal: string | null
  /** JSON of an `ImageSummary`. */
  image: string | null
  /** The field of documents that took it last: `posts.photo`. */
  attached_by: string | null
  /** When it was first found that no document has it any more. */
  released_at: number | null
}

type FileState = Pick<
  FileRow,
  'access' | 'public_key' | 'status' | 'refusal' | 'image' | 'attached_by' | 'released_at'
>

const PUBLIC_KEY_BYTES = 16

/** What a new file is beside its bytes and its names. */
export const newFileState = (access: FileRow['access'] = 'private'): FileState => ({
  access,
  public_key: newPublicKey(),
  status: 'ready',
  refusal: null,
  image: null,
  attached_by: null,
  released_at: null,
})

/** The end of a public address, which nobody can guess: 32 hexadecimal digits. */
export const newPublicKey = (): string => randomBytes(PUBLIC_KEY_BYTES).toString('hex')

export const FILE_COLUMNS = sql.literal(
  'id, owner, object, original_name, content_type, size, sha256, metadata, created_at, access, public_key, status, refusal, image, attached_by, released_at',
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
    access: row.access,
    ...(row.status !== 'ready' && { status: row.status }),
    ...(row.refusal !== null && { refusal: row.refusal }),
    createdAt: isoTime(row.created_at),
  })
  const image = row.image === null ? '' : `,"image":${row.image}`
  return `${fields.slice(0, -1)}${image},"metadata":${row.metadata}}`
}

/** @param nouns.inspection has the steps that look at a new file, see `inspect.ts` */
export function createFiles(
  { db }: Pick<WireContext, 'db'>,
  {
    objects,
    quota,
    inspection,
  }: { objects: Objects; quota: Quota; inspection: { enqueueSql(file: FileRow): Step[] } },
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
     * @param steps of the same batch
     * @returns the record of another object if one with this id exists: an earlier call was interrupted after its commit
     * @throws QUOTA_EXCEEDED, UNAVAILABLE
     */
    async create(
      row: FileRow,
      { claimSql }: NewObject,
      caller: FileOwner,
      reservation: Reservation,
      steps: readonly Step[] = [],
    ): Promise<FileRow> {
      const insertSql = sql.insert('store_files', row, ['id'])
      try {
        await db.batch([
          ...quota.claimSql(row, caller, reservation),
          claimSql,
          ...steps,
          requireRow(insertSql, () => errors.conflict()),
          ...inspection.enqueueSql(row),
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
