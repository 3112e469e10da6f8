import { sql, type Sql } from '../../../../../../db/sql.ts'
import type { ExpressionFilter, ExpressionOperand, Json } from '../../../language/query/filter.ts'
import type { Path } from '../../../language/query/path.ts'
import { bind, jsonPath } from './json.ts'

/** Text, numbers and what has no value but its type: in this order, the types of MongoDB. */
const RANKS = { null: 1, integer: 2, real: 2, text: 3, object: 4, array: 5, false: 6, true: 7 } as const

/** A side of a comparison: the place of its type, and its value if types are the same. */
type Side = { readonly rank: Sql; readonly value: Sql; readonly isOpen?: Sql }

/**
 * Whether a comparison of `$expr` holds for a document: true or false, never null.
 *
 * @param byFunction decides where a side is an object or array, or an array is on the way to it
 */
export function comparisonSql({ path, operator, to }: ExpressionFilter, document: Sql, byFunction: Sql): Sql {
  const sides = [{ path }, to].map((side) => sideOf(side, document))
  const [left, right] = sides as [Side, Side]
  const opens = sides.flatMap(({ isOpen }) => isOpen ?? [])
  return sql`case when ${sql.join(opens, ' or ')} then ${byFunction}
    else (${left.rank}, ${left.value}) ${sql.literal(operator)} (${right.rank}, ${right.value}) end`
}

const sideOf = (side: ExpressionOperand, document: Sql): Side =>
  'path' in side ? fieldSide(side.path, document) : valueSide(side.value)

const WHENS = sql.literal(
  Object.entries(RANKS)
    .map(([type, rank]) => `when '${type}' then ${rank}`)
    .join(' '),
)

function fieldSide(path: Path, document: Sql): Side {
  const at = sql`${document}, ${jsonPath(path)}`
  const arrays = path
    .slice(1)
    .map((_, i) => sql`json_type(${document}, ${jsonPath(path.slice(0, i + 1))}) = 'array'`)
  return {
    rank: sql`case json_type(${at}) ${WHENS} else 0 end`,
    value: sql`ifnull(json_extract(${at}), 0)`,
    isOpen: sql.join([sql`json_type(${at}) in ('object', 'array')`, ...arrays], ' or '),
  }
}

function valueSide(value: Json): Side {
  if (typeof value === 'number') return { rank: sql`2`, value: sql`${bind(value)}` }
  if (typeof value === 'string') return { rank: sql`3`, value: sql`${value}` }
  const type =
    value === null || typeof value === 'boolean' ? String(value) : Array.isArray(value) ? 'array' : 'object'
  // That of a boolean is asked for as 1 and 0.
  return {
    rank: sql.literal(String(RANKS[type as 'null' | 'true' | 'false' | 'object' | 'array'])),
    value: value === true ? sql`1` : sql`0`,
  }
}
