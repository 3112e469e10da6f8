import { Type } from '../../../../base/schema.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import { ConstraintError, requireRow, type Database } from '../../../../db/database.ts'
import { analyzeTable } from '../../../../db/tables.ts'
import type { JobKind } from '../../../../kernel/jobs/jobs.ts'
import type { WireContext } from '../../../../kernel/wire.ts'
import type { Json } from '../query/filter.ts'
import type { Index } from './definition.ts'
import { duplicateIn, duplicateReason, entriesOfDocuments, type DocumentEntries } from './document-entries.ts'
import { namesOf } from './entries.ts'
import { deleteSomeSql, putEntriesSql, selectNextSql, selectTakenSql } from '../sql/entry-rows.ts'
import {
  changeIndexes,
  deleteIndexSql,
  failSql,
  finishSql,
  indexOf,
  noteSql,
  progressSql,
  selectBuildSql,
  selectByStateSql,
} from './index-rows.ts'

// What a batch reads in one transaction: on SQLite all writes wait for it, and its entries are made in the event loop.
const DOCUMENTS_A_BATCH = 1_000
const BYTES_A_BATCH = 500_000
const BUILDS_AT_ONCE = 2
// While documents are written, a build rests for so many times as long as a batch takes, unless the whole machine is slow.
const REST = 0.5
const LONGEST_REST_MS = 50
const ENTRIES_A_DELETE = 2_000
const LOG_EVERY_MS = 10_000
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }

/** The payload of a job: it finishes what is to be done to the indexes of a collection. */
export type IndexWork = { collection: string }

/** Builds the indexes of collections in the background, and deletes the entries of those that are dropped. */
export type IndexBuilds = {
  readonly kind: JobKind<IndexWork>
  /** Fails an index, and deletes its entries. */
  fail(index: Index, reason: string): Promise<void>
}

type Context = Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>
type Fail = (index: Index, reason: string, builtTo?: string) => Promise<void>

/** @param countWrites how many writes of documents this process has begun */
export function createBuilds(context: Context, countWrites: () => number): IndexBuilds {
  const { db, clock, jobs, log } = context

  /** @param builtTo how far the build is that has failed; undefined: however far it is */
  const fail: Fail = async (index, reason, builtTo) => {
    const { id, collection, fields } = index
    try {
      await changeIndexes(
        db,
        [collection],
        [requireRow(failSql(id, reason, clock.now(), builtTo), isOver), kind.enqueueSql({ collection })],
      )
      log.error({ collection, fields: namesOf(fields) }, `an index failed: ${reason}`)
    } catch (error) {
      if (!isOverError(error)) throw error
    }
  }

  const kind = jobs.define(
    'store.indexes',
    {
      payload: Type.Object({ collection: Type.String() }),
      lane: ({ collection }) => collection,
      retry: RETRY,
      atOnce: BUILDS_AT_ONCE,
    },
    async ({ payload: { collection }, stopping }) => {
      for (const { id } of await db.all(selectByStateSql(collection, 'failed')))
        await deleteEntries(db, id, stopping)
      for (const { id } of await db.all(selectByStateSql(collection, 'dropped'))) {
        await deleteEntries(db, id, stopping)
        await db.write(deleteIndexSql(id))
      }
      await build(context, collection, { countWrites, fail, stopping })
    },
  )
  return { kind, fail: (index, reason) => fail(index, reason) }
}

/**
 * Builds the indexes of a collection, one after the other, in batches of documents in the order of their ids. How far it has come is in
 * the index's row, which is read before each batch: so it does not matter which process goes on.
 */
async function build(
  { db, clock, log }: Context,
  collection: string,
  { countWrites, fail, stopping }: { countWrites: () => number; fail: Fail; stopping: AbortSignal },
): Promise<void> {
  let [writes, logAt] = [countWrites(), clock.elapsed() + LOG_EVERY_MS]
  for (;;) {
    stopping.throwIfAborted()
    const began = clock.elapsed()
    const row = await db.get(selectBuildSql(collection))
    if (!row) return
    const [index, documents] = [indexOf(row), row.documents]
    const about = { collection, fields: namesOf(index.fields), documents }
    if (documents === 0) log.info(about, 'an index is built')
    try {
      const isInserted = await insertNext(db, index, row.built_to)
      if (!isInserted && (await finish(db, index, row.built_to, clock.now())))
        log.info(about, 'an index is ready')
    } catch (error) {
      if (error instanceof BuildError) await fail(index, error.message, row.built_to)
      // It was dropped, or another process has gone on with it.
      else if (!isOverError(error)) throw error
    }
    const now = clock.elapsed()
    if (now >= logAt) {
      logAt = now + LOG_EVERY_MS
      log.info(about, 'an index is being built')
    }
    const isQuiet = countWrites() === writes
    writes = countWrites()
    if (!isQuiet) await clock.sleep(Math.min((now - began) * REST, LONGEST_REST_MS), { signal: stopping })
  }
}

/**
 * Inserts the entries of the next documents, which cannot change meanwhile. Of a document that was written since writes know of the
 * index, some or all are there already.
 *
 * @param builtTo the id of the last document whose entries are inserted
 * @returns false if there are no more documents
 * @throws BuildError if the index cannot hold a document, or if two of them have the same key
 */
async function insertNext(db: Database, index: Index, builtTo: string): Promise<boolean> {
  let entries: readonly DocumentEntries[] = []
  try {
    return await db.transaction(
      async (tx) => {
        const lines = await tx.write(selectNextSql(index, builtTo, DOCUMENTS_A_BATCH, BYTES_A_BATCH))
        if (lines.length === 0) return false
        const documents = parseJson(`[${lines.map(({ line }) => line).join()}]`) as [string, string, Json][]
        const made = entriesOfDocuments(
          index,
          documents.map(([id, owner, document]) => ({ id, owner, document })),
          (id, { message }) => {
            throw new BuildError(`in the document ${id} ${message}`)
          },
        )
        entries = made.documents
        await tx.write(putEntriesSql(tx.dialect, entries))
        // The index's row last, as writes do, so that they and the build never wait for each other in a circle.
        for (const note of noteSql(made)) await tx.write(note)
        const last = documents.at(-1)![0]
        await tx.write(requireRow(progressSql(index.id, builtTo, last, documents.length), isOver))
        return true
      },
      { isolation: 'read committed' },
    )
  } catch (error) {
    if (!(error instanceof ConstraintError && error.kind === 'unique')) throw error
    const [taken] = await db.all(selectTakenSql(entries))
    const twice = duplicateIn(entries) ?? taken
    if (twice) throw new BuildError(duplicateReason(index, twice))
    // One of the two has changed since: again.
    return true
  }
}

/** @returns false if the index is not being built any more */
async function finish(db: Database, index: Index, builtTo: string, now: number): Promise<boolean> {
  // Without statistics of them PostgreSQL counts up to 1,000 entries of a wide range by reading all of it.
  await analyzeTable(db, 'store_entries')
  // A document that is new has its entries already: writes know of the index.
  return (await db.write(finishSql(index.id, builtTo, now))).length > 0
}

/** Deletes the entries of an index that is not kept up any more. */
async function deleteEntries(db: Database, indexId: number, stopping: AbortSignal): Promise<void> {
  let deleted: readonly unknown[]
  do {
    stopping.throwIfAborted()
    deleted = await db.write(deleteSomeSql(indexId, ENTRIES_A_DELETE))
  } while (deleted.length === ENTRIES_A_DELETE)
}

/** The documents cannot be held by the index. */
class BuildError extends Error {}

const OVER = 'The index is not being built.'
const isOver = () => errors.conflict({ message: OVER })
const isOverError = (error: unknown): boolean => error instanceof ApiError && error.message === OVER
