import { invalid, type ApiError } from '../../../../base/errors.ts'
import { pointerTo } from '../../../../base/json-pointer.ts'
import { parseStrictJson } from '../../../../base/json.ts'
import { parsePath, quote, type Path } from './path.ts'

export type Scalar = string | number | boolean | null

/**
 * What one field is asked; always a positive question, `not` stands around it.
 * Comparisons with booleans and null are spelled out as `in`, where null stands for a missing field too.
 */
export type Test =
  | { kind: 'in'; values: readonly Scalar[] }
  | { kind: 'range'; operator: '>' | '>=' | '<' | '<='; bound: string | number }
  | { kind: 'exists' }

export type Filter =
  | { kind: 'and' | 'or'; of: readonly Filter[] }
  | { kind: 'not'; of: Filter }
  | { kind: 'field'; path: Path; test: Test }

/** The filter that every document passes. */
export const everything: Filter = { kind: 'and', of: [] }

const AT = '/query/filter'
const MAX_LENGTH = 16_384
const MAX_DEPTH = 20
const MAX_CLAUSES = 200
const MAX_VALUES = 1000

/**
 * Reads a filter in MongoDB's query language (https://www.mongodb.com/docs/manual/reference/operator/query/).
 * So far for fields that hold a string, a number, a boolean or null.
 *
 * @param text JSON as it stands in the request
 * @throws VALIDATION_ERROR whose path leads to the fault: `/query/filter/$or/0/age/$gt`
 */
export function parseFilter(text: string): Filter {
  if (text.length > MAX_LENGTH) throw refused(AT, `A filter has at most ${MAX_LENGTH} characters.`)
  return new Reader().filter(parseStrictJson(text, { at: AT }), AT, 0)
}

const refused = (path: string, message: string): ApiError => invalid({ path, message })

const not = (of: Filter): Filter => ({ kind: 'not', of })

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An operator of a field: what it makes of its operand. `depth` counts operators around it. */
type FieldOperator = (reader: Reader, path: Path, operand: unknown, at: string, depth: number) => Filter

const equal: FieldOperator = (_, path, operand, at) => oneOf(path, [scalar(operand, at)])
const among: FieldOperator = (_, path, operand, at) => oneOf(path, scalars(operand, at))
const negated =
  (operator: FieldOperator): FieldOperator =>
  (...given) =>
    not(operator(...given))

const compared =
  (operator: '>' | '>=' | '<' | '<='): FieldOperator =>
  (_, path, operand, at) => {
    const bound = scalar(operand, at)
    const test: Test =
      typeof bound === 'string' || typeof bound === 'number'
        ? { kind: 'range', operator, bound }
        : { kind: 'in', values: withinType(bound, operator) }
    return { kind: 'field', path, test }
  }

/** Comparisons stay within a type, and these types have one or two values. */
function withinType(bound: boolean | null, operator: '>' | '>=' | '<' | '<='): Scalar[] {
  const values: (boolean | null)[] = bound === null ? [null] : [false, true]
  return values.filter(
    (value) =>
      (operator.endsWith('=') && value === bound) ||
      (operator.startsWith('>') ? Number(value) > Number(bound) : Number(value) < Number(bound)),
  )
}

const fieldOperators: Readonly<Record<string, FieldOperator>> = {
  $eq: equal,
  $ne: negated(equal),
  $gt: compared('>'),
  $gte: compared('>='),
  $lt: compared('<'),
  $lte: compared('<='),
  $in: among,
  $nin: negated(among),
  $not: (reader, path, operand, at, depth) => {
    if (!isObject(operand) || !isOperators(operand))
      throw refused(at, '$not takes an object of operators, for example {"$not": {"$gt": 5}}.')
    return not(reader.operators(path, operand, at, depth + 1))
  },
  $exists: (_, path, operand, at) => {
    if (typeof operand !== 'boolean' && typeof operand !== 'number')
      throw refused(at, '$exists takes true or false.')
    const exists: Filter = { kind: 'field', path, test: { kind: 'exists' } }
    return operand ? exists : not(exists)
  },
}

const isEverything = (filter: Filter): boolean => filter.kind === 'and' && filter.of.length === 0

// Members that every document passes are left out: they are not counted, and SQLite takes an expression of 1000 levels
// at most, of which each member is one.
function and(filters: readonly Filter[]): Filter {
  const of = filters.filter((one) => !isEverything(one))
  return of.length === 1 ? of[0]! : { kind: 'and', of }
}

const or = (of: readonly Filter[]): Filter => (of.some(isEverything) ? everything : { kind: 'or', of })

/** Operators that join whole filters. */
const joins: Readonly<Record<string, (of: readonly Filter[]) => Filter>> = {
  $and: and,
  $or: or,
  $nor: (of) => not(or(of)),
}

class Reader {
  #clauses = 0

  /** Counts one more operator, so that no filter costs more than the server is ready to pay. */
  #count(at: string, depth: number): void {
    if (++this.#clauses > MAX_CLAUSES) throw refused(at, `A filter has at most ${MAX_CLAUSES} conditions.`)
    if (depth > MAX_DEPTH) throw refused(at, `Operators nest at most ${MAX_DEPTH} levels deep.`)
  }

  filter(value: unknown, at: string, depth: number): Filter {
    if (!isObject(value)) throw refused(at, 'A filter is an object, for example {"age": {"$gte": 18}}.')
    const of = Object.entries(value).map(([key, operand]) =>
      key.startsWith('$')
        ? this.#join(key, operand, pointerTo(at, key), depth)
        : this.#field(key, operand, pointerTo(at, key), depth),
    )
    return and(of)
  }

  #join(name: string, operand: unknown, at: string, depth: number): Filter {
    const join = joins[name]
    if (!join) throw unknownOperator(name, at, joins)
    this.#count(at, depth)
    if (!Array.isArray(operand) || operand.length === 0)
      throw refused(at, `${name} takes an array of at least one filter.`)
    return join(operand.map((item, i) => this.filter(item, pointerTo(at, i), depth + 1)))
  }

  #field(key: string, operand: unknown, at: string, depth: number): Filter {
    const path = parsePath(key, at)
    if (isObject(operand) && isOperators(operand)) return this.operators(path, operand, at, depth)
    this.#count(at, depth)
    return equal(this, path, operand, at, depth)
  }

  /** Several operators on a field must all be met. */
  operators(path: Path, operators: Record<string, unknown>, at: string, depth: number): Filter {
    const of = Object.entries(operators).map(([name, operand]) => {
      const here = pointerTo(at, name)
      const operator = Object.hasOwn(fieldOperators, name) ? fieldOperators[name] : undefined
      if (!operator) throw unknownOperator(name, here, fieldOperators)
      this.#count(here, depth)
      return operator(this, path, operand, here, depth)
    })
    return and(of)
  }
}

/** As MongoDB has it, the first key decides whether an object holds operators or is a value to be equal to. */
const isOperators = (object: Record<string, unknown>): boolean =>
  Object.keys(object)[0]?.startsWith('$') ?? false

function unknownOperator(name: string, at: string, known: object): ApiError {
  return refused(
    at,
    `The operator ${quote(name)} is not supported here; these are: ${Object.keys(known).join(' ')}.`,
  )
}

const oneOf = (path: Path, values: readonly Scalar[]): Filter => ({
  kind: 'field',
  path,
  test: { kind: 'in', values },
})

function scalar(value: unknown, at: string): Scalar {
  if (typeof value === 'object' && value !== null)
    throw refused(
      at,
      'Give a string, a number, true, false or null: arrays and objects are not supported here.',
    )
  return value as Scalar
}

function scalars(operand: unknown, at: string): Scalar[] {
  if (!Array.isArray(operand)) throw refused(at, 'Give an array of values.')
  if (operand.length > MAX_VALUES) throw refused(at, `Give at most ${MAX_VALUES} values.`)
  return operand.map((value, i) => scalar(value, pointerTo(at, i)))
}
