import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Json, Test } from '../../query/filter.ts'
import type { Path } from '../../query/path.ts'
import { conditionsOf, FEW, type SqlCondition } from './conditions.ts'
import { meetsOne } from './elements.ts'
import { bind, bool, jsonPath, typeName, type JsonType } from './json.ts'

/** A document, or an object in an array of one, in JSONB. */
export type SqlitePlace = {
  readonly document: Sql
  /** How many arrays it is in. */
  readonly depth: number
}

/** A field of a document. */
export type SqliteField = SqlitePlace & {
  readonly path: Path
  /** Decides where an array is in the middle of the path: at its first part, at its first two parts and so on. */
  readonly throughArrays: readonly Sql[]
}

type FieldPath = Pick<SqliteField, 'document' | 'path'>

const valueOf = ({ document, path }: FieldPath): Sql => sql`json_extract(${document}, ${jsonPath(path)})`
const typeOf = ({ document, path }: FieldPath): Sql => sql`json_type(${document}, ${jsonPath(path)})`

// Objects and arrays are blobs in it, which SQLite compares as behind all text.
const comparedOf = ({ document, path }: FieldPath): Sql => sql`jsonb_extract(${document}, ${jsonPath(path)})`
const CONTAINER = sql.literal(`x''`)
const MISSING = sql.literal(`x'00'`)

/** Whether a value at the field passes, with few looks into the document; undefined if SQL can't tell. */
export function fieldPasses(field: SqliteField, test: Test): Sql | undefined {
  if (test.kind === 'exists') return byType(field, [], { others: true })
  if (test.kind === 'size') {
    const size = sql`json_array_length(${field.document}, ${jsonPath(field.path)})`
    return byType(field, [['array', sql`${size} = ${test.size}`]])
  }
  const conditions = conditionsOf(test)
  if (!conditions) return undefined
  if (conditions.length === 0) return bool(false)
  if (test.kind === 'range') return inRange(field, test, conditions)
  const value = valueOf(field)
  if (test.kind !== 'in') return byType(field, casesOf(field, conditions, value))
  const plain = test.values.filter((one) => typeof one === 'string' || typeof one === 'number')
  return plain.length === test.values.length && plain.length <= FEW
    ? equalsOne(field, plain, conditions)
    : byType(field, casesOf(field, conditions, value), { missing: test.values.includes(null) })
}

type Case = readonly [type: JsonType, passes: Sql]

/** Decides by the type of the value. */
export function byType(
  field: SqliteField,
  cases: readonly Case[],
  { missing = false, others = false } = {},
): Sql {
  const whens = cases.map(([type, passes]) => sql`when ${typeName(type)} then ${passes}`)
  return sql`case ifnull(${typeOf(field)}, '') ${sql.join(whens, ' ')}
    when '' then ${ifMissing(field, missing)} else ${bool(others)} end`
}

/** Nothing is found at a path with an array in its middle, either. */
function ifMissing({ document, path, throughArrays }: SqliteField, passes: boolean): Sql {
  if (path.length === 1) return bool(passes)
  const whens = throughArrays.map((through, i) => {
    const type = typeOf({ document, path: path.slice(0, i + 1) })
    return sql`when ${type} = 'array' then ${through}`
  })
  return sql`case ${sql.join(whens, ' ')} else ${bool(passes)} end`
}

/** The types of values that may pass, each with what else it must meet. */
function casesOf(field: SqliteField, conditions: readonly SqlCondition[], value: Sql | undefined): Case[] {
  const passes = new Map<JsonType, Sql[]>()
  for (const { types, holds } of conditions)
    for (const type of types) {
      const condition = value && holds ? holds(value) : bool(true)
      passes.set(type, [...(passes.get(type) ?? []), condition])
    }
  passes.set('array', [...(passes.get('array') ?? []), anElementPasses(field, conditions)])
  return [...passes].map(([type, of]) => [type, sql`(${sql.join(of, ' or ')})`])
}

/** Whether the value is an array of which an element passes. */
const anElementPasses = ({ document, path }: SqliteField, conditions: readonly SqlCondition[]): Sql =>
  sql`exists (select 1 from json_each(${document}, ${jsonPath(path)}) e
    where ${meetsOne(conditions)} and typeof(e.key) = 'integer')`

/**
 * Equality with text or numbers, in one look: `min` leaves them as they are, and makes all objects and arrays one value.
 */
function equalsOne(
  field: SqliteField,
  values: readonly (string | number)[],
  conditions: readonly SqlCondition[],
): Sql {
  const compared = sql`min(${comparedOf(field)}, ${CONTAINER})`
  const whens = values.map((value) => {
    // True and false are 1 and 0.
    const passes = value === 0 || value === 1 ? sql`${typeOf(field)} = 'integer'` : bool(true)
    return sql`when ${bind(value)} then ${passes}`
  })
  const container = sql`when ${CONTAINER} then ${anElementPasses(field, conditions)}`
  if (field.path.length === 1)
    return sql`case ${compared} ${sql.join([...whens, container], ' ')} else false end`
  return sql`case ifnull(${compared}, ${MISSING}) ${sql.join([...whens, container], ' ')}
    when ${MISSING} then ${ifMissing(field, false)} else false end`
}

type Range = { readonly operator: '>' | '>=' | '<' | '<='; readonly bound: Json }

/** One look finds the values of the type that pass, and values of other types; for these there is a second one. */
function inRange(field: SqliteField, range: Range, conditions: readonly SqlCondition[]): Sql {
  const found = foundIn(comparedOf(field), range.operator, range.bound as string | number)
  const mayPass = field.path.length === 1 ? found : sql`ifnull(${found}, true)`
  return sql`case when ${mayPass} then ${byType(field, casesOf(field, conditions, undefined))} else false end`
}

/** Whether `value` is in the range, or an object or array. Numbers are before text, and text before these. */
function foundIn(value: Sql, operator: Range['operator'], bound: string | number): Sql {
  if (operator === '>' || operator === '>=') return sql`${value} ${sql.literal(operator)} ${bind(bound)}`
  const next = operator === '<' ? bound : nextAfter(bound)
  const end = typeof bound === 'string' ? CONTAINER : sql`${Infinity}`
  return sql`${value} not between ${bind(next)} and ${end}`
}

/** The next text, as none holds U+0000, or the next double. */
function nextAfter(bound: string | number): string | number {
  if (typeof bound === 'string') return `${bound}\u0001`
  if (bound === 0) return Number.MIN_VALUE
  const double = new Float64Array([bound])
  new BigInt64Array(double.buffer)[0]! += bound > 0 ? 1n : -1n
  return double[0]!
}
