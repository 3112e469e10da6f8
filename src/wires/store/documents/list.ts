import type { Key } from '../../../base/crypto.ts'
import { invalid } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import type { Fields } from './document-json.ts'
import type { Documents } from './documents.ts'
import type { Json } from './query/filter.ts'
import { listQuery, type ListParameters } from './query/index.ts'

const LARGEST_LIMIT = 1000
const PAGE_BYTES = 4_194_304
// A page of up to so many documents is read without measuring them, unless one of them is too large for that.
const SHORT_LIMIT = 32
// Documents that a short page may skip over on the way; else it is read where it stalls nobody, like a long one.
const SHORT_OFFSET = 1000

export type PageRequest = ListParameters & { limit: number; offset: number }

/** A page as it is answered; the documents as JSON text. */
export type Page = {
  bodies: string[]
  total: number
  limit: number
  offset: number
  nextCursor: string | undefined
}

type Found = { id: string; body: string; fetched?: number }
type ShortFound = { id: string; body: string | null }

/**
 * @param limitMs how long a query may take
 * @param key authenticates cursors
 */
export function createLists(db: Database, documents: Documents, limitMs: number, key: Key) {
  /**
   * Reads a page of a collection.
   * A page whose documents are very large holds fewer than asked for; its `limit` and `nextCursor` say so.
   *
   * @param options for whom the page is read, and when to stop
   * @throws validation_error at `/query/…`; unavailable if the query takes too long, or too many wait
   */
  return async function list(
    collection: string,
    rowFilter: RowFilter,
    asked: PageRequest,
    options: ScanOptions = {},
  ): Promise<Page> {
    const { offset } = asked
    const limit = Math.min(asked.limit, LARGEST_LIMIT)
    if (asked.cursor !== undefined && offset > 0)
      throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
    const query = listQuery(asked, `${collection} ${rowFilter.owner ?? ''}`, key)
    const mine: Sql = rowFilter.owner === undefined ? sql.literal('') : sql` and d.owner = ${rowFilter.owner}`
    const inReach = sql`d.collection = ${collection}${mine}`

    const scan = <R>(statement: Sql<R>): Promise<R[]> =>
      db.scan(statement, { limitMs, ...options }).catch((error: unknown) => {
        throw query.faultOf(error)
      })

    async function count(): Promise<number> {
      if (!query.filtered) return documents.count(collection, rowFilter)
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

    const [total, found] = await Promise.all([count(), read()])

    const cut = found.length <= limit && found.length < (found[0]?.fetched ?? 0)
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const more = last !== undefined && (cut || found.length > limit)
    return {
      bodies: shown.map(({ body }) => body),
      total,
      limit: cut ? shown.length : limit,
      offset,
      nextCursor: more
        ? query.cursorAfter(
            query.scans ? (parseJson(last.body) as Fields) : { _id: last.id },
            query.filtered ? total : undefined,
          )
        : undefined,
    }
  }
}
