import { invalid } from '../../../../../base/errors.ts'

/** A dotted path, taken apart: `address.city` is `['address', 'city']`. A part may be empty. */
export type Path = readonly string[]

// A document is at most 64 levels deep.
const MAX_PARTS = 64
// Each of them may name a field and an element, so the ways to a value double.
export const MAX_INDEXES = 8

/** Text from a request as it may stand in an error's sentence. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** What is wrong with a path that has an empty part. */
export const emptyPart = (text: string): string =>
  `A part of ${quote(text)} is empty: write the name of a field between dots.`

/**
 * Takes a dotted path apart. Dots always separate, so a key that holds a dot can't be addressed.
 * `__proto__` and `constructor` are paths too, which lead to nothing: no document has such a field.
 *
 * @param at JSON pointer named in the error
 * @throws VALIDATION_ERROR where a part begins with `$` or holds what no name can hold
 */
export function parsePath(text: string, at: string): Path {
  const parts = text.split('.')
  if (parts.length > MAX_PARTS) throw invalid({ path: at, message: `A path has at most ${MAX_PARTS} parts.` })
  if (countIndexes(parts) > MAX_INDEXES)
    throw invalid({ path: at, message: `A path has at most ${MAX_INDEXES} numeric parts.` })
  for (const part of parts) {
    const isForeign = part.includes('\0') || !part.isWellFormed()
    if (!isForeign && !part.startsWith('$')) continue
    const fault = isForeign
      ? 'it holds a character that no field name can hold'
      : 'a field name never begins with $'
    throw invalid({ path: at, message: `${quote(text)} is not a path: ${fault}.` })
  }
  return parts
}

/** The index in an array that a part names besides a field, or -1. */
export const indexOf = (part: string): number =>
  // The first character decides of nearly all parts, and much quicker.
  part < ':' && /^(?:0|[1-9]\d*)$/.test(part) ? Number(part) : -1

export function countIndexes(path: Path): number {
  let indexes = 0
  for (const part of path) if (indexOf(part) !== -1) indexes++
  return indexes
}
