import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Json, Test, TypeName } from '../../query/filter.ts'
import { bind, type JsonType } from './json.ts'

/** What a value of one of these types must meet. */
export type SqlCondition = {
  readonly types: readonly JsonType[]
  /**
   * Only asked of values of these types: `json_extract` answers 1 and 0 for true and false, too.
   *
   * @param value as `json_extract` answers it: objects and arrays as JSON. Default: every value.
   */
  readonly holds?: (value: Sql) => Sql
}

/** Conditions of which a value must meet one to pass the test; undefined if SQL can't tell. */
export function conditionsOf(test: Test): readonly SqlCondition[] | undefined {
  switch (test.kind) {
    case 'in':
      return oneOf(test.values)
    case 'range':
      return inRange(test.operator, test.bound)
    case 'type':
      return test.types.flatMap((type) => TYPES[type])
    case 'pattern': {
      const { engine, expression, cost } = test.pattern
      const pattern = JSON.stringify({ engine, expression, cost })
      // As text, because no function takes an integer beyond 2^53, and the type may be asked afterwards.
      return [
        {
          types: ['text'],
          holds: (value) => sql`store_matches_pattern(${value} || '', store_pattern(${pattern}))`,
        },
      ]
    }
    case 'mod':
      return [withRemainder(test.divisor, test.remainder)]
    case 'exists':
    case 'size':
    case 'element':
    case 'elementMatches':
      return undefined
  }
}

function oneOf(values: readonly Json[]): SqlCondition[] {
  const constants = values.filter((value) => value === null || typeof value === 'boolean')
  const containers = values.filter((value) => typeof value === 'object' && value !== null)
  // Equal ones have the same JSON.
  const jsonOf = (isArray: boolean): string[] =>
    containers.filter((value) => Array.isArray(value) === isArray).map((value) => JSON.stringify(value))
  const all: readonly (readonly [readonly JsonType[], readonly (string | number)[]])[] = [
    [['integer', 'real'], values.filter((value) => typeof value === 'number')],
    [['text'], values.filter((value) => typeof value === 'string')],
    [['object'], jsonOf(false)],
    [['array'], jsonOf(true)],
  ]
  const conditions: SqlCondition[] = all
    .filter(([, bounds]) => bounds.length > 0)
    .map(([types, bounds]) => ({ types, holds: (value) => isOneOf(value, bounds) }))
  if (constants.length > 0)
    conditions.push({ types: [...new Set(constants)].map((value) => String(value) as JsonType) })
  return conditions
}

/** More values than that are a list of one parameter. */
export const FEW = 8

/** @param bounds all of them text, or all numbers */
export function isOneOf(value: Sql, bounds: readonly (string | number)[]): Sql {
  if (bounds.length === 1) return sql`${value} = ${bind(bounds[0]!)}`
  if (bounds.length <= FEW) return sql`${value} in (${sql.join(bounds.map(bind))})`
  return sql`${value} in (select value from json_each(${JSON.stringify(bounds)}))`
}

function inRange(operator: '>' | '>=' | '<' | '<=', bound: Json): SqlCondition[] | undefined {
  if (typeof bound !== 'string' && typeof bound !== 'number') return undefined
  return [
    {
      types: typeof bound === 'string' ? ['text'] : ['integer', 'real'],
      holds: (value) => sql`${value} ${sql.literal(operator)} ${bind(bound)}`,
    },
  ]
}

const LIMIT_64 = 2 ** 63

// JSON's integers beyond 64 bits are doubles to SQLite, and `integer` is their type all the same. JSON writes -2^63 as one.
const fits32 = (value: Sql): Sql => sql`${value} between -2147483648 and 2147483647`
const fits64 = (value: Sql): Sql => sql`${value} > ${-LIMIT_64} and ${value} < ${LIMIT_64}`

const TYPES: Readonly<Record<TypeName, readonly SqlCondition[]>> = {
  null: [{ types: ['null'] }],
  bool: [{ types: ['true', 'false'] }],
  string: [{ types: ['text'] }],
  object: [{ types: ['object'] }],
  array: [{ types: ['array'] }],
  int: [{ types: ['integer'], holds: fits32 }],
  long: [{ types: ['integer'], holds: (value) => sql`(${fits64(value)} and not (${fits32(value)}))` }],
  double: [{ types: ['real'] }, { types: ['integer'], holds: (value) => sql`not (${fits64(value)})` }],
}

const withRemainder = (divisor: number, remainder: number): SqlCondition => ({
  types: ['integer', 'real'],
  holds: (value) =>
    sql`(${fits64(value)} and cast(${value} as integer) % ${bind(divisor)} = ${bind(remainder)})`,
})

// First what few documents meet, as no look into them costs much less than another; then what takes more than one.
export const COSTS: Readonly<Record<Test['kind'], number>> = {
  in: 2,
  size: 2,
  mod: 3,
  range: 3,
  exists: 4,
  type: 4,
  pattern: 8,
  element: 20,
  elementMatches: 20,
}
