import { Type } from '../../../../base/schema.ts'
import type { AuditEntry } from '../../../../kernel/audit/audit.ts'
import type { Job, JobKind, NotYet } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { unloggedIn, type CollectionSet } from '../definition/collections.ts'
import { hasAll } from '../storage/entries/index-definition.ts'
import { newLogSql, unloggedSql } from '../storage/sql/unlogged.ts'
import { hasMoved, UnchangeableDocument } from './change-documents.ts'
import { deleteChangeSql, selectChangeSql, setStateSql, type ChangeRow } from './change-rows.ts'
import { beginChange, changeStragglers, failChange, goOn, settle, type ChangeWork } from './change-states.ts'
import {
  actorOf,
  buildIndexes,
  checkVersion,
  nextSet,
  RefusedVersion,
  SETTLE_MS,
  type VersionContext,
} from './prepare-version.ts'
import type { Configured } from './read-definitions.ts'
import { definitionIn } from './stored-definitions.ts'
import {
  activateSql,
  refuseSql,
  selectNowSql,
  selectVersionSql,
  VersionGroup,
  type VersionReport,
  type VersionRow,
} from './version-rows.ts'

const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }

type Apply = VersionContext & { readonly versions: JobKind<VersionGroup>; readonly work: JobKind<ChangeWork> }

/**
 * Puts versions of definitions into force, one after the other over all servers: compares the documents with them, builds the
 * indexes that they need, and drops those that nothing needs any more. Changes of documents are jobs of their collections.
 */
export function createVersionJobs(
  context: Pick<WireContext, 'jobs' | 'clock' | 'log' | 'audit'>,
  nouns: Omit<VersionContext, 'clock' | 'log' | 'audit' | 'configured'>,
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
    ({ payload, stopping }) => goOn(apply, payload, stopping),
  )
  const versions = context.jobs.define(
    'store.definitions',
    {
      payload: VersionGroup,
      lane: () => 'definitions',
      retry: RETRY,
      neededFor: 'a definition of a collection waits to be put into force',
    },
    ({ payload, stopping }) => applyVersions(apply, payload.versions, stopping),
  )
  const apply: Apply = { ...context, ...nouns, configured: options, versions, work }
  return { versions, work }
}

export type VersionJobs = ReturnType<typeof createVersionJobs>

async function applyVersions(
  apply: Apply,
  versions: VersionGroup['versions'],
  stopping: Job['stopping'],
): Promise<NotYet | void> {
  const { db, collections, indexes, stored } = apply
  const rows: VersionRow[] = []
  for (const { collection, version } of versions)
    rows.push(...(await db.all(selectVersionSql(collection, version))))
  const change = await changeOf(apply, versions)
  await stored.refresh()
  if (change) return applyChange(apply, rows[0]!, change, stopping)
  const pending = rows.filter(({ state }) => state === 'pending')
  if (pending.length < versions.length) {
    const other = rows.find(({ state }) => state !== 'pending')?.collection ?? ''
    await refuse(apply, pending, new RefusedVersion(other, { reason: 'It was taken back' }))
    // They are decided, maybe by an attempt that ended before its job did: what is left are indexes that nothing needs.
    return indexes.declare(collections.set.indexes)
  }
  const now = collections.set
  try {
    const next = await activate(apply, rows, (set) => checkAll(apply, rows, set, stopping), { stopping })
    const required = now.indexes.filter(({ requiredBy }) => requiredBy !== undefined)
    if (!hasAll(next.indexes, required)) return { againInMs: SETTLE_MS }
    return await indexes.declare(collections.set.indexes)
  } catch (error) {
    if (!(error instanceof RefusedVersion)) throw error
    await refuse(apply, rows, error)
    return indexes.declare(now.indexes)
  }
}

/** The change of documents that comes with a version: it is sent alone. */
async function changeOf(
  { db }: Apply,
  [first, ...others]: VersionGroup['versions'],
): Promise<ChangeRow | undefined> {
  if (!first || others.length > 0) return undefined
  const [change] = await db.all(selectChangeSql(first.collection))
  return change?.version === first.version ? change : undefined
}

/** What is to be done for a version whose change of documents is in a state in which its own job does not go on with it. */
async function applyChange(
  apply: Apply,
  row: VersionRow,
  change: ChangeRow,
  stopping: AbortSignal,
): Promise<NotYet | void> {
  const { collections, indexes } = apply
  const now = collections.set
  try {
    switch (change.state) {
      case 'waiting':
        return await beginChange(apply, row, change, stopping)
      case 'changed': {
        const check = async (set: CollectionSet) => [
          await changeStragglers(apply, row, change, {
            check: set.declared.get(row.collection)?.validate,
            stopping,
          }),
        ]
        await activate(apply, [row], check, { change, stopping })
        return { againInMs: SETTLE_MS }
      }
      case 'settling':
        return await settle(apply, row, change, stopping)
      case 'changing':
      case 'failed':
      case 'undoing':
        return await indexes.declare(now.indexes)
    }
  } catch (error) {
    if (error instanceof UnchangeableDocument || error instanceof RefusedVersion)
      await (error instanceof RefusedVersion && change.state === 'waiting'
        ? refuse(apply, [row], error, change)
        : failChange(apply, row, change, error))
    else if (!hasMoved(error)) throw error
    return indexes.declare(now.indexes)
  }
}

/** Refuses versions for what is wrong with one of them, or with one that was sent with them. */
async function refuse(
  apply: Apply,
  rows: readonly VersionRow[],
  { collection, report }: RefusedVersion,
  change?: ChangeRow,
): Promise<void> {
  const { db, clock, log } = apply
  await db.batch([
    ...rows.flatMap((row) => {
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
    ...(change ? [deleteChangeSql(change, 'waiting')] : []),
  ])
}

async function checkAll(
  apply: Apply,
  rows: readonly VersionRow[],
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<VersionReport[]> {
  const reports: VersionReport[] = []
  for (const row of rows) reports.push(await checkVersion(apply, row, next, stopping))
  return reports
}

/**
 * @param check answers the report of each version under the new set
 * @param options.change that of the documents, which comes with the one version
 * @returns the set with the versions, which is in force
 * @throws RefusedVersion, UnchangeableDocument
 */
async function activate(
  apply: Apply,
  rows: readonly VersionRow[],
  check: (next: CollectionSet) => Promise<VersionReport[]>,
  { change, stopping }: { change?: ChangeRow; stopping: AbortSignal },
): Promise<CollectionSet> {
  const { db, clock, collections, stored } = apply
  const now = collections.set
  const next = await nextSet(apply, rows, change && { ...change, state: 'settling' })
  let reports = await check(next)
  if (await buildIndexes(apply, next, stopping))
    // What was written while they were built.
    reports = await check(next)
  const before = await Promise.all(rows.map(({ collection }) => db.all(selectNowSql(collection))))
  await db.batch([
    ...(change ? [setStateSql(change, ['changed'], 'settling')] : []),
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
  await stored.refresh()
  return next
}

const auditSql = ({ audit }: Apply, row: VersionRow, entry: Partial<AuditEntry>) =>
  audit.entrySql(actorOf(row), {
    action: row.definition === null ? 'collection.definition-removed' : 'collection.defined',
    target: `collection:${row.collection}`,
    ...entry,
  })
