import type { Path } from './path.ts'

export type Scalar = string | number | boolean | null
export type Json = Scalar | readonly Json[] | { readonly [name: string]: Json }

/** A filter, parsed. https://www.mongodb.com/docs/manual/reference/operator/query/ */
export type Filter =
  /** `and` of nothing matches every document, `or` of nothing none. */
  | { readonly kind: 'and' | 'or'; readonly of: readonly Filter[] }
  | { readonly kind: 'not'; readonly of: Filter }
  /** Any of the values at the path passes. */
  | { readonly kind: 'field'; readonly path: Path; readonly test: Test }

/**
 * What is asked of the values at a path. Always a positive question: `not` stands around it.
 *
 * The values at a path: at each part an array yields its elements that are objects, and the element whose index a numeric
 * part names; the end yields the value, and the elements of a value that is an array. An object without a part yields
 * "missing", as does a value that is neither object nor array; an array that yields nothing does not.
 */
export type Test =
  | ValueTest
  /** There is a value. */
  | { readonly kind: 'exists' }
  /** The value is an array of so many elements; its elements are not asked. */
  | { readonly kind: 'size'; readonly size: number }
  /** The value is an array of which one element passes; elements that are arrays are not looked into. */
  | { readonly kind: 'element'; readonly of: ElementTest }
  /** The value is an array of which one element is an object or array, and as a document matches the filter. */
  | { readonly kind: 'elementMatches'; readonly of: Filter }

/** What is asked of one value. */
export type ValueTest =
  /** Equals one of the values; null equals a missing one too. Objects are equal with the same fields in the same order. */
  | { readonly kind: 'in'; readonly values: readonly Json[] }
  /** Compares within a type. `bound` is text, a number, an array or an object: null and booleans are written as `in`. */
  | { readonly kind: 'range'; readonly operator: '>' | '>=' | '<' | '<='; readonly bound: Json }
  | { readonly kind: 'type'; readonly types: readonly TypeName[] }
  | { readonly kind: 'pattern'; readonly pattern: Pattern }
  /** Numbers: both divisor and remainder are integers already. */
  | { readonly kind: 'mod'; readonly divisor: number; readonly remainder: number }

/** What `$elemMatch` with operators asks of an element itself. */
export type ElementTest =
  | { readonly kind: 'and' | 'or'; readonly of: readonly ElementTest[] }
  | { readonly kind: 'not'; readonly of: ElementTest }
  | { readonly kind: 'value'; readonly test: Exclude<Test, { kind: 'exists' }> }

/** The types that JSON can have; a number is `int`, `long` or `double` as an import into MongoDB makes it. */
export type TypeName = 'double' | 'string' | 'object' | 'array' | 'bool' | 'null' | 'int' | 'long'

/** A regular expression without look-around and back references. */
export type Pattern = {
  readonly source: string
  readonly flags: { readonly i: boolean; readonly m: boolean; readonly s: boolean; readonly x: boolean }
}
