import { sql, type Dialect, type Sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import { isVersion, type IndexSet } from './indexes/index-rows.ts'

/** A document to insert; `body` is its JSON as it is answered. */
export type NewDocument = { collection: string; id: string; owner: string; body: string }

/** A document as JSON text, ready to be answered, with the number of its changes. */
export type StoredDocument = { body: string; version: number }

/** With the account that it belongs to. */
export type OwnedDocument = StoredDocument & { owner: string }

/** The column that a document is written to; the others are generated from it. */
export const storedColumn: Sql = sql`${sql.either({ sqlite: sql`doc`, postgres: sql`body` })}`

/** A document's text as it is written to that column. */
export const storedSql = (body: string | Sql): Sql =>
  sql`${sql.either({ sqlite: sql`jsonb(${body})`, postgres: sql`cast(${body} as json)` })}`

export const selectSql = (collection: string, id: string): Sql<OwnedDocument> =>
  sql`select body, version, owner from store_documents where collection = ${collection} and id = ${id}`

/** Inserts a document; no row if there is one with its id. */
export const insertSql = (
  dialect: Dialect,
  { collection, id, owner, body }: NewDocument,
  { version: index_set }: IndexSet,
): Sql<{ collection: string; id: string }> =>
  dialect === 'postgres'
    ? sql.insert('store_documents', { collection, id, owner, version: 1, index_set, body }, [
        'collection',
        'id',
      ])
    : sql`
        insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
        values (${collection}, ${id}, ${owner}, 1, ${index_set}, ${storedSql(body)})
        on conflict (collection, id) do nothing
        returning collection, id`

/** Replaces a document that nobody has changed since its version was read; no row if somebody has. */
export const updateSql = (
  collection: string,
  id: string,
  { body, version }: StoredDocument,
  set: IndexSet,
): Sql<{ version: number }> => sql`
  update store_documents set ${storedColumn} = ${storedSql(body)}, version = version + 1
  where collection = ${collection} and id = ${id} and version = ${version}
    and ${isVersion(collection, set.version)}
  returning version`

/**
 * Deletes a document within reach; no row if there is none.
 *
 * @param expected only if this is its version
 */
export const deleteSql = (
  collection: string,
  id: string,
  { owner }: RowFilter,
  expected: number | undefined,
  set: IndexSet,
): Sql<{ id: string }> => sql`
  delete from store_documents
  where collection = ${collection} and id = ${id}
    ${owner === undefined ? sql.literal('') : sql`and owner = ${owner}`}
    ${expected === undefined ? sql.literal('') : sql`and version = ${expected}`}
    and ${isVersion(collection, set.version)}
  returning id`
