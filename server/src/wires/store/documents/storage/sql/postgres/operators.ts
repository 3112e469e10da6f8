import { sql, type Sql } from '../../../../../../db/sql.ts'
import type { Json, Scalar } from '../../../language/query/filter.ts'
import type { Path } from '../../../language/query/path.ts'
import { fieldPredicate, isMissing } from './jsonpath.ts'
import { holds } from './predicate.ts'

const jsonList = (values: readonly Json[]): Sql => sql`${JSON.stringify(values)}::jsonb`

/** The value at a path without indexes, if it leads through objects only. */
export const plainValue = (path: Path): Sql =>
  sql.join([sql`d.doc`, ...path.map((part) => sql`${part}::text`)], ' -> ')

/** Looks values up in a hash table, where a jsonpath would compare with one after the other. The path is without indexes. */
export function isOneOf(path: Path, values: readonly Scalar[]): Sql {
  const value = plainValue(path)
  const isListed = (one: Sql): Sql => sql`${one} in (select jsonb_array_elements(${jsonList(values)}))`
  const ends = `$${path.map((part) => `.${JSON.stringify(part)}`).join('')}[*]`
  // Without a value there may be an array on the way.
  const elementSql = sql`case coalesce(jsonb_typeof(${value}), 'array')
    when 'array' then exists (select from jsonb_path_query(d.doc, ${ends}::jsonpath) as each(value)
      where ${isListed(sql`each.value`)})
    else (${isListed(value)}) end`
  return values.includes(null) ? sql`(${elementSql} or ${holds(isMissing(path))})` : elementSql
}

/** Whether a value is null or "missing", in half the time of a jsonpath. The path is without indexes. */
export function isNull(path: Path): Sql {
  // Null contains null, and so does an array of which an element is null.
  const ends = sql`coalesce(${plainValue(path)}, 'null') @> 'null'`
  const parent = path.slice(0, -1)
  if (parent.length === 0) return ends
  return sql`case jsonb_typeof(${plainValue(parent)}) when 'object' then ${ends}
    else ${holds(fieldPredicate(path, { kind: 'in', values: [null] }))} end`
}
