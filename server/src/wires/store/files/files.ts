import { randomBytes } from 'node:crypto'

import { isoTime } from '../../../base/clock.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Caller } from '../../../http/access.ts'
import { includesFile, isWithinFiles, type FilesRowFilter } from '../documents/file-fields/file-access.ts'
import type { FileUse, FileUses } from '../documents/file-fields/file-uses.ts'
import type { ReadableFiles } from '../documents/file-fields/readable-files.ts'
import { noFile } from '../errors.ts'
import type { Objects } from '../objects/objects.ts'
import { deleteFilesSql } from './delete-files.ts'
import { urlOf } from './addresses/file-address.ts'
import type { FileOwner, Quota, Reservation } from '../quota.ts'
import type { NewFile } from './receiving/receive-files.ts'
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
  /** The fields of documents that have taken it, each on a line: `posts.photo`. */
  attached_by: string | null
  /** When it was first found that no document has it any more. */
  released_at: number | null
}

/** What is absent stays. */
export type FileChange = { access?: FileRow['access']; metadata?: Record<string, unknown> }

type FileState = Pick<
  FileRow,
  'access' | 'public_key' | 'status' | 'refusal' | 'image' | 'attached_by' | 'released_at'
>

const PUBLIC_KEY_BYTES = 16

/** What a new file is beside its bytes and its names. */
export const newFileState = (
  status: FileRow['status'],
  access: FileRow['access'] = 'private',
): FileState => ({
  access,
  public_key: newPublicKey(),
  status,
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

/**
 * The record of a file, as JSON text.
 *
 * @param options.hasOwner whether it says whose it is
 * @param options.url where its bytes are. Default: as its `access` says
 */
export function fileJson(
  row: FileRow,
  {
    publicUrl,
    hasOwner,
    url = urlOf(publicUrl, row),
  }: { publicUrl: string; hasOwner: boolean; url?: string },
): string {
  const fields = JSON.stringify({
    _id: row.id,
    ...(hasOwner && { owner: row.owner }),
    filename: row.object,
    originalName: row.original_name,
    contentType: plainTypeOf(row.content_type),
    size: row.size,
    sha256: row.sha256,
    url,
    access: row.access,
    ...(row.status !== 'ready' && { status: row.status }),
    ...(row.refusal !== null && { refusal: row.refusal }),
    createdAt: isoTime(row.created_at),
  })
  const image = row.image === null ? '' : `,"image":${row.image}`
  return `${fields.slice(0, -1)}${image},"metadata":${row.metadata}}`
}

/** How many bytes metadata count in a quota, as the database counts them. */
export const metadataBytes = (json: string): number => (json === '{}' ? 0 : Buffer.byteLength(json))

/** Whose files are inserted, and the room for them. */
type FilesOf = { caller: FileOwner; reservation: Reservation }

/** @param nouns.inspection has the steps that look at a new file, see `inspect.ts` */
export function createFiles(
  { db }: Pick<WireContext, 'db'>,
  {
    objects,
    quota,
    uses,
    readable,
    inspection,
  }: {
    objects: Objects
    quota: Quota
    uses: FileUses
    readable: ReadableFiles
    inspection: { enqueueSql(file: FileRow): Step[] }
  },
) {
  const find = (id: string): Promise<FileRow | undefined> =>
    db.get(sql<FileRow>`select ${FILE_COLUMNS} from store_files where id = ${id}`)

  async function get(id: string, rowFilter: FilesRowFilter): Promise<FileRow> {
    const found = await find(id)
    if (!found || !includesFile(rowFilter, found)) throw noFile(id)
    return found
  }

  /**
   * The steps that insert the records of files that were received.
   *
   * @param otherwise makes the error if there is one with an id of theirs
   * @throws QUOTA_EXCEEDED, UNAVAILABLE in the batch
   */
  function insertSql(
    rows: readonly FileRow[],
    received: readonly NewFile[],
    { caller, reservation }: FilesOf,
    otherwise: () => ApiError,
  ): Step[] {
    const size = rows.reduce((sum, row) => sum + row.size + metadataBytes(row.metadata), 0)
    return [
      ...quota.claimSql({ owner: caller.id, size }, caller, reservation),
      ...received.map(({ object }) => object.claimSql),
      ...rows.map((row) => requireRow(sql.insert('store_files', row, ['id']), otherwise)),
      ...rows.flatMap((row) => inspection.enqueueSql(row)),
    ]
  }

  /**
   * Changes what is given. A public file that becomes private gets another key: if it is public again later, those who knew the
   * old address do not know the new one.
   *
   * @throws not_found; QUOTA_EXCEEDED
   */
  async function update(
    id: string,
    { caller, rowFilter }: { caller: Caller | undefined; rowFilter: FilesRowFilter },
    { access, metadata }: FileChange,
  ): Promise<FileRow> {
    const { owner, metadata: old } = await get(id, rowFilter)
    const json = metadata && JSON.stringify(metadata)
    const mine = isWithinFiles(rowFilter)
    const changes = [
      access === undefined ? sql.literal('access = access') : sql`access = ${access}`,
      ...(access === 'private'
        ? [sql`public_key = case access when 'public' then ${newPublicKey()} else public_key end`]
        : []),
      ...(json === undefined ? [] : [sql`metadata = ${json}`]),
    ]
    const conditions = [
      sql`id = ${id}`,
      ...(mine ? [mine] : []),
      // By how much they grow must be right.
      ...(json === undefined ? [] : [sql`cast(metadata as text) = ${old}`]),
    ]
    const changeSql = sql<FileRow>`
      update store_files set ${sql.join(changes, ', ')} where ${sql.join(conditions, ' and ')}
      returning ${FILE_COLUMNS}`
    const growth = json === undefined ? [] : [{ owner, bytes: metadataBytes(json) - metadataBytes(old) }]
    const [changed] = await quota.run(caller, growth, async (steps) => {
      const [, rows] = await db.batch([steps, changeSql])
      return rows
    })
    // Another request was faster: the file may have other metadata, or be gone.
    return changed ?? update(id, { caller, rowFilter }, { access, metadata })
  }

  return {
    /** @throws not_found also if the file is not within the row filter */
    get,

    /**
     * A file that a caller may read, by themselves or because of a document that has it.
     *
     * @throws unauthorized, forbidden, not_found
     */
    read: async (id: string, caller: Caller | undefined): Promise<FileRow> =>
      readable.require(caller, await find(id), () => noFile(id)),

    insertSql,

    /**
     * Creates the records of files that were received, all or none, which claims their objects.
     *
     * @param of.steps of the same batch
     * @returns the records of other objects if those with these ids exist: an earlier call was interrupted after its commit
     * @throws QUOTA_EXCEEDED, UNAVAILABLE
     */
    async create(
      rows: readonly FileRow[],
      received: readonly NewFile[],
      { caller, reservation, steps = [] }: FilesOf & { steps?: readonly Step[] },
    ): Promise<readonly FileRow[]> {
      try {
        await db.batch([insertSql(rows, received, { caller, reservation }, () => errors.conflict()), steps])
        return rows
      } catch (error) {
        if (!(error instanceof ApiError) || error.status >= 500) throw error
        const existing = await Promise.all(rows.map(({ id }) => find(id)))
        if (existing.every((row) => row !== undefined)) return existing
        throw error
      }
    },

    update,

    /** Deletes a file with its variants. @throws not_found; CONFLICT if a document has it */
    async remove(id: string, rowFilter: FilesRowFilter): Promise<void> {
      const mine = isWithinFiles(rowFilter)
      const condition = mine ? sql` and ${mine}` : sql.literal('')
      const used = errors.conflict()
      const unused = await uses.unusedSteps([id], () => used)
      try {
        await db.batch([
          // Locked, so that no variant is added and no document takes it between the next steps.
          requireRow(sql`select id from store_files where id = ${id}${condition} ${sql.forUpdate}`, () =>
            noFile(id),
          ),
          unused,
          deleteFilesSql(objects, [id]),
        ])
      } catch (error) {
        throw error === used ? usedConflict(await uses.usesOf(id)) : error
      }
    },
  }
}

/** What the deletion of a file is answered that documents have. */
function usedConflict([use]: readonly FileUse[]): ApiError {
  // Nothing is deleted by an index that may lack documents.
  if (!use)
    return errors.unavailable({ message: 'It is not known which documents have this file: try again.' })
  const { field, documents } = use
  const [collection, path] = [field.collection, field.path.join('.')]
  return errors.conflict({
    message: `Documents of ${collection} have this file in ${path}: take it out of them first.`,
    details: { collection, field: path, documents: documents.length },
  })
}

export type Files = ReturnType<typeof createFiles>
