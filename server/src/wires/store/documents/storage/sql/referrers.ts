import { sql, type Sql } from '../../../../../db/sql.ts'
import { DEAD } from '../entries/entries.ts'
import type { Index } from '../entries/index-definition.ts'
import { storedKey } from '../plan/key-range.ts'
import { sortKeyOf } from '../../language/query/sort-key.ts'

/**
 * Some of the documents that have one of some keys in an index, by their ids. Of the entries, of which a document has
 * at most one for each key, no more are read than that takes.
 *
 * @param limit how many documents at most
 */
export const selectWithKeysSql = (
  index: Pick<Index, 'id'>,
  keys: readonly Buffer[],
  limit: number,
): Sql<{ id: string }> => sql`
  select distinct id from (
    select e.id from store_entries e where ${hasKey(index, keys)}
    limit ${limit * keys.length}
  ) as found
  order by id limit ${limit}`

/** Likewise of those that have one of some texts in the field of an index. */
export const selectReferrersSql = (
  index: Pick<Index, 'id'>,
  targets: readonly string[],
  limit: number,
): Sql<{ id: string }> => selectWithKeysSql(index, targets.map(referenceKey), limit)

/**
 * The condition that no document has one of some texts in the field of an index, for the statement of a batch that depends on it.
 * It does not hold either if the index is not ready, because it lacks entries then.
 *
 * @example
 * requireRow(sql`select 1 as free where ${hasNoReferrers(index, [id])}`, () => errors.conflict())
 */
export const hasNoReferrers = (index: Pick<Index, 'id'>, targets: readonly string[]): Sql => sql`
  exists (select 1 from store_indexes i where i.id = ${index.id} and i.state = 'ready')
  and not exists (select 1 from store_entries e where ${hasKeyOf(index, targets)})`

/** The condition that no document has anything in the field of an index. */
export const hasNoEntries = (index: Pick<Index, 'id'>): Sql => sql`
  exists (select 1 from store_indexes i where i.id = ${index.id} and i.state = 'ready')
  and not exists (
    select 1 from store_entries e where e.index_id = ${index.id} and e.ends <> ${sql.literal(String(DEAD))})`

/** The key of a text in the index of a field. */
export const referenceKey = (target: string): Buffer => storedKey(sortKeyOf(target))

const hasKeyOf = (index: Pick<Index, 'id'>, targets: readonly string[]): Sql =>
  hasKey(index, targets.map(referenceKey))

function hasKey({ id }: Pick<Index, 'id'>, wanted: readonly Buffer[]): Sql {
  // One text for all keys: the statement is the same whatever their number.
  const keys = JSON.stringify(wanted.map((key) => key.toString('hex')))
  return sql`
    e.index_id = ${id} and e.ends <> ${sql.literal(String(DEAD))} and ${sql.either({
      sqlite: sql`e.key in (select unhex(value) from json_each(${keys}))`,
      // An array, so that each key is searched for, whatever the planner takes their number for.
      postgres: sql`e.key = any(array(select decode(value, 'hex') from json_array_elements_text(${keys}::json)))`,
    })}`
}

/** The documents that have a text in the field of an index, the latest ids first, from before an id on. */
export const selectReferrersBeforeSql = (
  index: Pick<Index, 'id'>,
  target: string,
  before: string | undefined,
  limit: number,
): Sql<{ id: string }> => sql`
  select e.id from store_entries e where ${hasKeyOf(index, [target])}
    ${before === undefined ? sql`` : sql`and e.id < ${before}`}
  order by e.id desc limit ${limit}`

/** Which of some texts a document has in the field of one of some indexes; an index that is not ready is not asked. */
export function selectReferredSql(
  indexes: readonly Pick<Index, 'id'>[],
  targets: readonly string[],
): Sql<{ target: string }> {
  const wanted = JSON.stringify(targets.map((target) => [target, referenceKey(target).toString('hex')]))
  // No join: with a limit each text is looked up by itself, whatever the planner takes the number of entries for.
  const hasEntry = ({ id }: Pick<Index, 'id'>): Sql => sql`
    (exists (select 1 from store_indexes i where i.id = ${id} and i.state = 'ready') and (
      select 1 from store_entries e
      where e.index_id = ${id} and e.key = wanted.key and e.ends <> ${sql.literal(String(DEAD))} limit 1) is not null)`
  return sql`
    select wanted.target from ${sql.either({
      sqlite: sql`(
        select value ->> 0 as target, unhex(value ->> 1) as key from json_each(${wanted}))`,
      postgres: sql`(
        select value ->> 0 as target, decode(value ->> 1, 'hex') as key from json_array_elements(${wanted}::json))`,
    })} as wanted
    where ${sql.join(indexes.map(hasEntry), ' or ')}`
}
