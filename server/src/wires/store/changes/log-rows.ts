import { isOneOf } from '../../../db/is-one-of.ts'
import { sql, type Dialect, type Sql } from '../../../db/sql.ts'
import { LOG_START, type LogPosition } from './position.ts'

/** A row of the log with the document as it is now; without one, `seq` is null. */
export type LogRow = LogState & {
  readonly xid: number
  readonly seq: number | null
  readonly collection: string
  readonly id: string
  /** The new one; 0: deleted. */
  readonly version: number
  readonly owner: string
  readonly at: number
  readonly old: string | null
  readonly now_version: number | null
  readonly now_owner: string
  /** Null in rows of a document behind its first one. */
  readonly body: string | null
  readonly found: number
  /** 0: without documents, because they are too large. */
  readonly is_read: number
}

/** What holds for the whole log at the moment of a read. */
export type LogState = {
  readonly generation: string
  readonly floor_xid: number
  readonly floor_seq: number
  /** Changes up to here can be read now. */
  readonly end_xid: number
  readonly end_seq: number
  readonly end_at: number
  /** Whether changes behind the end wait for an older transaction that is running. */
  readonly is_held: number
  /** Whether the row at the position that was asked for is still that row. */
  readonly is_same: number
}

const XMIN = sql`pg_snapshot_xmin(pg_current_snapshot())`

/** The last row that can be read, or up to where rows are deleted. */
const LAST = sql.either({
  sqlite: sql`select 0 as xid, seq, at from store_changes order by seq desc limit 1`,
  postgres: sql`
    select cast(cast(xid as text) as bigint) as xid, seq, at from store_changes where xid < ${XMIN}
    order by store_changes.xid desc, seq desc limit 1`,
})

const IS_HELD = sql.either({
  sqlite: sql`0`,
  postgres: sql`exists (select from store_changes where xid >= ${XMIN})`,
})

const isSame = ({ xid, seq, at }: LogPosition): Sql => sql`
  ((f.floor_xid = ${xid} and f.floor_seq = ${seq}) or exists (
    select 1 from store_changes where at = ${at} and ${sql.either({
      sqlite: sql`seq = ${seq}`,
      postgres: sql`(xid, seq) = (cast(cast(${xid} as text) as xid8), cast(${seq} as bigint))`,
    })}))`

const stateSql = (position: LogPosition): Sql => sql`
  f.generation, f.floor_xid, f.floor_seq, coalesce(last.xid, f.floor_xid) as end_xid,
  coalesce(last.seq, f.floor_seq) as end_seq, coalesce(last.at, 0) as end_at, ${IS_HELD} as is_held,
  ${isSame(position)} as is_same`

// Of the last rows a deleted account may have taken some with it.
const FEED = sql`
  store_feed f left join (${LAST}) as last on (last.xid, last.seq) >= (f.floor_xid, f.floor_seq)`

/** The state of the log, and whether a position is one of it. */
export const selectStateSql = (position = LOG_START): Sql<LogState> =>
  sql`select ${stateSql(position)} from ${FEED}`

/** Where the log ends. */
export const endOf = ({ end_xid: xid, end_seq: seq, end_at: at }: LogState): LogPosition => ({ xid, seq, at })

/** Where a row is. */
export const positionOf = ({ xid, seq, at }: LogRow): LogPosition => ({ xid, seq: seq!, at })

const isAfter = ({ xid, seq }: LogPosition): Sql =>
  sql`${sql.either({
    sqlite: sql`c.seq > ${seq}`,
    postgres: sql`(c.xid, c.seq) > (cast(cast(${xid} as text) as xid8), cast(${seq} as bigint)) and c.xid < ${XMIN}`,
  })}`

const OLD_BYTES = sql.either({ sqlite: sql`coalesce(octet_length(c.old), 0)`, postgres: sql`c.bytes` })
const NOW_BYTES = sql.either({
  sqlite: sql`coalesce(octet_length(d.doc), 0)`,
  postgres: sql`coalesce(d.bytes, 0)`,
})

/** How much a page has. */
export type PageSize = {
  readonly limit: number
  /** Of documents, which only the first row may exceed. */
  readonly bytes: number
  /** Whether the first row is to come without documents if it exceeds it. */
  readonly isStrict?: boolean
}

/**
 * Changes of collections behind a position, in order; at least one row, which has the state of the log. Positions and lengths
 * are read first, and documents only of the rows that are returned: a document as it is now, once. `found` is how many rows
 * there are up to the limit.
 *
 * @param collections undefined: all of them
 */
export const selectChangesSql = (
  dialect: Dialect,
  after: LogPosition,
  collections: readonly string[] | undefined,
  { limit, bytes, isStrict = false }: PageSize,
): Sql<LogRow> => {
  const isSqlite = dialect === 'sqlite'
  const order = sql.literal(isSqlite ? 'seq' : 'xid, seq')
  const isRead = isStrict ? sql`p.through <= ${bytes}` : sql.literal('true')
  return sql`
    select ${stateSql(after)}, ${sql.literal(isSqlite ? '0' : 'cast(cast(p.xid as text) as bigint)')} as xid, p.seq, c.collection, c.id,
      c.version, c.owner, c.at, case when ${isRead} then ${sql.literal(isSqlite ? 'json(c.old)' : 'c.old')} end as old,
      d.version as now_version, d.owner as now_owner, case when p.place = 1 and ${isRead} then d.body end as body, p.found,
      ${isRead} as is_read
    from ${FEED} left join (
      select p.*, count(*) over () as found, row_number() over (order by ${order}) as row,
        sum(old_bytes + case when place = 1 then now_bytes else 0 end)
          over (order by ${order} rows unbounded preceding) as through
      from (
        select p.*, row_number() over (partition by collection, id order by ${order}) as place
        from (
          select ${sql.literal(isSqlite ? '' : 'c.xid,')} c.seq, c.collection, c.id, ${OLD_BYTES} as old_bytes,
            ${NOW_BYTES} as now_bytes
          from store_changes c left join store_documents d on d.collection = c.collection and d.id = c.id
          where ${isAfter(after)} ${collections ? sql`and ${isOneOf('c.collection', collections)}` : sql.literal('')}
          order by ${sql.literal(isSqlite ? 'c.seq' : 'c.xid, c.seq')}
          limit ${limit}
        ) as p
      ) as p
    ) as p on p.through <= ${bytes} or p.row = 1
    left join store_changes c on ${sql.literal(isSqlite ? '' : 'c.xid = p.xid and')} c.seq = p.seq
    left join store_documents d on d.collection = c.collection and d.id = c.id
    order by ${sql.literal(isSqlite ? 'p.seq' : 'p.xid, p.seq')}`
}
