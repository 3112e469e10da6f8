import { ApiError } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Objects } from '../objects/objects.ts'
import { FILE_COLUMNS, type FileRow } from './files.ts'
import { imageBytes } from './image-bytes.ts'
import { sourceFormat } from './image-formats.ts'
import type { Resizer } from './resize.ts'

/** Its place among those who have images decoded. */
const CALLER = { name: 'store.files.inspect' }
const POOL = { name: 'store.files', atOnce: 2 }

/** Looks at new files after their upload, by a job that is added with their record. */
export function createInspection(
  { db, jobs, log }: Pick<WireContext, 'db' | 'jobs' | 'log'>,
  { objects, resizer }: { objects: Objects; resizer: Resizer },
) {
  const job = jobs.define(
    'store.files.inspect',
    { payload: Type.Object({ file: Type.String() }), pool: POOL },
    async ({ payload }) => {
      const file = await db.get(
        sql<FileRow>`select ${FILE_COLUMNS} from store_files where id = ${payload.file}`,
      )
      // It may have been deleted since.
      if (file && isSummarized(file)) await summarize(file)
    },
  )

  /** Writes the size and the preview of an image into its record, unless it cannot be read. */
  async function summarize(file: FileRow): Promise<void> {
    try {
      const image = await resizer.run(CALLER, async (decoding) =>
        decoding.summarize(await imageBytes(objects, file), file.content_type),
      )
      await db.write(sql`
        update store_files set image = ${JSON.stringify(image)}
        where id = ${file.id} and object = ${file.object}`)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 422) throw error
      log.info({ err: error, file: file.id }, 'an image has no preview, because it cannot be read')
    }
  }

  return {
    /** The steps that have a new file looked at, for the batch that makes its record. */
    enqueueSql: (file: FileRow): Step[] => (isSummarized(file) ? [job.enqueueSql({ file: file.id })] : []),
  }
}

export type Inspection = ReturnType<typeof createInspection>

const isSummarized = (file: FileRow): boolean => sourceFormat(file.content_type) !== undefined
