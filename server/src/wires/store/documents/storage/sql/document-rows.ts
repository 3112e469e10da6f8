import type { RowFilter } from '../../../../../base/row-filter.ts'
import { sql, type Dialect, type Sql } from '../../../../../db/sql.ts'
import type { IndexSet } from '../entries/index-definition.ts'
import type { DocumentRow } from '../../language/document-json.ts'
import { isVersion } from './index-rows.ts'
import { isOneOf } from '../../../../../db/is-one-of.ts'
import { isOfId, type FilterTree } from '../../language/query/filter.ts'

/** What is read of a document by its id. */
export type OwnedDocument = Pick<DocumentRow, 'owner' | 'body' | 'version'>

/** The column that a document is written to; the others are generated from it. */
export const storedColumn: Sql = sql`${sql.either({ sqlite: sql`doc`, postgres: sql`body` })}`

/** A document's text as it is written to that column. */
export const storedSql = (body: string | Sql): Sql =>
  sql`${sql.either({ sqlite: sql`jsonb(${body})`, postgres: sql`cast(${body} as json)` })}`

/** Documents of more bytes are read once there is room for them. */
export const SMALL_BYTES = 65_536

/** The document, without its body if that is large. */
export const selectSmallSql = (
  collection: string,
  id: string,
): Sql<Omit<OwnedDocument, 'body'> & { body: string | null; bytes: number }> =>
  sql`
    select case when bytes <= ${SMALL_BYTES} then body end as body, bytes, version, owner
    from store_documents where collection = ${collection} and id = ${id}`

export const selectSql = (collection: string, id: string): Sql<OwnedDocument> =>
  sql`select body, version, owner from store_documents where collection = ${collection} and id = ${id}`

/** Inserts a document; no row if there is one with its id. */
export const insertSql = (
  dialect: Dialect,
  { collection, id, owner, body }: Omit<DocumentRow, 'version'>,
  { version: index_set }: IndexSet,
): Sql<{ collection: string; id: string }> =>
  dialect === 'postgres'
    ? sql.insert('store_documents', { collection, id, owner, version: 1, index_set, body }, [
        'collection',
        'id',
      ])
    : sql`
        insert into store_documents (collection, id, owner, version, index_set, doc)
        values (${collection}, ${id}, ${owner}, 1, ${index_set}, jsonb(${body}))
        on conflict (collection, id) do nothing
        returning collection, id`

/** Whether documents that arrive together are inserted by one statement: SQLite commits them together anyway. */
export const gainsFromGroups = (dialect: Dialect): boolean => dialect === 'postgres'

/** The filter as a condition of row `d` that the primary key answers; undefined if it does not. */
export function idMatches(filter: FilterTree): Sql | undefined {
  if (!isOfId(filter)) return undefined
  const { test } = filter
  if (test.kind === 'range' && typeof test.bound === 'string')
    return sql`d.id ${sql.literal(test.operator)} ${test.bound}`
  if (test.kind !== 'in') return undefined
  const ids = test.values.filter((value) => typeof value === 'string')
  return ids.length === 1 ? sql`d.id = ${ids[0]!}` : isOneOf('d.id', ids)
}

/** Inserts documents; no rows if there is one with an id of theirs. Fails if another transaction inserts such a one meanwhile. */
export const insertAllSql = (
  collection: string,
  documents: readonly Omit<DocumentRow, 'collection' | 'version'>[],
  set: IndexSet,
): Sql<{ id: string }> => sql`
  insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
  select cast(${collection} as text), id, owner, 1, cast(${set.version} as bigint), ${storedSql(sql`body`)}
  from ${sql.either({
    sqlite: sql`(
      select value ->> 'id' as id, value ->> 'owner' as owner, value ->> 'body' as body
      from json_each(${JSON.stringify(documents)}))`,
    postgres: sql`json_to_recordset(${JSON.stringify(documents)}::json)`,
  })} as line ${sql.either({ sqlite: sql``, postgres: sql`(id text, owner text, body text)` })}
  where not exists (
    select 1 from store_documents
    where collection = ${collection} and ${isOneOf(
      'id',
      documents.map(({ id }) => id),
    )})
  returning id`

/** Which of the ids documents of a collection have. */
export const selectIdsSql = (collection: string, ids: readonly string[]): Sql<{ id: string }> => sql`
  select id from store_documents where collection = ${collection} and ${isOneOf('id', ids)}`

/** How large documents may be to be read with their bodies. */
export type BodyBytes = { readonly each: number } | { readonly together: number }

function bodySql(bytes: BodyBytes | undefined): Sql {
  if (bytes === undefined) return sql`d.body`
  const size = 'each' in bytes ? sql`d.bytes` : sql`sum(d.bytes) over (order by d.collection, d.id)`
  return sql`case when ${size} <= ${'each' in bytes ? bytes.each : bytes.together} then d.body end as body`
}

/** A document by its collection and id. */
export type DocumentKey = Pick<DocumentRow, 'collection' | 'id'>

/**
 * Documents by their collections and ids.
 *
 * @param bytes of how many bytes each, or together, they have bodies
 */
export function selectManySql(
  wanted: readonly DocumentKey[],
  bytes?: BodyBytes,
): Sql<Omit<DocumentRow, 'body'> & { body: string | null }> {
  const ofCollections = [...Map.groupBy(wanted, ({ collection }) => collection)].map(
    ([collection, keys]) => sql`
      select collection, id, version, owner, bytes, body from store_documents
      where collection = ${collection} and ${isOneOf(
        'id',
        keys.map(({ id }) => id),
      )}`,
  )
  return sql`
    select d.collection, d.id, d.version, d.owner, ${bodySql(bytes)}
    from (${sql.join(ofCollections, ' union all ')}) as d`
}

/**
 * Keeps documents from being deleted until the end of the transaction; no row unless all of them are there. In one order, so that
 * two transactions never wait for each other in a circle.
 */
export const lockAllSql = (
  wanted: readonly { readonly collection: string; readonly id: string }[],
): Sql<{ complete: number }> => {
  const distinct = new Map(wanted.map(({ collection, id }) => [`${collection}/${id}`, { collection, id }]))
  const keys = JSON.stringify([...distinct.values()])
  return sql`
    select complete from (
      select count(*) as complete from (
        select d.id from store_documents d
      where (d.collection, d.id) in ${sql.either({
        sqlite: sql`(select value ->> 'collection', value ->> 'id' from json_each(${keys}))`,
        postgres: sql`(
          select collection, id from json_to_recordset(${keys}::json) as wanted (collection text, id text))`,
      })}
      order by d.collection, d.id ${sql.either({ sqlite: sql``, postgres: sql`for key share` })}
      ) as locked
    ) as counted
    where complete = ${distinct.size}`
}

/** Keeps documents as they are on PostgreSQL until the end of the transaction. In one order, likewise. */
export const lockForWriteSql = (keys: readonly DocumentKey[]): Sql<{ id: string }> => sql`
  select d.id from store_documents d
  where (d.collection, d.id) in (
    select value ->> 'collection', value ->> 'id' from json_array_elements(${JSON.stringify(keys)}::json))
  order by d.collection, d.id for no key update`

/** Replaces a document if its version is still the one that was read; otherwise returns no row. */
export const updateSql = (
  collection: string,
  id: string,
  { body, version }: Pick<DocumentRow, 'body' | 'version'>,
  set: IndexSet,
): Sql<{ version: number }> => sql`
  update store_documents set ${storedColumn} = ${storedSql(body)}, version = version + 1
  where collection = ${collection} and id = ${id} and version = ${version}
    and ${isVersion(collection, set.version)}
  returning version`

/**
 * Replaces documents on PostgreSQL if all of them have the versions that were read; otherwise returns no row, and its batch must be
 * rolled back. It locks them in the order in which other transactions do.
 */
export const updateAllSql = (
  collection: string,
  documents: readonly Pick<DocumentRow, 'id' | 'body' | 'version'>[],
  set: IndexSet,
): Sql<{ version: number }> => sql`
  with line as materialized (
    select * from json_to_recordset(${JSON.stringify(documents)}::json) as line (id text, version bigint, body text)),
  locked as materialized (
    select id from store_documents where collection = ${collection} and id in (select id from line)
    order by id for no key update),
  changed as (
    update store_documents as d set body = cast(line.body as json), version = d.version + 1
    from line join locked on locked.id = line.id
    where d.collection = ${collection} and d.id = line.id and d.version = line.version
      and ${isVersion(collection, set.version)}
    returning 1)
  select count(*) as version from changed having count(*) = ${documents.length}`

/**
 * Deletes a document; no row if there is none.
 *
 * @param version only this one, if it is given
 */
export const deleteSql = (
  collection: string,
  id: string,
  rowFilter: RowFilter,
  version: number | undefined,
  set: IndexSet,
): Sql<{ version: number }> => sql`
  delete from store_documents
  where collection = ${collection} and id = ${id}
    ${rowFilter.rows === 'all' ? sql.literal('') : sql`and owner = ${rowFilter.owner}`}
    ${version === undefined ? sql.literal('') : sql`and version = ${version}`}
    and ${isVersion(collection, set.version)}
  returning version`

/** Deletes all documents of a collection, and counts them on PostgreSQL. */
export const deleteCollectionSql = (dialect: Dialect, collection: string): Sql<{ deleted: number }> =>
  dialect === 'sqlite'
    ? sql`delete from store_documents where collection = ${collection}`
    : sql`
        with gone as (delete from store_documents where collection = ${collection} returning 1)
        select count(*) as deleted from gone`

/** How many documents a collection has, or an owner in it; they are counted as they are written. */
export const documentsSql = (collection: string, owner = ''): Sql<{ documents: number }> => sql`
  select cast(coalesce(sum(documents), 0) as bigint) as documents from store_counts
  where collection = ${collection} and owner = ${owner}`

/**
 * The collections that have documents behind a name, in the order of their names, with their numbers. It goes from name to name: each has
 * a row for every owner.
 */
export const selectStoredSql = (
  after: string,
  limit: number,
): Sql<{ collection: string; documents: number }> => sql`
  with recursive names (collection) as (
    select min(collection) from store_counts where collection > ${after}
    union all
    select (select min(c.collection) from store_counts c where c.collection > names.collection)
    from names where names.collection is not null
  )
  select collection, documents from (
    select names.collection, (
      select cast(sum(c.documents) as bigint) from store_counts c
      where c.collection = names.collection and c.owner = '') as documents
    from names where names.collection is not null) as counted
  where documents > 0 order by collection limit ${limit}`

/** How many bytes the documents of collections have as JSON. They are added up. */
export const selectBytesSql = (
  collections: readonly string[],
): Sql<{ collection: string; bytes: number }> => sql`
  select collection, cast(sum(bytes) as bigint) as bytes from store_documents
  where ${isOneOf('collection', collections)} and ${sql.stoppable(sql`true`)} group by collection`

/** All documents of a collection, one after the other. */
export const allDocuments = sql`store_documents d ${sql.either({ sqlite: sql`not indexed`, postgres: sql`` })}`

/** Some documents of a collection, in the order of their ids or by their ids. */
export const documentsInOrder = sql`store_documents d`

/** Those of an owner. SQLite would choose the primary key and read the documents of all. */
export const documentsOfOwner = sql`store_documents d ${sql.either({ sqlite: sql`indexed by store_documents_owner`, postgres: sql`` })}`

/** The id behind so many others of a collection. */
export const middleSql = (collection: string, before: number): Sql<{ id: string }> => sql`
  select d.id from ${allDocuments} where d.collection = ${collection} and ${sql.stoppable(sql`true`)}
  order by d.id limit 1 offset ${before}`
