import { sql, type Dialect, type Sql } from '../../../../../db/sql.ts'
import { jsonPath } from './sqlite/json.ts'
import type { Index } from '../entries/index-definition.ts'
import type { DocumentEntries } from '../entries/document-entries.ts'
import { DEAD } from '../entries/entries.ts'

const linesOf = (documents: readonly DocumentEntries[]) =>
  documents
    .flatMap(({ index, id, owner, entries }) =>
      entries.map(({ key, ends }) => ({
        i: index.id,
        k: key.toString('hex'),
        d: id,
        o: index.byOwner ? owner : null,
        e: ends,
        u: (index.isUnique && ends !== DEAD) || null,
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

/** Deletes the entries of an index whose documents are gone. */
export const deleteOrphansSql = ({ id, collection }: Pick<Index, 'id' | 'collection'>): Sql => sql`
  delete from store_entries where index_id = ${id} and not exists (
    select 1 from store_documents d where d.collection = ${collection} and d.id = store_entries.id)`

/** Deletes some of an index's entries. */
export const deleteSomeSql = (indexId: number, limit: number): Sql<{ deleted: number }> =>
  deleteChosenSql(sql`where index_id = ${indexId} order by key, id limit ${limit}`)

/** Deletes some of the dead entries of an index that is built, without waiting for writers. */
export const deleteSomeDeadSql = (indexId: number, limit: number): Sql<{ deleted: number }> =>
  deleteChosenSql(sql`
    where index_id = ${indexId} and ${isDead} limit ${limit}
    ${sql.either({ sqlite: sql``, postgres: sql`for update skip locked` })}`)

/** Deletes all of them. */
export const deleteDeadSql = (indexId: number): Sql =>
  deleteChosenSql(sql`where index_id = ${indexId} and ${isDead}`)

// By their keys PostgreSQL would read the whole table to find them.
const deleteChosenSql = (chosen: Sql): Sql<{ deleted: number }> => sql`
  delete from store_entries
  where ${sql.either({
    sqlite: sql`(index_id, key, id) in (select index_id, key, id from store_entries ${chosen})`,
    postgres: sql`ctid = any(array(select ctid from store_entries ${chosen}))`,
  })}
  returning 1 as deleted`

// In the text, so that the index of dead entries serves it.
const isDead = sql.literal(`ends = ${DEAD}`)

/** How many documents a collection has, up to a limit, and their bytes. */
export const measureSql = (
  collection: string,
  limit: number,
): Sql<{ documents: number; bytes: number }> => sql`
  select count(*) as documents, cast(coalesce(sum(bytes), 0) as bigint) as bytes
  from (select bytes from store_documents where collection = ${collection} limit ${limit}) as first`

/** The documents of an index's collection as a build reads them, each with the fields that the paths begin with. */
export function selectIndexedSql({
  collection,
  fields,
}: Pick<Index, 'collection' | 'fields'>): Sql<{ line: string }> {
  const names = [...new Set(fields.map(({ path }) => path[0]!))]
  const members = (memberOf: (name: string) => Sql): Sql =>
    sql.join(names.map((name) => sql`cast(${name} as text), ${memberOf(name)}`))
  return sql`
    select ${sql.either({
      sqlite: sql`json_array(id, owner, json_object(${members((name) => sql`doc -> ${jsonPath([name])}`)}))`,
      postgres: sql`
        cast(json_build_array(id, owner, json_build_object(${members((name) => sql`body -> ${name}`)})) as text)`,
    })} as line
    from store_documents where collection = ${collection}`
}

/** The entries of a batch of a build: see `EntryBatch`. */
const batchOf = (lines: string): Sql =>
  sql`${sql.either({
    sqlite: sql`(
      select unhex(value ->> 0) as key, value ->> 1 as id, value ->> 2 as owner, value ->> 3 as ends
      from json_each(${lines}))`,
    postgres: sql`(
      select decode(value ->> 0, 'hex') as key, value ->> 1 as id, value ->> 2 as owner,
        cast(value ->> 3 as integer) as ends
      from json_array_elements(${lines}::json))`,
  })}`

/** Inserts the entries of a batch that are not there yet, dead or not. The batch is in the order of keys. */
export const insertBatchSql = ({ id, isUnique }: Index, lines: string): Sql => sql`
  insert into store_entries (index_id, key, id, owner, ends, is_unique)
  select cast(${id} as bigint), new.key, new.id, new.owner, new.ends, ${sql.literal(isUnique ? 'true' : 'null')}
  from ${batchOf(lines)} as new
  where true
  on conflict (index_id, key, id) do nothing`

/** Two documents that have the same key, one of which at least is in a batch; none if they have changed since. */
export const selectTwiceSql = (
  { id: indexId }: Index,
  lines: string,
): Sql<{ id: string; other: string }> => sql`
  select min(id) as id, max(id) as other from (
    select new.key, new.id from ${batchOf(lines)} as new
    where not exists (
      select 1 from store_entries old
      where old.index_id = ${indexId} and old.key = new.key and old.id = new.id)
    union all
    select key, id from store_entries
    where index_id = ${indexId} and is_unique and key in (select key from ${batchOf(lines)} as new)
  ) as entry
  group by key having count(*) > 1 order by 1 limit 1`
