import { compileExpression } from './expression.ts'
import { asksElements, type ElementTest, type FilterTree, type Json, type Test } from './filter.ts'
import { typeOf } from './json-types.ts'
import { indexOf, type Path } from './path.ts'
import { matcherOf } from './patterns/pattern-matcher.ts'
import { sortTextOf } from './sort-key.ts'

/** Tests one value; `undefined` means that the field is missing. */
type Passes = (value: unknown) => boolean

/**
 * Compiles a filter to a function of a document, as `JSON.parse` reads it, and what `$elemMatch` with operators asks to one of
 * an element. What is missing is `undefined` inside, which no JSON holds.
 */
export function compileMatcher(filter: FilterTree | ElementTest): Passes {
  switch (filter.kind) {
    case 'field':
      return compileField(filter.path, filter.test)
    case 'expr':
      return compileExpression(filter)
    case 'value':
      return compileTest(filter.test)
    case 'not': {
      const matches = compileMatcher(filter.of)
      return (value) => !matches(value)
    }
    case 'and': {
      const parts = filter.of.map(compileMatcher)
      return (value) => parts.every((passes) => passes(value))
    }
    case 'or': {
      const parts = filter.of.map(compileMatcher)
      return (value) => parts.some((passes) => passes(value))
    }
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Whether any of the values at the path passes, as filter.ts defines them. */
function compileField(path: Path, test: Test): Passes {
  const passes = compileTest(test)
  const last = path.length - 1
  const indexes = path.map(indexOf)

  const atEnd: Passes = asksElements(test)
    ? (value) => (Array.isArray(value) && value.some(passes)) || passes(value)
    : passes

  function beyond(value: object, part: number): boolean {
    return Array.isArray(value) ? inArray(value, part) : inDocument(value, part)
  }

  function inArray(array: readonly unknown[], part: number): boolean {
    const index = indexes[part]!
    for (let i = 0; i < array.length; i++) {
      const element = array[i]
      if (isContainer(element) && !Array.isArray(element) && inDocument(element, part)) return true
      if (i !== index) continue
      if (part === last ? passes(element) : isContainer(element) && beyond(element, part + 1)) return true
    }
    return false
  }

  /** An array comes here as the document that `$elemMatch` makes of it: its indexes are the names of its fields. */
  function inDocument(document: object, part: number): boolean {
    const value = fieldOf(document, path[part]!, indexes[part]!)
    if (part === last) return atEnd(value)
    return isContainer(value) ? beyond(value, part + 1) : passes(undefined)
  }

  return (document) => inDocument(document as object, 0)
}

function fieldOf(document: object, name: string, index: number): unknown {
  if (Array.isArray(document)) return document[index]
  return Object.hasOwn(document, name) ? (document as Record<string, unknown>)[name] : undefined
}

function compileTest(test: Test): Passes {
  switch (test.kind) {
    case 'exists':
      return (value) => value !== undefined
    case 'in':
      return compileIn(test.values)
    case 'range':
      return compileRange(test.operator, test.bound)
    case 'type': {
      const types = new Set(test.types)
      return (value) => value !== undefined && types.has(typeOf(value))
    }
    case 'pattern': {
      const matches = matcherOf(test.pattern)
      return (value) => typeof value === 'string' && matches(value)
    }
    case 'mod':
      return compileMod(test.divisor, test.remainder)
    case 'bits':
      return compileBits(BigInt(test.mask), test.relation, BigInt(test.bits))
    case 'size':
      return (value) => Array.isArray(value) && value.length === test.size
    case 'element': {
      const passes = compileMatcher(test.of)
      return (value) => Array.isArray(value) && value.some(passes)
    }
    case 'elementMatches': {
      const matches = compileMatcher(test.of)
      return (value) =>
        Array.isArray(value) && value.some((element) => isContainer(element) && matches(element))
    }
  }
}

function compileIn(values: readonly Json[]): Passes {
  const containers = values.filter(isContainer)
  const scalars = new Set<unknown>(values.filter((value) => !isContainer(value)))
  if (scalars.has(null)) scalars.add(undefined)
  const [only] = scalars
  const isScalar: Passes = scalars.size === 1 ? (value) => value === only : (value) => scalars.has(value)
  if (containers.length === 0) return isScalar
  // They are equal if and only if they have the same JSON.
  const texts = new Set(containers.map((value) => JSON.stringify(value)))
  return (value) => (isContainer(value) ? texts.has(JSON.stringify(value)) : isScalar(value))
}

const COMPARISONS = {
  '>': <T extends number | string>(a: T, b: T): boolean => a > b,
  '>=': <T extends number | string>(a: T, b: T): boolean => a >= b,
  '<': <T extends number | string>(a: T, b: T): boolean => a < b,
  '<=': <T extends number | string>(a: T, b: T): boolean => a <= b,
}

function compileRange(operator: keyof typeof COMPARISONS, bound: Json): Passes {
  const holds = COMPARISONS[operator]
  const type = typeof bound
  if (type === 'number' || (type === 'string' && isInNativeOrder(bound as string)))
    return (value) => typeof value === type && holds(value as number, bound as number)
  const key = sortTextOf(bound)
  return (value) => {
    if (typeof value !== type || Array.isArray(value) !== Array.isArray(bound)) return false
    // A key begins with the type of its value, and null is an object to JavaScript.
    const other = sortTextOf(value as Json, key.length)
    return other[0] === key[0] && holds(other, key)
  }
}

/** Whether JavaScript's own comparison with the text is right: below U+D800 its order is the one of code points. */
const isInNativeOrder = (text: string): boolean => !/[\ud800-\uffff]/.test(text)

const LIMIT = 2 ** 63

function compileMod(divisor: number, remainder: number): Passes {
  const isSafe = Number.isSafeInteger(divisor) && Number.isSafeInteger(remainder)
  const [wideDivisor, wideRemainder] = [toWide(divisor), toWide(remainder)]
  return (value) => {
    if (typeof value !== 'number' || value <= -LIMIT || value >= LIMIT) return false
    const integer = Math.trunc(value)
    return isSafe && Number.isSafeInteger(integer)
      ? integer % divisor === remainder
      : toWide(integer) % wideDivisor === wideRemainder
  }
}

const compileBits =
  (mask: bigint, relation: '=' | '<>', bits: bigint): Passes =>
  (value) =>
    Number.isInteger(value) &&
    (value as number) > -LIMIT &&
    (value as number) < LIMIT &&
    ((toWide(value as number) & mask) === bits) === (relation === '=')

/** The integer that JSON writes for the number, which differs from the number itself beyond 2^53. */
export const toWide = (integer: number): bigint => BigInt(String(integer))
