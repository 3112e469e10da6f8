import { errors } from '../../../../base/errors.ts'
import { idsWithin } from '../../../../base/ids.ts'
import type { FilesAccess } from '../../documents/file-fields/file-access.ts'
import type { ReceiveDocumentFiles } from '../../documents/file-fields/new-files.ts'
import type { Files } from '../files.ts'
import type { ReceiveFiles } from '../receiving/receive-files.ts'
import { rowsOf } from '../uploads/upload.ts'

/** What of a body is not the files, at most: its JSON, and the headers of its parts. */
const OTHER_BYTES = 1_048_576

/** Files that come with a document: their records are inserted in the batch that inserts the document. */
export const createDocumentFiles =
  ({
    receive,
    files,
    access,
  }: {
    receive: ReceiveFiles
    files: Files
    access: FilesAccess
  }): ReceiveDocumentFiles =>
  async ({ upload, caller, once, signal }, { accept, content }, create) => {
    access.rowFilter(caller, 'create')
    const { files: parts, contentLength, isRepeatable } = upload
    return receive(
      { files: parts, contentLength, isRepeatable, caller, once, signal },
      {
        certainBytes: contentLength === undefined ? undefined : Math.max(0, contentLength - OTHER_BYTES),
        accept,
        contentOf: async (prints) => [
          content,
          prints.map(({ field, sha256, size, name, declaredType }) => [
            field,
            sha256,
            size,
            name,
            declaredType,
          ]),
        ],
        async create(received, { id, isRepeated, reservation }) {
          const ids = idsWithin(id, received.length)
          const rows = rowsOf(received, ids, caller, {})
          const named = received.map(({ field }, i) => ({ field, id: ids[i]! }))
          const areThere = errors.conflict()
          const steps = files.insertSql(rows, received, { caller, reservation }, () => areThere)
          try {
            return await create({ files: rows, steps, named }, { id, isRepeated })
          } catch (error) {
            if (error !== areThere) throw error
            // An earlier call was interrupted after its commit.
            return create({ files: rows, steps: [], named }, { id, isRepeated })
          }
        },
      },
    )
  }
