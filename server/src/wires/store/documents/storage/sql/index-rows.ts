import { parseJson } from '../../../../../base/json.ts'
import { ApiError, errors } from '../../../../../base/errors.ts'
import { requireRow, type Database, type Row, type Step, type StepWith } from '../../../../../db/database.ts'
import { sql, type Dialect, type Sql } from '../../../../../db/sql.ts'
import { isOneOf } from '../../../../../db/is-one-of.ts'
import { TOKEN_FORMAT } from '../../language/search/tokens.ts'
import { lockTable } from '../../../../../db/tables.ts'
import {
  haveSameEntries,
  timeIndex,
  type Definition,
  type Index,
  type IndexSet,
  type IndexSource,
  type IndexState,
} from '../entries/index-definition.ts'
import { KEY_FORMAT, type IndexField } from '../entries/entries.ts'

// Any number that nobody else takes in this database.
const BUILDS_LOCK = 6_946_174

/** The indexes of a collection that has never had one. */
export const withoutIndexes = (collection: string): IndexSet => ({
  collection,
  version: 0,
  isIdOrdered: true,
  indexes: [],
  searches: [],
})

export type IndexRow = {
  id: number
  collection: string
  fields: string
  is_unique: number
  by_owner: number
  is_search: number
  is_sparse: number
  ignore_case: number
  source: IndexSource
  state: IndexState
  format: number
  has_arrays: number
  has_cut_keys: number
  reason: string | null
  documents: number
  last_used_at: number | null
}

/** A version with an index, or without one. */
type VersionedRow = { version: number; id_ordered: number } & { [C in keyof IndexRow]: IndexRow[C] | null }

const columns = sql.literal(
  `i.id, i.collection, i.fields, i.is_unique, i.by_owner, i.is_search, i.is_sparse, i.ignore_case, i.source, i.state, i.format,
  i.has_arrays, i.has_cut_keys, i.reason, i.documents, i.last_used_at`,
)

export const fieldsOf = ({ fields }: Pick<IndexRow, 'fields'>): IndexField[] =>
  parseJson(fields) as IndexField[]

/** An index out of its row. */
export const indexOf = (row: IndexRow): Index => ({
  id: row.id,
  collection: row.collection,
  fields: fieldsOf(row),
  isUnique: row.is_unique === 1,
  byOwner: row.by_owner === 1,
  isSearch: row.is_search === 1,
  isSparse: row.is_sparse === 1,
  ignoreCase: row.ignore_case === 1,
  source: row.source,
  state: row.state,
  hasArrays: row.has_arrays === 1,
  hasCutKeys: row.has_cut_keys === 1,
})

/** Whether the index of a row is the one that a definition wants. */
export function isSame(one: Definition, row: IndexRow): boolean {
  const index = indexOf(row)
  return haveSameEntries(one, index) && one.isUnique === index.isUnique && one.byOwner === index.byOwner
}

/** The number of the form of an index's entries, or words. */
export const formatOf = ({ isSearch }: Pick<Index, 'isSearch'>): number =>
  isSearch ? TOKEN_FORMAT : KEY_FORMAT

/** The words of all collections are built again at the next start. */
export const outdateWordsSql: Sql = sql`update store_indexes set format = 0 where is_search`

/** The version, in each row, and the indexes: one statement, so that both are of one moment. */
export const selectSetSql = (collection: string): Sql<VersionedRow> => sql`
  select s.version, s.id_ordered, ${columns} from store_index_sets s
  left join store_indexes i on i.collection = s.collection and i.state in ('building', 'ready')
  where s.collection = ${collection} order by i.id`

export function setOf(collection: string, rows: readonly VersionedRow[]): IndexSet {
  const all = rows.flatMap((row) => (row.id === null ? [] : [indexOf(row as IndexRow)]))
  return {
    collection,
    version: rows[0]?.version ?? 0,
    isIdOrdered: rows[0]?.id_ordered !== 0,
    indexes: all.filter(({ isSearch }) => !isSearch),
    searches: all.filter(({ isSearch }) => isSearch),
  }
}

/** Whether the collection's indexes are those of a version, as a condition of a statement that changes a document. */
export const isVersion = (collection: string, version: number): Sql => sql`
  coalesce((select version from store_index_sets where collection = ${collection}), 0) = ${version}`

/** The indexes of a state, of one collection. */
export const selectByStateSql = (collection: string, state: IndexState): Sql<IndexRow> => sql`
  select ${columns} from store_indexes i
  where i.collection = ${collection} and i.state = ${state} order by i.id`

/** All indexes but those that are dropped, of a collection or of all. */
export const selectIndexesSql = (collection?: string): Sql<IndexRow> => sql`
  select ${columns} from store_indexes i
  where ${collection === undefined ? sql`` : sql`i.collection = ${collection} and`} i.state <> 'dropped' order by i.id`

/** Likewise of some collections. */
export const selectIndexesOfSql = (collections: readonly string[]): Sql<IndexRow> => sql`
  select ${columns} from store_indexes i where ${isOneOf('i.collection', collections)} and i.state <> 'dropped' order by i.id`

/** The collections with indexes that writes keep up. */
export const selectCollectionsSql: Sql<{ collection: string }> = sql`
  select distinct collection from store_indexes where state in ('building', 'ready') order by collection`

/** The collections with an index that is not finished, or not deleted. */
export const selectUnfinishedSql: Sql<{ collection: string }> = sql`
  select distinct collection from store_indexes where state in ('building', 'dropped')`

/** Whether the ids of a collection are in the order of `createdAt`, as a condition; what is false never comes true again. */
export const isIdOrderedSql = (collection: string): Sql => sql`
  (select 1 from store_index_sets where collection = ${collection} and not id_ordered) is null`

/** The collections whose ids are not. */
export const selectUnorderedSql: Sql<{ collection: string }> = sql`
  select collection from store_index_sets where not id_ordered`

/** Has lists of a collection read in the order of `createdAt` by an index, which is to be built. Part of `changeIndexes`. */
export const leaveIdOrderSql = (collection: string, byOwner: boolean, now: number): Sql[] => [
  sql`update store_index_sets set id_ordered = false where collection = ${collection}`,
  insertIndexSql(timeIndex(collection, byOwner), 'declared', now),
]

/** Counts a change of a collection's indexes. */
export const changedSql = (collection: string): Sql => sql`
  insert into store_index_sets (collection, version) values (${collection}, 1)
  on conflict (collection) do update set version = store_index_sets.version + 1`

/**
 * Changes the indexes of a collection: writes that know the old version fail from now on. On PostgreSQL this waits for the writes
 * that began before, and keeps others waiting until the commit.
 *
 * @returns the rows of each step
 */
export const changeIndexes = (db: Database, collection: string, steps: readonly Step[]): Promise<Row[][]> =>
  db.transaction(
    async (tx) => {
      await lockTable(tx, 'store_documents', 'share')
      await tx.write(changedSql(collection))
      const rows: Row[][] = []
      for (const step of steps) rows.push(await tx.write(step))
      return rows
    },
    { isolation: 'read committed' },
  )

const STALE = 'The index is not in the state for this change any more.'

/** A change of an index that fails if it returns no row. */
export const requireIndex = <R>(query: Sql<R>): StepWith<R> =>
  requireRow(query, () => errors.conflict({ message: STALE }))

/** Whether `requireIndex` failed. */
export const isStale = (error: unknown): boolean => error instanceof ApiError && error.message === STALE

/** Inserts an index unless there is one with the same entries. */
export const insertIndexSql = (
  { collection, fields, isUnique, byOwner, isSearch, isSparse, ignoreCase }: Definition,
  source: IndexSource,
  now: number,
): Sql => {
  const text = JSON.stringify(fields)
  return sql`
    insert into store_indexes (
      collection, fields, is_unique, by_owner, is_search, is_sparse, ignore_case, source, state, format, created_at)
    select ${collection}, ${text}, ${flag(isUnique)}, ${flag(byOwner)}, ${flag(isSearch)}, ${flag(isSparse)}, ${flag(ignoreCase)},
      ${source}, ${isSearch ? stateOfWords(collection) : sql`'building'`},
      cast(${formatOf({ isSearch })} as integer), cast(${now} as bigint)
    where not exists (
      select 1 from store_indexes
      where collection = ${collection} and fields = ${text} and is_search = ${flag(isSearch)} and is_sparse = ${flag(isSparse)}
        and ignore_case = ${flag(ignoreCase)} and state <> 'dropped')`
}

/** Nothing is to be built of a collection without documents: it can be searched at once. */
const stateOfWords = (collection: string): Sql => sql`
  case when exists (select 1 from store_documents where collection = ${collection}) then 'building' else 'ready' end`

const flag = (value: boolean): Sql => sql.literal(String(value))

/** Drops indexes: nothing writes or reads their entries any more, and the job deletes them. */
export const dropSql = (ids: readonly number[]): Sql => sql`
  update store_indexes set state = 'dropped' where id in (${sql.join(ids)})`

/**
 * Fails an index; no row if it was dropped, or has failed.
 *
 * @param build no row either if another one has begun
 */
export const failSql = (id: number, reason: string, now: number, build?: number): Sql<{ id: number }> => sql`
  update store_indexes set state = 'failed', reason = ${reason}, finished_at = ${now}
  where id = ${id} and state in ('building', 'ready')
    ${build === undefined ? sql`` : sql`and build = ${build}`}
  returning id`

/** Finishes an index that has all entries; no row if another build has begun, or if it was dropped. */
export const finishSql = (id: number, build: number, now: number): Sql<{ id: number }> => sql`
  update store_indexes set state = 'ready', finished_at = ${now}
  where id = ${id} and state = 'building' and build = ${build} returning id`

/** Begins a build of an index; no row if the index is not to be built any more. A build that was begun before ends with it. */
export const beginSql = (id: number): Sql<{ build: number }> => sql`
  update store_indexes set build = build + 1, documents = 0 where id = ${id} and state = 'building' returning build`

/** Notes how far a build has come; no row if another one has begun, or if the index was dropped. */
export const progressSql = (id: number, build: number, documents: number): Sql<{ documents: number }> => sql`
  update store_indexes set documents = documents + ${documents}
  where id = ${id} and state = 'building' and build = ${build} returning documents`

/** Notes what an index has to know of entries that it did not know: that a document has several, or that keys are cut. */
export function noteSql(index: Index, noted: readonly Pick<Index, 'hasArrays' | 'hasCutKeys'>[]): Sql[] {
  const hasArrays = noted.some((one) => one.hasArrays)
  const hasCutKeys = noted.some((one) => one.hasCutKeys)
  if (!(hasArrays && !index.hasArrays) && !(hasCutKeys && !index.hasCutKeys)) return []
  return [
    sql`
      update store_indexes set
        has_arrays = has_arrays or ${flag(hasArrays)}, has_cut_keys = has_cut_keys or ${flag(hasCutKeys)}
      where id = ${index.id}
        and not ((has_arrays or ${flag(!hasArrays)}) and (has_cut_keys or ${flag(!hasCutKeys)}))`,
  ]
}

/**
 * Keeps builds and the replacement of all documents apart, until the end of the transaction. SQLite has one writer and needs no
 * locks.
 */
export const lockBuildsSql = (dialect: Dialect, mode: 'shared' | 'exclusive'): Sql[] => {
  if (dialect === 'sqlite') return []
  const lock = sql.literal(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  return [sql`select ${lock}(cast(${BUILDS_LOCK} as bigint))`]
}

/** Deletes an index that was dropped and has no entries any more. */
export const deleteIndexSql = (id: number): Sql => sql`
  delete from store_indexes where id = ${id} and state = 'dropped'`

// One that was never used counts from when it could have been.
const usedAt = sql.literal('coalesce(last_used_at, finished_at, created_at)')

/** Inserts an automatic index unless there is one with the same entries, or as many automatic ones as there may be. */
export const insertAutomaticSql = (definition: Definition, max: number, now: number): Sql => sql`
  ${insertIndexSql(definition, 'automatic', now)} and ${hasFewer(definition.collection, max)}`

const hasFewer = (collection: string, max: number): Sql => sql`
  (select count(*) from store_indexes where collection = ${collection} and source = 'automatic' and state in ('building', 'ready')) < ${max}`

/** If there is no room for another automatic index, drops the one that was not used for longest, since before a time. */
export const makeRoomSql = (
  collection: string,
  max: number,
  before: number,
): Sql<Pick<IndexRow, 'fields'>> => sql`
  update store_indexes set state = 'dropped'
  where not ${hasFewer(collection, max)} and id in (
    select id from store_indexes
    where collection = ${collection} and source = 'automatic' and state = 'ready' and ${usedAt} <= ${before}
    order by ${usedAt}, id limit 1)
  returning fields`

/** Notes that a list was answered from an index, unless that was noted since a time. */
export const noteUseSql = (id: number, now: number, since: number): Sql => sql`
  update store_indexes set last_used_at = ${now}
  where id = ${id} and (last_used_at is null or last_used_at <= ${since})`

/** The automatic indexes that were not used since before a time, and those that failed before it. */
export const selectUnusedSql = (before: number): Sql<Pick<IndexRow, 'id' | 'collection' | 'fields'>> => sql`
  select id, collection, fields from store_indexes where ${isUnused(before)} order by id`

/** Drops an automatic index; no row if it was used meanwhile. */
export const dropUnusedSql = (id: number, before: number): Sql<{ id: number }> => sql`
  update store_indexes set state = 'dropped' where id = ${id} and ${isUnused(before)} returning id`

const isUnused = (before: number): Sql => sql`
  source = 'automatic' and state in ('ready', 'failed') and ${usedAt} <= ${before}`

/** Makes automatic indexes declared ones. */
export const declareSql = (ids: readonly number[]): Sql => sql`
  update store_indexes set source = 'declared' where id in (${sql.join(ids)})`
