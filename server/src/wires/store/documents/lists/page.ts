import { sql, type Sql } from '../../../../db/sql.ts'
import { PREVIEW_BYTES } from '../storage/preview/preview.ts'
import { previewSql } from '../storage/preview/preview-sql.ts'
import type { ListSource, PageReads } from './list-source.ts'
import type { ParsedList } from './parsed-list.ts'
import type { Plan } from '../storage/plan/plan.ts'
import { conjunctsOf } from '../language/query/filter.ts'
import { listFault } from '../language/query/sort.ts'
import { idMatches } from '../storage/sql/document-rows.ts'
import { listEngines } from '../storage/sql/engines.ts'
import { afterPositionSql } from '../storage/sql/order-sql.ts'

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

/** A document of a page; `fetched` is how many the page would have if it had no limit of bytes, where that was asked. */
export type PageDocument = {
  readonly id: string
  readonly body: string
  readonly owner?: string
  readonly fetched?: number
  /** If only a part of each document is read. */
  readonly version?: number
  /** The whole document, if only a part of each is read: of the last one that the page shows. */
  readonly whole?: string | null
}

/** The total of a list and a page of it, both of one moment. The page has one document more than it shows, if there is one. */
export type ListPage = { readonly total: number; readonly documents: readonly PageDocument[] }

/** A page that was read from an index, and how. */
export type IndexPage = ListPage & {
  /** One, or one for each alternative. */
  readonly plans: readonly Plan[]
  /** Whether the entries were in the list's order. */
  readonly order: 'index' | 'sorted'
  /** How many entries were looked at, and documents, those of the page among them. */
  readonly examined: { readonly entries: number; readonly documents: number }
}

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
  /** What `sql.gathering` gathers before. */
  readonly gathered?: { readonly rows: Sql; readonly most: number }
}

/** Documents that must be looked into, rows `d` of `from`. */
type Candidates = {
  readonly from: Sql
  readonly where: Sql
  /** What a document of the list meets. */
  readonly condition: Sql
  /** Which documents are looked into so quickly that the scan need not stop there. */
  readonly unless?: Sql
  /** What `from` needs, without `with`. */
  readonly ctes?: Sql
  /** Whether they are few. */
  readonly isQuick?: boolean
}

type PageRow = { id: string; body: string | null; owner?: string; total?: number; fetched?: number }
type WholeRow = PageRow & PageDocument

/** Whether a page is short enough to be read on the way, if the rows before it are few. */
export const isShort = ({ limit, offset }: ListSource): boolean =>
  limit <= SHORT_LIMIT && offset <= SHORT_OFFSET

/** The rows of documents that must be looked into: each once, to count them if that is needed, and to sort them. */
export function matchingRows(
  source: ListSource,
  { from, where: scope, condition, unless, ctes: candidates, isQuick = false }: Candidates,
): PageRows {
  const { list, collection, cursor, limited, knownTotal, limit, offset } = source
  const where = sql`${scope} and ${list.scans ? sql.stoppable(condition, unless) : condition}`
  const gathers = list.callsFunctions && !isQuick
  if (!gathers && knownTotal !== undefined)
    return {
      ...(candidates && { ctes: sql`with ${candidates}` }),
      from,
      where,
      orderBy: list.orderBy,
      limited,
      total: knownTotal,
    }
  const columns = sql`d.id${list.sortColumns}`
  const matches = sql`matches as materialized (select ${columns} from ${from} where ${where} ${list.readOrder})`
  const isById = list.order.keys.length === 0 && !list.order.byScore
  // Candidates are in no order, and to sort them would call the functions for all of them at once.
  const inOrder = isById && candidates === undefined
  // The primary key is searched by it.
  const afterId =
    cursor && isById ? [afterPositionSql(list.order, cursor.position, listEngines.sqlite.order)] : []
  const gathered = {
    rows: gatheredRows(list, {
      from,
      where: sql.join([scope, ...afterId], ' and '),
      condition,
      ...(unless && { unless }),
      ...(candidates && { ctes: candidates }),
      readOrder: inOrder ? list.readOrder : NOTHING,
    }),
    most: inOrder && knownTotal !== undefined ? limit + offset + 1 : Infinity,
  }
  return {
    ...(gathers
      ? { ctes: sql`with matches as (select * from temp.gathered)`, gathered }
      : { ctes: candidates ? sql`with ${candidates}, ${matches}` : sql`with ${matches}` }),
    total: knownTotal ?? sql`(select count(*) from matches)`,
    from: sql`(select * from matches as m order by ${list.orderByColumns} ${limited}) as m
      cross join store_documents d`,
    where: sql`d.collection = ${collection} and d.id = m.id`,
    orderBy: list.orderByColumns,
    limited: NOTHING,
  }
}

/** What `sql.gathering` gathers of documents that must be looked into: the ids and sort keys of those that match. */
export function gatheredRows(
  list: ParsedList,
  { from, where, condition, unless, ctes, readOrder = NOTHING }: Candidates & { readonly readOrder?: Sql },
): Sql {
  // Beside the function, which hides them: the primary key is searched by them.
  const ids = conjunctsOf(list.filter).flatMap((one) => idMatches(one) ?? [])
  const passes = sql`${sql.stoppable(sql`sixwire_pass((${condition}))`, unless)}`
  return sql`
    ${ctes ? sql`with ${ctes}` : NOTHING} select d.id${list.sortColumns}, (${condition}) as matches from ${from}
    where ${sql.join([where, ...ids, passes], ' and ')} ${readOrder}`
}

/**
 * Reads a page, in one statement unless its documents are large.
 *
 * @param isQuick whether few rows are read for it; else it is read as a scan
 * @throws a VALIDATION_ERROR at `/query/sort` if a document of the list cannot be sorted
 */
export async function readPage(source: ListSource, rows: PageRows, isQuick: boolean): Promise<ListPage> {
  try {
    const documents = await readRows(source, rows, isQuick)
    const { total } = rows
    if (typeof total === 'number') return { documents, total }
    return { documents, total: documents[0]?.total ?? (await totalOfNone(source, rows, total)) }
  } catch (error) {
    throw listFault(error, source.list.order)
  }
}

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
function pageSql({ limit, hasOwners }: ListSource, rows: PageRows, bytes: number): Sql<PageRow> {
  const { ctes = NOTHING, from, where, orderBy, limited, total, isOnce } = rows
  const totalColumn = typeof total === 'number' ? NOTHING : sql`, ${total} as total`
  const page = sql<PageRow>`
    ${ctes}
    select d.id, case when d.bytes <= ${Math.floor(bytes / (limit + 1))} then d.body end as body${ownerColumn(hasOwners)}${totalColumn}
    from ${from} where ${where} order by ${orderBy} ${limited}`
  return isOnce ? sql.once(page) : page
}

/** As many documents of the page as fit into its bytes, and one at least. */
function measuredPageSql({ collection, hasOwners }: ListSource, rows: PageRows): Sql<PageRow> {
  const { ctes = NOTHING, from, where, orderBy, limited, total } = rows
  const totalColumn = typeof total === 'number' ? NOTHING : sql`, ${total} as total`
  return sql<PageRow>`
    ${ctes} select d.id, d.body, fetched${ownerColumn(hasOwners)}${totalColumn} from (
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

const ownerColumn = (hasOwners: boolean): Sql => (hasOwners ? sql`, d.owner` : NOTHING)

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
