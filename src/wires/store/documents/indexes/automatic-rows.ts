import { sql, type Sql } from '../../../../db/sql.ts'
import type { Definition } from './definition.ts'
import { insertIndexSql, type IndexRow } from './index-rows.ts'

const isKept = sql.literal(`source = 'automatic' and state in ('building', 'ready')`)
// One that was never used counts from when it could have been.
const usedAt = sql.literal('coalesce(last_used_at, finished_at, created_at)')

/** Inserts an automatic index unless there is one of these fields, or as many automatic ones as there may be. */
export const insertAutomaticSql = (definition: Definition, max: number, now: number): Sql => sql`
  ${insertIndexSql(definition, 'automatic', now)} and ${hasFewer(definition.collection, max)}`

const hasFewer = (collection: string, max: number): Sql => sql`
  (select count(*) from store_indexes where collection = ${collection} and ${isKept}) < ${max}`

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
