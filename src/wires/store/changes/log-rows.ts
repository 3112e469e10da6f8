import { isOneOf } from '../../../db/is-one-of.ts'
import { sql, type Dialect, type Sql } from '../../../db/sql.ts'
import type { LogPosition } from './position.ts'

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
  readonly body: string
  readonly found: number
}

/** What holds for the whole log at the moment of a read. */
export type LogState = {
  readonly generation: string
  readonly floor_xid: number
  readonly floor_seq: number
  /** Changes up to here can be read now. */
  readonly end_xid: number
  readonly end_seq: number
  /** Whether changes behind the end wait for an older transaction that is running. */
  readonly is_held: number
}

const XMIN = sql`pg_snapshot_xmin(pg_current_snapshot())`

const END = sql.either({
  sqlite: sql`0 as end_xid,
    coalesce((select seq from sqlite_sequence where name = 'store_changes'), 0) as end_seq, 0 as is_held`,
  postgres: sql`cast(cast(${XMIN} as text) as bigint) as end_xid, 0 as end_seq,
    exists (select from store_changes where xid >= ${XMIN}) as is_held`,
})

const STATE = sql`f.generation, f.floor_xid, f.floor_seq, ${END}`

/** The state of the log. */
export const selectStateSql: Sql<LogState> = sql`select ${STATE} from store_feed f`

const isAfter = ({ xid, seq }: LogPosition): Sql =>
  sql`${sql.either({
    sqlite: sql`c.seq > ${seq}`,
    postgres: sql`(c.xid, c.seq) > (cast(cast(${xid} as text) as xid8), cast(${seq} as bigint)) and c.xid < ${XMIN}`,
  })}`

const BYTES = sql.either({
  sqlite: sql`coalesce(octet_length(c.old), 0) + coalesce(octet_length(d.doc), 0)`,
  postgres: sql`c.bytes + coalesce(d.bytes, 0)`,
})

/**
 * Changes of collections behind a position, in order, up to about 4 MiB; at least one row, which has the state of the log.
 * `found` is how many there are up to the limit.
 *
 * @param collections undefined: all of them
 */
export const selectChangesSql = (
  dialect: Dialect,
  after: LogPosition,
  collections: readonly string[] | undefined,
  { limit, bytes }: { limit: number; bytes: number },
): Sql<LogRow> => {
  const isSqlite = dialect === 'sqlite'
  const order = sql.literal(isSqlite ? 'c.seq' : 'c.xid, c.seq')
  return sql`
    select ${STATE}, c.xid, c.seq, c.collection, c.id, c.version, c.owner, c.at, c.old, c.now_version, c.now_owner, c.body, c.found
    from store_feed f left join (
      select ${sql.literal(isSqlite ? '0' : 'cast(cast(c.xid as text) as bigint)')} as xid, c.seq, c.collection, c.id,
        c.version, c.owner, c.at, ${sql.literal(isSqlite ? 'json(c.old)' : 'c.old')} as old,
        c.now_version, c.now_owner, c.body, c.found
      from (
        select c.*, count(*) over () as found,
          coalesce(sum(c.bytes) over (order by ${order} rows between unbounded preceding and 1 preceding), 0) as before
        from (
          select ${sql.literal(isSqlite ? '' : 'c.xid,')} c.seq, c.collection, c.id, c.version, c.owner, c.at, c.old,
            d.version as now_version, d.owner as now_owner, d.body, ${BYTES} as bytes
          from store_changes c left join store_documents d on d.collection = c.collection and d.id = c.id
          where ${isAfter(after)} ${collections ? sql`and ${isOneOf('c.collection', collections)}` : sql.literal('')}
          order by ${order}
          limit ${limit}
        ) as c
      ) as c
      where c.before < ${bytes}
    ) as c on true
    order by c.xid, c.seq`
}
