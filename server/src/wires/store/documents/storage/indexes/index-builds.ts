import { Type } from '../../../../../base/schema.ts'
import { ConstraintError, type Database } from '../../../../../db/database.ts'
import { analyzeTable } from '../../../../../db/tables.ts'
import type { WireContext } from '../../../../../kernel/wire/wire.ts'
import type { Index } from '../entries/index-definition.ts'
import { duplicateReason } from '../entries/document-entries.ts'
import { namesOf } from '../entries/entries.ts'
import {
  deleteDeadSql,
  deleteSomeDeadSql,
  deleteSomeSql,
  insertBatchSql,
  selectTwiceSql,
} from '../sql/entry-rows.ts'
import type { EntryBatch } from './entry-sorter.ts'
import {
  beginSql,
  changeIndexes,
  deleteIndexSql,
  failSql,
  finishSql,
  indexOf,
  lockBuildsSql,
  noteSql,
  progressSql,
  requireIndex,
  isStale,
  selectByStateSql,
} from '../sql/index-rows.ts'
import { buildWords } from '../search/search-build.ts'
import { deleteSomeWordsSql } from '../sql/search-rows.ts'
import { sortEntries, type NextEntries } from './sort-entries.ts'

// Each has two threads and a file as large as its index.
const BUILDS_AT_ONCE = 2
// While documents are written, a build rests for so many times as long as a batch takes, unless the whole machine is slow.
const REST = 0.5
const LONGEST_REST_MS = 50
const ENTRIES_A_DELETE = 2_000
const TRIES = 3

/** The payload of a job: it finishes what is to be done to the indexes of a collection. */
export type IndexWork = { collection: string }

/** A build of an index. */
type Build = Pick<WireContext, 'db' | 'clock' | 'log'> & {
  readonly index: Index
  /** The number of the build: it ends with the next one of the index. */
  readonly build: number
  readonly countWrites: () => number
  readonly stopping: AbortSignal
}

/**
 * Builds the indexes of collections in the background, and deletes the entries of those that are dropped.
 *
 * @param countWrites how many writes of documents this process has begun
 */
export function createBuilds(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { countWrites }: { countWrites: () => number },
) {
  /**
   * @param build one that has to be the newest one of the index; undefined: whichever is
   * @throws CONFLICT if it is not being built any more
   */
  async function failBuild({ id, collection, fields }: Index, reason: string, build?: number): Promise<void> {
    await changeIndexes(db, collection, [
      requireIndex(failSql(id, reason, clock.now(), build)),
      kind.enqueueSql({ collection }),
    ])
    log.error({ collection, fields: namesOf(fields) }, `an index failed: ${reason}`)
  }

  const kind = jobs.define(
    'store.indexes',
    {
      payload: Type.Object({ collection: Type.String() }),
      lane: ({ collection }) => collection,
      retry: { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER },
      atOnce: BUILDS_AT_ONCE,
      neededFor: 'it builds an index, or deletes what is left of one',
    },
    async ({ payload: { collection }, stopping }) => {
      for (const { id } of await db.all(selectByStateSql(collection, 'failed')))
        await deleteEntries(db, id, stopping)
      for (const { id } of await db.all(selectByStateSql(collection, 'dropped'))) {
        await deleteEntries(db, id, stopping)
        await db.write(deleteIndexSql(id))
      }
      for (;;) {
        const [row] = await db.all(selectByStateSql(collection, 'building'))
        if (!row) return
        const index = indexOf(row)
        const [begun] = await db.write(beginSql(index.id))
        if (!begun) continue
        try {
          const build = { db, clock, log, index, build: begun.build, countWrites, stopping }
          await runBuild(build).catch((error: unknown) => {
            if (!(error instanceof BuildError)) throw error
            // Only its own: what it has read may be long gone, if another process has built the index meanwhile.
            return failBuild(index, error.message, begun.build)
          })
        } catch (error) {
          // It was dropped, which has added a job; or another process is building it, since this one stood still.
          if (isStale(error)) return
          throw error
        }
      }
    },
  )
  return {
    kind,
    /** Fails an index, and deletes its entries. */
    fail: (index: Index, reason: string): Promise<void> =>
      failBuild(index, reason).catch((error: unknown) => {
        if (!isStale(error)) throw error
      }),
  }
}

export type IndexBuilds = ReturnType<typeof createBuilds>

/**
 * What a build does, in this order.
 *
 * @throws BuildError if the index cannot hold the documents; CONFLICT if it is not being built any more
 */
async function runBuild(build: Build): Promise<void> {
  const { db, clock, log, index } = build
  if (index.isSearch) return runSearchBuild(build)
  const about = { collection: index.collection, fields: namesOf(index.fields) }
  log.info(about, 'an index is built')
  // Writes that the read does not see know of the index, and keep its entries up.
  const documents = await sortEntries(db, index, build.stopping, async ({ refused, ...sorted }, next) => {
    if (refused !== undefined) throw new BuildError(refused)
    const inserted = await insertEntries(build, next)
    // Nothing inserts entries of the snapshot any more. Most dead ones go here, because writes wait for those that are left.
    await deleteAll(() => deleteDead(build), build.stopping)
    // Without statistics of them PostgreSQL counts up to 1,000 entries of a wide range by reading all of it.
    await analyzeTable(db, 'store_entries')
    await changeIndexes(db, index.collection, [
      deleteDeadSql(index.id),
      ...noteSql(index, [sorted]),
      requireIndex(finishSql(index.id, build.build, clock.now())),
    ])
    return inserted
  })
  log.info({ ...about, documents }, 'an index is ready')
}

/** Likewise of an index of words. */
async function runSearchBuild(build: Build): Promise<void> {
  const { db, clock, log, index } = build
  const about = { collection: index.collection, fields: namesOf(index.fields) }
  log.info(about, 'a search index is built')
  await buildWords(build, index, build.build)
  await analyzeTable(db, 'store_search')
  await changeIndexes(db, index.collection, [requireIndex(finishSql(index.id, build.build, clock.now()))])
  log.info(about, 'a search index is ready')
}

/**
 * Inserts the entries in the order of their keys, and rests after each batch while documents are written.
 *
 * @returns how many documents have been inserted
 */
async function insertEntries(build: Build, next: NextEntries): Promise<number> {
  const { clock, countWrites, stopping } = build
  let [documents, writes] = [0, countWrites()]
  for (let batch; (batch = await next());) {
    stopping.throwIfAborted()
    const began = clock.elapsed()
    documents = await insertBatch(build, batch)
    const isQuiet = countWrites() === writes
    writes = countWrites()
    const restMs = Math.min((clock.elapsed() - began) * REST, LONGEST_REST_MS)
    if (!isQuiet) await clock.sleep(restMs, { signal: stopping })
  }
  return documents
}

/**
 * Inserts entries that are not there yet. Those of documents that were written since the snapshot are there, the ones that such a
 * write removed as dead ones: so nothing comes back, and what an earlier build has inserted is right as well.
 *
 * @returns how many documents have been inserted
 * @throws BuildError if two documents have the same key
 */
async function insertBatch({ db, index, build }: Build, { lines, documents }: EntryBatch): Promise<number> {
  for (let attempt = 1; ; attempt++)
    try {
      // The index's row last, as writes do, so that they and the build never wait for each other in a circle.
      const [, , [row]] = await db.batch([
        lockBuildsSql(db.dialect, 'shared'),
        insertBatchSql(index, lines),
        requireIndex(progressSql(index.id, build, documents)),
      ])
      return row!.documents
    } catch (error) {
      if (!(error instanceof ConstraintError && error.kind === 'unique')) throw error
      const twice = await db.get(selectTwiceSql(index, lines))
      if (twice) throw new BuildError(duplicateReason(index, twice))
      // One of the two was changed meanwhile.
      if (attempt === TRIES) throw new BuildError(`two documents had the same ${namesOf(index.fields)}`)
    }
}

/** Deletes some dead entries, unless another build has begun: they may be younger than its snapshot. */
async function deleteDead({ db, index, build }: Build): Promise<readonly unknown[]> {
  const [, deleted] = await db.batch([
    lockBuildsSql(db.dialect, 'shared'),
    deleteSomeDeadSql(index.id, ENTRIES_A_DELETE),
    requireIndex(progressSql(index.id, build, 0)),
  ])
  return deleted
}

/** Deletes the entries of an index that is not kept up any more. */
async function deleteEntries(db: Database, indexId: number, stopping: AbortSignal): Promise<void> {
  await deleteAll(() => db.write(deleteSomeSql(indexId, ENTRIES_A_DELETE)), stopping)
  await deleteAll(() => db.write(deleteSomeWordsSql(indexId, ENTRIES_A_DELETE)), stopping)
}

/** @param deleteSome deletes up to `ENTRIES_A_DELETE` entries, and answers a row for each */
async function deleteAll(
  deleteSome: () => Promise<readonly unknown[]>,
  stopping: AbortSignal,
): Promise<void> {
  let deleted: readonly unknown[]
  do {
    stopping.throwIfAborted()
    deleted = await deleteSome()
  } while (deleted.length === ENTRIES_A_DELETE)
}

/** The documents cannot be held by the index. */
class BuildError extends Error {}
