import { isDeepStrictEqual } from 'node:util'

import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { StepWith } from '../../../../db/database.ts'
import type { Job, NotYet } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { unloggedSql } from '../storage/sql/unlogged.ts'
import { unloggedIn, type Collections, type CollectionSet } from '../definition/collections.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { UnfitIndex } from '../storage/indexes/required-indexes.ts'
import { checkDocuments, NOTHING_READ, type DocumentsReport } from './check-documents.ts'
import { readTogether, type Configured } from './read-definitions.ts'
import { definitionIn, readStored, type StoredDefinitions } from './stored-definitions.ts'
import {
  activateSql,
  progressSql,
  refuseSql,
  selectPendingSql,
  selectVersionSql,
  type StoredDefinition,
  type VersionReport,
  type VersionRow,
} from './version-rows.ts'

/** How long other servers have for the indexes that only the version before needs. */
const SETTLE_MS = 1_000
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }
const SETTLE_JOB = 'store-definitions-settled'

/** A version is not put into force; the report says why. */
class RefusedVersion extends Error {
  readonly report: VersionReport

  constructor(report: VersionReport) {
    super('the version is refused')
    this.report = report
  }
}

/**
 * Puts versions of definitions into force, one after the other over all servers: compares the documents with it, builds the
 * indexes that it needs, and drops those that nothing needs any more.
 */
export function createVersionJobs(
  context: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  nouns: { collections: Collections; indexes: Indexes; stored: StoredDefinitions },
  options: Configured,
) {
  const apply: Apply = { ...context, ...nouns, configured: options }
  const settled = context.jobs.define(
    'store.definitions-settled',
    { payload: Type.Null(), retry: RETRY, neededFor: 'it drops indexes that no definition needs any more' },
    () => dropUnneeded(apply),
  )
  const settleSql = () => settled.enqueueSql(null, { id: SETTLE_JOB, runAt: context.clock.now() + SETTLE_MS })
  return context.jobs.define(
    'store.definitions',
    {
      payload: Type.Object({ collection: Type.String(), version: Type.Integer() }),
      lane: () => 'definitions',
      retry: RETRY,
      neededFor: 'a definition of a collection waits to be put into force',
    },
    ({ payload: { collection, version }, stopping }) =>
      applyVersion({ ...apply, settleSql }, { collection, version }, stopping),
  )
}

type Apply = Pick<WireContext, 'db' | 'clock' | 'log'> & {
  readonly collections: Collections
  readonly indexes: Indexes
  readonly stored: StoredDefinitions
  readonly configured: Configured
}

async function applyVersion(
  apply: Apply & { settleSql: () => StepWith },
  { collection, version }: Pick<VersionRow, 'collection' | 'version'>,
  stopping: Job['stopping'],
): Promise<void> {
  const { db, clock, log, collections, indexes, stored, settleSql } = apply
  const [row] = await db.all(selectVersionSql(collection, version))
  // It was put into force by an attempt that ended before its job did.
  if (row?.state !== 'pending') return
  await stored.refresh()
  try {
    const next = nextSet(apply.configured, await readStored(db), row)
    const report = await checkVersion(apply, row, next, stopping)
    await buildIndexes(indexes, collections.set, next, stopping)
    await db.batch([...activateSql(row, report, clock.now()), ...unloggedSql(unloggedIn(next)), settleSql()])
  } catch (error) {
    if (!(error instanceof RefusedVersion)) throw error
    await db.write(refuseSql(row, error.report, clock.now()))
    log.info({ collection, version }, `a definition is refused: ${error.report.reason ?? ''}`)
    return
  }
  await stored.refresh()
}

/** Drops the indexes that no definition needs any more, when no version is at work on others. */
async function dropUnneeded({ db, collections, indexes, stored }: Apply): Promise<NotYet | void> {
  const [waiting] = await db.all(selectPendingSql)
  if (waiting) return { againInMs: SETTLE_MS }
  await stored.refresh()
  await indexes.declare(collections.set.indexes)
}

/** The collections with the version in place of the one before. @throws RefusedVersion */
function nextSet(
  configured: Configured,
  active: readonly StoredDefinition[],
  row: Pick<VersionRow, 'collection' | 'definition'>,
): CollectionSet {
  try {
    return readTogether(configured, withVersion(active, row))
  } catch (error) {
    if (error instanceof StartError) throw new RefusedVersion({ reason: error.message })
    throw error
  }
}

export function withVersion(
  active: readonly StoredDefinition[],
  row: Pick<VersionRow, 'collection' | 'definition'>,
): StoredDefinition[] {
  const { collection } = row
  const definition = definitionIn(row)
  return [
    ...active.filter((one) => one.collection !== collection),
    ...(definition ? [{ collection, definition }] : []),
  ]
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

export const unfitReason = ({ documents, unfit, examples: [first] }: DocumentsReport): string =>
  `${unfit} of ${documents} documents do not fit the schema: change them first${first ? `. The first: ${first._id}, ${first.issues[0]?.path} ${first.issues[0]?.message}` : ''}`

/** Builds what the new set needs beside what there is, which is in use until then. @throws RefusedVersion */
async function buildIndexes(
  indexes: Indexes,
  now: CollectionSet,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<void> {
  await indexes.declare([...now.indexes, ...next.indexes])
  // Those of the next set keep no write from its work before it is in force.
  indexes.require(now.indexes)
  try {
    await indexes.complete(() => stopping.throwIfAborted())
  } catch (error) {
    if (error instanceof UnfitIndex)
      throw new RefusedVersion({
        reason: `${error.reason}: change or delete what does not fit, then send it again`,
      })
    throw error
  }
}
