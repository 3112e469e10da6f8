import { isDeepStrictEqual } from 'node:util'

import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import { SYSTEM, type Actor } from '../../../../http/actor.ts'
import type { AuditEntry } from '../../../../kernel/audit/audit.ts'
import type { Job, NotYet } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { unloggedIn, type Collections, type CollectionSet } from '../definition/collections.ts'
import { hasAll } from '../storage/entries/index-definition.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { UnfitIndex } from '../storage/indexes/required-indexes.ts'
import { newLogSql, unloggedSql } from '../storage/sql/unlogged.ts'
import { checkDocuments, NOTHING_READ, type DocumentsReport } from './check-documents.ts'
import { checkUnique } from './check-unique.ts'
import { readChanged, type Configured } from './read-definitions.ts'
import { definitionIn, readStored, type StoredDefinitions } from './stored-definitions.ts'
import {
  activateSql,
  progressSql,
  refuseSql,
  selectNowSql,
  selectVersionSql,
  type VersionReport,
  type VersionRow,
} from './version-rows.ts'

/** How long other servers have for the indexes that only the version before needs. */
const SETTLE_MS = 1_000

/** A version is not put into force; the report says why. */
class RefusedVersion extends Error {
  readonly report: VersionReport

  constructor(report: VersionReport) {
    super('the version is refused')
    this.report = report
  }
}

type ApplyContext = Pick<WireContext, 'db' | 'clock' | 'log' | 'audit'>

type Apply = ApplyContext & {
  readonly collections: Collections
  readonly indexes: Indexes
  readonly stored: StoredDefinitions
  readonly configured: Configured
}

/**
 * Puts versions of definitions into force, one after the other over all servers: compares the documents with it, builds the
 * indexes that it needs, and drops those that nothing needs any more.
 */
export function createVersionJobs(
  context: ApplyContext & Pick<WireContext, 'jobs'>,
  nouns: { collections: Collections; indexes: Indexes; stored: StoredDefinitions },
  options: Configured,
) {
  const apply: Apply = { ...context, ...nouns, configured: options }
  return context.jobs.define(
    'store.definitions',
    {
      payload: Type.Object({ collection: Type.String(), version: Type.Integer() }),
      lane: () => 'definitions',
      retry: { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER },
      neededFor: 'a definition of a collection waits to be put into force',
    },
    ({ payload: { collection, version }, stopping }) => applyVersion(apply, collection, version, stopping),
  )
}

async function applyVersion(
  apply: Apply,
  collection: string,
  version: number,
  stopping: Job['stopping'],
): Promise<NotYet | void> {
  const { db, clock, log, collections, indexes, stored } = apply
  const [row] = await db.all(selectVersionSql(collection, version))
  await stored.refresh()
  // It is decided, maybe by an attempt that ended before its job did: what is left are indexes that nothing needs.
  if (row?.state !== 'pending') return indexes.declare(collections.set.indexes)
  const now = collections.set
  try {
    const next = await activate(apply, row, stopping)
    await stored.refresh()
    const required = now.indexes.filter(({ requiredBy }) => requiredBy !== undefined)
    if (!hasAll(next.indexes, required)) return { againInMs: SETTLE_MS }
    return await indexes.declare(collections.set.indexes)
  } catch (error) {
    if (!(error instanceof RefusedVersion)) throw error
    await db.batch([
      refuseSql(row, error.report, clock.now()),
      auditSql(apply, row, { outcome: 'denied', reason: error.report.reason }),
    ])
    log.info({ collection, version }, `a definition is refused: ${error.report.reason ?? ''}`)
    return indexes.declare(now.indexes)
  }
}

/** @returns the set with the version, which is in force @throws RefusedVersion */
async function activate(apply: Apply, row: VersionRow, stopping: AbortSignal): Promise<CollectionSet> {
  const { db, clock, collections } = apply
  const now = collections.set
  const next = await nextSet(apply, row)
  let report = await checkVersion(apply, row, next, stopping)
  if (await buildIndexes(apply, row.collection, next, stopping))
    // What was written while they were built.
    report = await checkVersion(apply, row, next, stopping)
  const [before] = await db.all(selectNowSql(row.collection))
  await db.batch([
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

const auditSql = ({ audit }: Apply, row: VersionRow, entry: Partial<AuditEntry>) =>
  audit.entrySql(row.actor === null ? SYSTEM : (JSON.parse(row.actor) as Actor), {
    action: row.definition === null ? 'collection.definition-removed' : 'collection.defined',
    target: `collection:${row.collection}`,
    ...entry,
  })

/** The collections with the version in place of the one before. @throws RefusedVersion */
async function nextSet({ db, configured }: Apply, row: VersionRow): Promise<CollectionSet> {
  try {
    return readChanged(configured, await readStored(db), {
      collection: row.collection,
      definition: definitionIn(row),
    })
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
  if (!definition || isDeepStrictEqual(definition.schema, collections.get(row.collection).schema))
    return NOTHING_READ
  const report = await checkDocuments(db, definition, async (soFar) => {
    stopping.throwIfAborted()
    await db.write(progressSql(row, soFar))
  })
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
  { db, indexes, collections }: Apply,
  collection: string,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<boolean> {
  const now = collections.set
  await indexes.declare([...now.indexes, ...next.indexes], now.indexes)
  try {
    await indexes.complete(() => stopping.throwIfAborted(), { only: (one) => !hasAll(now.indexes, [one]) })
  } catch (error) {
    if (error instanceof UnfitIndex)
      throw new RefusedVersion({
        reason: `${error.reason}: change or delete what does not fit, then send it again`,
        duplicates: await checkUnique(db, collection, { now, next }, stopping),
      })
    throw error
  }
  return !hasAll(now.indexes, next.indexes)
}
