import { sql, type Sql } from '../../../../../../db/sql.ts'
import {
  countConditions,
  isOfId,
  type ElementTest,
  type ExpressionFilter,
  type FieldFilter,
  type FilterTree,
} from '../../../language/query/filter.ts'
import { compileMatcher } from '../../../language/query/matcher.ts'
import { indexOf, type Path } from '../../../language/query/path.ts'
import { idMatches } from '../document-rows.ts'
import { conditionsOf, COSTS, elementMeets, FEW } from './conditions.ts'
import { comparisonSql } from './expression.ts'
import { bind, jsonPath } from './json.ts'

/** A document, or an object in an array of one, in JSONB. */
type Place = {
  readonly document: Sql
  /** How many arrays it is in. */
  readonly depth: number
}

const WHOLE: Place = { document: sql`d.doc`, depth: 0 }
const TRUE = sql`true`
const FALSE = sql`false`

// SQLite keeps a copy of the document for each look into it, until the next row: conditions × bytes of all of them.
const COPIED_BYTES = 4_194_304
const LARGEST_DOCUMENT = 1_048_576

/**
 * The filter as a condition of row `d` of the documents: true or false, never null. What SQL can't tell, or not so quickly,
 * is decided by the function `store_matches`: numeric parts of a path behind an array, and comparisons with objects. Large
 * documents are parsed once, instead of being searched again for each of many conditions.
 */
export function sqliteMatches(filter: FilterTree): Sql {
  const native = matches(filter, WHOLE)
  const bytes = Math.floor(COPIED_BYTES / Math.max(countConditions(filter), 1))
  if (bytes >= LARGEST_DOCUMENT) return native
  const large = computed(sql`json_array(json(d.doc))`, inElements(filter))
  const decided = sql`case when octet_length(d.doc) < ${bytes} then ${native} else ${large} end`
  // What the primary key answers is outside, or SQLite would not search by it.
  const keys = filter.kind === 'and' ? filter.of.filter(isOfId) : []
  return keys.length === 0 ? decided : sql`${matches({ kind: 'and', of: keys }, WHOLE)} and ${decided}`
}

/** @param value JSON of the value of the first part of the path */
const computed = (value: Sql, filter: FieldFilter): Sql =>
  sql`store_matches(${value}, store_matcher(${JSON.stringify(filter)}))`

/** Whether an element of the array that is alone in a document matches; an array is a document with indexes as names. */
const inElements = (of: FilterTree): FieldFilter => ({
  kind: 'field',
  path: [''],
  test: { kind: 'elementMatches', of },
})

function matches(filter: FilterTree, place: Place): Sql {
  if (filter.kind === 'field') return fieldMatches(filter, place)
  if (filter.kind === 'expr') return expressionMatches(filter)
  if (filter.kind === 'not') return sql`not (${matches(filter.of, place)})`
  const cheapFirst = filter.of.toSorted((a, b) => costOf(a) - costOf(b))
  return joined(
    filter.kind,
    cheapFirst.map((one) => matches(one, place)),
  )
}

function joined(kind: 'and' | 'or', parts: readonly Sql[]): Sql {
  if (parts.length === 0) return kind === 'and' ? TRUE : FALSE
  return sql`(${sql.join(parts, ` ${kind} `)})`
}

/** It is asked of whole documents only. */
function expressionMatches(filter: ExpressionFilter): Sql {
  const byFunction = computed(sql`json_array(json(d.doc))`, inElements(filter))
  const paths = [filter, filter.to].flatMap((side) => ('path' in side ? [side.path] : []))
  if (paths.some((path) => path.length > PARTS_MAX)) return byFunction
  return comparisonSql(filter, WHOLE.document, byFunction)
}

function costOf(filter: FilterTree): number {
  if (filter.kind === 'not') return costOf(filter.of)
  if (filter.kind === 'expr') return 2 * COSTS.range
  if (filter.kind !== 'field') return filter.of.reduce((sum, part) => sum + costOf(part), 0)
  if (filter.path.length > PARTS_MAX) return COSTS.element
  const { test } = filter
  // As many documents are true as false, or null.
  const isOneOfFew =
    test.kind === 'in' && test.values.every((one) => one === null || typeof one === 'boolean')
  return isOneOfFew ? COSTS.exists : COSTS[test.kind]
}

// If a field is missing, each part of its path is one more look into the document.
const PARTS_MAX = 8

function fieldMatches(filter: FieldFilter, place: Place): Sql {
  const { path } = filter
  const { document } = place
  const byKey = place.depth === 0 ? idMatches(filter) : undefined
  if (byKey) return byKey
  const first = jsonPath(path.slice(0, 1))
  const byFunction = () => computed(sql`${document} -> ${first}`, filter)
  const passes = path.length <= PARTS_MAX ? valueMatches(filter, place, byFunction) : undefined
  if (passes) return passes
  // In a document without objects and arrays nothing else is found than in an empty one.
  return sql`case when json_type(${document}, ${first}) in ('object', 'array')
    then ${byFunction()} else ${compileMatcher(filter)({}) ? TRUE : FALSE} end`
}

/** Whether a value at the field passes, with few looks into the document; undefined if SQL can't tell. */
function valueMatches(filter: FieldFilter, place: Place, byFunction: () => Sql): Sql | undefined {
  const { path, test } = filter
  const at = sql`${place.document}, ${jsonPath(path)}`
  const ofMissing = test.kind === 'in' && test.values.includes(null) ? TRUE : FALSE
  const missing = path.length === 1 ? ofMissing : missingMatches(filter, place, ofMissing, byFunction)
  const byType = (whens: Sql, others = FALSE): Sql =>
    sql`case ifnull(json_type(${at}), '') ${whens} when '' then ${missing} else ${others} end`
  if (test.kind === 'exists') return byType(sql``, TRUE)
  if (test.kind === 'size') return byType(sql`when 'array' then json_array_length(${at}) = ${test.size}`)
  if (test.kind === 'element' || test.kind === 'elementMatches') {
    const element = test.kind === 'element' ? elementPasses(test.of) : undefined
    const some = element
      ? sql`exists (select 1 from json_each(${at}) e where ${element})`
      : someMatches(filter, place)
    return some && byType(sql`when 'array' then ${some}`)
  }
  const ofElement = elementMeets(test)
  if (!ofElement) return undefined
  const inArray = sql`exists (select 1 from json_each(${at}) e where ${ofElement} and typeof(e.key) = 'integer')`
  if (test.kind === 'in' && test.values.length <= FEW && test.values.every(isPlain))
    return equalsOne(at, test.values, inArray, path.length === 1 ? undefined : missing)
  const value = sql`json_extract(${at})`
  const byTypes = new Map([['array', [inArray]]])
  for (const [types, holds] of conditionsOf(test, value, value)!)
    for (const type of types)
      byTypes.set(type, [test.kind === 'range' ? TRUE : holds, ...(byTypes.get(type) ?? [])])
  const whens = [...byTypes].map(
    ([type, of]) => sql`when ${sql.literal(`'${type}'`)} then ${joined('or', of)}`,
  )
  const decided = byType(sql.join(whens, ' '))
  if (test.kind !== 'range') return decided
  const foundSql = isFound(at, test.operator, test.bound as string | number)
  return sql`case when ${path.length === 1 ? foundSql : sql`ifnull(${foundSql}, true)`} then ${decided} else false end`
}

const isPlain = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number'

// Objects and arrays are blobs to `jsonb_extract`, which SQLite compares as behind all text.
const CONTAINER = sql`x''`
const MISSING = sql`x'00'`

/** Equality in one look: `min` leaves text and numbers as they are, and makes all objects and arrays one value. */
function equalsOne(
  at: Sql,
  values: readonly (string | number)[],
  inArray: Sql,
  missing: Sql | undefined,
): Sql {
  if (values.length === 0) return FALSE
  const whens = values.map((value) => {
    // True and false are 1 and 0.
    const passes = value === 0 || value === 1 ? sql`json_type(${at}) = 'integer'` : TRUE
    return sql`when ${bind(value)} then ${passes}`
  })
  const cases = sql`${sql.join(whens, ' ')} when ${CONTAINER} then ${inArray}`
  const smallestSql = sql`min(jsonb_extract(${at}), ${CONTAINER})`
  return missing
    ? sql`case ifnull(${smallestSql}, ${MISSING}) ${cases} when ${MISSING} then ${missing} else false end`
    : sql`case ${smallestSql} ${cases} else false end`
}

/**
 * Whether the value is in the range or of another type that has to be looked at again, an object or array. Numbers are before
 * text, and text before these.
 */
function isFound(at: Sql, operator: '>' | '>=' | '<' | '<=', bound: string | number): Sql {
  const value = sql`jsonb_extract(${at})`
  if (operator === '>' || operator === '>=') return sql`${value} ${sql.literal(operator)} ${bind(bound)}`
  const next = operator === '<' ? bound : nextAfter(bound)
  return sql`${value} not between ${bind(next)} and ${typeof bound === 'string' ? CONTAINER : sql`${Infinity}`}`
}

/** The next text, as none holds U+0000, or the next double. */
function nextAfter(bound: string | number): string | number {
  if (typeof bound === 'string') return `${bound}\u0001`
  if (bound === 0) return Number.MIN_VALUE
  const double = new Float64Array([bound])
  new BigInt64Array(double.buffer)[0]! += bound > 0 ? 1n : -1n
  return double[0]!
}

/** Whether an element itself, in row `e` of `json_each`, passes; undefined if SQL can't tell. */
function elementPasses(test: ElementTest): Sql | undefined {
  if (test.kind === 'value') {
    if (test.test.kind === 'exists') return TRUE
    const meets = elementMeets(test.test)
    return meets && sql`(${meets} is true)`
  }
  const of = (test.kind === 'not' ? [test.of] : test.of).map(elementPasses)
  if (!of.every((one) => one !== undefined)) return undefined
  return test.kind === 'not' ? sql`not (${of[0]!})` : joined(test.kind, of)
}

// The levels of all arrays together are those of one expression, of which SQLite takes 1000.
const NATIVE_DEPTH_MAX = 2

/** Whether an element of the array at the path matches as a document; undefined if SQL can't tell. */
function someMatches({ path, test }: FieldFilter, place: Place): Sql | undefined {
  if (test.kind !== 'elementMatches' || place.depth === NATIVE_DEPTH_MAX) return undefined
  const { each, element, type } = eachElement(place, path)
  return sql`exists (select 1 from ${each} where case ${type} when 'object' then ${matches(test.of, element)}
    when 'array' then ${computed(sql`json_array(json(${element.document}))`, inElements(test.of))} else false end)`
}

/** The rows of an array's elements, each of which is a place to look into. */
function eachElement({ document, depth }: Place, path: Path): { each: Sql; element: Place; type: Sql } {
  const name = sql.literal(`e${depth + 1}`)
  return {
    each: sql`jsonb_each(${document}, ${jsonPath(path)}) ${name}`,
    element: { document: sql`${name}.value`, depth: depth + 1 },
    type: sql`${name}.type`,
  }
}

/**
 * Whether the filter passes where a path of several parts leads to no value. There may be an array on the way.
 *
 * @param passes whether it passes if there is none
 */
function missingMatches({ path, test }: FieldFilter, place: Place, passes: Sql, byFunction: () => Sql): Sql {
  // With each part more the SQL would be twice as long, and take that much longer to prepare.
  const isNative =
    path.length === 2 &&
    indexOf(path[1]!) === -1 &&
    !(test.kind === 'element' || test.kind === 'elementMatches') &&
    !(test.kind === 'in' && test.values.length > FEW)
  let through: Sql
  if (!isNative) through = byFunction()
  else {
    const { each, element, type } = eachElement(place, path.slice(0, 1))
    const inObject = fieldMatches({ kind: 'field', path: path.slice(1), test }, element)
    through = sql`exists (select 1 from ${each} where ${type} = 'object' and ${inObject})`
  }
  const arrays = path
    .slice(1)
    .map((_, i) => sql`json_type(${place.document}, ${jsonPath(path.slice(0, i + 1))}) = 'array'`)
  return sql`case when ${sql.join(arrays, ' or ')} then ${through} else ${passes} end`
}
