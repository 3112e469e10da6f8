import { sql, type Dialect, type Sql } from '../../../db/sql.ts'
import type { LogPosition } from './position.ts'

type Place = Omit<LogPosition, 'at'>

/** What a row takes beside the document in it. */
const ROW_BYTES = 100

/** The last of the changes that are older than a time; no row if there is none. Only those are passed, and one more. */
export const selectOlderSql = (dialect: Dialect, before: number): Sql<Place> =>
  dialect === 'sqlite'
    ? sql`
        select 0 as xid, seq from store_changes
        where seq < coalesce(
          (select seq from store_changes where at >= ${before} order by seq limit 1), ${Number.MAX_SAFE_INTEGER})
        order by seq desc limit 1`
    : sql`
        with kept as (select xid, seq from store_changes where at >= ${before} order by xid, seq limit 1)
        select cast(cast(xid as text) as bigint) as xid, seq from store_changes
        where xid < pg_snapshot_xmin(pg_current_snapshot())
          and (not exists (select from kept) or (xid, seq) < (select xid, seq from kept))
        order by store_changes.xid desc, seq desc limit 1`

/** The last change of those that are too many: behind it there are so many bytes. */
export const selectExcessSql = (dialect: Dialect, bytes: number): Sql<Place> => {
  const newest = sql.literal(dialect === 'sqlite' ? 'seq desc' : 'xid desc, seq desc')
  const size = sql.either({
    sqlite: sql`coalesce(octet_length(old), 0)`,
    postgres: sql`bytes`,
  })
  const xid = sql.literal(dialect === 'sqlite' ? '0' : 'cast(cast(xid as text) as bigint)')
  return sql`
    select ${xid} as xid, seq from (
      select ${sql.literal(dialect === 'sqlite' ? '' : 'xid,')} seq,
        sum(${size} + ${ROW_BYTES}) over (order by ${newest}) as bytes
      from store_changes
      ${sql.either({ sqlite: sql``, postgres: sql`where xid < pg_snapshot_xmin(pg_current_snapshot())` })}
    ) as sized
    where bytes > ${bytes}
    order by ${newest} limit 1`
}

/** Deletes the first changes up to a position. */
export const deleteFirstSql = (dialect: Dialect, { xid, seq }: Place, count: number): Sql<Place> =>
  dialect === 'sqlite'
    ? sql`
        delete from store_changes where seq in (
          select seq from store_changes where seq <= ${seq} order by seq limit ${count})
        returning 0 as xid, seq`
    : sql`
        delete from store_changes where (xid, seq) in (
          select xid, seq from store_changes
          where (xid, seq) <= (cast(cast(${xid} as text) as xid8), cast(${seq} as bigint))
          order by xid, seq limit ${count})
        returning cast(cast(xid as text) as bigint) as xid, seq`

/** Notes up to where changes are deleted. */
export const raiseFloorSql = ({ xid, seq }: Place): Sql => sql`
  update store_feed set floor_xid = ${xid}, floor_seq = ${seq}
  where (floor_xid, floor_seq) < (${xid}, ${seq})`
