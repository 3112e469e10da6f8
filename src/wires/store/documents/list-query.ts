import { BoundedMap } from '../../../base/bounded-map.ts'
import type { Key } from '../../../base/crypto.ts'
import { once } from '../../../base/once.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Position } from './query/bound.ts'
import { cursorBehind, decodeCursor, encodeCursor, exactPosition, markOf } from './query/cursor.ts'
import { everything, type FilterTree, type Json } from './query/filter.ts'
import { printAfter, printOrder, printOrderByColumns, printReadOrder, printSortColumns } from './sql/order.ts'
import { parseFilter } from './query/parse.ts'
import { isIdLookup, printFilter } from './sql/filter.ts'
import { listFault, parseSort, type Sort } from './query/sort.ts'

/** What a list request asks for, as pieces of a query over `store_documents d`. */
export type ListQuery = {
  /** Stands behind `from`; names the table `d`. The caller adds `d.collection = …` and whatever else must hold. */
  readonly from: Sql
  /** The filter. Alone, beside the caller's conditions, it counts the list. */
  readonly where: Sql
  /** The filter, and only what comes after the cursor. */
  readonly whereAfter: Sql
  readonly orderBy: Sql
  /** What rows sort by, as columns behind others; and the order of rows `m` that have them and the column `id`. */
  readonly sortColumns: Sql
  readonly orderByColumns: Sql
  /** `order by …`, or nothing, where all documents are looked into. */
  readonly readOrder: Sql
  readonly filter: FilterTree
  readonly order: Sort
  /** What the list begins behind, if there is a cursor; with an `anchor` its bounds are cut. */
  readonly position: Position | undefined
  /**
   * Whether it may have to look into many documents. Where not, the primary key leads to the rows of a page
   * in their order, and `cursorAfter` needs no more of a document than its `_id`.
   */
  readonly scans: boolean
  /** Whether there is a filter at all: without one, the total is known without looking. */
  readonly filtered: boolean
  /** The total that the cursor carries, so that it is counted once for a whole walk. */
  readonly total: number | undefined
  /**
   * The `_id` of the document that `exactAfter` needs, if the cursor is behind one whose key is too long for a cursor.
   */
  readonly anchor: string | undefined
  /** What takes the place of `whereAfter`, given the anchor as it is now; undefined if it is gone. */
  exactAfter(anchor: Json | undefined): Sql
  /**
   * The cursor behind a document.
   *
   * @param document as it is stored; the last one of the page
   * @param total number of documents in the whole list, where it is known
   */
  cursorAfter(document: Readonly<Record<string, unknown>>, total?: number): string
  /** What to throw if the query failed: a VALIDATION_ERROR at `/query/sort` if it cannot sort a document of the list. */
  faultOf(error: unknown): unknown
}

/** The query parameters of a list, as they stand in the request. */
export type ListParameters = { readonly filter?: string; readonly sort?: string; readonly cursor?: string }

/**
 * Compiles a list's parameters for both engines.
 *
 *     const list = listQuery(query, collection)
 *     sql`select d.body from ${list.from} where d.collection = ${collection} and ${list.whereAfter}
 *         order by ${list.orderBy} limit ${limit}`
 *
 * @param scope tells this list from others that the same filter and sort may be asked of: the collection, and for whom
 * @param key authenticates cursors
 * @param lists those that were parsed before
 * @throws VALIDATION_ERROR whose path begins with `/query/filter`, `/query/sort` or `/query/cursor`
 */
export function listQuery(
  { filter, sort, cursor }: ListParameters,
  scope: string,
  key: Key,
  lists: ParsedLists = createParsedLists(),
): ListQuery {
  const parsed = parsedOf(lists, sort ?? '-createdAt', filter)
  const { order, where, text } = parsed
  const mark = once(() => markOf(JSON.stringify([scope, text])))
  const after = cursor === undefined ? undefined : decodeCursor(cursor, mark(), key)
  const behind = (position: Position): Sql => sql`${where} and ${printAfter(order, position)}`
  return {
    ...parsed,
    whereAfter: after ? behind(after.position) : where,
    position: after?.position,
    anchor: after?.print === undefined ? undefined : after.position.id,
    exactAfter: (anchor) => behind(exactPosition(after!, order, anchor)),
    total: after?.total,
    cursorAfter: (document, total) => encodeCursor(cursorBehind(document, order, total), mark(), key),
    faultOf: (error) => listFault(error, order),
  }
}

const from = sql`store_documents d`

/** A list apart from its cursor. */
type ParsedList = Omit<
  ListQuery,
  'whereAfter' | 'position' | 'anchor' | 'exactAfter' | 'total' | 'cursorAfter' | 'faultOf'
> & {
  /** What tells this list from others. */
  readonly text: string
}

/** Parsed lists by their text, with the SQL of their filters and sorts. */
export type ParsedLists = BoundedMap<string, ParsedList>

// Applications ask for the same few lists again and again.
const CACHED_LISTS = 500
const CACHED_LENGTH_MAX = 500

export const createParsedLists = (): ParsedLists => new BoundedMap(CACHED_LISTS)

function parsedOf(lists: ParsedLists, sort: string, filter: string | undefined): ParsedList {
  const key = JSON.stringify([sort, filter])
  const known = lists.get(key)
  if (known) return known
  const parsed = parse(sort, filter)
  if (key.length <= CACHED_LENGTH_MAX) lists.set(key, parsed)
  return parsed
}

function parse(sort: string, filterText: string | undefined): ParsedList {
  const filter = filterText === undefined ? everything : parseFilter(filterText)
  const order = parseSort(sort)
  const filtered = filter.kind !== 'and' || filter.of.length > 0
  return {
    filter,
    order,
    scans: order.keys.length > 0 || (filtered && !isIdLookup(filter)),
    filtered,
    text: JSON.stringify([filter, order]),
    from,
    where: printFilter(filter),
    orderBy: printOrder(order),
    sortColumns: printSortColumns(order),
    orderByColumns: printOrderByColumns(order),
    readOrder: printReadOrder(order),
  }
}
