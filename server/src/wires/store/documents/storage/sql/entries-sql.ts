import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Position } from '../../language/query/bound.ts'
import type { KeyRange } from '../plan/key-range.ts'
import type { Plan } from '../plan/plan.ts'
import type { ServedOrder } from '../plan/served-order.ts'

/** The rows `e` of store_entries that a plan leads to. */
export type EntriesSql = {
  readonly from: Sql
  /** Yields nothing if the index is not as the plan took it any more. */
  readonly where: Sql
}

/**
 * @param owner of all documents of the list, if it is one; entries of indexes without owners are those of all of them
 * @param isPlannedOnce see `unseen`: where only the first of them are read
 */
export function entriesSql(
  { index, ranges }: Plan,
  owner: string | undefined,
  isPlannedOnce: boolean,
): EntriesSql {
  const value = isPlannedOnce ? unseen : (one: Sql): Sql => one
  const ofOwner = owner !== undefined && index.byOwner
  // SQLite's planner would take either for any list.
  const hint = sql.either({
    sqlite: sql.literal(ofOwner ? 'indexed by store_entries_owner' : 'not indexed'),
    postgres: sql``,
  })
  const mine = ofOwner ? sql` and e.owner = ${value(sql`${owner}`)}` : sql``
  const inIndex = sql`e.index_id = ${value(numberSql(index.id))}${mine}`
  const ready = isReadySql(index)
  const table = sql`store_entries e ${hint}`
  if (!ranges) return { from: table, where: sql`${inIndex} and ${ready}` }
  const [only] = ranges
  // SQLite takes no hint where nothing is looked for.
  if (!only) return { from: sql`store_entries e`, where: sql`false` }
  const [low, high] = [value(bytesSql(only.low)), value(bytesSql(only.high))]
  const within = only.isKey ? sql`e.key = ${low}` : sql`e.key >= ${low} and e.key < ${high}`
  if (ranges.length === 1) return { from: table, where: sql`${inIndex} and ${within} and ${ready}` }
  return {
    from: sql`${rangesSql(ranges)} as bounds cross join ${sql.either({
      sqlite: table,
      // So that each range is searched for.
      postgres: sql`lateral (
        select e.key, e.id from store_entries e
        where ${inIndex} and e.key >= bounds.low and e.key < bounds.high offset 0) as e`,
    })}`,
    where: sql`${sql.either({
      sqlite: sql`${inIndex} and e.key >= bounds.low and e.key < bounds.high and`,
      postgres: sql``,
    })} ${ready}`,
  }
}

/** Whether the index is as a plan took it: what is false then never comes true again. */
export const isReadySql = ({ id, hasArrays, hasCutKeys }: Plan['index']): Sql => sql`(
  select 1 from store_indexes i
  where i.id = ${id} and i.state = 'ready' and i.has_arrays = ${flag(hasArrays)} and i.has_cut_keys = ${flag(hasCutKeys)}
) = 1`

const flag = (value: boolean): Sql => sql.literal(String(value))

const bytesSql = (bytes: Buffer): Sql => {
  const hex = bytes.toString('hex')
  return sql`${sql.either({ sqlite: sql`unhex(${hex})`, postgres: sql`decode(${hex}, 'hex')` })}`
}

/**
 * A value that PostgreSQL's planner does not see. It keeps a plan if the values make no difference to it; else it plans each time
 * anew, for 0.2 ms.
 */
const unseen = (value: Sql): Sql => sql`${sql.either({ sqlite: value, postgres: sql`(select ${value})` })}`

/** `limit … offset …` that the planner does not see: for rows that are sorted whole whatever the limit. */
export const unseenLimitSql = (limit: number, offset: number): Sql =>
  sql`limit ${unseen(numberSql(limit))} offset ${unseen(numberSql(offset))}`

const numberSql = (value: number): Sql => sql`cast(${value} as bigint)`

// One text for all ranges: it is the same whatever their number. Those of whole keys end behind their first byte 0.
const rangesSql = (ranges: readonly KeyRange[]): Sql => {
  const lines = JSON.stringify(
    ranges.map(({ low, high, isKey }) => ({
      l: low.toString('hex'),
      h: isKey ? `${low.toString('hex')}00` : high.toString('hex'),
    })),
  )
  return sql`${sql.either({
    sqlite: sql`(select unhex(value ->> 'l') as low, unhex(value ->> 'h') as high from json_each(${lines}))`,
    postgres: sql`(
      select decode(l, 'hex') as low, decode(h, 'hex') as high
      from json_to_recordset(${lines}::json) as line (l text, h text))`,
  })}`
}

/** The order of entries, as SQL. */
export type EntryOrder = {
  /** What stands behind `order by`, of rows with `key` and `id`. */
  readonly by: (row: Sql) => Sql
  /** Whether the ids of each key have to be sorted. */
  readonly sortsIds: boolean
  /** What the rows `e` must meet, also: that they come after the position of a cursor. */
  readonly after: Sql
}

/** @returns undefined if the place of the position among the entries is not known */
export function entryOrderOf(order: ServedOrder, position: Position | undefined): EntryOrder | undefined {
  const [toward, beyond] = wordsOf(order.isBackward)
  const [idToward, idBeyond] = wordsOf(order.idDescending)
  const by = (row: Sql): Sql => sql`${row}.key ${toward}, ${row}.id ${idToward}`
  // Said by what it is not: without statistics PostgreSQL takes such entries for most, and reads them in order.
  const onlyEnd = order.end === undefined ? sql`` : sql`and e.ends not in (0, ${3 - order.end})`
  const sortsIds = order.isBackward !== order.idDescending
  if (position === undefined) return { by, sortsIds, after: onlyEnd }
  const whole = order.keyOf(position)
  if (whole === undefined) return undefined
  const key = unseen(bytesSql(whole))
  const id = unseen(sql`${position.id}`)
  const isBehind = sortsIds
    ? sql`e.key ${beyond}= ${key} and (e.key ${beyond} ${key} or e.id ${idBeyond} ${id})`
    : sql`(e.key, e.id) ${beyond} (${key}, ${id})`
  return { by, sortsIds, after: sql`${onlyEnd} and ${isBehind}` }
}

const wordsOf = (isDescending: boolean): readonly [Sql, Sql] =>
  isDescending ? [sql.literal('desc'), sql.literal('<')] : [sql.literal('asc'), sql.literal('>')]

/** Counts the entries of a plan, no further than one beyond a limit. */
export const countEntriesSql = (
  plan: Plan,
  owner: string | undefined,
  limit: number,
): Sql<{ entries: number }> => {
  const { from, where } = entriesSql(plan, owner, true)
  return sql`
    select count(*) as entries from (
      select 1 as entry from ${from} where ${where} limit ${sql.literal(String(limit + 1))}
    ) as found`
}

const FIRST_MAX = 100

/**
 * The first of some rows.
 *
 * @param order what stands behind `order by`, of rows `e`
 * @param limit at most `FIRST_MAX`
 */
export const firstSql = (rows: Sql, order: Sql, limit: number): Sql =>
  sql`${sql.either({
    sqlite: sql`${rows} order by ${order} limit ${limit}`,
    // The limit that the planner sees keeps it from sorting all rows.
    postgres: sql`select * from (${rows} order by ${order} limit ${sql.literal(String(FIRST_MAX))}) as e
      order by ${order} limit ${unseen(numberSql(limit))}`,
  })}`

/**
 * The documents `d` of entries `e`, each found by its id: PostgreSQL's planner would read all where it takes the entries for many.
 *
 * @param entries what stands behind `from`
 * @param scope the condition that a document is of the list's collection and owner
 */
export function documentsOfEntries(entries: Sql, scope: Sql): { readonly from: Sql; readonly where: Sql } {
  const ofEntry = sql`${scope} and d.id = e.id`
  const documents = sql.either({
    sqlite: sql`store_documents d`,
    postgres: sql`lateral (
      select d.id, d.owner, d.bytes, d.doc, d.body from store_documents d where ${ofEntry} offset 0) as d`,
  })
  return {
    from: sql`${entries} cross join ${documents}`,
    where: sql`${sql.either({ sqlite: ofEntry, postgres: sql`true` })}`,
  }
}
