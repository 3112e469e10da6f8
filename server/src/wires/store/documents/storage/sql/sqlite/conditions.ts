import { sql, type Sql } from '../../../../../../db/sql.ts'
import type { Test } from '../../../language/query/filter.ts'
import { bind, type JsonType } from './json.ts'

/** Types of values, and what else a value of them must meet. */
export type SqlCondition = readonly [types: readonly JsonType[], holds: Sql]

const TRUE = sql`true`
const NUMBER = ['integer', 'real'] as const
const TYPES_OF_VALUES: Readonly<Record<string, readonly JsonType[]>> = {
  null: ['null'],
  true: ['true'],
  false: ['false'],
  number: NUMBER,
  string: ['text'],
  object: ['object'],
  array: ['array'],
}

/** More values than that are a list of one parameter. */
export const FEW = 8

const LIMIT_64 = 2 ** 63

/**
 * Conditions of which a value must meet one to pass the test; undefined if SQL can't tell.
 *
 * @param value as `json_extract` answers it, which is 1 and 0 for true and false, too: what holds is asked of its types only
 * @param container likewise of an object or array, which is its JSON
 */
export function conditionsOf(test: Test, value: Sql, container: Sql): SqlCondition[] | undefined {
  switch (test.kind) {
    case 'in': {
      const byType = Object.groupBy(test.values, (one) =>
        one === null || typeof one === 'boolean' ? String(one) : Array.isArray(one) ? 'array' : typeof one,
      )
      const conditions: SqlCondition[] = []
      for (const [type, values = []] of Object.entries(byType)) {
        let holds = TRUE
        if (type === 'number' || type === 'string') holds = isOneOf(value, values as (string | number)[])
        // Equal ones have the same JSON.
        else if (type === 'object' || type === 'array')
          holds = isOneOf(
            container,
            values.map((one) => JSON.stringify(one)),
          )
        conditions.push([TYPES_OF_VALUES[type]!, holds])
      }
      return conditions
    }
    case 'range':
      return typeof test.bound === 'string' || typeof test.bound === 'number'
        ? [
            [
              typeof test.bound === 'string' ? ['text'] : NUMBER,
              sql`${value} ${sql.literal(test.operator)} ${bind(test.bound)}`,
            ],
          ]
        : undefined
    case 'type': {
      // JSON's integers beyond 64 bits are doubles to SQLite, and `integer` is their type all the same. JSON writes -2^63 as one.
      const fits32 = sql`${value} between -2147483648 and 2147483647`
      const fits64 = sql`${value} > ${-LIMIT_64} and ${value} < ${LIMIT_64}`
      return test.types.flatMap((type): SqlCondition[] => {
        if (type === 'int') return [[['integer'], fits32]]
        if (type === 'long') return [[['integer'], sql`(${fits64} and not (${fits32}))`]]
        if (type === 'double')
          return [
            [['real'], TRUE],
            [['integer'], sql`not (${fits64})`],
          ]
        return [[type === 'bool' ? ['true', 'false'] : TYPES_OF_VALUES[type]!, TRUE]]
      })
    }
    case 'pattern': {
      const { engine, expression, cost } = test.pattern
      const pattern = JSON.stringify({ engine, expression, cost })
      // As text, because no function takes an integer beyond 2^53, and the type may be asked afterwards.
      return [[['text'], sql`store_matches_pattern(${value} || '', store_pattern(${pattern}))`]]
    }
    case 'mod': {
      const remainder = sql`cast(${value} as integer) % ${bind(test.divisor)} = ${bind(test.remainder)}`
      return [[NUMBER, sql`(${value} > ${-LIMIT_64} and ${value} < ${LIMIT_64} and ${remainder})`]]
    }
    case 'bits': {
      const bits = sql`${value} & ${BigInt(test.mask)} ${sql.literal(test.relation)} ${BigInt(test.bits)}`
      return [[['integer'], sql`(${value} > ${-LIMIT_64} and ${value} < ${LIMIT_64} and ${bits})`]]
    }
    case 'exists':
    case 'size':
    case 'element':
    case 'elementMatches':
      return undefined
  }
}

/** @param bounds all of them text, or all numbers */
function isOneOf(value: Sql, bounds: readonly (string | number)[]): Sql {
  if (bounds.length === 1) return sql`${value} = ${bind(bounds[0]!)}`
  if (bounds.length <= FEW) return sql`${value} in (${sql.join(bounds.map(bind))})`
  return sql`${value} in (select value from json_each(${JSON.stringify(bounds)}))`
}

/** Whether the element in row `e` of `json_each` meets one of the conditions of the test; it may be null instead of false. */
export function elementMeets(test: Test): Sql | undefined {
  // `atom` is null for objects and arrays, which `value` writes as JSON.
  const conditions = conditionsOf(test, sql`e.atom`, sql`e.value`)
  if (!conditions) return undefined
  const met: Sql[] = []
  for (const [types, holds] of conditions)
    met.push(sql`${holds} and e.type in (${sql.literal(`'${types.join(`', '`)}'`)})`)
  return sql`(${met.length === 0 ? sql`false` : sql.join(met, ' or ')})`
}

// First what few documents meet, as no look into them costs much less than another; then what takes more than one.
export const COSTS: Readonly<Record<Test['kind'], number>> = {
  in: 2,
  size: 2,
  mod: 3,
  bits: 3,
  range: 3,
  exists: 4,
  type: 4,
  pattern: 8,
  element: 20,
  elementMatches: 20,
}
