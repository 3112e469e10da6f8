import { sql, type Sql } from '../../../../../db/sql.ts'
import type { ElementTest } from '../../query/filter.ts'
import { conditionsOf, type SqlCondition } from './conditions.ts'
import { bool, typeName } from './json.ts'

/** Whether the element in row `e` of `json_each` meets one of the conditions; it may be null instead of false. */
export function meetsOne(conditions: readonly SqlCondition[]): Sql {
  const passes = conditions.map(({ types, holds }) => {
    const isOfType = sql`e.type in (${sql.join(types.map(typeName))})`
    // `atom` is null for objects and arrays, which `value` writes as JSON.
    const value = types.includes('object') || types.includes('array') ? sql`e.value` : sql`e.atom`
    return holds ? sql`${holds(value)} and ${isOfType}` : isOfType
  })
  return sql`(${sql.join(passes, ' or ')})`
}

/** Whether the element in row `e` of `json_each` passes; undefined if SQL can't tell. */
export function elementPasses(element: ElementTest): Sql | undefined {
  switch (element.kind) {
    case 'not': {
      const of = elementPasses(element.of)
      return of && sql`not (${of})`
    }
    case 'and':
    case 'or': {
      const of = element.of.flatMap((one) => elementPasses(one) ?? [])
      if (of.length < element.of.length) return undefined
      return of.length === 0 ? bool(element.kind === 'and') : sql`(${sql.join(of, ` ${element.kind} `)})`
    }
    case 'value': {
      const conditions = conditionsOf(element.test)
      if (!conditions) return undefined
      return conditions.length === 0 ? bool(false) : sql`(${meetsOne(conditions)} is true)`
    }
  }
}
