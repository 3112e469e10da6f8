import { invalid } from '../../../../base/errors.ts'

/** A dotted path, taken apart: `address.city` is `['address', 'city']`. */
export type Path = readonly string[]

// A document is at most 64 levels deep.
const MAX_PARTS = 64
const RESERVED = new Set(['__proto__', 'constructor', 'prototype'])

/** Text from a request as it may stand in an error's sentence. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/**
 * Takes a dotted path apart. Dots always separate, so a key that holds a dot can't be addressed.
 *
 * @param at JSON pointer named in the error
 * @throws VALIDATION_ERROR where a part is empty or is a name that no field can have
 */
export function parsePath(text: string, at: string): Path {
  const parts = text.split('.')
  if (parts.length > MAX_PARTS) throw invalid({ path: at, message: `A path has at most ${MAX_PARTS} parts.` })
  for (const part of parts) {
    const fault = partFault(part)
    if (fault) throw invalid({ path: at, message: `${quote(text)} is not a path: ${fault}.` })
  }
  return parts
}

function partFault(part: string): string | undefined {
  if (part === '') return 'a part of it is empty'
  if (part.startsWith('$')) return 'a field name never begins with $'
  if (RESERVED.has(part)) return `no field is named ${part}`
  if (part.includes('\0') || !part.isWellFormed()) return 'it holds a character that no field name can hold'
  return undefined
}
