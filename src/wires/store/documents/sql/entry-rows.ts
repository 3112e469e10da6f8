import { sql, type Dialect, type Sql } from '../../../../db/sql.ts'
import { jsonPath } from './sqlite/json.ts'
import type { Index } from '../indexes/definition.ts'
import type { DocumentEntries } from '../indexes/document-entries.ts'

const linesOf = (documents: readonly DocumentEntries[]) =>
  documents
    .flatMap(({ index, id, owner, entries }) =>
      entries.map(({ key, ends }) => ({
        i: index.id,
        k: key.toString('hex'),
        d: id,
        o: index.byOwner ? owner : null,
        e: ends,
        u: index.isUnique || null,
      })),
    )
    // In one order everywhere, so that two writers never wait for each other in a circle.
    .toSorted((a, b) => a.i - b.i || (a.k < b.k ? -1 : a.k > b.k ? 1 : 0))

// One text for all entries of a statement: it is the same whatever their number.
const rowsOf = (documents: readonly DocumentEntries[]): Sql => {
  const lines = JSON.stringify(linesOf(documents))
  return sql`${sql.either({
    sqlite: sql`(
      select value ->> 'i' as index_id, unhex(value ->> 'k') as key, value ->> 'd' as id, value ->> 'o' as owner,
        value ->> 'e' as ends, value ->> 'u' as is_unique
      from json_each(${lines}))`,
    postgres: sql`(
      select i as index_id, decode(k, 'hex') as key, d as id, o as owner, e as ends, u as is_unique
      from json_to_recordset(${lines}::json) as line (i bigint, k text, d text, o text, e integer, u boolean))`,
  })}`
}

/** Inserts entries, and changes those that are there. */
export const putEntriesSql = (dialect: Dialect, documents: readonly DocumentEntries[]): Sql =>
  dialect === 'postgres'
    ? sql`
        insert into store_entries (index_id, key, id, owner, ends, is_unique)
        select new.index_id, new.key, new.id, new.owner, new.ends, new.is_unique
        from ${rowsOf(documents)} as new
        where true
        order by new.index_id, new.key
        on conflict (index_id, key, id) do update set
          owner = excluded.owner, ends = excluded.ends, is_unique = excluded.is_unique`
    : sql.forEach(
        `insert into store_entries (index_id, key, id, owner, ends, is_unique)
        values (?1, unhex(?2), ?3, ?4, ?5, ?6)
        on conflict (index_id, key, id) do update set
          owner = excluded.owner, ends = excluded.ends, is_unique = excluded.is_unique`,
        linesOf(documents).map(({ i, k, d, o, e, u }) => [i, k, d, o, e, u && 1]),
      )

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
export const deleteSomeSql = (indexId: number, limit: number): Sql<{ deleted: number }> => {
  const some = sql`from store_entries where index_id = ${indexId} order by key, id limit ${limit}`
  // By their keys PostgreSQL would read the whole table to find them.
  return sql`
    delete from store_entries
    where ${sql.either({
      sqlite: sql`(index_id, key, id) in (select index_id, key, id ${some})`,
      postgres: sql`ctid = any(array(select ctid ${some}))`,
    })}
    returning 1 as deleted`
}

/**
 * The next documents that a build reads, with the fields that the paths begin with; at least one, if there is any. On PostgreSQL
 * they do not change until the end of the transaction.
 */
export function selectNextSql(
  { collection, fields }: Index,
  after: string,
  limit: number,
  bytes: number,
): Sql<{ line: string }> {
  const names = [...new Set(fields.map(({ path }) => path[0]!))]
  const members = (memberOf: (name: string) => Sql): Sql =>
    sql.join(names.map((name) => sql`cast(${name} as text), ${memberOf(name)}`))
  const isNext = sql`collection = ${collection} and id > ${after}`
  return sql`
    select ${sql.either({
      sqlite: sql`json_array(id, owner, json_object(${members((name) => sql`doc -> ${jsonPath([name])}`)}))`,
      postgres: sql`
        cast(json_build_array(id, owner, json_build_object(${members((name) => sql`body -> ${name}`)})) as text)`,
    })} as line
    from store_documents
    where ${isNext} and id <= (
      select max(id) from (
        select id, sum(bytes) over (order by id) - bytes as bytes_before
        from (select id, bytes from store_documents where ${isNext} order by id limit ${limit}) as next
      ) as fitting
      where bytes_before < ${bytes})
    order by id ${sql.sharedLock}`
}
