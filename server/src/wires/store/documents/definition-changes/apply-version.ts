import { isDeepStrictEqual } from 'node:util'

import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import { SYSTEM, type Actor } from '../../../../http/actor.ts'
import type { AuditEntry } from '../../../../kernel/audit/audit.ts'
import type { Job, JobKind, NotYet } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { unloggedIn, type Collections, type CollectionSet } from '../definition/collections.ts'
import { haveSameEntries, type Definition } from '../storage/entries/index-definition.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { UnfitIndex } from '../storage/indexes/required-indexes.ts'
import { newLogSql, unloggedSql } from '../storage/sql/unlogged.ts'
import { checkDocuments, NOTHING_READ, type DocumentsReport } from './check-documents.ts'
import { changeAll, hasMoved, undoAll, UnchangeableDocument, type ChangeContext } from './change-documents.ts'
import {
  deleteChangeSql,
  deleteKeptSql,
  restartSql,
  selectChangeSql,
  setStateSql,
  type ChangeRow,
} from './change-rows.ts'
import { readChanged, type Configured } from './read-definitions.ts'
import {
  definitionIn,
  fieldChangesIn,
  interimOf,
  readInForce,
  type StoredDefinitions,
} from './stored-definitions.ts'
import {
  activateSql,
  progressSql,
  refuseSql,
  reportIn,
  selectNowSql,
  selectVersionSql,
  type VersionReport,
  type VersionRow,
} from './version-rows.ts'

/** How long other servers have for the indexes that only the version before needs. */
const SETTLE_MS = 1_000

const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }

type VersionWork = { collection: string; version: number }
type ChangeWork = { collection: string }

/** A version is not put into force; the report says why. */
class RefusedVersion extends Error {
  readonly report: VersionReport

  constructor(report: VersionReport) {
    super('the version is refused')
    this.report = report
  }
}

type ApplyContext = Pick<WireContext, 'db' | 'clock' | 'log' | 'audit'>

type Apply = ApplyContext &
  ChangeContext & {
    readonly collections: Collections
    readonly indexes: Indexes
    readonly stored: StoredDefinitions
    readonly configured: Configured
    /** Changes documents. */
    readonly work: JobKind<ChangeWork>
  }

/**
 * Puts versions of definitions into force, one after the other over all servers: compares the documents with it, builds the
 * indexes that it needs, and drops those that nothing needs any more.
 */
export function createVersionJobs(
  context: ApplyContext & Pick<WireContext, 'jobs'>,
  nouns: Pick<Apply, 'collections' | 'indexes' | 'stored' | 'writing' | 'db'>,
  options: Configured,
) {
  const work = context.jobs.define(
    'store.document-changes',
    {
      payload: Type.Object({ collection: Type.String() }),
      lane: ({ collection }) => collection,
      retry: RETRY,
      neededFor: 'it changes the documents of a collection, or takes that back',
    },
    ({ payload: { collection }, stopping }) => goOn(apply, versions, collection, stopping),
  )
  const apply: Apply = { ...context, ...nouns, configured: options, work }
  const versions = context.jobs.define(
    'store.definitions',
    {
      payload: Type.Object({ collection: Type.String(), version: Type.Integer() }),
      lane: () => 'definitions',
      retry: RETRY,
      neededFor: 'a definition of a collection waits to be put into force',
    },
    ({ payload: { collection, version }, stopping }) => applyVersion(apply, collection, version, stopping),
  )
  return { versions, work }
}

export type VersionJobs = ReturnType<typeof createVersionJobs>

/** Goes on with a change of documents, beside the definitions of other collections: it may take hours. */
async function goOn(
  apply: Apply,
  versions: JobKind<VersionWork>,
  collection: string,
  stopping: AbortSignal,
): Promise<void> {
  const { db, clock } = apply
  const [change] = await db.all(selectChangeSql(collection))
  if (change?.state !== 'changing' && change?.state !== 'undoing') return
  const { version, state } = change
  const row = (await db.all(selectVersionSql(collection, version)))[0]!
  const changes = fieldChangesIn(row)
  // Once all servers know that documents may have either fields.
  if (state === 'changing') await clock.sleep(SETTLE_MS, { signal: stopping })
  const next = versions.enqueueSql({ collection, version })
  try {
    if (state === 'changing') {
      const check = (await nextSet(apply, row)).declared.get(collection)?.validate
      await changeAll(apply, change, changes, { check, from: change.position, isCounted: true, stopping })
      await db.batch([setStateSql(change, ['changing'], 'changed'), next])
    } else {
      await undoAll(apply, change, changes, stopping)
      await db.batch([
        deleteChangeSql(change, 'undoing'),
        refuseSql(row, { reason: 'It was taken back' }, clock.now()),
        next,
      ])
      await apply.stored.refresh()
    }
  } catch (error) {
    if (hasMoved(error)) return
    if (!(error instanceof UnchangeableDocument || error instanceof RefusedVersion)) throw error
    await failChange(apply, row, change, reasonOf(error))
  }
}

/** A document stops the change: it stays where it is until somebody goes on with it, or takes it back. */
async function failChange(apply: Apply, row: VersionRow, change: ChangeRow, reason: string): Promise<void> {
  const { db, audit, log } = apply
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

async function applyVersion(
  apply: Apply,
  collection: string,
  version: number,
  stopping: Job['stopping'],
): Promise<NotYet | void> {
  const { db, collections, indexes, stored } = apply
  const [row] = await db.all(selectVersionSql(collection, version))
  const [underWay] = await db.all(selectChangeSql(collection))
  const change = underWay?.version === version ? underWay : undefined
  await stored.refresh()
  if (change?.state === 'settling') return settle(apply, row!, change, stopping)
  // It is decided, maybe by an attempt that ended before its job did: what is left are indexes that nothing needs.
  if (row?.state !== 'pending') return indexes.declare(collections.set.indexes)
  const now = collections.set
  try {
    if (change?.state === 'waiting') return await beginChange(apply, row, change, stopping)
    // Its own job goes on with it.
    if (change && change.state !== 'changed') return await indexes.declare(now.indexes)
    const next = await activate(apply, row, change, stopping)
    await stored.refresh()
    const required = now.indexes.filter(({ requiredBy }) => requiredBy !== undefined)
    if (change || !hasAll(next.indexes, required)) return { againInMs: SETTLE_MS }
    return await indexes.declare(collections.set.indexes)
  } catch (error) {
    if (hasMoved(error)) return indexes.declare(now.indexes)
    if (
      error instanceof UnchangeableDocument ||
      (change?.state === 'changed' && error instanceof RefusedVersion)
    )
      await failChange(apply, row, change!, reasonOf(error))
    else if (error instanceof RefusedVersion) await refuse(apply, row, change, error.report)
    else throw error
    return indexes.declare(now.indexes)
  }
}

async function refuse(
  apply: Apply,
  row: VersionRow,
  change: ChangeRow | undefined,
  report: VersionReport,
): Promise<void> {
  const { db, clock, log } = apply
  const { collection, version } = row
  await db.batch([
    refuseSql(row, report, clock.now()),
    ...(change ? [deleteChangeSql(change, 'waiting')] : []),
    auditSql(apply, row, { outcome: 'denied', reason: report.reason }),
  ])
  log.info({ collection, version }, `a definition is refused: ${report.reason ?? ''}`)
}

const reasonOf = (error: UnchangeableDocument | RefusedVersion): string =>
  error instanceof RefusedVersion ? (error.report.reason ?? '') : error.message

/** @returns the set with the version, which is in force @throws RefusedVersion, UnchangeableDocument */
async function activate(
  apply: Apply,
  row: VersionRow,
  change: ChangeRow | undefined,
  stopping: AbortSignal,
): Promise<CollectionSet> {
  const { db, clock, collections } = apply
  const now = collections.set
  const next = await nextSet(apply, row, change && { ...change, state: 'settling' })
  const check = () =>
    change ? changeStragglers(apply, row, change, next, stopping) : checkVersion(apply, row, next, stopping)
  let report = await check()
  if (await buildIndexes(apply.indexes, now, next, stopping))
    // What was written while they were built.
    report = await check()
  const [before] = await db.all(selectNowSql(row.collection))
  await db.batch([
    ...(change ? [setStateSql(change, ['changed'], 'settling')] : []),
    ...activateSql(row, report, clock.now()),
    ...unloggedSql(unloggedIn(next)),
    // Changes were made that are not in the log: followers must list again.
    ...(unloggedIn(now).every((name) => unloggedIn(next).includes(name)) ? [] : newLogSql()),
    auditSql(apply, row, {
      ...(before?.state === 'active' && before.definition !== null && { before: definitionIn(before)! }),
      ...(row.definition !== null && { after: definitionIn(row)! }),
    }),
  ])
  return next
}

/** Has documents changed from now on: they fit as they are, and indexes are there that keep both definitions. @throws RefusedVersion */
async function beginChange(
  apply: Apply,
  row: VersionRow,
  change: ChangeRow,
  stopping: AbortSignal,
): Promise<void> {
  const { db, audit, collections, stored, work } = apply
  const now = collections.set
  const report = await checkVersion(apply, row, await nextSet(apply, row), stopping)
  await buildIndexes(
    apply.indexes,
    now,
    await nextSet(apply, row, { ...change, state: 'changing' }),
    stopping,
  )
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

/** Changes what was written since documents were changed, and checks all of them. @throws UnchangeableDocument */
async function changeStragglers(
  apply: Apply,
  row: VersionRow,
  change: ChangeRow,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<VersionReport> {
  const check = next.declared.get(row.collection)?.validate
  await changeAll(apply, change, fieldChangesIn(row), { check, from: '', isCounted: false, stopping })
  return reportIn(row) ?? {}
}

/** Looks once more for what was written before all servers knew of the definition; then the change is done. */
async function settle(
  apply: Apply,
  row: VersionRow,
  change: ChangeRow,
  stopping: AbortSignal,
): Promise<void> {
  const { db, log, collections, indexes, stored } = apply
  const { collection } = row
  try {
    await changeAll(apply, change, fieldChangesIn(row), {
      check: undefined,
      from: '',
      isCounted: false,
      stopping,
    })
  } catch (error) {
    if (!(error instanceof UnchangeableDocument)) throw error
    // As with every definition: it stays as it is, and its next write must fit.
    log.warn(
      { collection },
      `a document was written as its fields were changed, and keeps the old ones: ${error.message}`,
    )
  }
  await db.batch([deleteChangeSql(change, 'settling'), deleteKeptSql(collection)])
  await stored.refresh()
  await indexes.declare(collections.set.indexes)
}

const actorOf = ({ actor }: VersionRow): Actor => (actor === null ? SYSTEM : (JSON.parse(actor) as Actor))

const auditSql = ({ audit }: ApplyContext, row: VersionRow, entry: Partial<AuditEntry>) =>
  audit.entrySql(actorOf(row), {
    action: row.definition === null ? 'collection.definition-removed' : 'collection.defined',
    target: `collection:${row.collection}`,
    ...entry,
  })

/**
 * The collections with the version in place of the one before.
 *
 * @param change with what holds in this state of a change, instead
 * @throws RefusedVersion
 */
async function nextSet(
  { db, configured }: Apply,
  row: VersionRow,
  change?: ChangeRow,
): Promise<CollectionSet> {
  const definition = change ? (await interimOf(db, change)).definition : definitionIn(row)
  try {
    return readChanged(configured, await readInForce(db), { collection: row.collection, definition })
  } catch (error) {
    if (error instanceof StartError) throw new RefusedVersion({ reason: error.message })
    throw error
  }
}

/** @throws RefusedVersion if documents do not fit the schema */
async function checkVersion(
  { db, collections }: Apply,
  row: VersionRow,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<DocumentsReport> {
  const definition = next.declared.get(row.collection)
  const changes = fieldChangesIn(row)
  const isFit =
    changes.length === 0 && isDeepStrictEqual(definition?.schema, collections.get(row.collection).schema)
  if (!definition || isFit) return NOTHING_READ
  const report = await checkDocuments(
    db,
    definition,
    async (soFar) => {
      stopping.throwIfAborted()
      await db.write(progressSql(row, soFar))
    },
    changes,
  )
  if (report.unfit > 0) throw new RefusedVersion({ ...report, reason: unfitReason(report) })
  return report
}

const unfitReason = ({ documents, unfit, examples: [first] }: DocumentsReport): string =>
  `${unfit} of ${documents} documents do not fit the schema: change them first${first ? `. The first: ${first._id}, ${first.issues[0]?.path} ${first.issues[0]?.message}` : ''}`

/**
 * Builds what the new set needs beside what there is, which is in use until then.
 *
 * @returns whether there was anything to build
 * @throws RefusedVersion
 */
async function buildIndexes(
  indexes: Indexes,
  now: CollectionSet,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<boolean> {
  await indexes.declare([...now.indexes, ...next.indexes], now.indexes)
  try {
    await indexes.complete(() => stopping.throwIfAborted(), { only: (one) => !hasAll(now.indexes, [one]) })
  } catch (error) {
    if (error instanceof UnfitIndex)
      throw new RefusedVersion({
        reason: `${error.reason}: change or delete what does not fit, then send it again`,
      })
    throw error
  }
  return !hasAll(now.indexes, next.indexes)
}

/** Whether indexes have all that others have. */
const hasAll = (indexes: readonly Definition[], others: readonly Definition[]): boolean =>
  others.every((other) =>
    indexes.some(
      (one) =>
        one.collection === other.collection &&
        one.isUnique === other.isUnique &&
        one.byOwner === other.byOwner &&
        haveSameEntries(one, other),
    ),
  )
