import { sql, type Sql } from '../../../../db/sql.ts'
import type { Expressions } from './expressions.ts'
import type { Scalar, Test } from './filter.ts'
import type { Path } from './path.ts'

/** Where a value is, as expressions of its SQL value and of its JSON type. */
type Place = { value: Sql; type: Sql }

// Each part is quoted as JSON quotes it, which addresses every key there is, whatever characters it holds.
const jsonPath = (path: Path): string => `$${path.map((part) => `.${JSON.stringify(part)}`).join('')}`

const place = (path: Path): Place => ({
  value: sql`json_extract(d.body, ${jsonPath(path)})`,
  type: sql`json_type(d.body, ${jsonPath(path)})`,
})

/**
 * A number as SQLite reads it from JSON: integers of up to 64 bits in full,
 * of which JavaScript writes only as many digits as tell it from its neighbours.
 */
function bound(value: number): number | bigint {
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 2 ** 63) return value
  return BigInt(String(value))
}

/** The next double in the direction of `step`. */
function neighbour(value: number, step: 1n | -1n): number {
  if (value === 0) return Number(step) * Number.MIN_VALUE
  const double = new Float64Array([value])
  const bits = new BigInt64Array(double.buffer)
  bits[0]! += value > 0 ? step : -step
  return double[0]!
}

const contains = (low: number, value: number, high: number): boolean => low <= value && value <= high

// json_extract answers 1 and 0 for true and false, and JSON text for objects and arrays.
const looksLikeAnother = (value: string | number): boolean =>
  typeof value === 'number' ? value === 0 || value === 1 : value.startsWith('{') || value.startsWith('[')

// Numbers sort before all text, so one comparison with two bounds keeps text out without a look at the type.
function numberRange({ value, type }: Place, operator: string, limit: number): Sql {
  const [low, high] = {
    '>': [neighbour(limit, 1n), Infinity],
    '>=': [limit, Infinity],
    '<': [-Infinity, neighbour(limit, -1n)],
    '<=': [-Infinity, limit],
  }[operator] as [number, number]
  const within = sql`${value} between ${bound(low)} and ${bound(high)}`
  return contains(low, 0, high) || contains(low, 1, high)
    ? sql`((${within}) is true and ${type} in ('integer', 'real'))`
    : sql`(${within}) is true`
}

function oneOf({ value, type }: Place, values: readonly Scalar[]): Sql {
  const plain = values.filter((v) => typeof v === 'string' || typeof v === 'number')
  const booleans = values.filter((v) => typeof v === 'boolean')
  const terms: Sql[] = []
  if (plain.length > 0) {
    const [first] = plain
    const equal =
      plain.length === 1
        ? sql`${value} = ${typeof first === 'number' ? bound(first) : first!}`
        : sql`${value} in (select value from json_each(${JSON.stringify(plain)}))`
    terms.push(
      plain.some(looksLikeAnother)
        ? sql`((${equal}) is true and ${type} in ('integer', 'real', 'text'))`
        : sql`(${equal}) is true`,
    )
  }
  if (booleans.length > 0) {
    terms.push(sql`(${type} in (${sql.join([...new Set(booleans)].map(String))})) is true`)
  }
  if (values.includes(null)) terms.push(sql`${value} is null`)
  return terms.length === 0 ? sql`false` : sql`(${sql.join(terms, ' or ')})`
}

function matches(at: Place, test: Test): Sql {
  switch (test.kind) {
    case 'in':
      return oneOf(at, test.values as Scalar[])
    case 'range':
      if (typeof test.bound === 'number') return numberRange(at, test.operator, test.bound)
      return sql`((${at.value} ${sql.literal(test.operator)} ${test.bound as string}) is true and ${at.type} = 'text')`
    case 'exists':
      return sql`${at.type} is not null`
    case 'size':
    case 'type':
    case 'pattern':
    case 'mod':
    case 'element':
    case 'elementMatches':
      throw new Error(`a test of kind ${test.kind} is not written yet`)
  }
}

/** SQLite reads the body once for a row, however many expressions look into it. */
export const sqlite: Expressions = {
  matches: (path, test) => matches(place(path), test),
}
