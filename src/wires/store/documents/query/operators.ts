import { invalid, type ApiError } from '../../../../base/errors.ts'
import { pointerTo } from '../../../../base/json-pointer.ts'
import { and, type ElementTest, type FilterTree, type Json, type Pattern, type Test } from './filter.ts'
import { typeNames } from './json-types.ts'
import { indexOf, type Path } from './path.ts'
import { parsePattern } from './pattern.ts'

/** What operators ask, before it is said of what: of the values at a path, or of an element of an array. */
export type Condition =
  | { readonly kind: 'and'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'value'; readonly test: Test }

/** What an operator asks the parser about: what stands inside its operand. */
export type Parser = {
  /** Counts one more condition. */
  count(at: string, depth: number): void
  countPattern(pattern: Pattern, at: string): void
  filter(value: unknown, at: string, depth: number): FilterTree
  operators(operators: JsonObject, at: string, depth: number): Condition
}

/** Where an operator stands. */
type Place = {
  readonly parser: Parser
  /** JSON pointer of the operand. */
  readonly at: string
  /** Number of operators around it. */
  readonly depth: number
  /** The operators it stands among, itself included. */
  readonly siblings: JsonObject
}

/** What an operator of a field makes of its operand. */
type Operator = (operand: Json, place: Place) => Condition

export type JsonObject = { readonly [name: string]: Json }

const MAX_VALUES = 1000

export const refused = (path: string, message: string): ApiError => invalid({ path, message })

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JavaScript puts keys that are whole numbers before it, wherever they stood. */
const firstKey = (object: JsonObject): string | undefined =>
  Object.keys(object).find((key) => indexOf(key) === -1)

/** As MongoDB has it, the first key decides whether an object holds operators or is a value to be equal to. */
export const isOperators = (value: unknown): value is JsonObject =>
  isObject(value) && (firstKey(value)?.startsWith('$') ?? false)

/** What a condition asks of the values at a path. */
export function atPath(path: Path, condition: Condition): FilterTree {
  switch (condition.kind) {
    case 'value':
      return { kind: 'field', path, test: condition.test }
    case 'not':
      return { kind: 'not', of: atPath(path, condition.of) }
    case 'and':
      return and(condition.of.map((part) => atPath(path, part)))
  }
}

/** What a condition asks of an element, which is always there. */
function ofElement(condition: Condition): ElementTest {
  switch (condition.kind) {
    case 'value':
      return condition.test.kind === 'exists'
        ? { kind: 'and', of: [] }
        : { kind: 'value', test: condition.test }
    case 'not':
      return { kind: 'not', of: ofElement(condition.of) }
    case 'and':
      return and(condition.of.map(ofElement))
  }
}

const value = (test: Test): Condition => ({ kind: 'value', test })
const oneOf = (values: readonly Json[]): Condition => value({ kind: 'in', values })
const nothing = oneOf([])

const equal: Operator = (operand) => oneOf([operand])
const among: Operator = (operand, { at }) => oneOf(valuesOf(operand, at))
const negated =
  (operator: Operator): Operator =>
  (operand, place) => ({ kind: 'not', of: operator(operand, place) })

const compared =
  (operator: '>' | '>=' | '<' | '<='): Operator =>
  (bound) =>
    bound === null || typeof bound === 'boolean'
      ? oneOf(withinType(bound, operator))
      : value({ kind: 'range', operator, bound })

/** Comparisons stay within a type, and these types have one or two values. */
function withinType(bound: boolean | null, operator: '>' | '>=' | '<' | '<='): Json[] {
  const values: (boolean | null)[] = bound === null ? [null] : [false, true]
  return values.filter(
    (value) =>
      (operator.endsWith('=') && value === bound) ||
      (operator.startsWith('>') ? Number(value) > Number(bound) : Number(value) < Number(bound)),
  )
}

const not: Operator = (operand, { parser, at, depth }) => {
  if (!isOperators(operand))
    throw refused(at, '$not takes an object of operators, for example {"$not": {"$gt": 5}}.')
  return { kind: 'not', of: parser.operators(operand, at, depth + 1) }
}

const exists: Operator = (operand, { at }) => {
  if (typeof operand !== 'boolean' && typeof operand !== 'number')
    throw refused(at, '$exists takes true or false.')
  const condition = value({ kind: 'exists' })
  return operand ? condition : { kind: 'not', of: condition }
}

const type: Operator = (operand, { at }) => {
  const types = typeNames(operand, at)
  return types.length === 0 ? nothing : value({ kind: 'type', types })
}

const regex: Operator = (operand, { parser, at, siblings }) => {
  if (typeof operand !== 'string') throw refused(at, '$regex takes the text of a regular expression.')
  const { $options: options = '' } = siblings
  // Options of another type are refused where they stand.
  const letters = typeof options === 'string' ? options : ''
  const optionsAt = pointerTo(at.slice(0, at.lastIndexOf('/')), '$options')
  const pattern = parsePattern(operand, letters, at, optionsAt)
  parser.countPattern(pattern, at)
  return value({ kind: 'pattern', pattern })
}

const options: Operator = (operand, { at, siblings }) => {
  if (!Object.hasOwn(siblings, '$regex')) throw refused(at, '$options stands beside a $regex only.')
  if (typeof operand !== 'string') throw refused(at, '$options takes text of the letters i, m, s and x.')
  return { kind: 'and', of: [] } // $regex takes them
}

const size: Operator = (operand, { at }) => {
  if (!Number.isSafeInteger(operand) || (operand as number) < 0)
    throw refused(at, '$size takes a whole number that is not negative.')
  return (operand as number) > 0x7fff_ffff ? nothing : value({ kind: 'size', size: Number(operand) + 0 })
}

const mod: Operator = (operand, { at }) => {
  if (!Array.isArray(operand) || operand.length !== 2)
    throw refused(at, '$mod takes an array of divisor and remainder, for example [4, 0].')
  const [divisor, remainder] = operand.map((number: Json, i) => toInteger(number, pointerTo(at, i)))
  if (divisor === 0) throw refused(pointerTo(at, 0), 'The divisor is 0: give at least 1.')
  return value({ kind: 'mod', divisor: divisor!, remainder: remainder! })
}

function toInteger(number: Json, at: string): number {
  if (typeof number !== 'number' || number <= -(2 ** 63) || number >= 2 ** 63)
    throw refused(at, 'Give a number that fits into 64 bits.')
  return Math.trunc(number) + 0 // not -0
}

const elementMatch: Operator = (operand, { parser, at, depth }) => {
  if (!isObject(operand))
    throw refused(at, '$elemMatch takes an object: operators, for example {"$gt": 5}, or a filter.')
  return value(
    isOperators(operand) && !isJoin(firstKey(operand)!)
      ? { kind: 'element', of: ofElement(parser.operators(operand, at, depth + 1)) }
      : { kind: 'elementMatches', of: parser.filter(operand, at, depth + 1) },
  )
}

const all: Operator = (operand, place) => {
  const { parser, at, depth } = place
  const isElementMatch = (item: Json): item is JsonObject =>
    isObject(item) && Object.keys(item).join() === '$elemMatch'
  const items = Array.isArray(operand) && operand.some(isElementMatch) ? (operand as Json[]) : undefined
  const parts =
    items?.map((item, i) => {
      const here = pointerTo(at, i)
      if (!isElementMatch(item)) throw refused(here, '$all holds either values or objects of one $elemMatch.')
      parser.count(here, depth)
      const inside = { ...place, at: pointerTo(here, '$elemMatch'), depth: depth + 1, siblings: item }
      return elementMatch(item['$elemMatch']!, inside)
    }) ??
    valuesOf(operand, at).map((one, i) => {
      parser.count(pointerTo(at, i), depth)
      return oneOf([one])
    })
  return parts.length === 0 ? nothing : { kind: 'and', of: parts }
}

/** The operators of a field. */
export const operators: Readonly<Record<string, Operator>> = {
  $eq: equal,
  $ne: negated(equal),
  $gt: compared('>'),
  $gte: compared('>='),
  $lt: compared('<'),
  $lte: compared('<='),
  $in: among,
  $nin: negated(among),
  $not: not,
  $exists: exists,
  $type: type,
  $regex: regex,
  $options: options,
  $all: all,
  $elemMatch: elementMatch,
  $size: size,
  $mod: mod,
}

/** Operators that join whole filters. */
export const joins = ['$and', '$or', '$nor'] as const

const isJoin = (name: string): boolean => joins.some((join) => join === name)

function valuesOf(operand: Json, at: string): Json[] {
  if (!Array.isArray(operand)) throw refused(at, 'Give an array of values.')
  if (operand.length > MAX_VALUES) throw refused(at, `Give at most ${MAX_VALUES} values.`)
  const values = operand as Json[]
  const fault = values.findIndex(isOperators)
  if (fault !== -1) throw refused(pointerTo(at, fault), 'Give a value: no operator can stand in this array.')
  return values
}
