import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Position } from '../../language/query/bound.ts'
import type { Sort } from '../../language/query/sort.ts'

export const ASC: Sql = sql.literal('asc')
export const DESC: Sql = sql.literal('desc')

/** How one engine sorts row `d` of store_documents. */
export type OrderExpressions = {
  /**
   * What field number `i` of a sort sorts by.
   *
   * @param isRequired whether a document without a key fails, with the message of a NoKeyError; else it sorts last
   */
  key(sort: Sort, i: number, isRequired: boolean): Sql
  /**
   * A bound as a value to compare with keys; undefined for null, which is before all others.
   *
   * @param isEnd for the end of all that begin with it
   */
  bound(bytes: Buffer, isEnd: boolean): Sql | undefined
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
    const key = engine.key(sort, i, true)
    const column = sql.literal(`key${i}`)
    const direction = descending ? DESC : ASC
    orderBy.push(sql`${key} ${direction}`)
    sortColumns.push(sql`, ${key} as ${column}`)
    orderByColumns.push(sql`m.${column} ${direction}`)
  }
  const direction = sort.idDescending ? DESC : ASC
  if (sort.byScore)
    return {
      orderBy: sql`e.score desc, d.id ${direction}`,
      sortColumns: sql`, e.score as score`,
      orderByColumns: orderOfHits(sort)(sql`m`),
    }
  return {
    orderBy: sql.join([...orderBy, sql`d.id ${direction}`]),
    sortColumns: sql.join(sortColumns, ''),
    orderByColumns: sql.join([...orderByColumns, sql`m.id ${direction}`]),
  }
}

/** What stands behind `order by` of rows with `id` and `score`, where no field sorts. */
export const orderOfHits =
  ({ byScore, idDescending }: Sort) =>
  (row: Sql): Sql =>
    sql`${byScore ? sql`${row}.score desc,` : sql``} ${row}.id ${idDescending ? DESC : ASC}`

/** The condition that a row `e` of them comes after a position. */
export const afterHitSql = ({ byScore, idDescending }: Sort, { score, id }: Position): Sql =>
  afterScoreSql(byScore && score, sql`e.id ${sql.literal(idDescending ? '<' : '>')} ${id}`)

const afterScoreSql = (score: number | undefined, byId: Sql): Sql =>
  score === undefined ? byId : sql`(e.score < ${score} or (e.score = ${score} and ${byId}))`

/**
 * The condition that a document comes after `position`. Behind a bound that is cut it is not known where the position is
 * among the documents that begin alike, so all of them come after it.
 */
export function afterPositionSql(sort: Sort, { bounds, id, score }: Position, engine: OrderExpressions): Sql {
  const byId = sort.idDescending ? sql`d.id < ${id}` : sql`d.id > ${id}`
  if (sort.byScore) return afterScoreSql(score, byId)
  return bounds.reduceRight((rest, { bytes, isCut }, i) => {
    const { descending } = sort.keys[i]!
    const key = engine.key(sort, i, false)
    const bound = engine.bound(bytes, isCut && descending)
    // Null is neither before nor after anything to SQL, yet it comes last in a descending order.
    const after = descending
      ? bound
        ? sql`(${key} >= ${bound}) is not true`
        : sql`false`
      : bound
        ? sql`${key} ${sql.literal(isCut ? '>=' : '>')} ${bound}`
        : sql`${key} is not null`
    return isCut ? after : sql`(${after} or (${key} is not distinct from ${bound ?? sql`null`} and ${rest}))`
  }, byId)
}
