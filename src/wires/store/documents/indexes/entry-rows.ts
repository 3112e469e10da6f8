import { sql, type Sql } from '../../../../db/sql.ts'
import type { DocumentEntries } from './document-entries.ts'

/** The versions that documents were read with, by id. */
export type Versions = ReadonlyMap<string, number>

// One text for all entries of a statement: it is the same whatever their number.
const linesOf = (documents: readonly DocumentEntries[], versions?: Versions): string =>
  JSON.stringify(
    documents
      .flatMap(({ index, id, owner, entries }) =>
        entries.map(({ key, ends }) => ({
          i: index.id,
          k: key.toString('hex'),
          d: id,
          o: index.byOwner ? owner : null,
          e: ends,
          u: index.isUnique || null,
          v: versions?.get(id),
        })),
      )
      // In one order everywhere, so that two writers never wait for each other in a circle.
      .toSorted((a, b) => a.i - b.i || (a.k < b.k ? -1 : a.k > b.k ? 1 : 0)),
  )

const rowsOf = (documents: readonly DocumentEntries[], versions?: Versions): Sql => {
  const lines = linesOf(documents, versions)
  return sql`${sql.either({
    sqlite: sql`(
      select value ->> 'i' as index_id, unhex(value ->> 'k') as key, value ->> 'd' as id, value ->> 'o' as owner,
        value ->> 'e' as ends, value ->> 'u' as is_unique, value ->> 'v' as version
      from json_each(${lines}))`,
    postgres: sql`(
      select i as index_id, decode(k, 'hex') as key, d as id, o as owner, e as ends, u as is_unique, v as version
      from json_to_recordset(${lines}::json) as line (
        i bigint, k text, d text, o text, e integer, u boolean, v bigint))`,
  })}`
}

// An entry that is there is in the unique index too, which SQLite may look at before the primary key.
const ifNotThere = sql.either({
  sqlite: sql`and not exists (
    select 1 from store_entries old
    where old.index_id = new.index_id and old.key = new.key and old.id = new.id)`,
  postgres: sql``,
})

/** Inserts entries that are not there yet. */
export const insertEntriesSql = (documents: readonly DocumentEntries[]): Sql =>
  insertRowsSql(rowsOf(documents), sql`true`)

/** Likewise, but only those of documents that still have the version that they were read with. */
export const insertUnchangedSql = (
  collection: string,
  documents: readonly DocumentEntries[],
  versions: Versions,
): Sql =>
  insertRowsSql(
    rowsOf(documents, versions),
    // With an offset PostgreSQL looks each up by its key, whatever it knows of the tables.
    sql`exists (
      select 1 from store_documents d
      where d.collection = ${collection} and d.id = new.id and d.version = new.version limit 1 offset 0)`,
  )

const insertRowsSql = (rows: Sql, only: Sql): Sql => sql`
  insert into store_entries (index_id, key, id, owner, ends, is_unique)
  select new.index_id, new.key, new.id, new.owner, new.ends, new.is_unique
  from ${rows} as new
  where ${only} ${ifNotThere}
  order by new.index_id, new.key
  on conflict (index_id, key, id) do nothing`

/** Notes which entries are now the first or last of their documents. */
export const moveEntriesSql = (documents: readonly DocumentEntries[]): Sql => sql`
  update store_entries set ends = new.ends from ${rowsOf(documents)} as new
  where store_entries.index_id = new.index_id and store_entries.key = new.key and store_entries.id = new.id`

export const deleteEntriesSql = (documents: readonly DocumentEntries[]): Sql => sql`
  delete from store_entries where (index_id, key, id) in (
    select gone.index_id, gone.key, gone.id from ${rowsOf(documents)} as gone)`

/** Entries of unique indexes that other documents have with the same keys. */
export const selectTakenSql = (
  documents: readonly DocumentEntries[],
): Sql<{ index_id: number; id: string; other: string }> => sql`
  select new.index_id, new.id, taken.id as other
  from ${rowsOf(documents)} as new
  join store_entries taken on taken.index_id = new.index_id and taken.key = new.key and taken.id <> new.id
  where taken.is_unique and new.is_unique
  order by new.index_id, new.id limit 1`

/** Deletes some of an index's entries. */
export const deleteSomeSql = (indexId: number, limit: number): Sql<{ deleted: number }> => sql`
  delete from store_entries where index_id = ${indexId} and (key, id) in (
    select key, id from store_entries where index_id = ${indexId} order by key, id limit ${limit})
  returning 1 as deleted`
