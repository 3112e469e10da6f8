import { sql, type Sql } from '../../../../../../db/sql.ts'
import { isScalar, type FilterTree, type Test } from '../../../language/query/filter.ts'
import type { Path } from '../../../language/query/path.ts'
import { idMatches } from '../document-rows.ts'
import { fieldExactly } from './exact.ts'
import { comparisonSql } from './expression.ts'
import { FEW, fieldPredicate, hasIndexes, notDocument } from './jsonpath.ts'
import { isNull, isOneOf } from './operators.ts'
import { all, any, holds, type Predicate } from './predicate.ts'

/**
 * The filter as a condition on row `d` of store_documents: true or false, never null.
 *
 * What SQL/JSON path can say is said by it, in as few paths as possible, since a document of more than 2 KB is unpacked for
 * each. The rest is asked of the JSON text, in which objects keep their order; only of documents that can pass.
 */
export const postgresMatches = (filter: FilterTree): Sql =>
  filter.kind === 'not' ? sql`not ${postgresMatches(filter.of)}` : toSql(matches(filter))

/** A predicate is exact here. */
type Condition = Predicate | Sql

const isPredicate = (condition: Condition): condition is Predicate => 'exact' in condition

const toSql = (condition: Condition): Sql => sql`(${isPredicate(condition) ? holds(condition) : condition})`

function matches(filter: FilterTree): Condition {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const parts = filter.of.map(matches)
      const joined = (filter.kind === 'and' ? all : any)(...parts.filter(isPredicate))
      const others = parts.filter((part) => !isPredicate(part))
      if (others.length === 0) return joined
      const conditions = others.length === parts.length ? others : [joined, ...others]
      return sql.join(conditions.map(toSql), ` ${filter.kind} `)
    }
    case 'not': {
      const of = matches(filter.of)
      return isPredicate(of) ? notDocument(of) : sql`not ${toSql(of)}`
    }
    case 'expr':
      return comparisonSql(filter)
    case 'field':
      return idMatches(filter) ?? fieldMatches(filter.path, filter.test)
  }
}

function fieldMatches(path: Path, test: Test): Condition {
  if (test.kind === 'in' && test.values.every(isScalar) && !hasIndexes(path)) {
    if (test.values.length > FEW) return isOneOf(path, test.values)
    if (test.values.length === 1 && test.values[0] === null) return isNull(path)
  }
  const predicate = fieldPredicate(path, test)
  if (predicate.exact) return predicate
  return sql`case when ${holds(predicate)} then ${fieldExactly(sql`d.body`, path, test)} else false end`
}
