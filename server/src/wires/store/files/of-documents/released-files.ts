import { errors } from '../../../../base/errors.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { requireRow, type Database } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { FileUses } from '../../documents/file-fields/file-uses.ts'
import type { Objects } from '../../objects/objects.ts'
import { deleteFilesSql } from '../delete-files.ts'
import type { FileRow } from '../files.ts'

const INTERVAL_MS = 3_600_000
/** How long no document has had a file before it is deleted. */
const KEPT_MS = 24 * 3_600_000
const PAGE = 500
const DELETED_AT_ONCE = 50

type AttachedFile = Pick<FileRow, 'id' | 'attached_by' | 'released_at'>

type Context = {
  /** Refuses writes during a restore. */
  readonly db: Database
  readonly objects: Objects
  readonly uses: FileUses
}

/**
 * Deletes the files that fields of documents have taken and that no document has had for a day. A field that is not declared here
 * may have one still, and so may documents that an index lacks: such files stay.
 */
export function deleteReleasedFiles(
  { clock, jobs, log, metrics }: Pick<WireContext, 'clock' | 'jobs' | 'log' | 'metrics'>,
  context: Context,
): void {
  const count = metrics.counter({
    name: 'sixwire_files_released_total',
    help: 'Files that this process has deleted since its start because no document had them any more',
    labels: [],
    known: [{}],
  })
  jobs.every('store.released-files', INTERVAL_MS, async ({ stopping }) => {
    let deleted = 0
    for (let after = ''; !stopping.aborted;) {
      const page = await context.db.all(sql<AttachedFile>`
        select id, attached_by, released_at from store_files
        where attached_by is not null and id > ${after} order by id limit ${PAGE}`)
      const part = await releasePage(context, page, clock.now(), stopping)
      for (let i = 0; i < part; i++) count({})
      deleted += part
      if (page.length < PAGE) break
      after = page.at(-1)!.id
    }
    if (deleted > 0) log.info({ files: deleted }, 'files were deleted that no document had for a day')
  })
}

/** Sets `released_at` of files that no document has, and deletes those whose time is a day ago. @returns how many are deleted */
async function releasePage(
  context: Context,
  page: readonly AttachedFile[],
  now: number,
  stopping: AbortSignal,
): Promise<number> {
  const { db, uses } = context
  const files = page.filter(({ attached_by }) => uses.fieldsOf(attached_by) !== undefined)
  const used = await uses.usedOf(files.map(({ id }) => id))
  const idsOf = (chosen: (file: AttachedFile) => boolean) => files.filter(chosen).map(({ id }) => id)
  const kept = idsOf(({ id, released_at }) => used.has(id) && released_at !== null)
  const fresh = idsOf(({ id, released_at }) => !used.has(id) && released_at === null)
  if (kept.length > 0)
    await db.write(sql`update store_files set released_at = null where ${isOneOf('id', kept)}`)
  // A document may take one of them at this moment: the next look finds it there, and a deletion looks again anyway.
  if (fresh.length > 0)
    await db.write(
      sql`update store_files set released_at = ${now} where ${isOneOf('id', fresh)} and released_at is null`,
    )
  const due = idsOf(
    ({ id, released_at }) => !used.has(id) && released_at !== null && released_at <= now - KEPT_MS,
  )
  let deleted = 0
  for (let at = 0; at < due.length && !stopping.aborted; at += DELETED_AT_ONCE)
    deleted += await deleteAll(context, due.slice(at, at + DELETED_AT_ONCE), now - KEPT_MS)
  return deleted
}

/** @returns how many are deleted: those that no document has taken since */
async function deleteAll(context: Context, ids: readonly string[], releasedBy: number): Promise<number> {
  const { db, objects, uses } = context
  const taken = errors.conflict()
  try {
    await db.batch([
      // A document that takes one of them locks it as well, and clears the time.
      requireRow(
        sql`
          select 1 as complete from (
            select count(*) as files from (
              select id from store_files where ${isOneOf('id', ids)} and released_at <= ${releasedBy}
              order by id ${sql.forUpdate}) as locked
          ) as counted where files = ${ids.length}`,
        () => taken,
      ),
      await uses.unusedSteps(ids, () => taken),
      deleteFilesSql(objects, ids),
    ])
    return ids.length
  } catch (error) {
    if (error !== taken) throw error
    if (ids.length === 1) return 0
    let deleted = 0
    for (const id of ids) deleted += await deleteAll(context, [id], releasedBy)
    return deleted
  }
}
