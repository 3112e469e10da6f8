import { sql, type Sql } from '../../../../../../db/sql.ts'
import { sortKeyOf } from '../../../language/query/sort-key.ts'
import {
  asksElements,
  type ElementTest,
  type FilterTree,
  type Json,
  type Test,
} from '../../../language/query/filter.ts'
import type { Path } from '../../../language/query/path.ts'
import { comparisonExactly } from './expression.ts'
import { typeOf } from './jsonpath.ts'

/**
 * Whether one of the values at the path passes, for every path and test: asked of the JSON text, value by value, by the
 * functions of migration 006. Many times slower than a jsonpath.
 *
 * @param document an expression of type json
 * @param depth tells the names of nested queries apart
 */
export function fieldExactly(document: Sql, path: Path, test: Test, depth = 0): Sql {
  const name = sql.literal(`at${depth}`)
  const elements = sql.literal(String(asksElements(test)))
  return sql`exists (select from store_values(${document}, array[${sql.join(path)}]::text[], ${elements}) as ${name}(value)
    where ${passes(sql`${name}.value`, test, depth)})`
}

/** @param value an expression of type json, null for "missing": then the answer may be null */
function passes(value: Sql, test: Test, depth: number): Sql {
  switch (test.kind) {
    case 'in':
      return isOneOf(value, test.values)
    case 'range': {
      const key = sql`decode(${sortKeyOf(test.bound).toString('hex')}, 'hex')`
      const compared = sql`store_sort_key(${value}) ${sql.literal(test.operator)} ${key}`
      return sql`(json_typeof(${value}) = ${typeOf(test.bound)} and ${compared})`
    }
    case 'type':
      return sql`store_type(${value}) = any(array[${sql.join(test.types)}]::text[])`
    case 'mod':
      return sql`store_has_remainder(${value}, ${test.divisor}, ${test.remainder})`
    case 'bits': {
      const number = sql`(${value} #>> '{}')::numeric`
      const bits = sql`${number}::bigint & ${test.mask}::bigint ${sql.literal(test.relation)} ${test.bits}::bigint`
      const isInteger = sql`${number} between -9223372036854775808 and 9223372036854775807 and ${number} % 1 = 0`
      return whereType(value, 'number', sql`case when ${isInteger} then ${bits} else false end`)
    }
    case 'pattern':
      return whereType(value, 'string', sql`(${value} #>> '{}') collate "C" ~ ${test.pattern.postgres}`)
    case 'exists':
      return sql`${value} is not null`
    case 'size':
      return whereType(value, 'array', sql`json_array_length(${value}) = ${test.size}::numeric`)
    case 'element':
      return someElement(value, depth, (element) => matches(element, test.of, depth + 1))
    case 'elementMatches':
      return someElement(
        value,
        depth,
        (element) => sql`json_typeof(${element}) in ('object', 'array')
          and ${matches(sql`store_as_object(${element})`, test.of, depth + 1)}`,
      )
  }
}

/** Values are equal if their texts are. */
function isOneOf(value: Sql, values: readonly Json[]): Sql {
  const texts = JSON.stringify(values.map((one) => JSON.stringify(one)))
  const text = values.includes(null) ? sql`coalesce(${value}::text, 'null')` : sql`${value}::text`
  return sql`${text} in (select jsonb_array_elements_text(${texts}::jsonb))`
}

const whereType = (value: Sql, type: string, condition: Sql): Sql =>
  sql`case json_typeof(${value}) when ${type} then ${condition} else false end`

function someElement(array: Sql, depth: number, condition: (element: Sql) => Sql): Sql {
  const name = sql.literal(`each${depth}`)
  const some = sql`exists (select from json_array_elements(${array}) as ${name}(value)
    where ${condition(sql`${name}.value`)})`
  return whereType(array, 'array', some)
}

/** @param value a document, or an element for a test of one */
function matches(value: Sql, part: FilterTree | ElementTest, depth: number): Sql {
  if (part.kind === 'field') return fieldExactly(value, part.path, part.test, depth)
  if (part.kind === 'expr') return comparisonExactly(value, part)
  if (part.kind === 'value') return passes(value, part.test, depth)
  if (part.kind === 'not') return sql`not (${matches(value, part.of, depth)})`
  if (part.of.length === 0) return sql.literal(String(part.kind === 'and'))
  const parts = part.of.map((one) => matches(value, one, depth))
  return sql`(${sql.join(parts, ` ${part.kind} `)})`
}
