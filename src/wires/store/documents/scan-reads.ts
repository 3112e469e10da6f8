import { parseJson } from '../../../base/json.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Json } from './query/filter.ts'
import type { ListQuery } from './query/index.ts'

const PAGE_BYTES = 4_194_304
// A page of up to so many documents is read without measuring them, unless one of them is too large for that.
const SHORT_LIMIT = 32
// Documents that a short page may skip over on the way; else it is read where it stalls nobody, like a long one.
const SHORT_OFFSET = 1000

/** What a page is read from. */
export type PageSource = {
  readonly db: Database
  readonly query: ListQuery
  /** The condition of row `d` that it is of the list's collection, and of an owner if the list is. */
  readonly inReach: Sql
  readonly collection: string
  readonly limit: number
  readonly offset: number
  readonly options: ScanOptions
  /** Counts the documents in reach. */
  readonly countAll: () => Promise<number>
}

/** A document of a page; `fetched` is how many the page would have if it had no limit of bytes, where that was asked. */
export type Found = { id: string; body: string; fetched?: number }

/** Reads the total of a list, and a page of it with one document more than it shows, if there is one. */
export type PageReads = () => Promise<{ total: number; found: Found[] }>

type ShortFound = { id: string; body: string | null }

/** Looks into the documents one after the other. */
export function scanReads({
  db,
  query,
  inReach,
  collection,
  limit,
  offset,
  options,
  countAll,
}: PageSource): PageReads {
  const scan = <R>(statement: Sql<R>): Promise<R[]> =>
    db.scan(statement, options).catch((error: unknown) => {
      throw query.faultOf(error)
    })

  async function count(): Promise<number> {
    if (!query.filtered) return countAll()
    if (query.total !== undefined) return query.total
    const [row] = await scan(
      sql<{ total: number }>`
        select count(*) as total from ${query.from} where ${inReach} and ${sql.stoppable(query.where)}`,
    )
    return row!.total
  }

  /** What comes after the cursor, whose key may be too long to be in it. */
  async function whereAfter(): Promise<Sql> {
    if (query.anchor === undefined) return query.whereAfter
    const anchor = await db.get<{ body: string }>(
      sql`select d.body from store_documents d where ${inReach} and d.id = ${query.anchor}`,
    )
    return query.exactAfter(anchor && (parseJson(anchor.body) as Json))
  }

  /** As many documents as fit into the bytes of a page, and one at least. */
  const readMeasured = (after: Sql): Promise<Found[]> =>
    scan(sql<Found>`
      select d.id, d.body, fetched from (
        select id, place, count(*) over () as fetched, sum(bytes) over (order by place) as bytes_so_far from (
          select d.id, d.bytes, row_number() over (order by ${query.orderBy}) as place
          from ${query.from} where ${inReach} and ${sql.stoppable(after)}
          order by place limit ${limit + 1} offset ${offset}
        ) as numbered
      ) as measured
      join store_documents d on d.collection = ${collection} and d.id = measured.id
      where bytes_so_far <= ${PAGE_BYTES} or place = ${offset + 1}
      order by place`)

  async function read(): Promise<Found[]> {
    const after = await whereAfter()
    if (limit > SHORT_LIMIT) return readMeasured(after)
    const isQuick = !query.scans && offset <= SHORT_OFFSET
    const where = isQuick ? after : sql`${sql.stoppable(after)}`
    const page = sql<ShortFound>`
      select d.id, case when d.bytes <= ${Math.floor(PAGE_BYTES / (limit + 1))} then d.body end as body
      from ${query.from} where ${inReach} and ${where}
      order by ${query.orderBy} limit ${limit + 1} offset ${offset}`
    const rows = await (isQuick ? db.all(page) : scan(page))
    return rows.every((row): row is Found => row.body !== null) ? rows : readMeasured(after)
  }

  return async () => {
    const [total, found] = await Promise.all([count(), read()])
    return { total, found }
  }
}
