import { invalid, type ApiError } from '../../../../../base/errors.ts'
import type { Json, JsonObject } from '../query/filter.ts'
import type { Path } from '../query/path.ts'

/** What one operator does at one path. */
export type FieldChange = {
  readonly path: Path
  /** JSON pointer of the operand in the request. */
  readonly at: string
  readonly operator: string
  readonly operand: Json
  /** The most bytes that it adds to a document, for each array element that it changes. */
  readonly bytes: number
  /**
   * The new value of the old one; `undefined` is a missing field, before and after. Never changes the old value.
   *
   * @throws VALIDATION_ERROR if the operator does not fit the old value
   */
  readonly apply: Apply
  /** Tells the index in the place of the position `$`, if the path has one. */
  readonly matched?: ((fields: JsonObject) => number) | undefined
  /** Both paths of a `$rename`: it is two changes. */
  readonly renames?: { readonly from: Path; readonly to: Path }
}

/** What an operator may depend on beside the value. */
export type UpdateContext = {
  /** Whether the document is created by this update: then `$setOnInsert` sets. */
  readonly isInsert: boolean
  /** The time for `$currentDate`: ISO 8601, UTC, with milliseconds. */
  readonly now: string
}

export type Apply = (old: Json | undefined, context: UpdateContext) => Json | undefined

/**
 * Reads an operand.
 *
 * @throws VALIDATION_ERROR
 */
export type Operator = (operand: Json, place: OperandPlace) => Apply

export type OperandPlace = {
  /** JSON pointer of the operand. */
  readonly at: string
  /** How many objects and arrays are around the value at the path. */
  readonly depth: number
}

export const refused = (path: string, message: string): ApiError => invalid({ path, message })

/** The type of a value as errors name it. */
export function nameOfType(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'string' ? 'text' : `a ${typeof value}`
}

/** An array that an operator changes; a missing field is an empty one. */
export function arrayOf(old: Json | undefined, operator: string, at: string): readonly Json[] {
  if (old === undefined) return []
  if (!Array.isArray(old))
    throw refused(at, `${operator} changes an array, and the document has ${nameOfType(old)} here.`)
  return old as readonly Json[]
}

const DEPTH_MAX = 64

/** @throws VALIDATION_ERROR if the value, which so many objects and arrays are around, makes a document too deep */
export function checkDepth(value: Json, { at, depth }: OperandPlace): void {
  if (depth + levelsOf(value) > DEPTH_MAX)
    throw refused(at, `The document would be deeper than ${DEPTH_MAX} levels: make it flatter.`)
}

function levelsOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let levels = 0
  for (const inner of Object.values(value)) levels = Math.max(levels, levelsOf(inner))
  return levels + 1
}
