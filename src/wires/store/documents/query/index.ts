import { BoundedMap } from '../../../../base/bounded-map.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import { decodeCursor, encodeCursor, markOf, positionOf } from './cursor.ts'
import { everything, type Filter } from './filter.ts'
import { parseFilter } from './parse.ts'
import { postgres } from './postgres.ts'
import { isIdLookup, printAfter, printFilter, printOrder, type Engines } from './print.ts'
import { parseSort, type Sort } from './sort.ts'
import { sqlite } from './sqlite.ts'

/** What a list request asks for, as pieces of a query over `store_documents d`. */
export type ListQuery = {
  /** Stands behind `from`; names the table `d`. The caller adds `d.collection = …` and whatever else must hold. */
  readonly from: Sql
  /** The filter. Alone, beside the caller's conditions, it counts the list. */
  readonly where: Sql
  /** The filter, and only what comes after the cursor. */
  readonly whereAfter: Sql
  readonly orderBy: Sql
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
   * The cursor behind a document.
   *
   * @param document as it is served; the last one of the page
   * @param total number of documents in the whole list, where it is known
   */
  cursorAfter(document: Readonly<Record<string, unknown>>, total?: number): string
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
 * @param scope tells this list from others that the same filter and sort may be asked of: the collection's name
 * @throws VALIDATION_ERROR whose path begins with `/query/filter`, `/query/sort` or `/query/cursor`
 */
export function listQuery({ filter, sort, cursor }: ListParameters, scope: string): ListQuery {
  const { engines, mark, order, ...compiled } = compiledOf(scope, sort ?? '-createdAt', filter)
  const after = cursor === undefined ? undefined : decodeCursor(cursor, mark, order)
  return {
    ...compiled,
    whereAfter: after
      ? sql`${compiled.where} and ${printAfter(order, after.position, engines)}`
      : compiled.where,
    total: after?.total,
    cursorAfter: (document, total) => encodeCursor({ position: positionOf(document, order), total }, mark),
  }
}

/** A list apart from its cursor. */
type Compiled = Pick<ListQuery, 'from' | 'where' | 'orderBy' | 'scans' | 'filtered'> & {
  engines: Engines
  order: Sort
  /** What tells this list from others. */
  mark: string
}

// Applications ask for the same few lists again and again.
const LISTS_KEPT = 500
const LONGEST_KEPT = 500
const kept = new BoundedMap<string, Compiled>(LISTS_KEPT)

function compiledOf(scope: string, sort: string, filter: string | undefined): Compiled {
  const key = JSON.stringify([scope, sort, filter])
  const known = kept.get(key)
  if (known) return known
  const compiled = compile(scope, sort, filter)
  if (key.length <= LONGEST_KEPT) kept.set(key, compiled)
  return compiled
}

function compile(scope: string, sort: string, filterText: string | undefined): Compiled {
  const filter = filterText === undefined ? everything : parseFilter(filterText)
  const order = parseSort(sort)
  const looks = countTests(filter) + order.keys.length * KEY_LOOKS
  const { from, engines } = looks > DIRECT_LOOKS ? converted : direct
  return {
    from,
    engines,
    where: printFilter(filter, engines),
    order,
    orderBy: printOrder(order, engines),
    scans: order.keys.length > 0 || (looks > 0 && !isIdLookup(filter)),
    filtered: filter.kind !== 'and' || filter.of.length > 0,
    mark: markOf(JSON.stringify([scope, filter, order])),
  }
}

const countTests = (filter: Filter): number => {
  if (filter.kind === 'field') return 1
  if (filter.kind === 'not') return countTests(filter.of)
  return filter.of.reduce((sum, part) => sum + countTests(part), 0)
}

// On PostgreSQL each look into json reads the whole text, and converting it to jsonb, where looks are nearly free,
// costs as much as two or three of them and keeps the scan on one processor.
const DIRECT_LOOKS = 2
const KEY_LOOKS = 3

const direct: { from: Sql; engines: Engines } = {
  from: sql`store_documents d`,
  engines: { sqlite, postgres: postgres(sql`d.body`) },
}

// Without `offset 0` PostgreSQL would copy the conversion to wherever its result is used.
const converted: { from: Sql; engines: Engines } = {
  from: sql`store_documents d ${sql.either({
    sqlite: sql``,
    postgres: sql`cross join lateral (select d.body::jsonb as json offset 0) body`,
  })}`,
  engines: { sqlite, postgres: postgres(sql`body.json`) },
}
