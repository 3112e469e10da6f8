import { parseJson } from '../../../../base/json.ts'
import { Type } from '../../../../base/schema.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { ConstraintError, requireRow, type Step } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { JobKind } from '../../../../kernel/jobs/jobs.ts'
import type { WireContext } from '../../../../kernel/wire.ts'
import type { Json } from '../query/filter.ts'
import { duplicateIn, duplicateReason, entriesOfDocuments } from './document-entries.ts'
import { namesOf } from './entries.ts'
import { deleteSomeSql, insertEntriesSql, selectTakenSql } from './entry-rows.ts'
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

const DOCUMENTS_A_BATCH = 500
const BATCH_BYTES = 2_097_152
const ENTRIES_A_DELETE = 2_000
const TRIES = 3
const LOG_EVERY_MS = 10_000
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: Number.MAX_SAFE_INTEGER }

/** The payload of a job: it finishes what is to be done to the indexes of a collection. */
export type IndexWork = { collection: string }

type StoredLine = { id: string; owner: string; version: number; body: string }

/** Builds the indexes of collections in the background, and deletes the entries of those that are dropped. */
export type IndexBuilds = {
  readonly kind: JobKind<IndexWork>
  /** Fails an index, and deletes its entries. */
  fail(index: Index, reason: string): Promise<void>
}

export function createBuilds({
  db,
  clock,
  jobs,
  log,
}: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>): IndexBuilds {
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

  /** The ids of the next documents, together not too large. */
  async function nextIds(collection: string, after: string): Promise<string[]> {
    const rows = await db.all<{ id: string; bytes: number }>(sql`
      select id, bytes from store_documents where collection = ${collection} and id > ${after}
      order by id limit ${DOCUMENTS_A_BATCH}`)
    let bytes = 0
    const ids = rows.flatMap((row, i) => ((bytes += row.bytes) <= BATCH_BYTES || i === 0 ? [row.id] : []))
    return ids
  }

  /**
   * Inserts the entries of documents that nobody has changed since they were read: a write that changes one writes its entries.
   *
   * @returns how many documents the build has looked at
   * @throws DuplicateError
   */
  async function insert(
    index: Index,
    lines: readonly StoredLine[],
    progress: { from: string; to: string; documents: number },
  ): Promise<number> {
    const made = entriesOfDocuments(
      index,
      lines.map(({ id, owner, body }) => ({ id, owner, document: parseJson(body) as Json })),
      (id, { message }) => {
        throw new BuildError(`in the document ${id} ${message}`)
      },
    )
    const { documents } = made
    const versions = versionsSql(lines)
    const steps: Step[] = [
      ...lockBuildsSql(db.dialect, 'shared'),
      // Writers of these documents wait until the batch is committed.
      ...(db.dialect === 'postgres'
        ? [
            sql`
              select d.id from store_documents d
              where d.collection = ${index.collection} and d.id > ${progress.from} and d.id <= ${progress.to}
                and (d.id, d.version) in (${versions})
              order by d.id for share`,
          ]
        : []),
      insertEntriesSql(
        documents,
        sql`exists (
          select 1 from store_documents d
          where d.collection = ${index.collection} and d.id = new.id and (d.id, d.version) in (${versions}))`,
      ),
      ...noteSql(made),
    ]
    try {
      // The index's row last, as writes do, so that they and the build never wait for each other in a circle.
      const [, [row]] = await db.batch([steps, requireRow(progressSql(index.id, progress), isOver)])
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
    for (let tries = 1; ;) {
      stopping.throwIfAborted()
      const ids = await nextIds(index.collection, from)
      const to = ids.at(-1)
      if (to === undefined) break
      const lines = await db.all<StoredLine>(sql`
        select id, owner, version, body from store_documents
        where collection = ${index.collection} and id > ${from} and id <= ${to} order by id`)
      try {
        documents = await insert(index, lines, { from, to, documents: lines.length })
      } catch (error) {
        // One of the two may have been changed since it was read.
        if (error instanceof DuplicateError && tries++ < TRIES) continue
        throw error
      }
      ;[from, tries] = [to, 1]
      if (clock.elapsed() < logAt) continue
      logAt = clock.elapsed() + LOG_EVERY_MS
      log.info({ ...about, documents }, 'an index is being built')
    }
    await db.batch([requireRow(finishSql(index.id, clock.now()), isOver), changedSql(index.collection)])
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

const versionsSql = (lines: readonly StoredLine[]): Sql => {
  const json = JSON.stringify(lines.map(({ id, version }) => ({ id, version })))
  return sql`${sql.either({
    sqlite: sql`select value ->> 'id', value ->> 'version' from json_each(${json})`,
    postgres: sql`select id, version from json_to_recordset(${json}::json) as line (id text, version bigint)`,
  })}`
}
