import {
  isScalar,
  type ElementTest,
  type FilterPart,
  type FilterTree,
  type Json,
  type Pattern,
  type Scalar,
  type Test,
  type TypeName,
} from '../../../language/query/filter.ts'
import { indexOf, type Path } from '../../../language/query/path.ts'
import {
  all,
  always,
  any,
  atMost,
  exactly,
  exists,
  isExists,
  never,
  not,
  type Predicate,
} from './predicate.ts'

// In lax mode a field of an array is the field of its elements, and comparisons and filters look into an array: one level
// deep. A filter's `@` is an element then, into which a comparison would look again, so its type is asked too. That is
// the last question, since it is seldom needed: where types differ, a comparison is "unknown", and unknown && false is false.

type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

const isOf = (at: string, type: JsonType): Predicate => exactly(`${at}.type() == "${type}"`)

const field = (at: string, name: string): string => `${at}.${JSON.stringify(name)}`
const fields = (at: string, path: Path): string => path.reduce(field, at)

// A document of 1 MiB has fewer elements.
const MAX_INDEX = 1_000_000
/** Each doubles the ways that a path can go. */
const MAX_INDEXES = 3

const isIndex = (part: string): boolean => {
  const index = indexOf(part)
  return index >= 0 && index <= MAX_INDEX
}

/** Whether a part can be an index; the first one is a field of the document. */
export const hasIndexes = (path: Path): boolean => path.slice(1).some(isIndex)

/** Values in a list that are compared one after the other; longer lists are looked up. */
export const FEW = 3

/** Whether the document `@` passes; where the predicate is unknown, it does not. */
export function documentPredicate(filter: FilterTree): Predicate {
  switch (filter.kind) {
    case 'and':
      return all(...filter.of.map(documentPredicate))
    case 'or':
      return any(...filter.of.map(documentPredicate))
    case 'not':
      return notDocument(documentPredicate(filter.of))
    case 'field':
      return fieldPredicate(filter.path, filter.test)
    case 'expr':
      return atMost(always)
  }
}

/** Behind a filter nothing is unknown. */
export const notDocument = (of: Predicate): Predicate => not(isExists(of) ? of : exists('@', of))

export function fieldPredicate(path: Path, test: Test): Predicate {
  if (indexesTo(path, test) > MAX_INDEXES) return atMost(always)
  const found = anyAt('@', path, test, true)
  if (!passesMissing(test)) return found
  return hasIndexes(path) ? atMost(always) : any(found, isMissing(path))
}

/** How many indexes there may be on the way to a value, with those inside of the test. */
const indexesTo = (path: Path, test: Test): number => path.slice(1).filter(isIndex).length + indexesIn(test)

function indexesIn(part: FilterPart): number {
  if (part.kind === 'field') return indexesTo(part.path, part.test)
  if ('test' in part) return indexesIn(part.test)
  return 'of' in part ? Math.max(0, ...[part.of].flat().map(indexesIn)) : 0
}

const passesMissing = (test: Test): boolean => test.kind === 'in' && test.values.includes(null)

/** Whether a path without indexes yields "missing" from the object `@`. */
export function isMissing([part, ...rest]: Path): Predicate {
  const at = field('@', part!)
  if (rest.length === 0) return exactly(`!exists(${at})`)
  const leads = any(isOf(at, 'object'), isOf(at, 'array'))
  return any(not(leads), exists(at, all(isMissing(rest), isOf('@', 'object'))))
}

/**
 * Whether a value at the path passes, except "missing".
 *
 * @param at where the path begins: an object, or else an array to look into
 */
function anyAt(at: string, path: Path, test: Test, isObject: boolean): Predicate {
  const ways = path.map((part, i) => {
    if (!isIndex(part)) return never
    const behind = (array: string): Predicate =>
      all(isOf(array, 'array'), anyBehind(`${array}[${part}]`, path.slice(i + 1), test))
    if (i === 0) return isObject ? never : behind(at)
    return inEach(at, path.slice(0, i - 1), isObject, (object) => behind(field(object, path[i - 1]!)))
  })
  return any(anyEnd(at, path, test, isObject), ...ways)
}

/** An element that an index led to is not looked into unless the path goes on. */
const anyBehind = (at: string, rest: Path, test: Test): Predicate =>
  rest.length === 0 ? passes(at, test) : anyAt(at, rest, test, false)

/** Whether `of` is true of one of the objects that the path leads to. */
const inEach = (at: string, path: Path, isObject: boolean, of: (object: string) => Predicate): Predicate =>
  path.length === 0 && isObject ? of(at) : exists(fields(at, path), all(of('@'), isOf('@', 'object')))

/** Whether a value passes that the path leads to with each part as a field. */
function anyEnd(at: string, path: Path, test: Test, isObject: boolean): Predicate {
  const end = fields(at, path)
  const whole = (): Predicate =>
    inEach(at, path.slice(0, -1), isObject, (object) => passes(field(object, path.at(-1)!), test))
  const each = (of: Test): Predicate => exists(end, passes('@', of))
  switch (test.kind) {
    case 'in':
      if (test.values.length <= FEW && test.values.every(isScalar))
        return any(...test.values.map((value) => compare(end, '==', value)))
      return test.values.some(Array.isArray) ? any(whole(), each(test)) : each(test)
    case 'range':
      if (isScalar(test.bound)) return compare(end, test.operator, test.bound)
      return Array.isArray(test.bound) ? any(whole(), each(test)) : each(test)
    case 'type': {
      const types = test.types.filter((type) => type !== 'array')
      return any(types.length < test.types.length ? isOf(end, 'array') : never, each({ ...test, types }))
    }
    case 'exists':
      return exactly(`exists(${end})`)
    case 'size':
      // The size of what is not an array is 1.
      return test.size === 1 ? whole() : exactly(`${end}.size() == ${test.size}`)
    case 'element':
    case 'elementMatches':
      return whole()
    case 'pattern':
      return matchesPattern(end, test.pattern)
    case 'mod':
    case 'bits':
      return each(test)
  }
}

const compare = (at: string, operator: string, value: Scalar): Predicate =>
  exactly(`${at} ${operator} ${JSON.stringify(value)}`)

/** The flag lets a dot match a line's end, as in the syntax that the pattern is translated to. */
const matchesPattern = (at: string, pattern: Pattern): Predicate =>
  exactly(`${at} like_regex ${JSON.stringify(pattern.postgres)} flag "s"`)

/** Whether one value, which is there, passes; never unknown. It is not looked into. */
function passes(at: string, test: Test): Predicate {
  switch (test.kind) {
    case 'in':
      return equalsAny(at, test.values)
    case 'range':
      return isScalar(test.bound)
        ? all(compare(at, test.operator, test.bound), isOf(at, typeOf(test.bound)))
        : atMost(isOf(at, typeOf(test.bound)))
    case 'type':
      return hasType(at, test.types)
    case 'mod':
      return hasRemainder(at, test.divisor, test.remainder)
    case 'bits':
      return hasBits(at, test)
    case 'pattern':
      return all(matchesPattern(at, test.pattern), isOf(at, 'string'))
    case 'exists':
      return exactly(`exists(${at})`)
    case 'size':
      return all(exactly(`${at}.size() == ${test.size}`), isOf(at, 'array'))
    case 'element':
      return all(exists(at, elementPasses(test.of)), isOf(at, 'array'))
    case 'elementMatches':
      return all(exists(at, elementMatches(test.of)), isOf(at, 'array'))
  }
}

function elementPasses(test: ElementTest): Predicate {
  switch (test.kind) {
    case 'and':
      return all(...test.of.map(elementPasses))
    case 'not':
      return not(elementPasses(test.of))
    case 'value':
      return passes('@', test.test)
  }
}

function elementMatches(filter: FilterTree): Predicate {
  const asObject = all(documentPredicate(filter), isOf('@', 'object'))
  const ofArrays = matchesArrays(filter)
  if (ofArrays === false) return asObject
  return any(asObject, ofArrays ? isOf('@', 'array') : atMost(isOf('@', 'array')))
}

/** Whether the filter matches arrays as documents: they have no fields but those named by an index. */
function matchesArrays(filter: FilterTree): boolean | undefined {
  switch (filter.kind) {
    case 'field':
      return isIndex(filter.path[0]!) ? undefined : passesMissing(filter.test)
    case 'expr':
      return undefined
    case 'not': {
      const matches = matchesArrays(filter.of)
      return matches === undefined ? undefined : !matches
    }
    case 'and':
    case 'or': {
      const decides = filter.kind === 'or'
      const parts = filter.of.map(matchesArrays)
      if (parts.includes(decides)) return decides
      return parts.includes(undefined) ? undefined : !decides
    }
  }
}

/** The type of a value as PostgreSQL names it. */
export function typeOf(value: Json): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as 'boolean' | 'number' | 'string' | 'object'
}

function equalsAny(at: string, values: readonly Json[]): Predicate {
  const byType = Map.groupBy(values, typeOf)
  return any(
    ...[...byType].map(([type, those]) => {
      if (type === 'null') return isOf(at, 'null')
      // The rest looks many of them up in a hash table.
      if (those.length > MAX_COMPARED && !isScalar(those[0]!)) return atMost(isOf(at, type))
      const equal = those.map((value) => (isScalar(value) ? compare(at, '==', value) : equals(at, value)))
      return all(any(...equal), isOf(at, type))
    }),
  )
}

// Of longer values the rest is compared elsewhere.
const MAX_COMPARED = 16
const LEVELS_COMPARED = 4

/** Equal but for the order of an object's fields; asked of a value of the same type. */
function equals(at: string, value: Json, level = 0): Predicate {
  if (isScalar(value)) return all(compare(at, '==', value), isOf(at, typeOf(value)))
  if (level === LEVELS_COMPARED) return atMost(isOf(at, typeOf(value)))
  if (Array.isArray(value)) {
    const elements = (value as readonly Json[])
      .slice(0, MAX_COMPARED)
      .map((element, i) => equals(`${at}[${i}]`, element, level + 1))
    const equal = all(...elements, exactly(`${at}.size() == ${value.length}`), isOf(at, 'array'))
    return value.length > MAX_COMPARED ? atMost(equal) : equal
  }
  const entries = Object.entries(value)
  const inside = entries
    .slice(0, MAX_COMPARED)
    .map(([name, inner]) => equals(field(at, name), inner, level + 1))
  const others = entries.map(([name]) => `@.key != ${JSON.stringify(name)}`).join(' && ')
  const equal = all(
    ...inside,
    isOf(at, 'object'),
    exactly(entries.length === 0 ? `!exists(${at}.*)` : `!exists(${at}.keyvalue() ? (${others}))`),
  )
  return entries.length > 1 ? atMost(equal) : equal
}

const INT = ['-2147483648', '2147483647'] as const
/** JSON writes -2^63 as -9223372036854776000, which no 64 bits hold. */
const LONG = ['-9223372036854775808', '9223372036854775807'] as const

const within = (at: string, [from, to]: readonly [string, string]): Predicate =>
  exactly(`(${at} >= ${from} && ${at} <= ${to})`)

function hasType(at: string, types: readonly TypeName[]): Predicate {
  const isWhole = exactly(`${at} % 1 == 0`)
  const number = isOf(at, 'number')
  const numbers = {
    int: all(within(at, INT), isWhole),
    long: all(within(at, LONG), not(within(at, INT)), isWhole),
    double: not(all(within(at, LONG), isWhole)),
  }
  const [inNumbers, others]: [Predicate[], Predicate[]] = [[], []]
  for (const type of new Set(types))
    if (type === 'int' || type === 'long' || type === 'double') inNumbers.push(numbers[type])
    else others.push(isOf(at, type === 'bool' ? 'boolean' : type))
  return any(...others, inNumbers.length === 3 ? number : all(any(...inNumbers), number))
}

/** Of more bits, the rest is compared elsewhere. */
const MAX_BITS = 8

function hasBits(at: string, { mask, relation, bits }: Extract<Test, { kind: 'bits' }>): Predicate {
  const isInteger = all(within(at, LONG), exactly(`${at} % 1 == 0`), isOf(at, 'number'))
  const isIn = (number: string, position: number): boolean =>
    ((BigInt(number) >> BigInt(position)) & 1n) === 1n
  const positions = Array.from({ length: 64 }, (_, i) => i).filter((position) => isIn(mask, position))
  if (positions.length > MAX_BITS) return atMost(isInteger)
  const equal = all(
    ...positions.map((position) => {
      const isSet = hasBit(at, position)
      return isIn(bits, position) ? isSet : not(isSet)
    }),
  )
  return all(relation === '=' ? equal : not(equal), isInteger)
}

/** Of two's complement. */
function hasBit(at: string, position: number): Predicate {
  if (position === 63) return exactly(`${at} < 0`)
  const [bit, next] = [2n ** BigInt(position), 2n ** BigInt(position + 1)]
  const left = `${at} % ${next}`
  return exactly(`(${left} >= ${bit} || (${left} < 0 && ${left} >= -${bit}))`)
}

function hasRemainder(at: string, divisor: number, remainder: number): Predicate {
  const left = `${at} % ${divisor}`
  const cut =
    remainder === 0
      ? exactly(`(${left} > -1 && ${left} < 1)`)
      : remainder > 0
        ? exactly(`(${left} >= ${remainder} && ${left} - ${remainder} < 1)`)
        : exactly(`(${left} <= ${remainder} && ${left} - ${remainder} > -1)`)
  return all(cut, within(at, LONG), isOf(at, 'number'))
}
