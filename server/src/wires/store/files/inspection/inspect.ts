import { ApiError } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { Step } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { Objects } from '../../objects/objects.ts'
import { FILE_COLUMNS, type FileRow } from '../files.ts'
import { sourceFormat } from '../content/images/image-formats.ts'
import { imageSource } from '../content/images/image-source.ts'
import type { Resizer } from '../content/images/resize.ts'
import { runScan, type FileScan, type ScanVerdict } from './scan.ts'

/** Its place among those who have images decoded. */
const CALLER = { name: 'store.files.preview' }
const POOL = { name: 'store.files', atOnce: 2 }
// Images of some kilobytes can take seconds to decode: the scans of other files do not wait for them.
const PREVIEW_POOL = { name: 'store.files.preview', atOnce: 1 }
// A scanner that is down for days makes no file fail for good.
const RETRY = { firstMs: 1_000, maxMs: 600_000, attempts: 1_000 }
const RESUME_MS = 600_000

/** Looks at new files after their upload, by a job that is added with their record. */
export function createInspection(
  { db, clock, jobs, log, metrics }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log' | 'metrics'>,
  { objects, resizer }: { objects: Objects; resizer: Resizer },
  { scan }: { scan?: FileScan | undefined },
) {
  if (scan !== undefined && typeof scan !== 'function')
    throw new StartError('store.files.scan: must be a function')
  const countScanned = metrics.counter({
    name: 'sixwire_files_scanned_total',
    help: 'Files that were scanned, by verdict',
    labels: ['verdict'],
    known: [{ verdict: 'ready' }, { verdict: 'refused' }],
  })
  const payload = Type.Object({ file: Type.String() })
  const find = (id: string): Promise<FileRow | undefined> =>
    db.get(sql<FileRow>`select ${FILE_COLUMNS} from store_files where id = ${id}`)
  const job = jobs.define(
    'store.files.inspect',
    { payload, pool: POOL, retry: RETRY },
    async ({ payload: { file: id }, stopping }) => {
      const file = await find(id)
      // It may have been deleted since.
      if (!file || file.status === 'refused') return
      if (file.status === 'pending' && (await settle(file, stopping)) === 'refused') return
      // After the scan: an image may be made to harm what decodes it.
      if (isSummarized(file)) await db.batch([previewSql(file)])
    },
  )
  const preview = jobs.define(
    'store.files.preview',
    { payload, pool: PREVIEW_POOL, retry: RETRY },
    async ({ payload: { file: id } }) => {
      const file = await find(id)
      if (file?.status === 'ready') await summarize(file)
    },
  )
  const previewSql = (file: FileRow): Step =>
    preview.enqueueSql({ file: file.id }, { id: `preview-${file.id}` })
  // What a restore brings has no job, nor has what the job was discarded of.
  jobs.every('store.files.resume', RESUME_MS, async () => {
    await db.batch([
      job.enqueueEachSql(sql`
        select 'inspect-' || id as id, '{"file":"' || id || '"}' as payload, cast(null as text) as lane
        from store_files where status = 'pending' order by id`),
    ])
  })

  /** Has a pending file scanned; without a scan in the configuration it is ready. */
  async function settle(file: FileRow, stopping: AbortSignal): Promise<FileRow['status']> {
    const verdict: ScanVerdict = scan
      ? await runScan({ clock }, scan, file, { bytes: await objects.read('uploads', file.object), stopping })
      : { ok: true }
    const status = verdict.ok ? 'ready' : 'refused'
    const refusal = verdict.ok ? null : verdict.reason
    const [settled] = await db.write(sql`
      update store_files set status = ${status}, refusal = ${refusal}
      where id = ${file.id} and object = ${file.object} and status = 'pending'
      returning id`)
    if (settled && scan) countScanned({ verdict: status })
    if (settled && refusal !== null)
      log.warn({ file: file.id, owner: file.owner }, `a file was refused by the scan: ${refusal}`)
    return status
  }

  /** Writes the size and the preview of an image into its record, unless it cannot be read. */
  async function summarize(file: FileRow): Promise<void> {
    try {
      const image = await resizer.run(CALLER, (decoding) =>
        decoding.summarize(imageSource(objects, file), file.content_type),
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
    enqueueSql(file: FileRow): Step[] {
      if (file.status === 'pending') return [job.enqueueSql({ file: file.id }, { id: `inspect-${file.id}` })]
      return isSummarized(file) ? [previewSql(file)] : []
    },
  }
}

export type Inspection = ReturnType<typeof createInspection>

const isSummarized = (file: FileRow): boolean => sourceFormat(file.content_type) !== undefined
