import { sql, type Sql } from '../../../../db/sql.ts'
import type { OrderExpressions, Position } from './bound.ts'
import { postgresOrder } from './postgres/order.ts'
import type { Sort } from './sort.ts'
import { sqliteOrder } from './sqlite/order.ts'

/** A piece that each engine writes in its own way. */
const each = (write: (engine: OrderExpressions) => Sql): Sql =>
  sql`${sql.either({ sqlite: () => write(sqliteOrder), postgres: () => write(postgresOrder) })}`

/** What stands behind `order by`. */
export function printOrder(sort: Sort): Sql {
  const keys = sort.keys.map((_, i) => each((engine) => engine.order(sort, i)))
  return sql.join([...keys, sort.idDescending ? sql`d.id desc` : sql`d.id`])
}

/**
 * The condition that a document comes after `position`. Behind a bound that is cut it is not known where the position is
 * among the documents that begin alike, so all of them come after it.
 */
export function printAfter(sort: Sort, { bounds, id }: Position): Sql {
  const byId = sort.idDescending ? sql`d.id < ${id}` : sql`d.id > ${id}`
  return bounds.reduceRight((rest, bound, i) => {
    const after = each((engine) => engine.after(sort, i, bound))
    if (bound.isCut) return after
    return sql`(${after} or (${each((engine) => engine.same(sort, i, bound))} and ${rest}))`
  }, byId)
}
