import { sql, type Sql } from '../../../../../../db/sql.ts'
import type { ExpressionFilter, ExpressionOperand } from '../../../language/query/filter.ts'
import { sortKeyOf } from '../../../language/query/sort-key.ts'
import { typeOf } from './jsonpath.ts'
import { plainValue } from './operators.ts'

/** Whether a comparison of `$expr` holds for row `d`: of numbers and of texts without a function. True or false, never null. */
export function comparisonSql(filter: ExpressionFilter): Sql {
  const { path, operator, to } = filter
  const left = plainValue(path)
  const right = 'path' in to ? plainValue(to.path) : sql`${JSON.stringify(to.value)}::jsonb`
  const isBoth = (type: string): Sql =>
    'path' in to
      ? sql`jsonb_typeof(${left}) = ${sql.literal(`'${type}'`)} and jsonb_typeof(${right}) = ${sql.literal(`'${type}'`)}`
      : sql`jsonb_typeof(${left}) = ${sql.literal(`'${type}'`)}`
  const compared = (one: Sql, other: Sql): Sql => sql`${one} ${sql.literal(operator)} ${other}`
  const text = (value: Sql): Sql => sql`(${value} #>> '{}') collate "C"`
  const type = 'path' in to ? undefined : typeOf(to.value)
  const numbers = sql`when ${isBoth('number')} then ${compared(sql`(${left})`, sql`(${right})`)}`
  const texts = sql`when ${isBoth('string')} then ${compared(text(sql`(${left})`), text(sql`(${right})`))}`
  const whens = [
    ...(type === undefined || type === 'number' ? [numbers] : []),
    ...(type === undefined || type === 'string' ? [texts] : []),
  ]
  const others = comparisonExactly(sql`d.body`, filter)
  return whens.length === 0 ? others : sql`case ${sql.join(whens, ' ')} else ${others} end`
}

/** Likewise of all values, by the functions of migration 030. @param document an expression of type json */
export const comparisonExactly = (document: Sql, { path, operator, to }: ExpressionFilter): Sql =>
  sql`(${keySql(document, { path })} ${sql.literal(operator)} ${keySql(document, to)})`

const keySql = (document: Sql, side: ExpressionOperand): Sql =>
  'path' in side
    ? sql`store_expression_key(${document}, array[${sql.join(side.path)}]::text[])`
    : sql`decode(${sortKeyOf(side.value).toString('hex')}, 'hex')`
