import { errors, type ApiError } from '../../../../base/errors.ts'
import { requireRow, type StepWith } from '../../../../db/database.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import { documentsSql } from '../storage/sql/document-rows.ts'

/**
 * How far a change of documents is: checked (waiting), under way, or done and about to come into force (changed); stopped by a
 * document (failed); taken back (undoing); in force, while what was written until then is looked through (settling).
 */
export type ChangeState = 'waiting' | 'changing' | 'changed' | 'failed' | 'undoing' | 'settling'

/** A change of the documents of a collection under way. */
export type ChangeRow = {
  readonly collection: string
  /** Of the definition that comes into force with it. */
  readonly version: number
  /** The version that it was made from; 0: none. */
  readonly base: number
  readonly state: ChangeState
  /** The id up to which documents are changed. */
  readonly position: string
  readonly documents: number
  readonly done: number
  readonly reason: string | null
}

/** A document that is to be changed, with what was kept of it before. */
export type DocumentToVisit = {
  readonly id: string
  readonly owner: string
  readonly version: number
  /** Null: those before it are large, so that it comes with the next ones. */
  readonly body: string | null
  readonly kept: string | null
}

/** What the documents of one transaction have together, but for the last one. */
const PAGE_BYTES = 262_144

type Key = Pick<ChangeRow, 'collection' | 'version'>

const COLUMNS = sql`collection, version, base, state, position, documents, done, reason`

export const selectChangeSql = (collection: string): Sql<ChangeRow> => sql`
  select ${COLUMNS} from store_document_changes where collection = ${collection}`

/** All that documents may be in the middle of: not those that wait. */
export const selectChangesUnderWaySql: Sql<ChangeRow> = sql`
  select ${COLUMNS} from store_document_changes where state <> 'waiting' order by collection`

export const insertChangeSql = ({ collection, version }: Key, base: number): Sql => sql`
  insert into store_document_changes (collection, version, base, state)
  values (${collection}, ${version}, ${base}, 'waiting')`

const isElsewhere = (): ApiError =>
  errors.conflict({ message: 'The change of the documents is in another state: read it again.' })

/** Its batch fails with CONFLICT if the change is in none of the states that it may come from. */
export const setStateSql = (
  { collection, version }: Key,
  from: readonly ChangeState[],
  state: ChangeState,
  reason: string | null = null,
): StepWith<{ version: number }> =>
  requireRow(
    sql`
      update store_document_changes set state = ${state}, reason = ${reason}
      where collection = ${collection} and version = ${version} and ${isOneOf('state', from)} returning version`,
    isElsewhere,
  )

/** Begins with the first document, behind `setStateSql`. */
export const restartSql = ({ collection }: Pick<ChangeRow, 'collection'>): Sql => sql`
  update store_document_changes
  set position = '', done = 0, documents = (${documentsSql(collection)}) where collection = ${collection}`

/** Likewise for an undo. */
export const restartUndoSql = ({ collection }: Pick<ChangeRow, 'collection'>): Sql => sql`
  update store_document_changes set position = '', done = 0,
    documents = (select count(*) from store_changed_documents where collection = ${collection})
  where collection = ${collection}`

/** Notes how far a change is, in the batch that changes documents: it fails if the change is not in that state any more. */
export const visitedSql = (
  { collection, version }: Key,
  state: ChangeState,
  { position, done }: { position: string; done: number },
  otherwise: () => ApiError,
): StepWith<{ version: number }> =>
  requireRow(
    sql`
      update store_document_changes set position = ${position}, done = done + ${done}
      where collection = ${collection} and version = ${version} and state = ${state} returning version`,
    otherwise,
  )

/** Ends a change. Its batch fails with CONFLICT if it is not in that state. */
export const deleteChangeSql = (
  { collection, version }: Key,
  state: ChangeState,
): StepWith<{ version: number }> =>
  requireRow(
    sql`
      delete from store_document_changes
      where collection = ${collection} and version = ${version} and state = ${state} returning version`,
    isElsewhere,
  )

export const deleteKeptSql = (collection: string): Sql => sql`
  delete from store_changed_documents where collection = ${collection}`

export const keepSql = (
  collection: string,
  documents: readonly { readonly id: string; readonly owner: string; readonly kept: string }[],
): Sql => {
  const lines = JSON.stringify(documents)
  return sql`
    insert into store_changed_documents (collection, id, owner, kept)
    select cast(${collection} as text), id, owner, kept from ${sql.either({
      sqlite: sql`(
        select value ->> 'id' as id, value ->> 'owner' as owner, value ->> 'kept' as kept from json_each(${lines}))`,
      postgres: sql`json_to_recordset(${lines}::json)`,
    })} as line ${sql.either({ sqlite: sql``, postgres: sql`(id text, owner text, kept text)` })}
    where true
    on conflict (collection, id) do update set owner = excluded.owner, kept = excluded.kept`
}

export const forgetKeptSql = (collection: string, ids: readonly string[]): Sql => sql`
  delete from store_changed_documents where collection = ${collection} and ${isOneOf('id', ids)}`

/** Whether a document is within the bytes of a page, with what was kept of it; the first one is. */
const sizeSql = sql`(coalesce(d.bytes, 0) + coalesce(length(k.kept), 0))`
const isInPage = (id: Sql): Sql => sql`sum(${sizeSql}) over (order by ${id}) - ${sizeSql} < ${PAGE_BYTES}`
const textsSql = (id: Sql): Sql => sql`
  case when ${isInPage(id)} then d.body end as body, case when ${isInPage(id)} then k.kept end as kept`

/** Some documents behind an id, in the order of their ids. */
export const selectPageSql = (collection: string, after: string, limit: number): Sql<DocumentToVisit> => sql`
  select d.id, d.owner, d.version, ${textsSql(sql`d.id`)}
  from (
    select collection, id, owner, version, bytes, body from store_documents
    where collection = ${collection} and id > ${after} order by id limit ${limit}) as d
  left join store_changed_documents k on k.collection = d.collection and k.id = d.id
  order by d.id`

/** Likewise those that were changed; of one that is deleted the version is 0. */
export const selectChangedPageSql = (collection: string, limit: number): Sql<DocumentToVisit> => sql`
  select k.id, coalesce(d.owner, '') as owner, coalesce(d.version, 0) as version, ${textsSql(sql`k.id`)}
  from (
    select collection, id, kept from store_changed_documents
    where collection = ${collection} order by id limit ${limit}) as k
  left join store_documents d on d.collection = k.collection and d.id = k.id
  order by k.id`
