import { sql, type Sql } from '../../../../../db/sql.ts'
import { countConditions, type FilterTree, type Test } from '../../query/filter.ts'
import { compileMatcher } from '../../query/matcher.ts'
import { indexOf, type Path } from '../../query/path.ts'
import { COSTS, FEW, isOneOf } from './conditions.ts'
import { elementPasses } from './elements.ts'
import { byType, fieldPasses, type SqliteField, type SqlitePlace } from './field.ts'
import { bool, jsonPath } from './json.ts'

type FieldFilter = Extract<FilterTree, { kind: 'field' }>

/**
 * The filter as a condition of row `d` of the documents: true or false, never null. What SQL can't tell, or not so quickly,
 * is decided by the function `store_matches`: numeric parts of a path behind an array, and comparisons with objects.
 */
export function sqliteMatches(filter: FilterTree): Sql {
  if (filter.kind !== 'and') return anyMatches(filter)
  const [byKey, others] = [true, false].map((one) => filter.of.filter((part) => isByKey(part) === one))
  return byKey!.length === 0 || others!.length === 0
    ? anyMatches(filter)
    : sql`${matches({ kind: 'and', of: byKey! }, WHOLE)} and ${anyMatches({ kind: 'and', of: others! })}`
}

const WHOLE: SqlitePlace = { document: sql`d.doc`, depth: 0 }

// SQLite keeps a copy of the document for each look into it, until the next row: conditions × bytes of all of them.
const COPIED_BYTES = 4_194_304
const LARGEST_DOCUMENT = 1_048_576

/** Large documents are parsed once, instead of being searched again for each of many conditions. */
function anyMatches(filter: FilterTree): Sql {
  const native = matches(filter, WHOLE)
  const bytes = Math.floor(COPIED_BYTES / Math.max(countConditions(filter), 1))
  return bytes >= LARGEST_DOCUMENT
    ? native
    : sql`case when octet_length(d.doc) < ${bytes} then ${native}
        else store_document_matches(json(d.doc), store_document_matcher(${JSON.stringify(filter)})) end`
}

const isByKey = (filter: FilterTree): boolean =>
  filter.kind === 'field' && filter.path.length === 1 && filter.path[0] === '_id'

function matches(filter: FilterTree, place: SqlitePlace): Sql {
  switch (filter.kind) {
    case 'field':
      return fieldMatches(filter, place)
    case 'not':
      return sql`not (${matches(filter.of, place)})`
    case 'and':
    case 'or': {
      if (filter.of.length === 0) return bool(filter.kind === 'and')
      const cheapFirst = filter.of.toSorted((a, b) => costOf(a) - costOf(b))
      const of = cheapFirst.map((one) => matches(one, place))
      return sql`(${sql.join(of, ` ${filter.kind} `)})`
    }
  }
}

// If a field is missing, each part of its path is one more look into the document.
const PARTS_MAX = 8

function fieldMatches(filter: FieldFilter, place: SqlitePlace): Sql {
  const { path, test } = filter
  const byKey = place.depth === 0 && path.length === 1 && path[0] === '_id' ? idMatches(test) : undefined
  if (byKey) return byKey
  const computed = computedBy(filter, place)
  const throughArrays = path.slice(1).map((_, i) => throughArray(filter, place, i + 1) ?? computed)
  const elements = elementsPass(filter, place)
  const field: SqliteField = { ...place, path, throughArrays }
  const passes = elements ? byType(field, [['array', elements]]) : fieldPasses(field, test)
  if (passes && path.length <= PARTS_MAX) return passes
  // In a document without objects and arrays nothing else is found than in an empty one.
  return sql`case when json_type(${place.document}, ${jsonPath(path.slice(0, 1))}) in ('object', 'array')
    then ${computed} else ${bool(compileMatcher(filter)({}))} end`
}

const computedBy = (filter: FieldFilter, { document }: SqlitePlace): Sql =>
  sql`store_matches(${document} -> ${jsonPath(filter.path.slice(0, 1))}, store_matcher(${JSON.stringify(filter)}))`

// With each part the SQL is twice as long, and takes that much longer to prepare.
const NATIVE_PARTS_MAX = 2

/** Whether an object passes in the array at so many parts of the path; undefined if SQL can't tell. */
function throughArray({ path, test }: FieldFilter, place: SqlitePlace, parts: number): Sql | undefined {
  if (path.length > NATIVE_PARTS_MAX || path.slice(1).some((part) => indexOf(part) !== -1)) return undefined
  if (test.kind === 'element' || test.kind === 'elementMatches') return undefined
  if (test.kind === 'in' && test.values.length > FEW) return undefined
  const { each, element } = eachElement(place, path.slice(0, parts))
  const passes = fieldMatches({ kind: 'field', path: path.slice(parts), test }, element)
  return sql`exists (select 1 from ${each} where ${element.type} = 'object' and ${passes})`
}

// The levels of all arrays together are those of one expression, of which SQLite takes 1000.
const NATIVE_DEPTH_MAX = 2

/** Whether an element of an array passes; undefined if SQL can't tell. */
function elementsPass(filter: FieldFilter, place: SqlitePlace): Sql | undefined {
  const { path, test } = filter
  if (test.kind === 'element') {
    const passes = elementPasses(test.of)
    return (
      passes && sql`exists (select 1 from json_each(${place.document}, ${jsonPath(path)}) e where ${passes})`
    )
  }
  if (test.kind !== 'elementMatches' || place.depth === NATIVE_DEPTH_MAX) return undefined
  const { each, element } = eachElement(place, path)
  // An array is a document with indexes as names.
  const alone: FieldFilter = { kind: 'field', path: [''], test }
  return sql`exists (select 1 from ${each} where case ${element.type}
    when 'object' then ${matches(test.of, element)}
    when 'array' then store_matches(json_array(json(${element.document})), store_matcher(${JSON.stringify(alone)})) else false end)`
}

type Element = SqlitePlace & { readonly type: Sql }

/** The rows of an array's elements, each of which is a place to look into. */
function eachElement({ document, depth }: SqlitePlace, path: Path): { each: Sql; element: Element } {
  const name = sql.literal(`e${depth + 1}`)
  return {
    each: sql`jsonb_each(${document}, ${jsonPath(path)}) ${name}`,
    element: { document: sql`${name}.value`, depth: depth + 1, type: sql`${name}.type` },
  }
}

/** By the primary key: the field `_id` is text, and always the row's id. */
function idMatches(test: Test): Sql | undefined {
  if (test.kind === 'range' && typeof test.bound === 'string')
    return sql`d.id ${sql.literal(test.operator)} ${test.bound}`
  if (test.kind !== 'in') return undefined
  const ids = test.values.filter((value) => typeof value === 'string')
  return ids.length === 0 ? bool(false) : isOneOf(sql`d.id`, ids)
}

function costOf(filter: FilterTree): number {
  if (filter.kind === 'not') return costOf(filter.of)
  if (filter.kind !== 'field') return filter.of.reduce((sum, part) => sum + costOf(part), 0)
  if (filter.path.length > PARTS_MAX) return COSTS.element
  const { test } = filter
  // As many documents are true as false, or null.
  const isOneOfFew =
    test.kind === 'in' && test.values.every((one) => one === null || typeof one === 'boolean')
  return isOneOfFew ? COSTS.exists : COSTS[test.kind]
}
