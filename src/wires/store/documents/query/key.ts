import type { Path } from './path.ts'

/** What a document sorts by in one field. Objects sort together, as `{}`, and arrays, as `[]`. */
export type KeyValue = null | number | string | boolean | Record<string, never> | never[]

/** Strings sort by their first characters, so that a cursor, which holds them, stays small enough for a URL. */
export const KEY_CHARACTERS = 256

/**
 * The place of a value's type in MongoDB's order of types; true and false have one each.
 * https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
export function rankOf(value: unknown): number {
  if (value === null) return 0
  if (typeof value === 'number') return 1
  if (typeof value === 'string') return 2
  if (typeof value === 'boolean') return value ? 6 : 5
  return Array.isArray(value) ? 4 : 3
}

/** What `document` sorts by in the field at `path`: the same as the engines' expressions find there. */
export function keyOf(document: unknown, path: Path): KeyValue {
  let value: unknown = document
  for (const part of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part))
      return null
    value = (value as Record<string, unknown>)[part]
  }
  if (typeof value === 'string') return value.length > KEY_CHARACTERS ? firstCharacters(value) : value
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? [] : {}
  return value as null | number | boolean
}

/** Counts whole characters, as the engines do, where JavaScript counts halves of surrogate pairs. */
const firstCharacters = (text: string): string =>
  Array.from(text.slice(0, 2 * KEY_CHARACTERS))
    .slice(0, KEY_CHARACTERS)
    .join('')
