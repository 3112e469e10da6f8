import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Filter, Json, Scalar, Test } from '../filter.ts'
import type { Path } from '../path.ts'
import { fieldExactly } from './exact.ts'
import { fieldPredicate, hasIndexes, isMissing, notDocument } from './jsonpath.ts'
import { all, always, any, type Predicate } from './predicate.ts'

/**
 * The filter as a condition on row `d` of store_documents: true or false, never null.
 *
 * What SQL/JSON path can say is said by it, in as few paths as possible, since a document of more than 2 KB is unpacked for
 * each. The rest is asked of the JSON text, in which objects keep their order; of the documents that can pass only.
 */
export const postgresMatches = (filter: Filter): Sql => toSql(matches(filter))

/** A predicate is exact here. */
type Condition = Predicate | Sql

const isPredicate = (condition: Condition): condition is Predicate => 'exact' in condition

const toSql = (condition: Condition): Sql => (isPredicate(condition) ? holds(condition) : condition)

/** `$ ? (…)` yields the document where the predicate is true, so the answer is never null. */
const holds = ({ text }: Predicate): Sql =>
  text === always.text ? sql`true` : sql`d.doc @? ${`$ ? (${text})`}::jsonpath`

function matches(filter: Filter): Condition {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const parts = filter.of.map(matches)
      const join = filter.kind === 'and' ? all : any
      const predicate = join(...parts.filter(isPredicate))
      const others = parts.filter((part) => !isPredicate(part)) as Sql[]
      if (others.length === 0) return predicate
      const said = others.length < parts.length ? [holds(predicate)] : []
      return sql`(${sql.join([...said, ...others], ` ${filter.kind} `)})`
    }
    case 'not': {
      const of = matches(filter.of)
      return isPredicate(of) ? notDocument(of) : sql`not (${of})`
    }
    case 'field':
      return fieldMatches(filter.path, filter.test)
  }
}

function fieldMatches(path: Path, test: Test): Condition {
  if (path.length === 1 && path[0] === '_id') {
    const byKey = idMatches(test)
    if (byKey) return byKey
  }
  if (test.kind === 'in' && test.values.length > FEW && test.values.every(isScalar) && !hasIndexes(path))
    return isOneOf(path, test.values)
  const predicate = fieldPredicate(path, test)
  if (predicate.exact) return predicate
  return sql`case when ${holds(predicate)} then ${fieldExactly(sql`d.body`, path, test)} else false end`
}

const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null

const jsonList = (values: readonly Json[]): Sql => sql`${JSON.stringify(values)}::jsonb`

/** By the primary key: the field `_id` is text, and always the row's id. */
function idMatches(test: Test): Sql | undefined {
  if (test.kind === 'in') {
    const ids = test.values.filter((value) => typeof value === 'string')
    return ids.length === 1
      ? sql`d.id = ${ids[0]!}`
      : sql`d.id = any(array(select jsonb_array_elements_text(${jsonList(ids)})))`
  }
  if (test.kind === 'range' && typeof test.bound === 'string')
    return sql`d.id ${sql.literal(test.operator)} ${test.bound}`
  return undefined
}

// A path compares with one value after the other, which soon costs more than a hash of each value.
const FEW = 3

/** Looks scalars up in a hash table. The path is without indexes. */
function isOneOf(path: Path, values: readonly Scalar[]): Sql {
  const value = sql`(d.doc -> ${sql.join(
    path.map((part) => sql`${part}::text`),
    ' -> ',
  )})`
  const isListed = (one: Sql): Sql => sql`${one} in (select jsonb_array_elements(${jsonList(values)}))`
  // Without a value there may be an array on the way.
  const found = sql`case coalesce(jsonb_typeof(${value}), 'array')
    when 'array' then exists (select from jsonb_path_query(d.doc, ${everyEnd(path)}::jsonpath) as each(value)
      where ${isListed(sql`each.value`)})
    else ${isListed(value)} end`
  return values.includes(null) ? sql`(${found} or ${holds(isMissing(path))})` : found
}

const everyEnd = (path: Path): string => `$${path.map((part) => `.${JSON.stringify(part)}`).join('')}[*]`
