import { BoundedMap } from '../../../base/bounded-map.ts'
import { once } from '../../../base/once.ts'
import { sql, type Dialect, type Sql } from '../../../db/sql.ts'
import { neededIndex, type NeededIndex } from './indexes/automatic-fields.ts'
import type { Position } from './query/bound.ts'
import { countConditions, everything, isOfId, type FilterTree } from './query/filter.ts'
import { parseFilter } from './query/parse.ts'
import { parseSort, type Sort } from './query/sort.ts'
import { listEngines } from './sql/engines.ts'
import { afterPositionSql, directionOf, orderOf, type ListOrder } from './sql/order.ts'

/** The query parameters that say which documents a list has, and in which order. */
export type ListParameters = { readonly filter?: string; readonly sort?: string }

/** A list's filter and sort, parsed, with their SQL for the engine in use. */
export type ParsedList = ListOrder & {
  readonly filter: FilterTree
  readonly order: Sort
  /** The filter and sort in one form, however a request writes them. */
  readonly text: string
  /** Whether there is a filter at all: without one, the total is known without looking. */
  readonly isFiltered: boolean
  /**
   * Whether it may have to look into many documents. If not, the primary key leads to the rows of a page in their order,
   * and a cursor needs no more of a document than its `_id`.
   */
  readonly scans: boolean
  /** The index that it needs; undefined if none would be of use. */
  readonly needed: () => NeededIndex | undefined
  /** How many questions about fields the filter asks. */
  readonly conditions: number
  /** The filter as a condition of row `d`. Alone, beside the caller's conditions, it counts the list. */
  readonly where: Sql
  /** `order by …`, or nothing, for documents that are looked into. */
  readonly readOrder: Sql
}

/** Parsed lists by their parameters: applications ask for the same few lists again and again. */
export type ParsedLists = BoundedMap<string, ParsedList>

const CACHED_LISTS = 500
// Of the parameters; and of what they become, because a class of a pattern is written out in thousands of characters.
const CACHED_LENGTH_MAX = 500
const CACHED_TEXT_MAX = 5_000

export const createParsedLists = (): ParsedLists => new BoundedMap(CACHED_LISTS)

/**
 * Parses the parameters of a list, unless it was asked for before.
 *
 * @throws VALIDATION_ERROR whose path begins with `/query/filter` or `/query/sort`
 */
export function parsedListOf(lists: ParsedLists, parameters: ListParameters, dialect: Dialect): ParsedList {
  const { sort, filter } = parameters
  const key = JSON.stringify([sort, filter])
  const known = lists.get(key)
  if (known) return known
  const parsed = parseList(parameters, dialect)
  if (key.length <= CACHED_LENGTH_MAX && parsed.text.length <= CACHED_TEXT_MAX) lists.set(key, parsed)
  return parsed
}

export function parseList(
  { sort = '-createdAt', filter: text }: ListParameters,
  dialect: Dialect,
): ParsedList {
  const filter = text === undefined ? everything : parseFilter(text)
  const order = parseSort(sort)
  const engine = listEngines[dialect]
  const isFiltered = filter.kind !== 'and' || filter.of.length > 0
  const { orderBy, sortColumns, orderByColumns } = orderOf(order, engine.order)
  const readsInOrder = engine.readsInOrder && order.keys.length === 0
  return {
    filter,
    order,
    text: JSON.stringify([filter, order]),
    isFiltered,
    scans: order.keys.length > 0 || (isFiltered && !(isOfId(filter) && filter.test.kind === 'in')),
    needed: once(() => neededIndex(filter, order)),
    conditions: countConditions(filter),
    where: isFiltered ? sql.flat(engine.matches(filter), dialect) : sql.literal('true'),
    orderBy: sql.flat(orderBy, dialect),
    sortColumns: sql.flat(sortColumns, dialect),
    orderByColumns: sql.flat(orderByColumns, dialect),
    readOrder: readsInOrder ? sql`order by d.id ${directionOf(order.idDescending)}` : sql.literal(''),
  }
}

/** The filter, and only what comes after a position. */
export const whereAfterSql = ({ where, order }: ParsedList, position: Position, dialect: Dialect): Sql =>
  sql`${where} and ${afterPositionSql(order, position, listEngines[dialect].order)}`
