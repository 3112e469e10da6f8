import { isDeepStrictEqual } from 'node:util'

import type { Static } from 'typebox'

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
import { isFaultOf, readChanged, type Configured } from './read-definitions.ts'
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

/** A version is not put into force, nor are those that were sent with it; the report says why. */
class RefusedVersion extends Error {
  readonly collection: string
  readonly report: VersionReport

  constructor(collection: string, report: VersionReport) {
    super('the version is refused')
    this.collection = collection
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

/** Versions of several collections that come into force together, or not at all. */
const VersionGroup = Type.Object({
  versions: Type.Array(Type.Object({ collection: Type.String(), version: Type.Integer() })),
})
export type VersionGroup = Static<typeof VersionGroup>

/**
 * Puts versions of definitions into force, one after the other over all servers: compares the documents with them, builds the
 * indexes that they need, and drops those that nothing needs any more.
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
      payload: VersionGroup,
      lane: () => 'definitions',
      retry: { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER },
      neededFor: 'a definition of a collection waits to be put into force',
    },
    ({ payload: { versions }, stopping }) => applyVersions(apply, versions, stopping),
  )
}

async function applyVersions(
  apply: Apply,
  versions: VersionGroup['versions'],
  stopping: Job['stopping'],
): Promise<NotYet | void> {
  const { db, collections, indexes, stored } = apply
  const rows: VersionRow[] = []
  for (const { collection, version } of versions)
    rows.push(...(await db.all(selectVersionSql(collection, version))))
  await stored.refresh()
  const pending = rows.filter(({ state }) => state === 'pending')
  if (pending.length < versions.length) {
    const other = rows.find(({ state }) => state !== 'pending')?.collection ?? ''
    await refuse(apply, pending, new RefusedVersion(other, { reason: 'It was taken back' }))
    // They are decided, maybe by an attempt that ended before its job did: what is left are indexes that nothing needs.
    return indexes.declare(collections.set.indexes)
  }
  const now = collections.set
  try {
    const next = await activate(apply, rows, stopping)
    await stored.refresh()
    const required = now.indexes.filter(({ requiredBy }) => requiredBy !== undefined)
    if (!hasAll(next.indexes, required)) return { againInMs: SETTLE_MS }
    return await indexes.declare(collections.set.indexes)
  } catch (error) {
    if (!(error instanceof RefusedVersion)) throw error
    await refuse(apply, rows, error)
    return indexes.declare(now.indexes)
  }
}

/** Refuses versions for what is wrong with one of them, or with one that was sent with them. */
async function refuse(
  apply: Apply,
  rows: readonly VersionRow[],
  { collection, report }: RefusedVersion,
): Promise<void> {
  const { db, clock, log } = apply
  await db.batch(
    rows.flatMap((row) => {
      const own =
        row.collection === collection
          ? report
          : {
              reason: `It was sent with ${collection}, which is not put into force: ${report.reason}`,
              causedBy: collection,
            }
      log.info(
        { collection: row.collection, version: row.version },
        `a definition is refused: ${own.reason ?? ''}`,
      )
      return [
        refuseSql(row, own, clock.now()),
        auditSql(apply, row, { outcome: 'denied', reason: own.reason ?? '' }),
      ]
    }),
  )
}

/** @returns the set with the versions, which is in force @throws RefusedVersion */
async function activate(
  apply: Apply,
  rows: readonly VersionRow[],
  stopping: AbortSignal,
): Promise<CollectionSet> {
  const { db, clock, collections } = apply
  const now = collections.set
  const next = await nextSet(apply, rows)
  const check = async () => {
    const reports: DocumentsReport[] = []
    for (const row of rows) reports.push(await checkVersion(apply, row, next, stopping))
    return reports
  }
  let reports = await check()
  if (await buildIndexes(apply, next, stopping))
    // What was written while they were built.
    reports = await check()
  const before = await Promise.all(rows.map(({ collection }) => db.all(selectNowSql(collection))))
  await db.batch([
    ...rows.flatMap((row, i) => activateSql(row, reports[i]!, clock.now())),
    ...unloggedSql(unloggedIn(next)),
    // Changes were made that are not in the log: followers must list again.
    ...(unloggedIn(now).every((name) => unloggedIn(next).includes(name)) ? [] : newLogSql()),
    ...rows.map((row, i) => {
      const [old] = before[i]!
      return auditSql(apply, row, {
        ...(old?.state === 'active' && old.definition !== null && { before: definitionIn(old)! }),
        ...(row.definition !== null && { after: definitionIn(row)! }),
      })
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

/** The collections with the versions in place of those before. @throws RefusedVersion */
async function nextSet({ db, configured }: Apply, rows: readonly VersionRow[]): Promise<CollectionSet> {
  const changes = rows.map((row) => ({ collection: row.collection, definition: definitionIn(row) }))
  try {
    return readChanged(configured, await readStored(db), changes)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const { collection } = changes.find((one) => isFaultOf(error, one.collection)) ?? changes[0]!
    throw new RefusedVersion(collection, { reason: error.message })
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
  if (report.unfit > 0) throw new RefusedVersion(row.collection, { ...report, reason: unfitReason(report) })
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
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<boolean> {
  const now = collections.set
  await indexes.declare([...now.indexes, ...next.indexes], now.indexes)
  try {
    await indexes.complete(() => stopping.throwIfAborted(), { only: (one) => !hasAll(now.indexes, [one]) })
  } catch (error) {
    if (!(error instanceof UnfitIndex)) throw error
    const { collection, reason } = error
    throw new RefusedVersion(collection, {
      reason: `${reason}: change or delete what does not fit, then send it again`,
      duplicates: await checkUnique(db, collection, { now, next }, stopping),
    })
  }
  return !hasAll(now.indexes, next.indexes)
}
