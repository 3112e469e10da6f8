import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Filter, Test } from '../filter.ts'
import { compileMatcher } from '../matcher.ts'
import { isOneOf } from './conditions.ts'
import { fieldPasses } from './field.ts'
import { bool, jsonPath } from './json.ts'

type FieldFilter = Extract<Filter, { kind: 'field' }>

/**
 * The filter as a condition of row `d` of the documents: true or false, never null. The function `store_matches` decides
 * what SQL can't tell: arrays in the middle of a path, and tests that look into elements.
 */
export function sqliteMatches(filter: Filter): Sql {
  switch (filter.kind) {
    case 'field':
      return fieldMatches(filter)
    case 'not':
      return sql`not (${sqliteMatches(filter.of)})`
    case 'and':
    case 'or': {
      if (filter.of.length === 0) return bool(filter.kind === 'and')
      const cheapFirst = filter.of.toSorted((a, b) => costOf(a) - costOf(b))
      return sql`(${sql.join(cheapFirst.map(sqliteMatches), ` ${filter.kind} `)})`
    }
  }
}

// If a field is missing, each part of its path is one more look into the document.
const PARTS_MAX = 8

function fieldMatches(filter: FieldFilter): Sql {
  const { path, test } = filter
  const byKey = path.length === 1 && path[0] === '_id' ? idMatches(test) : undefined
  if (byKey) return byKey
  const document = sql`d.doc`
  const first = jsonPath(path.slice(0, 1))
  const computed = sql`store_matches(${document} -> ${first}, ${JSON.stringify(filter)})`
  const passes =
    path.length <= PARTS_MAX ? fieldPasses({ document, path, throughArray: computed }, test) : undefined
  // In a document without objects and arrays nothing else is found than in an empty one.
  return (
    passes ??
    sql`case when json_type(${document}, ${first}) in ('object', 'array') then ${computed}
    else ${bool(compileMatcher(filter)({}))} end`
  )
}

/** By the primary key: the field `_id` is text, and always the row's id. */
function idMatches(test: Test): Sql | undefined {
  if (test.kind === 'range' && typeof test.bound === 'string')
    return sql`d.id ${sql.literal(test.operator)} ${test.bound}`
  if (test.kind !== 'in') return undefined
  const ids = test.values.filter((value) => typeof value === 'string')
  return ids.length === 0 ? bool(false) : isOneOf(sql`d.id`, ids)
}

// Roughly by their time; and equality is what fewest documents meet.
const COSTS: Readonly<Record<Test['kind'], number>> = {
  in: 2,
  exists: 2,
  size: 2,
  type: 3,
  range: 3,
  mod: 4,
  pattern: 8,
  element: 20,
  elementMatches: 20,
}

function costOf(filter: Filter): number {
  if (filter.kind === 'not') return costOf(filter.of)
  if (filter.kind !== 'field') return filter.of.reduce((sum, part) => sum + costOf(part), 0)
  return filter.path.length <= PARTS_MAX ? COSTS[filter.test.kind] : COSTS.element
}
