import { invalid, type ApiError } from '../../../../../base/errors.ts'
import { pointerTo } from '../../../../../base/json-pointer.ts'
import { parseStrictJson } from '../../../../../base/json.ts'
import {
  and,
  isObject,
  or,
  type ElementTest,
  type FilterTree,
  type Json,
  type JsonObject,
  type Test,
} from './filter.ts'
import { readExpression } from './expression.ts'
import { typeNames } from './json-types.ts'
import { toWide } from './matcher.ts'
import { withMoments } from './moments.ts'
import { countIndexes, emptyPart, indexOf, MAX_INDEXES, parsePath, quote, type Path } from './path.ts'
import { MAX_PATTERN_COST, MAX_PATTERN_LENGTH, parsePattern } from './pattern.ts'

const AT = '/query/filter'
const EXAMPLE = 'A filter is an object, for example {"age": {"$gte": 18}}.'
const MAX_LENGTH = 16_384
const MAX_DEPTH = 20
const MAX_CLAUSES = 200
const MAX_VALUES = 1000
// Room for a value as deep as a document can be, inside of as many operators as there can be.
const MAX_LEVELS = 256

/** What was read of a filter so far, so that no filter costs more than the server is ready to pay. */
export type Counts = {
  clauses: number
  /** In the paths that lead to where it is read: of `$elemMatch` inside of others, the ways multiply. */
  indexes: number
  /** How many arrays are around what is read, of which elements are asked. */
  arrays: number
  patternCost: number
  patternLength: number
}

export const NO_COUNTS: Readonly<Counts> = {
  clauses: 0,
  indexes: 0,
  arrays: 0,
  patternCost: 0,
  patternLength: 0,
}

/** Where an operator of a field stands. */
type Place = {
  readonly counts: Counts
  /** JSON pointer of the operand. */
  readonly at: string
  /** Number of operators around it. */
  readonly depth: number
  /** The operators it stands among, itself included. */
  readonly siblings: JsonObject
}

/** What an operator of a field makes of its operand. */
type Operator = (operand: Json, place: Place) => ElementTest

/**
 * Reads a filter in MongoDB's query language (https://www.mongodb.com/docs/manual/reference/operator/query/).
 *
 * @param text JSON as it stands in the request
 * @throws VALIDATION_ERROR whose path leads to the fault: `/query/filter/$or/0/age/$gt`
 */
export function parseFilter(text: string): FilterTree {
  if (text.length > MAX_LENGTH) throw refused(AT, `A filter has at most ${MAX_LENGTH} characters.`)
  const value = parseStrictJson(text, {
    at: AT,
    maxDepth: MAX_LEVELS,
    takesRounded: true,
    takesAnyKey: true,
    hint: ` ${EXAMPLE}`,
  })
  return withMoments(readFilter(value, AT, 0, { ...NO_COUNTS }))
}

/**
 * Reads a condition on elements of an array: operators, such as `{"$gte": 6}`, or a filter of those that are objects.
 *
 * @param at JSON pointer of the condition
 * @returns `asks` tells what the filter is of: elements that are objects, or any element as the field `""` of an object
 * @throws VALIDATION_ERROR
 */
export function readElementFilter(
  operand: JsonObject,
  at: string,
  counts: Counts,
): { asks: 'object' | 'value'; filter: FilterTree } {
  return isOperators(operand) && !JOINS.includes(firstKey(operand)!)
    ? { asks: 'value', filter: atPath([''], readOperators(operand, at, 0, counts)) }
    : { asks: 'object', filter: readElement(operand, at, 0, counts) }
}

/**
 * Likewise of a value.
 *
 * @param at what the paths of errors begin with
 */
export const readFilterOf = (value: Json, at: string): FilterTree =>
  withMoments(readFilter(value, at, 0, { ...NO_COUNTS }))

const refused = (path: string, message: string): ApiError => invalid({ path, message })

export const unknownOperator = (name: string, at: string, known: readonly string[]): ApiError =>
  refused(at, `The operator ${quote(name)} is not supported here; these are: ${known.join(' ')}.`)

function countClause(counts: Counts, at: string, depth: number): void {
  if (++counts.clauses > MAX_CLAUSES) throw refused(at, `A filter has at most ${MAX_CLAUSES} conditions.`)
  if (depth > MAX_DEPTH) throw refused(at, `Operators nest at most ${MAX_DEPTH} levels deep.`)
}

function readFilter(value: unknown, at: string, depth: number, counts: Counts): FilterTree {
  if (!isObject(value)) throw refused(at, EXAMPLE)
  const of: FilterTree[] = []
  for (const [key, operand] of Object.entries(value)) {
    const here = pointerTo(at, key)
    of.push(
      key.startsWith('$')
        ? readJoin(key, operand, here, depth, counts)
        : readField(key, operand, here, depth, counts),
    )
  }
  return and(of)
}

/** Reads what an element of an array must match as a document. */
function readElement(value: JsonObject, at: string, depth: number, counts: Counts): FilterTree {
  counts.arrays++
  const filter = readFilter(value, at, depth, counts)
  counts.arrays--
  return filter
}

/** Operators that join whole filters. */
const JOINS = ['$and', '$or', '$nor']
const EXPRESSION = '$expr'

function readJoin(join: string, operand: Json, at: string, depth: number, counts: Counts): FilterTree {
  if (join === EXPRESSION) {
    if (counts.arrays > 0)
      throw refused(
        at,
        '$expr compares fields of the whole document: it cannot stand in a condition on elements.',
      )
    countClause(counts, at, depth)
    return readExpression(operand, at)
  }
  if (!JOINS.includes(join)) throw unknownOperator(join, at, [...JOINS, EXPRESSION])
  countClause(counts, at, depth)
  if (!Array.isArray(operand) || operand.length === 0)
    throw refused(at, `${join} takes an array of at least one filter.`)
  const of = operand.map((item: Json, i) => readFilter(item, pointerTo(at, i), depth + 1, counts))
  if (join === '$and') return and(of)
  return join === '$or' ? or(of) : { kind: 'not', of: or(of) }
}

function readField(key: string, operand: Json, at: string, depth: number, counts: Counts): FilterTree {
  const path = parsePath(key, at)
  // An empty name is one, but beside others it would be a slip that finds nothing.
  if (path.length > 1 && path.includes('')) throw refused(at, emptyPart(key))
  const indexes = countIndexes(path)
  if (counts.indexes + indexes > MAX_INDEXES)
    throw refused(at, `Paths inside of one another have at most ${MAX_INDEXES} numeric parts together.`)
  if (isOperators(operand)) {
    counts.indexes += indexes
    const test = readOperators(operand, at, depth, counts)
    counts.indexes -= indexes
    return test.kind === 'value' ? { kind: 'field', path, test: test.test } : atPath(path, test)
  }
  countClause(counts, at, depth)
  return { kind: 'field', path, test: { kind: 'in', values: [operand] } }
}

/** Several operators on a field must all be met. */
function readOperators(siblings: JsonObject, at: string, depth: number, counts: Counts): ElementTest {
  const of: ElementTest[] = []
  for (const [name, operand] of Object.entries(siblings)) {
    const here = pointerTo(at, name)
    const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined
    if (!operator) throw unknownOperator(name, here, Object.keys(OPERATORS))
    countClause(counts, here, depth)
    of.push(operator(operand, { counts, at: here, depth, siblings }))
  }
  return and(of)
}

/** What is asked of a value, asked of the values at a path. */
function atPath(path: Path, test: ElementTest): FilterTree {
  if (test.kind === 'value') return { kind: 'field', path, test: test.test }
  if (test.kind === 'not') return { kind: 'not', of: atPath(path, test.of) }
  return { kind: 'and', of: test.of.map((part) => atPath(path, part)) }
}

/** JavaScript puts keys that are whole numbers before it, wherever they stood. */
function firstKey(object: JsonObject): string | undefined {
  for (const key of Object.keys(object)) if (indexOf(key) === -1) return key
  return undefined
}

/** As MongoDB has it, the first key decides whether an object holds operators or is a value to be equal to. */
const isOperators = (value: unknown): value is JsonObject =>
  isObject(value) && firstKey(value)?.startsWith('$') === true

const valueTest = (test: Test): ElementTest => ({ kind: 'value', test })
const oneOf = (values: readonly Json[]): ElementTest => valueTest({ kind: 'in', values })

function valuesOf(operand: Json, at: string): Json[] {
  if (!Array.isArray(operand)) throw refused(at, 'Give an array of values.')
  if (operand.length > MAX_VALUES) throw refused(at, `Give at most ${MAX_VALUES} values.`)
  const values = operand as Json[]
  const fault = values.findIndex(isOperators)
  if (fault !== -1) throw refused(pointerTo(at, fault), 'Give a value: no operator can stand in this array.')
  return values
}

const negated =
  (operator: Operator): Operator =>
  (operand, place) => ({ kind: 'not', of: operator(operand, place) })

const compared =
  (operator: '>' | '>=' | '<' | '<='): Operator =>
  (bound) => {
    if (bound !== null && typeof bound !== 'boolean')
      return { kind: 'value', test: { kind: 'range', operator, bound } }
    // Comparisons stay within a type, and these types have one or two values.
    const values = bound === null ? [null] : [false, true]
    const isAbove = operator.startsWith('>')
    const passes = (value: boolean | null): boolean =>
      value === bound ? operator.endsWith('=') : isAbove === Boolean(value)
    return oneOf(values.filter(passes))
  }

function toInteger(number: Json, at: string): number {
  if (typeof number !== 'number' || number <= -(2 ** 63) || number >= 2 ** 63)
    throw refused(at, 'Give a number that fits into 64 bits.')
  return Math.trunc(number) + 0 // not -0
}

/** The bits of a mask, or at positions. A number has its sign at all positions from the 63rd on. */
function maskOf(operand: Json, at: string): bigint {
  if (typeof operand === 'number') {
    if (!Number.isInteger(operand) || operand < 0 || operand >= 2 ** 63)
      throw refused(at, 'A mask is a whole number that is not negative and fits into 64 bits.')
    return toWide(operand)
  }
  const isPosition = (value: Json): boolean => Number.isInteger(value) && (value as number) >= 0
  if (!Array.isArray(operand) || !operand.every(isPosition))
    throw refused(at, 'Give a mask, or an array of the positions of bits: the lowest is 0.')
  const bits = valuesOf(operand, at).map((position) => 1n << BigInt(Math.min(position as number, 63)))
  return BigInt.asIntN(
    64,
    bits.reduce((mask, bit) => mask | bit, 0n),
  )
}

const bitsOf =
  (relation: '=' | '<>', isSet: boolean): Operator =>
  (operand, { at }) => {
    const mask = String(maskOf(operand, at))
    return valueTest({ kind: 'bits', mask, relation, bits: isSet ? mask : '0' })
  }

const isElementMatch = (item: Json): item is JsonObject =>
  isObject(item) && Object.keys(item).join() === '$elemMatch'

function elementMatch(operand: Json, { counts, at, depth }: Place): ElementTest {
  if (!isObject(operand))
    throw refused(at, '$elemMatch takes an object: operators, for example {"$gt": 5}, or a filter.')
  return valueTest(
    isOperators(operand) && !JOINS.includes(firstKey(operand)!)
      ? { kind: 'element', of: readOperators(operand, at, depth + 1, counts) }
      : { kind: 'elementMatches', of: readElement(operand, at, depth + 1, counts) },
  )
}

/** The operators of a field. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  $eq: (operand) => oneOf([operand]),
  $ne: negated((operand) => oneOf([operand])),
  $gt: compared('>'),
  $gte: compared('>='),
  $lt: compared('<'),
  $lte: compared('<='),
  $in: (operand, { at }) => oneOf(valuesOf(operand, at)),
  $nin: negated((operand, { at }) => oneOf(valuesOf(operand, at))),
  $not(operand, { counts, at, depth }) {
    if (!isOperators(operand))
      throw refused(at, '$not takes an object of operators, for example {"$not": {"$gt": 5}}.')
    return { kind: 'not', of: readOperators(operand, at, depth + 1, counts) }
  },
  $exists(operand, { at }) {
    if (typeof operand !== 'boolean' && typeof operand !== 'number')
      throw refused(at, '$exists takes true or false.')
    const test = valueTest({ kind: 'exists' })
    return operand ? test : { kind: 'not', of: test }
  },
  $type(operand, { at }) {
    const types = typeNames(operand, at)
    return types.length === 0 ? oneOf([]) : valueTest({ kind: 'type', types })
  },
  $regex(operand, { counts, at, siblings }) {
    if (typeof operand !== 'string') throw refused(at, '$regex takes the text of a regular expression.')
    const { $options: options = '' } = siblings
    // Options of another type are refused where they stand.
    const letters = typeof options === 'string' ? options : ''
    const optionsAt = pointerTo(at.slice(0, at.lastIndexOf('/')), '$options')
    const pattern = parsePattern(operand, letters, at, optionsAt)
    // One pattern may cost what all may cost together.
    counts.patternCost += pattern.cost
    counts.patternLength += pattern.expression.length
    if (counts.patternCost > MAX_PATTERN_COST || counts.patternLength > MAX_PATTERN_LENGTH)
      throw refused(
        at,
        'The patterns of this filter are too large together: use fewer, lower counts, or fewer classes.',
      )
    return valueTest({ kind: 'pattern', pattern })
  },
  $options(operand, { at, siblings }) {
    if (!Object.hasOwn(siblings, '$regex')) throw refused(at, '$options stands beside a $regex only.')
    if (typeof operand !== 'string') throw refused(at, '$options takes text of the letters i, m, s and x.')
    return { kind: 'and', of: [] } // $regex takes them
  },
  $all(operand, place) {
    const { counts, at, depth } = place
    if (!Array.isArray(operand) || !operand.some(isElementMatch)) {
      const values = valuesOf(operand, at)
      for (const i of values.keys()) countClause(counts, pointerTo(at, i), depth)
      return values.length === 0 ? oneOf([]) : and(values.map((one) => oneOf([one])))
    }
    const of = (operand as Json[]).map((item, i) => {
      const here = pointerTo(at, i)
      if (!isElementMatch(item)) throw refused(here, '$all holds either values or objects of one $elemMatch.')
      countClause(counts, here, depth)
      return elementMatch(item['$elemMatch']!, {
        ...place,
        at: pointerTo(here, '$elemMatch'),
        depth: depth + 1,
      })
    })
    return and(of)
  },
  $elemMatch: elementMatch,
  $size(operand, { at }) {
    if (!Number.isSafeInteger(operand) || (operand as number) < 0)
      throw refused(at, '$size takes a whole number that is not negative.')
    const size = Number(operand) + 0 // not -0
    return size > 0x7fff_ffff ? oneOf([]) : valueTest({ kind: 'size', size })
  },
  $mod(operand, { at }) {
    if (!Array.isArray(operand) || operand.length !== 2)
      throw refused(at, '$mod takes an array of divisor and remainder, for example [4, 0].')
    const [divisor, remainder] = operand.map((number: Json, i) => toInteger(number, pointerTo(at, i)))
    if (divisor === 0) throw refused(pointerTo(at, 0), 'The divisor is 0: give at least 1.')
    return valueTest({ kind: 'mod', divisor: divisor!, remainder: remainder! })
  },
  $bitsAllSet: bitsOf('=', true),
  $bitsAllClear: bitsOf('=', false),
  $bitsAnySet: bitsOf('<>', false),
  $bitsAnyClear: bitsOf('<>', true),
}
