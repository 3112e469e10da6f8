import { sql, type Sql } from '../../../db/sql.ts'
import type { MakeRoom } from '../../../http/route.ts'

/** The bytes that the documents of a page have at most, if it has more than one. */
export const PAGE_BYTES = 4_194_304
/** A page of up to so many documents is read without measuring them, unless one of them is too large for that. */
export const SHORT_LIMIT = 32
/** What such a page has at most before room is made for it. */
const SMALL_PAGE_BYTES = 262_144
/** Rows that a short page may skip over on the way; else it is read where it stalls nobody, like a long one. */
export const SHORT_OFFSET = 1000

// The texts of the documents, and the answer that is made of them.
const COPIES = 2

/** A document of a page; `fetched` is how many the page would have if it had no limit of bytes, where that was asked. */
export type Found = { id: string; body: string; fetched?: number }

type ShortFound = { id: string; body: string | null }

/** Where the documents of a page are found: rows `d` among others, and their order. */
export type PageRows = {
  readonly collection: string
  readonly limit: number
  readonly from: Sql
  readonly where: Sql
  readonly orderBy: Sql
  /** Ends the query, unless `from` is limited itself. */
  readonly limited: Sql
  readonly makeRoom: MakeRoom
}

/** As many documents as fit into the bytes of a page, and one at least. */
const measuredSql = ({ collection, from, where, orderBy, limited }: PageRows): Sql<Found> => sql<Found>`
  select d.id, d.body, fetched from (
    select id, place, count(*) over () as fetched, sum(bytes) over (order by place) as bytes_so_far from (
      select id, bytes, row_number() over () as place from (
        select d.id, d.bytes from ${from} where ${where} order by ${orderBy} ${limited}
      ) as ordered
    ) as numbered
  ) as measured
  join store_documents d on d.collection = ${collection} and d.id = measured.id
  where bytes_so_far <= ${PAGE_BYTES} or place = 1
  order by place`

/** Without the bodies that are larger than their share of these bytes. */
const unmeasuredSql = ({ limit, from, where, orderBy, limited }: PageRows, bytes: number): Sql<ShortFound> =>
  sql<ShortFound>`
    select d.id, case when d.bytes <= ${Math.floor(bytes / (limit + 1))} then d.body end as body
    from ${from} where ${where} order by ${orderBy} ${limited}`

const isWhole = (rows: readonly ShortFound[]): rows is Found[] => rows.every(({ body }) => body !== null)

/**
 * Reads the documents of a page.
 *
 * @param readShort reads few rows
 */
export async function readPage(
  page: PageRows,
  readShort: <R>(query: Sql<R>) => Promise<R[]>,
  readLong: <R>(query: Sql<R>) => Promise<R[]>,
): Promise<Found[]> {
  const { limit, makeRoom } = page
  if (limit <= SHORT_LIMIT) {
    // Few scans run at once, so they need no room.
    const small = await readShort(unmeasuredSql(page, readShort === readLong ? PAGE_BYTES : SMALL_PAGE_BYTES))
    if (isWhole(small)) return small
  }
  await makeRoom(COPIES * PAGE_BYTES)
  if (limit <= SHORT_LIMIT && readShort !== readLong) {
    const rows = await readShort(unmeasuredSql(page, PAGE_BYTES))
    if (isWhole(rows)) return rows
  }
  return readLong(measuredSql(page))
}
