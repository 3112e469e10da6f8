import { StartError } from '../../../../../base/start-error.ts'
import type { Json } from '../query/filter.ts'
import { indexOf, parsePath, type Path } from '../query/path.ts'
import { readOrStop } from '../rules/rule.ts'

const SERVICE_FIELDS = ['_id', 'createdAt', 'updatedAt']

/**
 * Reads the path of a field that clients write, in the configuration.
 *
 * @param at the name of the option, for the error
 * @throws StartError
 */
export function parseFieldPath(text: unknown, at: string): Path {
  const path = parseValuePath(text, at)
  if (SERVICE_FIELDS.includes(path[0]!)) throw new StartError(`${at}: ${path[0]} is set by the server`)
  return path
}

/**
 * Reads the path of any value of a document, `_id` too. It runs through all elements of arrays, so it has no numeric parts.
 *
 * @throws StartError
 */
export function parseValuePath(text: unknown, at: string): Path {
  if (typeof text !== 'string' || text === '' || text.split('.').includes(''))
    throw new StartError(`${at}: must be the path of a field, such as supplier.iban`)
  const path = readOrStop(at, () => parsePath(text, ''))
  if (path.some((part) => indexOf(part) !== -1))
    throw new StartError(
      `${at}: ${text} has a numeric part: a path has all elements of an array, so leave it out`,
    )
  return path
}

/** A path without its array indexes and without `$` and `$[]`. */
export const withoutIndexes = (path: Path): Path =>
  path.filter((part) => indexOf(part) === -1 && !part.startsWith('$'))

/** Whether a path is another one or leads to something inside of it; neither has numeric parts. */
export const isInside = (path: Path, other: Path): boolean =>
  path.length >= other.length && other.every((part, i) => part === path[i])

/** The keys that lead to a value in a document. */
type Keys = readonly (string | number)[]

/** A value in a document, with the keys that lead to it. */
export type ValueAt = { readonly keys: Keys; readonly value: Json }

/** The values at a path in a document, through all arrays. */
export const valuesAt = (document: unknown, path: Path): ValueAt[] =>
  collect(document, { path, passesIndexes: false })

/**
 * Likewise, where no value may be missed. To filters, and to programs that read documents, an object with the names `0`, `1`
 * and so on is as good as an array, so the path runs through it as well.
 */
export const allValuesAt = (document: unknown, path: Path): ValueAt[] =>
  collect(document, { path, passesIndexes: true })

/** The keys that lead to the first of them; undefined if there is none. */
export function firstKeysAt(document: unknown, path: Path): Keys | undefined {
  let first: Keys | undefined
  find(document, { path, passesIndexes: true }, (keys) => {
    first = [...keys]
    return true
  })
  return first
}

/** What is looked for. */
type Search = { readonly path: Path; readonly passesIndexes: boolean }

function collect(document: unknown, search: Search): ValueAt[] {
  const values: ValueAt[] = []
  find(document, search, (keys, value) => {
    values.push({ keys: [...keys], value: value as Json })
    return false
  })
  return values
}

/**
 * Looks for a value at a path, until one is found. A document may have hundreds of thousands of elements, so nothing is made
 * for each.
 *
 * @param part the part of the path that comes next
 * @param keys those that led so far
 */
function find(
  value: unknown,
  search: Search,
  isFound: (keys: Keys, value: unknown) => boolean,
  part = 0,
  keys: (string | number)[] = [],
): boolean {
  const { path, passesIndexes } = search
  // An array may be the value at the end of the path itself.
  if (part === path.length) return isFound(keys, value)
  if (typeof value !== 'object' || value === null) return false
  const behind = (inner: unknown, key: string | number, next: number): boolean => {
    keys.push(key)
    const isThere = find(inner, search, isFound, next, keys)
    keys.pop()
    return isThere
  }
  if (Array.isArray(value)) return value.some((element, i) => behind(element, i, part))
  const fields = value as Record<string, unknown>
  const name = path[part]!
  if (Object.hasOwn(fields, name) && behind(fields[name], name, part + 1)) return true
  if (!passesIndexes) return false
  // JavaScript has indexes before all other names.
  for (const index in fields) {
    if (indexOf(index) === -1) return false
    if (behind(fields[index], index, part)) return true
  }
  return false
}
