import { setImmediate } from 'node:timers/promises'

import { parseJson } from '../../../../base/json.ts'
import { Type } from '../../../../base/schema.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { ConstraintError, requireRow, type Step } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { JobKind } from '../../../../kernel/jobs/jobs.ts'
import type { WireContext } from '../../../../kernel/wire.ts'
import type { Json } from '../query/filter.ts'
import {
  duplicateIn,
  duplicateReason,
  entriesOfDocuments,
  type DocumentEntries,
  type EntriesOfDocuments,
} from './document-entries.ts'
import { namesOf } from './entries.ts'
import { deleteSomeSql, insertUnchangedSql, selectTakenSql, type Versions } from './entry-rows.ts'
import type { Index } from './definition.ts'
import {
  changedSql,
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

// The event loop makes the entries of so many without a pause.
const DOCUMENTS_A_READ = 250
const READ_BYTES = 1_048_576
// A larger batch writes fewer pages, since its keys are in order, and keeps writers waiting longer.
const DOCUMENTS_A_BATCH = 1_000
const DOCUMENTS_A_QUIET_BATCH = 4_000
const BATCH_BYTES = 2_097_152
// While documents are written, a build rests for so many times as long as it works, unless the whole machine is slow.
const REST = 3
const LONGEST_REST_MS = 250
const ENTRIES_A_DELETE = 2_000
const TRIES = 3
const LOG_EVERY_MS = 10_000
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }

/** The payload of a job: it finishes what is to be done to the indexes of a collection. */
export type IndexWork = { collection: string }

type StoredLine = { id: string; owner: string; version: number; body: string }

/** The next documents of a build, and their entries. */
type Batch = EntriesOfDocuments & { readonly versions: Versions }

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
  async function deleteEntries(indexId: number, stopping: AbortSignal): Promise<void> {
    let deleted: unknown[]
    do {
      stopping.throwIfAborted()
      deleted = await db.write(deleteSomeSql(indexId, ENTRIES_A_DELETE))
    } while (deleted.length === ENTRIES_A_DELETE)
  }

  async function fail(index: Index, reason: string): Promise<void> {
    try {
      await changeIndexes(
        db,
        [index.collection],
        [
          requireRow(failSql(index.id, reason, clock.now()), isOver),
          kind.enqueueSql({ collection: index.collection }),
        ],
      )
    } catch (error) {
      if (isOverError(error)) return
      throw error
    }
    log.error({ collection: index.collection, fields: namesOf(index.fields) }, `an index failed: ${reason}`)
  }

  /** The next documents, together not too large. */
  async function readSome(collection: string, after: string, to: string): Promise<StoredLine[]> {
    const rows = await db.all<{ id: string; bytes: number }>(sql`
      select id, bytes from store_documents where collection = ${collection} and id > ${after} and id <= ${to}
      order by id limit ${DOCUMENTS_A_READ}`)
    let bytes = 0
    const last = rows.filter((row, i) => (bytes += row.bytes) <= READ_BYTES || i === 0).at(-1)
    if (!last) return []
    return db.all(sql`
      select id, owner, version, body from store_documents
      where collection = ${collection} and id > ${after} and id <= ${last.id} order by id`)
  }

  /** Reads up to so many documents behind `after`, no further than `to`, and makes their entries. */
  async function nextBatch(index: Index, after: string, to: string, limit: number): Promise<Batch> {
    const documents: DocumentEntries[] = []
    const versions = new Map<string, number>()
    let [hasArrays, hasCutKeys, bytes] = [false, false, 0]
    for (let from = after; versions.size < limit && bytes < BATCH_BYTES; await setImmediate()) {
      const lines = await readSome(index.collection, from, to)
      if (lines.length === 0) break
      const made = entriesOfDocuments(
        index,
        lines.map(({ id, owner, body }) => ({ id, owner, document: parseJson(body) as Json })),
        (id, { message }) => {
          throw new BuildError(`in the document ${id} ${message}`)
        },
      )
      documents.push(...made.documents)
      hasArrays ||= made.hasArrays
      hasCutKeys ||= made.hasCutKeys
      for (const { id, version, body } of lines) {
        versions.set(id, version)
        bytes += body.length
      }
      from = lines.at(-1)!.id
    }
    return { index, documents, versions, hasArrays, hasCutKeys }
  }

  /**
   * Inserts the entries of documents that nobody has changed since they were read: a write that changes one writes its entries.
   *
   * @returns how many documents the build has looked at
   * @throws DuplicateError
   */
  async function insert({ index, documents, versions, ...noted }: Batch, from: string): Promise<number> {
    const to = [...versions.keys()].at(-1)!
    const steps: Step[] = [
      ...lockBuildsSql(db.dialect, 'shared'),
      // Writers of these documents wait until the batch is committed.
      ...(db.dialect === 'postgres'
        ? [
            sql`
              select d.id from store_documents d
              where d.collection = ${index.collection} and d.id > ${from} and d.id <= ${to}
              order by d.id for share`,
          ]
        : []),
      insertUnchangedSql(index.collection, documents, versions),
      ...noteSql({ index, ...noted }),
    ]
    try {
      // The index's row last, as writes do, so that they and the build never wait for each other in a circle.
      const progress = progressSql(index.id, { from, to, documents: versions.size })
      const [, [row]] = await db.batch([steps, requireRow(progress, isOver)])
      return row!.documents
    } catch (error) {
      if (!(error instanceof ConstraintError && error.kind === 'unique')) throw error
      const twice = duplicateIn(documents) ?? (await db.get(selectTakenSql(documents)))
      throw new DuplicateError(
        twice ? duplicateReason(index, twice) : `two documents had the same ${namesOf(index.fields)}`,
      )
    }
  }

  async function build(index: Index, builtTo: string, stopping: AbortSignal): Promise<void> {
    const about = { collection: index.collection, fields: namesOf(index.fields) }
    log.info(about, 'an index is built')
    let [from, documents, logAt] = [builtTo, 0, clock.elapsed() + LOG_EVERY_MS]
    // Later ones have their entries: they are written since the index is there.
    const newest = await db.get<{ id: string | null }>(
      sql`select max(id) as id from store_documents where collection = ${index.collection}`,
    )
    let isQuiet = false
    for (let tries = 1; ;) {
      stopping.throwIfAborted()
      const [began, writes] = [clock.elapsed(), countWrites()]
      const batch = await nextBatch(
        index,
        from,
        newest?.id ?? '',
        isQuiet ? DOCUMENTS_A_QUIET_BATCH : DOCUMENTS_A_BATCH,
      )
      if (batch.versions.size === 0) break
      try {
        documents = await insert(batch, from)
      } catch (error) {
        // One of the two may have been changed since it was read.
        if (error instanceof DuplicateError && tries++ < TRIES) continue
        throw error
      }
      ;[from, tries] = [[...batch.versions.keys()].at(-1)!, 1]
      if (clock.elapsed() >= logAt) {
        logAt = clock.elapsed() + LOG_EVERY_MS
        log.info({ ...about, documents }, 'an index is being built')
      }
      isQuiet = countWrites() === writes
      if (isQuiet) continue
      const rest = Math.min((clock.elapsed() - began) * REST, LONGEST_REST_MS)
      await clock.sleep(rest, { signal: stopping })
    }
    // In the order of `changeIndexes`.
    await db.batch([changedSql(index.collection), requireRow(finishSql(index.id, clock.now()), isOver)])
    log.info({ ...about, documents }, 'an index is ready')
  }

  const kind = jobs.define(
    'store.indexes',
    {
      payload: Type.Object({ collection: Type.String() }),
      lane: ({ collection }) => collection,
      retry: RETRY,
    },
    async ({ payload: { collection }, stopping }) => {
      for (const { id } of await db.all(selectByStateSql(collection, 'failed')))
        await deleteEntries(id, stopping)
      for (const { id } of await db.all(selectByStateSql(collection, 'dropped'))) {
        await deleteEntries(id, stopping)
        await db.write(deleteIndexSql(id))
      }
      for (;;) {
        const [row] = await db.all(selectByStateSql(collection, 'building'))
        if (!row) return
        const index = indexOf(row)
        try {
          await build(index, row.built_to, stopping)
        } catch (error) {
          if (error instanceof BuildError) await fail(index, error.message)
          // It was dropped meanwhile.
          else if (!isOverError(error)) throw error
        }
      }
    },
  )
  return { kind, fail }
}

/** The documents cannot be held by the index. */
class BuildError extends Error {}

class DuplicateError extends BuildError {}

const OVER = 'The index is not being built.'
const isOver = () => errors.conflict({ message: OVER })
const isOverError = (error: unknown): boolean => error instanceof ApiError && error.message === OVER
