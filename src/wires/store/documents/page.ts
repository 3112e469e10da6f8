import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { MakeRoom } from '../../../http/route.ts'
import type { ListQuery } from './list-query.ts'

/** The bytes that the documents of a page have at most, if it has more than one. */
const PAGE_BYTES = 4_194_304
/** A page of up to so many documents is read without measuring them, unless one of them is too large for that. */
const SHORT_LIMIT = 32
/** What such a page has at most before room is made for it. */
const SMALL_PAGE_BYTES = 262_144
/** Rows that a short page may skip over on the way; else it is read where it stalls nobody, like a long one. */
const SHORT_OFFSET = 1000
// The texts of the documents, and the answer that is made of them.
const COPIES = 2

const NOTHING = sql.literal('')

/** A list that is to be read: what it asks for, and of which documents. */
export type ListSource = {
  readonly db: Database
  readonly query: ListQuery
  readonly collection: string
  /** The owner of all documents of the list, if it is one. */
  readonly owner: string | undefined
  /** The condition of row `d` that it is of the collection, and of the owner. */
  readonly scope: Sql
  readonly limit: number
  readonly offset: number
  /** `limit … offset …`, with one document more than the page shows. */
  readonly limited: Sql
  /** The total or an expression for it, if it need not be counted. */
  readonly knownTotal: Sql | number
  readonly options: ScanOptions
  readonly makeRoom: MakeRoom
  /** Counts the documents in scope, without looking. */
  readonly countAll: () => Promise<number>
  /** Likewise those of the collection. */
  readonly countCollection: () => Promise<number>
}

/** A document of a page; `fetched` is how many the page would have if it had no limit of bytes, where that was asked. */
export type Found = { readonly id: string; readonly body: string; readonly fetched?: number }

/** The total of a list and a page of it, both of one moment. The page has one document more than it shows, if there is one. */
export type ListPage = { readonly total: number; readonly found: readonly Found[] }

/** Where the documents of a page are: rows `d` among others, and their order. */
export type PageRows = {
  /** `with …`, if the others need it. */
  readonly ctes?: Sql
  readonly from: Sql
  readonly where: Sql
  readonly orderBy: Sql
  /** Ends the query, unless `from` is limited itself. */
  readonly limited: Sql
  /** How many documents the list has, or an expression for it. */
  readonly total: Sql | number
  /** Whether the text depends on what a client asks: see `sql.once`. */
  readonly isOnce?: boolean
}

type PageRow = { id: string; body: string | null; total?: number; fetched?: number }
type WholeRow = PageRow & Found

/** Whether a page is short enough to be read on the way, if the rows before it are few. */
export const isShort = ({ limit, offset }: ListSource): boolean =>
  limit <= SHORT_LIMIT && offset <= SHORT_OFFSET

/** Whether the total has to be counted. */
export const isCounted = ({ filtered, total }: ListQuery): boolean => filtered && total === undefined

/** The rows of a list whose total is known, in its order. */
export const rowsInPlace = (list: ListSource, from: Sql, where: Sql): PageRows => ({
  from,
  where,
  orderBy: list.query.orderBy,
  limited: list.limited,
  total: list.knownTotal,
})

/** The rows of a list whose documents must be looked into: each once, to count them and to sort them. */
export function matchingRows(list: ListSource, from: Sql, where: Sql, candidates?: Sql): PageRows {
  const { query, collection } = list
  const matches = sql`matches as materialized (select d.id${query.sortColumns} from ${from} where ${where} ${query.readOrder})`
  return {
    ctes: candidates ? sql`with ${candidates}, ${matches}` : sql`with ${matches}`,
    total: sql`(select count(*) from matches)`,
    from: sql`(select * from matches as m order by ${query.orderByColumns} ${list.limited}) as m
      cross join store_documents d`,
    where: sql`d.collection = ${collection} and d.id = m.id`,
    orderBy: query.orderByColumns,
    limited: NOTHING,
  }
}

/** Without the bodies that are larger than their share of these bytes. */
function shortSql({ limit }: ListSource, rows: PageRows, bytes: number): Sql<PageRow> {
  const short = sql<PageRow>`
    ${rows.ctes ?? NOTHING}
    select d.id, case when d.bytes <= ${Math.floor(bytes / (limit + 1))} then d.body end as body${totalColumn(rows)}
    from ${rows.from} where ${rows.where} order by ${rows.orderBy} ${rows.limited}`
  return rows.isOnce ? sql.once(short) : short
}

/** As many documents as fit into the bytes of a page, and one at least. */
const measuredSql = ({ collection }: ListSource, rows: PageRows): Sql<PageRow> => sql<PageRow>`
  ${rows.ctes ?? NOTHING} select d.id, d.body, fetched${totalColumn(rows)} from (
    select id, place, count(*) over () as fetched, sum(bytes) over (order by place) as bytes_so_far from (
      select id, bytes, row_number() over () as place from (
        select d.id, d.bytes from ${rows.from} where ${rows.where} order by ${rows.orderBy} ${rows.limited}
      ) as ordered
    ) as numbered
  ) as measured
  join store_documents d on d.collection = ${collection} and d.id = measured.id
  where bytes_so_far <= ${PAGE_BYTES} or place = 1
  order by place`

const totalColumn = ({ total }: PageRows): Sql =>
  typeof total === 'number' ? NOTHING : sql`, ${total} as total`

const isWhole = (rows: readonly PageRow[]): rows is WholeRow[] => rows.every(({ body }) => body !== null)

/**
 * Reads a page, in one statement unless its documents are large.
 *
 * @param isQuick whether few rows are read for it; else it is read as a scan
 * @throws what `ListQuery.faultOf` says
 */
export async function readPage(list: ListSource, rows: PageRows, isQuick: boolean): Promise<ListPage> {
  try {
    const found = await readRows(list, rows, isQuick)
    const { total } = rows
    return {
      found,
      total: typeof total === 'number' ? total : (found[0]?.total ?? (await totalOfNone(list, rows))),
    }
  } catch (error) {
    throw list.query.faultOf(error)
  }
}

async function readRows(list: ListSource, rows: PageRows, isQuick: boolean): Promise<WholeRow[]> {
  const { db, limit, makeRoom, options } = list
  if (limit <= SHORT_LIMIT) {
    // Few scans run at once, so they need no room.
    const short = await (isQuick
      ? db.all(shortSql(list, rows, SMALL_PAGE_BYTES))
      : db.scan(shortSql(list, rows, PAGE_BYTES), options))
    if (isWhole(short)) return short
  }
  await makeRoom(COPIES * PAGE_BYTES)
  if (limit <= SHORT_LIMIT && isQuick) {
    const short = await db.all(shortSql(list, rows, PAGE_BYTES))
    if (isWhole(short)) return short
  }
  const measured = await db.scan(measuredSql(list, rows), options)
  if (!isWhole(measured)) throw new TypeError('a document of store_documents has no body')
  return measured
}

/** The total where the page has nothing: of a list from its beginning on, or of one that ends before the page. */
async function totalOfNone(
  { db, query, offset, options }: ListSource,
  { ctes, total }: PageRows,
): Promise<number> {
  if (offset === 0 && query.position === undefined) return 0
  const [row] = await db.scan(
    sql<{ total: number }>`${ctes ?? NOTHING} select ${total as Sql} as total`,
    options,
  )
  // If documents came since, the page was empty of fewer.
  return query.position === undefined ? Math.min(row!.total, offset) : row!.total
}
