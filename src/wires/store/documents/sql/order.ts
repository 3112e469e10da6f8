import { sql, type Sql } from '../../../../db/sql.ts'
import type { Bound, Position } from '../query/bound.ts'
import type { Sort } from '../query/sort.ts'

/** How one engine sorts row `d` of store_documents by field number `i` of a sort. */
export type OrderExpressions = {
  /** What the field sorts by. Fails with the message of a NoKeyError for a document that has no key. */
  key(sort: Sort, i: number): Sql
  /** Whether the field sorts after the bound; of a cut one, also with it. */
  after(sort: Sort, i: number, bound: Bound): Sql
  /** Whether the field is equal to a bound that is not cut. */
  same(sort: Sort, i: number, bound: Bound): Sql
}

/** The order of a list as SQL of an engine. */
export type ListOrder = {
  /** What stands behind `order by` of rows `d`. */
  readonly orderBy: Sql
  /** The columns `key0` and so on of what rows `d` sort by, each behind a comma. */
  readonly sortColumns: Sql
  /** What stands behind `order by` of rows `m` with these columns. */
  readonly orderByColumns: Sql
}

/** Writes the order of a list. */
export function orderOf(sort: Sort, engine: OrderExpressions): ListOrder {
  const orderBy: Sql[] = []
  const sortColumns: Sql[] = []
  const orderByColumns: Sql[] = []
  for (const [i, { descending }] of sort.keys.entries()) {
    const [key, column, direction] = [engine.key(sort, i), sql.literal(`key${i}`), directionOf(descending)]
    orderBy.push(sql`${key} ${direction}`)
    sortColumns.push(sql`, ${key} as ${column}`)
    orderByColumns.push(sql`m.${column} ${direction}`)
  }
  const direction = directionOf(sort.idDescending)
  return {
    orderBy: sql.join([...orderBy, sql`d.id ${direction}`]),
    sortColumns: sql.join(sortColumns, ''),
    orderByColumns: sql.join([...orderByColumns, sql`m.id ${direction}`]),
  }
}

/** `asc` or `desc`. */
export const directionOf = (isDescending: boolean): Sql => sql.literal(isDescending ? 'desc' : 'asc')

/**
 * The condition that a document comes after `position`. Behind a bound that is cut it is not known where the position is
 * among the documents that begin alike, so all of them come after it.
 */
export function afterPositionSql(sort: Sort, { bounds, id }: Position, engine: OrderExpressions): Sql {
  const byId = sort.idDescending ? sql`d.id < ${id}` : sql`d.id > ${id}`
  return bounds.reduceRight((rest, bound, i) => {
    const after = engine.after(sort, i, bound)
    if (bound.isCut) return after
    return sql`(${after} or (${engine.same(sort, i, bound)} and ${rest}))`
  }, byId)
}
