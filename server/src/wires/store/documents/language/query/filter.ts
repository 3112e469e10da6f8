import type { Path } from './path.ts'

export type Scalar = string | number | boolean | null
export type JsonObject = { readonly [name: string]: Json }
export type Json = Scalar | readonly Json[] | JsonObject

export const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A filter, parsed. https://www.mongodb.com/docs/manual/reference/operator/query/ */
export type FilterTree =
  /** `and` of nothing matches every document, `or` of nothing none. */
  | { readonly kind: 'and' | 'or'; readonly of: readonly FilterTree[] }
  | { readonly kind: 'not'; readonly of: FilterTree }
  /** Any of the values at the path passes. */
  | { readonly kind: 'field'; readonly path: Path; readonly test: Test }
  | ExpressionFilter

/**
 * `$expr`: the value at the path compares with another one, each as a whole, in MongoDB's order of values of all types, in
 * which "missing" comes first. Of an array on the way, the value is the array of what its elements that are objects have
 * behind it. It is asked of whole documents only.
 */
export type ExpressionFilter = {
  readonly kind: 'expr'
  readonly path: Path
  readonly operator: Comparison
  readonly to: ExpressionOperand
}
export type Comparison = '=' | '<>' | '>' | '>=' | '<' | '<='
export type ExpressionOperand = { readonly path: Path } | { readonly value: Json }

export type FieldFilter = Extract<FilterTree, { kind: 'field' }>

/**
 * What is asked of the values at a path. Always a positive question: `not` stands around it.
 *
 * The values at a path, from the document on. A part leads
 * - from an object to its field, or to "missing" if there is none: the end, as from a value that is neither object nor array;
 * - from an array, with the same part, into each element that is an object, so that a field `0` is found too. And if an
 *   element's index is written as the part is, to that element, with the next part: an object or array is looked into, any
 *   other value with parts left yields nothing. An array that yields nothing so is not "missing".
 *
 * Behind the last part is a value. If it is an array, its elements are values too, and then the array itself; an array
 * that the last part led to as an element of an array is yielded alone. So `a.0` in `{a: [[5]]}` is `[5]` and not 5, and
 * `a.0.b` in `{a: [{b: 5}]}` is "missing" (the object has no `0`) and 5.
 */
export type Test =
  | ValueTest
  /** There is a value. */
  | { readonly kind: 'exists' }
  /** The value behind the last part is an array of so many elements; its elements are not asked, nor for `element…`. */
  | { readonly kind: 'size'; readonly size: number }
  /** The value is an array of which one element passes; elements that are arrays are not looked into. */
  | { readonly kind: 'element'; readonly of: ElementTest }
  /**
   * The value is an array of which one element is an object or array, and as a document matches the filter. An array is
   * a document with the fields `0`, `1` and so on.
   */
  | { readonly kind: 'elementMatches'; readonly of: FilterTree }

/** Whether a test is asked of the elements of an array, too. */
export const asksElements = ({ kind }: Test): boolean => !['size', 'element', 'elementMatches'].includes(kind)

/** What is asked of one value, which is an array as a whole too. */
export type ValueTest =
  /** Equals one of the values; null equals a missing one too. Objects are equal with the same fields in the same order. */
  | { readonly kind: 'in'; readonly values: readonly Json[] }
  /** Compares within a type. `bound` is text, a number, an array or an object: null and booleans are written as `in`. */
  | { readonly kind: 'range'; readonly operator: '>' | '>=' | '<' | '<='; readonly bound: Json }
  | { readonly kind: 'type'; readonly types: readonly TypeName[] }
  | { readonly kind: 'pattern'; readonly pattern: Pattern }
  /**
   * The number, cut to an integer, has this remainder, with the sign of the number. Integers of 64 bits only, of as many
   * digits as JSON writes: 1152921504606847000 ends in three zeros. `divisor` (never 0) and `remainder` are such integers.
   */
  | { readonly kind: 'mod'; readonly divisor: number; readonly remainder: number }
  /**
   * The number is an integer, as `mod` has them, and its bits in the mask are these, or are others. Two's complement of 64
   * bits, in decimal digits.
   */
  | { readonly kind: 'bits'; readonly mask: string; readonly relation: '=' | '<>'; readonly bits: string }

/** What operators ask, of the values at a path, or with `$elemMatch` of an element itself. */
export type ElementTest =
  | { readonly kind: 'and'; readonly of: readonly ElementTest[] }
  | { readonly kind: 'not'; readonly of: ElementTest }
  | { readonly kind: 'value'; readonly test: Test }

/**
 * The types that JSON can have. A number without a fraction is an `int` if it fits into 32 bits and a `long` if it fits into
 * 64; any other is a `double`.
 */
export type TypeName = 'double' | 'string' | 'object' | 'array' | 'bool' | 'null' | 'int' | 'long'

/** A regular expression in linear time, as each engine takes it. */
export type Pattern = {
  readonly source: string
  /** Which of the engines here takes `expression`: JavaScript's gets what it matches in a bounded number of steps. */
  readonly engine: 'javascript' | 're2'
  readonly expression: string
  readonly postgres: string
  /** At worst, for each character of a text, in 5 ns. */
  readonly cost: number
  /** The text that every match begins with, if it is anchored; `whole` if each text that begins so matches. */
  readonly prefix: { readonly text: string; readonly whole: boolean } | undefined
}

/** The filter that every document passes. */
export const everything: FilterTree = { kind: 'and', of: [] }

/** The filter that no document passes. */
export const nothing: FilterTree = { kind: 'or', of: [] }

/**
 * All of the parts. What is always true is left out: it is not counted, and SQLite takes an expression of 1000 levels at
 * most, of which each part is one.
 */
export function and<Part extends FilterTree | ElementTest>(
  parts: readonly Part[],
): Part | { readonly kind: 'and'; readonly of: readonly Part[] } {
  const of = parts.filter((part) => part.kind !== 'and' || part.of.length > 0)
  return of.length === 1 ? of[0]! : { kind: 'and', of }
}

/** Any of the parts. */
export const or = (of: readonly FilterTree[]): FilterTree =>
  of.length === 1
    ? of[0]!
    : (of.find((part) => part.kind === 'and' && part.of.length === 0) ?? { kind: 'or', of })

/** Whether a filter asks of `_id`, which is text and always the row's id. */
export const isOfId = (filter: FilterTree): filter is FieldFilter =>
  filter.kind === 'field' && filter.path.length === 1 && filter.path[0] === '_id'

/** The filters that must all be met. */
export const conjunctsOf = (filter: FilterTree): readonly FilterTree[] =>
  filter.kind === 'and' ? filter.of.flatMap(conjunctsOf) : [filter]

export type FilterPart = FilterTree | Test | ElementTest

/** A part of a filter and all parts inside of it. */
export function* partsIn(part: FilterPart): Generator<FilterPart> {
  yield part
  if ('test' in part) yield* partsIn(part.test)
  else if ('of' in part) for (const one of [part.of].flat() as FilterPart[]) yield* partsIn(one)
}

/** How many questions about fields a filter asks. */
export function countConditions(filter: FilterTree): number {
  let conditions = 0
  for (const { kind } of partsIn(filter)) conditions += kind === 'field' ? 1 : kind === 'expr' ? 2 : 0
  return conditions
}
