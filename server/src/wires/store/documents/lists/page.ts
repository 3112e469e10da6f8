import { sql, type Sql } from '../../../../db/sql.ts'
import { listFault } from '../language/query/sort.ts'
import { isReadySql } from '../storage/sql/entries-sql.ts'
import { isIdOrderedSql } from '../storage/sql/index-rows.ts'
import { isSearchable } from '../storage/sql/search-sql.ts'
import { PREVIEW_BYTES } from '../storage/preview/preview.ts'
import { previewSql } from '../storage/preview/preview-sql.ts'
import { FEW_ENTRIES, type AccessPath } from './access-path.ts'
import { halvesOf } from './halves.ts'
import { SHORT_LIMIT, type ListSource, type PageReads } from './list-source.ts'
import { rowsOf, type PageRows } from './page-rows.ts'

/** The bytes that the documents of a page have at most, if it has more than one. */
const PAGE_BYTES = 4_194_304
/** What a short page has at most before room is made for it. */
const SMALL_PAGE_BYTES = 262_144
// The texts of the documents, and the answer that is made of them.
const COPIES = 2

const NOTHING = sql.literal('')

/** A row of a page. */
type PageRow = {
  readonly id: string
  /** Null if the document is too large for its share of the page. */
  readonly body: string | null
  readonly owner?: string
  readonly total?: number
  /** How many documents the page would have if it had no limit of bytes, where that was asked. */
  readonly fetched?: number
  /** If only a part of each document is read. */
  readonly version?: number
  /** The whole document, if only a part of each is read: of the last one that the page shows. */
  readonly whole?: string | null
}
type WholeRow = PageRow & { readonly body: string }

/** The total of a list and a page of it, both of one moment. The page has one document more than it shows, if there is one. */
export type ListPage = { readonly total: number; readonly documents: readonly WholeRow[] }

/**
 * Reads a page.
 *
 * @returns undefined if an index of the path is not as it was planned with any more
 * @throws a VALIDATION_ERROR at `/query/sort` if a document of the list cannot be sorted
 */
export async function readPage(source: ListSource, path: AccessPath): Promise<ListPage | undefined> {
  const { db, list, collection, knownTotal } = source
  const { kind, plans, isQuick } = path
  const rows = await rowsOf(source, path)
  let page: ListPage
  try {
    const documents = (await readHalves(source, path)) ?? (await readRows(source, rows, isQuick))
    const { total } = rows
    page = {
      documents,
      total:
        typeof total === 'number' ? total : (documents[0]?.total ?? (await totalOfNone(source, rows, total))),
    }
  } catch (error) {
    throw listFault(error, list.order)
  }
  if (kind === 'entries' && isQuick && knownTotal === undefined && page.total > FEW_ENTRIES)
    return readPage(source, { ...path, isQuick: false })
  if (kind === 'scan' && !list.isIdOrdered) return page
  // What an index that was dropped meanwhile led to is nothing at all; nor is what was read in an order that is no more.
  const isCertain = page.documents.length > 0 && !('candidates' in path && path.candidates?.isUnion)
  if (isCertain) return page
  const conditions = plans.map(({ index }) => isReadySql(index))
  if (list.isIdOrdered) conditions.push(isIdOrderedSql(collection))
  if (kind === 'search') conditions.push(isSearchable(path.search.index))
  const ready = await db.get(sql`select 1 as ready where ${sql.join(conditions, ' and ')}`)
  return ready && page
}

/** Both halves of the list at once, if it can be read so. */
async function readHalves(source: ListSource, path: AccessPath): Promise<readonly WholeRow[] | undefined> {
  const { db, limit, options } = source
  const halves = await halvesOf(source, path)
  if (!halves) return undefined
  const queries = halves.map(async (half) => pageSql(half, await rowsOf(half, path), PAGE_BYTES))
  const [first, second] = (await Promise.all(queries)) as [Sql<PageRow>, Sql<PageRow>]
  const read = await db.scanTogether!([first, second], options)
  if (!read) return undefined
  const total = read.reduce((sum, [row]) => sum + (row?.total ?? 0), 0)
  const documents = read
    .flat()
    .slice(0, limit + 1)
    .map((row) => ({ ...row, total }))
  return areWhole(documents) ? documents : undefined
}

/** In one statement, unless the documents are large. */
async function readRows(source: ListSource, rows: PageRows, isQuick: boolean): Promise<readonly WholeRow[]> {
  const { db, limit, makeRoom, options, reads } = source
  if (reads !== 'bodies') return readBriefRows(source, rows, reads)
  if (limit <= SHORT_LIMIT) {
    // Few scans run at once, so they need no room.
    const short = await (isQuick
      ? db.all(pageSql(source, rows, SMALL_PAGE_BYTES))
      : db.scan(gathering(rows, pageSql(source, rows, PAGE_BYTES)), options))
    if (areWhole(short)) return short
  }
  await makeRoom(COPIES * PAGE_BYTES)
  if (limit <= SHORT_LIMIT && isQuick) {
    const short = await db.all(pageSql(source, rows, PAGE_BYTES))
    if (areWhole(short)) return short
  }
  const measured = await db.scan(gathering(rows, measuredPageSql(source, rows)), options)
  if (!areWhole(measured)) throw new TypeError('a document of store_documents has no body')
  return measured
}

/** A part of each document, made by the engine where it stalls nobody: of fifty documents of 1 MiB a few kilobytes arrive. */
async function readBriefRows(
  { db, collection, limit, makeRoom, options }: ListSource,
  rows: PageRows,
  reads: Exclude<PageReads, 'bodies'>,
): Promise<WholeRow[]> {
  const { ctes = NOTHING, from, where, orderBy, limited, total } = rows
  const isPreview = reads !== 'versions'
  if (isPreview) await makeRoom(COPIES * limit * PREVIEW_BYTES)
  const body = isPreview ? previewSql(reads.characters) : sql`''`
  const whole = isPreview ? sql`case when place = ${limit} then d.body end` : sql`null`
  const totalColumn = typeof total === 'number' ? NOTHING : sql`, ${total} as total`
  return db.scan(
    gathering(
      rows,
      sql<WholeRow>`
      ${ctes} select d.id, ${body} as body, d.version, d.owner, ${whole} as whole${totalColumn} from (
        select id, row_number() over () as place from (
          select d.id from ${from} where ${where} order by ${orderBy} ${limited}
        ) as ordered
      ) as numbered
      join store_documents d on d.collection = ${collection} and d.id = numbered.id
      order by place`,
    ),
    options,
  )
}

const gathering = <R>({ gathered }: PageRows, query: Sql<R>): Sql<R> =>
  gathered ? sql.gathering(query, gathered.rows, gathered.most) : query

/** The page, without the bodies that are larger than their share of these bytes. */
function pageSql({ limit, ownerColumn }: ListSource, rows: PageRows, bytes: number): Sql<PageRow> {
  const { ctes = NOTHING, from, where, orderBy, limited, total, isOnce, isInOrder } = rows
  const totalColumn = typeof total === 'number' ? NOTHING : sql`, ${total} as total`
  const page = sql<PageRow>`
    ${ctes}
    select d.id, case when d.bytes <= ${Math.floor(bytes / (limit + 1))} then d.body end as body${ownerColumn}${totalColumn}
    from ${from} where ${where} order by ${orderBy} ${limited}`
  if (isInOrder) return sql.inOrder(page)
  return isOnce ? sql.once(page) : page
}

/** As many documents of the page as fit into its bytes, and one at least. */
function measuredPageSql({ collection, ownerColumn }: ListSource, rows: PageRows): Sql<PageRow> {
  const { ctes = NOTHING, from, where, orderBy, limited, total } = rows
  const totalColumn = typeof total === 'number' ? NOTHING : sql`, ${total} as total`
  return sql<PageRow>`
    ${ctes} select d.id, d.body, fetched${ownerColumn}${totalColumn} from (
      select id, place, count(*) over () as fetched, sum(bytes) over (order by place) as bytes_so_far from (
        select id, bytes, row_number() over () as place from (
          select d.id, d.bytes from ${from} where ${where} order by ${orderBy} ${limited}
        ) as ordered
      ) as numbered
    ) as measured
    join store_documents d on d.collection = ${collection} and d.id = measured.id
    where bytes_so_far <= ${PAGE_BYTES} or place = 1
    order by place`
}

const areWhole = (rows: readonly PageRow[]): rows is WholeRow[] => rows.every(({ body }) => body !== null)

/** The total where the page has nothing: of a list from its beginning on, or of one that ends before the page. */
async function totalOfNone(
  { db, cursor, offset, options }: ListSource,
  rows: PageRows,
  total: Sql,
): Promise<number> {
  if (offset === 0 && cursor === undefined) return 0
  const { ctes = NOTHING } = rows
  const totalSql = sql<{ total: number }>`${ctes} select ${total} as total`
  const [row] = await db.scan(gathering(rows, totalSql), options)
  // If documents came since, the page was empty of fewer.
  return cursor === undefined ? Math.min(row!.total, offset) : row!.total
}
