import { isOneOf } from '../../../../db/is-one-of.ts'
import type { Database } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import { fieldsOfFile } from '../../documents/definition/file-field.ts'
import type { ReadableFiles } from '../../documents/file-fields/readable-files.ts'
import type { ShownFiles } from '../../documents/file-fields/shown-files.ts'
import { FILE_COLUMNS, fileJson, type FileRow } from '../files.ts'
import type { PublicFiles } from '../content/public-files.ts'
import type { Links } from '../addresses/links.ts'

/** The records of files of documents, each with an address that a page can show: it is public, or a link that stays the same for an hour. */
export const createExpandedFiles =
  (
    { db }: { db: Database },
    { readable, publicFiles, links }: { readable: ReadableFiles; publicFiles: PublicFiles; links: Links },
    { publicUrl }: { publicUrl: string },
  ): ShownFiles =>
  async (viewer, ids, fields) => {
    const rows = await db.all(
      sql<FileRow>`select ${FILE_COLUMNS} from store_files where ${isOneOf('id', ids)}`,
    )
    const urlOf = await publicFiles.urlsOf(rows, ({ id }) => links.signForHour(id).url)
    const shown = new Map<string, string>()
    for (const row of rows) {
      const isTaken = fieldsOfFile(row.attached_by).some((name) => fields.has(name))
      if (!isTaken && !(await readable.has(viewer, row))) continue
      shown.set(row.id, fileJson(row, { publicUrl, hasOwner: viewer.isPrivileged, url: urlOf(row) }))
    }
    return shown
  }
