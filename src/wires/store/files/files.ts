import type { Static } from 'typebox'

import { isoTime } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import type { Policy } from '../../../kernel/policy.ts'
import { createAccess, type CollectionRule } from '../documents/collections.ts'
import { noFile } from '../errors.ts'

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

/** Which files a caller's action reaches: those of the rule, if one is configured, else those of the policy. */
export const createFilesAccess = (policy: Policy, rule: Static<typeof CollectionRule> | undefined) => ({
  /** @throws unauthorized, forbidden */
  rowFilter: createAccess(policy, rule),
})

export type FilesAccess = ReturnType<typeof createFilesAccess>

/** The record of a file, as JSON text. */
export function fileJson(row: FileRow, publicUrl: string): string {
  const fields = JSON.stringify({
    _id: row.id,
    filename: row.object,
    originalName: row.original_name,
    contentType: row.content_type,
    size: row.size,
    sha256: row.sha256,
    url: `${publicUrl}/store/files/${row.id}/content`,
    createdAt: isoTime(row.created_at),
  })
  return `${fields.slice(0, -1)},"metadata":${row.metadata}}`
}

export function createFiles(db: Database) {
  return {
    /** @throws not_found also if the file is out of the caller's reach */
    async get(id: string, rowFilter: RowFilter): Promise<FileRow> {
      const found = await db.get<FileRow>(sql`select ${FILE_COLUMNS} from store_files where id = ${id}`)
      if (!found || (rowFilter.owner !== undefined && found.owner !== rowFilter.owner)) throw noFile(id)
      return found
    },
  }
}

export type Files = ReturnType<typeof createFiles>
