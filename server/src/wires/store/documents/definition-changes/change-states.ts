import type { JobKind } from '../../../../kernel/jobs/job.ts'
import { changeAll, hasMoved, undoAll, UnchangeableDocument } from './change-documents.ts'
import {
  deleteChangeSql,
  deleteKeptSql,
  restartSql,
  selectChangeSql,
  setStateSql,
  type ChangeRow,
} from './change-rows.ts'
import {
  actorOf,
  buildIndexes,
  checkVersion,
  nextSet,
  RefusedVersion,
  SETTLE_MS,
  type VersionContext,
} from './prepare-version.ts'
import { fieldChangesIn } from './stored-definitions.ts'
import {
  progressSql,
  refuseSql,
  reportIn,
  selectVersionSql,
  type VersionGroup,
  type VersionReport,
  type VersionRow,
} from './version-rows.ts'

export type ChangeWork = { readonly collection: string }

/** Has documents changed from now on: they fit as they are, and indexes are there that keep both definitions. @throws RefusedVersion */
export async function beginChange(
  context: VersionContext & { readonly work: JobKind<ChangeWork> },
  row: VersionRow,
  change: ChangeRow,
  stopping: AbortSignal,
): Promise<void> {
  const { db, audit, stored, work } = context
  const report = await checkVersion(context, row, await nextSet(context, [row]), stopping)
  await buildIndexes(context, await nextSet(context, [row], { ...change, state: 'changing' }), stopping)
  await db.batch([
    setStateSql(change, ['waiting'], 'changing'),
    restartSql(change),
    progressSql(row, report),
    audit.entrySql(actorOf(row), {
      action: 'documents.changed',
      target: `collection:${row.collection}`,
      after: { documents: report.documents, changes: fieldChangesIn(row) },
    }),
    work.enqueueSql({ collection: row.collection }),
  ])
  await stored.refresh()
}

/** Goes on with a change of documents, beside the definitions of other collections: it may take hours. */
export async function goOn(
  context: VersionContext & { readonly versions: JobKind<VersionGroup> },
  { collection }: ChangeWork,
  stopping: AbortSignal,
): Promise<void> {
  const { db, clock, versions } = context
  const [change] = await db.all(selectChangeSql(collection))
  if (change?.state !== 'changing' && change?.state !== 'undoing') return
  const { version, state } = change
  const row = (await db.all(selectVersionSql(collection, version)))[0]!
  const changes = fieldChangesIn(row)
  await context.stored.refresh()
  // Once all servers know that documents may have either fields.
  if (state === 'changing') await clock.sleep(SETTLE_MS, { signal: stopping })
  const next = versions.enqueueSql({ versions: [{ collection, version }] })
  try {
    if (state === 'changing') {
      const check = (await nextSet(context, [row])).declared.get(collection)?.validate
      await changeAll(context, change, changes, { check, from: change.position, isCounted: true, stopping })
      await db.batch([setStateSql(change, ['changing'], 'changed'), next])
    } else {
      await undoAll(context, change, changes, stopping)
      await db.batch([
        deleteChangeSql(change, 'undoing'),
        refuseSql(row, { reason: 'It was taken back' }, clock.now()),
        next,
      ])
      await context.stored.refresh()
    }
  } catch (error) {
    if (hasMoved(error)) return
    if (!(error instanceof UnchangeableDocument || error instanceof RefusedVersion)) throw error
    await failChange(context, row, change, error)
  }
}

/** A document stops the change: it stays where it is until somebody goes on with it, or takes it back. */
export async function failChange(
  { db, audit, log }: VersionContext,
  row: VersionRow,
  change: ChangeRow,
  { message: reason }: UnchangeableDocument | RefusedVersion,
): Promise<void> {
  const { collection, version } = change
  await db.batch([
    setStateSql(change, [change.state], 'failed', reason),
    audit.entrySql(actorOf(row), {
      action: 'documents.changed',
      target: `collection:${collection}`,
      outcome: 'denied',
      reason,
    }),
  ])
  log.error({ collection, version }, `the documents could not all be changed: ${reason}`)
}

/**
 * Changes what was written since documents were changed, and checks all of them.
 *
 * @param options.check what is wrong with a document under the new definition
 * @throws UnchangeableDocument without `options.skip`
 */
export async function changeStragglers(
  context: VersionContext,
  row: VersionRow,
  change: ChangeRow,
  options: Pick<Parameters<typeof changeAll>[3], 'check' | 'skip' | 'stopping'>,
): Promise<VersionReport> {
  await changeAll(context, change, fieldChangesIn(row), { ...options, from: '', isCounted: false })
  return reportIn(row) ?? {}
}

/** Looks once more for what was written before all servers knew of the definition; then the change is done. */
export async function settle(
  context: VersionContext,
  row: VersionRow,
  change: ChangeRow,
  stopping: AbortSignal,
): Promise<void> {
  const { db, log, collections, indexes, stored } = context
  const { collection } = row
  await changeStragglers(context, row, change, {
    check: undefined,
    // As with every definition: it stays as it is, and its next write must fit.
    skip: ({ message }) =>
      log.warn(
        { collection },
        `a document was written as its fields were changed, and keeps the old ones: ${message}`,
      ),
    stopping,
  })
  await db.batch([deleteChangeSql(change, 'settling'), deleteKeptSql(collection)])
  await stored.refresh()
  await indexes.declare(collections.set.indexes)
}
