import { Type } from '../../../../base/schema.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { ConstraintError, requireRow, type Snapshot } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { JobKind } from '../../../../kernel/jobs/jobs.ts'
import type { WireContext } from '../../../../kernel/wire.ts'
import type { Index } from './definition.ts'
import { duplicateReason } from './document-entries.ts'
import { namesOf } from './entries.ts'
import {
  deleteDeadSql,
  deleteSomeDeadSql,
  deleteSomeSql,
  insertBatchSql,
  measureSql,
  selectIndexedSql,
  selectTwiceSql,
} from './entry-rows.ts'
import { EntrySorter, type EntryBatch, type SortedDocuments } from './entry-sorter.ts'
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
  selectByStateSql,
} from './index-rows.ts'
import { SorterWorker } from './sorter-worker.ts'

// A thread takes longer to start than so few documents take.
const FEW_DOCUMENTS = 250
const FEW_BYTES = 262_144
// Each has two threads and a file as large as its index.
const BUILDS_AT_ONCE = 2
// While documents are written, a build rests for so many times as long as a batch takes, unless the whole machine is slow.
const REST = 0.5
const LONGEST_REST_MS = 50
const ENTRIES_A_DELETE = 2_000
const TRIES = 3
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

/** @param countWrites how many writes of documents this process has begun */
export function createBuilds(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  countWrites: () => number,
): IndexBuilds {
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

  /** @param build one that has to be the newest one of the index; undefined: whichever is */
  async function failNow(index: Index, reason: string, build?: number): Promise<void> {
    await changeIndexes(
      db,
      [index.collection],
      [
        requireRow(failSql(index.id, reason, clock.now(), build), isOver),
        kind.enqueueSql({ collection: index.collection }),
      ],
    )
    log.error({ collection: index.collection, fields: namesOf(index.fields) }, `an index failed: ${reason}`)
  }

  async function fail(index: Index, reason: string): Promise<void> {
    try {
      await failNow(index, reason)
    } catch (error) {
      if (!isOverError(error)) throw error
    }
  }

  async function readFew(index: Index, sorter: EntrySorter): Promise<SortedDocuments> {
    const lines = await db.all(selectIndexedSql(index))
    sorter.add(Buffer.from(lines.map(({ line }) => `${line}\n`).join('')))
    return sorter.end()
  }

  /** Hands all documents of one moment to the thread that makes and sorts their entries. */
  async function readAll(
    index: Index,
    snapshot: Snapshot,
    sorter: SorterWorker,
    stopping: AbortSignal,
  ): Promise<SortedDocuments> {
    for await (const lines of snapshot.lines(selectIndexedSql(index))) {
      stopping.throwIfAborted()
      await sorter.add(lines as Uint8Array<ArrayBuffer>)
    }
    return sorter.end()
  }

  /**
   * Inserts entries that are not there yet. Those of documents that were written since the snapshot are there, the ones that such a
   * write removed as dead ones: so nothing comes back, and what an earlier build has inserted is right as well.
   *
   * @returns how many documents have been inserted
   * @throws BuildError if two documents have the same key
   */
  async function insert(index: Index, build: number, { lines, documents }: EntryBatch): Promise<number> {
    for (let attempt = 1; ; attempt++)
      try {
        // The index's row last, as writes do, so that they and the build never wait for each other in a circle.
        const [, , [row]] = await db.batch([
          lockBuildsSql(db.dialect, 'shared'),
          insertBatchSql(index, lines),
          requireRow(progressSql(index.id, build, documents), isOver),
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
  async function deleteDead(index: Index, build: number): Promise<readonly unknown[]> {
    const [, deleted] = await db.batch([
      lockBuildsSql(db.dialect, 'shared'),
      deleteSomeDeadSql(index.id, ENTRIES_A_DELETE),
      requireRow(progressSql(index.id, build, 0), isOver),
    ])
    return deleted
  }

  async function build(index: Index, stopping: AbortSignal): Promise<void> {
    const about = { collection: index.collection, fields: namesOf(index.fields) }
    const [begun] = await db.write(beginSql(index.id))
    if (!begun) return
    log.info(about, 'an index is built')
    let [documents, logAt] = [0, clock.elapsed() + LOG_EVERY_MS]
    const { documents: count, bytes } = (await db.get(measureSql(index.collection, FEW_DOCUMENTS + 1)))!
    const sorter =
      count <= FEW_DOCUMENTS && bytes <= FEW_BYTES ? new EntrySorter(index) : new SorterWorker(index)
    try {
      // Writes that the read does not see know of the index, and keep its entries up.
      const { refused, ...sorted } =
        sorter instanceof EntrySorter
          ? await readFew(index, sorter)
          : await db.snapshot((snapshot) => readAll(index, snapshot, sorter, stopping))
      if (refused !== undefined) throw new BuildError(refused)
      let writes = countWrites()
      for (let batch; (batch = await sorter.next());) {
        stopping.throwIfAborted()
        const began = clock.elapsed()
        documents = await insert(index, begun.build, batch)
        const now = clock.elapsed()
        if (now >= logAt) {
          logAt = now + LOG_EVERY_MS
          log.info({ ...about, documents, of: sorted.documents }, 'an index is being built')
        }
        const isQuiet = countWrites() === writes
        writes = countWrites()
        if (!isQuiet) await clock.sleep(Math.min((now - began) * REST, LONGEST_REST_MS), { signal: stopping })
      }
      // Nothing inserts entries of the snapshot any more. Most dead ones go here, because writes wait for those that are left.
      await deleteAll(() => deleteDead(index, begun.build), stopping)
      // Without statistics of them PostgreSQL counts up to 1,000 entries of a wide range by reading all of it.
      if (db.dialect === 'postgres') await db.write(sql`analyze (skip_locked) store_entries`)
      await changeIndexes(
        db,
        [index.collection],
        [
          deleteDeadSql(index.id),
          ...noteSql({ index, ...sorted }),
          requireRow(finishSql(index.id, begun.build, clock.now()), isOver),
        ],
      )
    } catch (error) {
      if (!(error instanceof BuildError)) throw error
      // Only its own: what it has read may be long gone, if another process has built the index meanwhile.
      await failNow(index, error.message, begun.build)
      return
    } finally {
      await sorter.close()
    }
    log.info({ ...about, documents }, 'an index is ready')
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
        await deleteAll(() => db.write(deleteSomeSql(id, ENTRIES_A_DELETE)), stopping)
      for (const { id } of await db.all(selectByStateSql(collection, 'dropped'))) {
        await deleteAll(() => db.write(deleteSomeSql(id, ENTRIES_A_DELETE)), stopping)
        await db.write(deleteIndexSql(id))
      }
      for (;;) {
        const [row] = await db.all(selectByStateSql(collection, 'building'))
        if (!row) return
        const index = indexOf(row)
        try {
          await build(index, stopping)
        } catch (error) {
          // It was dropped, which has added a job; or another process is building it, since this one stood still.
          if (isOverError(error)) return
          throw error
        }
      }
    },
  )
  return { kind, fail }
}

/** The documents cannot be held by the index. */
class BuildError extends Error {}

const OVER = 'The index is not being built.'
const isOver = () => errors.conflict({ message: OVER })
const isOverError = (error: unknown): boolean => error instanceof ApiError && error.message === OVER
