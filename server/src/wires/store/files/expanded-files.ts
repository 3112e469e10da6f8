import { isOneOf } from '../../../db/is-one-of.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { fieldsOfFile } from '../documents/definition/file-field.ts'
import type { ReadableFiles } from '../documents/file-fields/readable-files.ts'
import type { ShownFiles } from '../documents/file-fields/shown-files.ts'
import { FILE_COLUMNS, fileJson, type FileRow } from './files.ts'
import type { Links } from './links.ts'

/** The records of files of documents, each with a link that a page can show: it needs no token, and stays the same for an hour. */
export const createExpandedFiles =
  (
    { db }: { db: Database },
    { readable, links }: { readable: ReadableFiles; links: Links },
    { publicUrl }: { publicUrl: string },
  ): ShownFiles =>
  async (viewer, ids, fields) => {
    const rows = await db.all(
      sql<FileRow>`select ${FILE_COLUMNS} from store_files where ${isOneOf('id', ids)}`,
    )
    const shown = new Map<string, string>()
    for (const row of rows) {
      const isTaken = fieldsOfFile(row.attached_by).some((name) => fields.has(name))
      if (!isTaken && !(await readable.has(viewer, row))) continue
      const { url } = links.signForHour(row.id)
      shown.set(row.id, fileJson(row, { publicUrl, hasOwner: viewer.isPrivileged, url }))
    }
    return shown
  }
