import { StartError } from '../../../../base/start-error.ts'
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

/** A path without the parts that may be indexes in arrays. */
export const withoutIndexes = (path: Path): Path => path.filter((part) => indexOf(part) === -1)

/** Whether a path is another one or leads to something inside of it; neither has numeric parts. */
export const isInside = (path: Path, other: Path): boolean =>
  path.length >= other.length && other.every((part, i) => part === path[i])

/** A value in a document, with the keys that lead to it. */
export type ValueAt = { readonly keys: readonly (string | number)[]; readonly value: Json }

/** The values at a path in a document, through all arrays. */
export function* valuesAt(
  value: unknown,
  path: Path,
  keys: readonly (string | number)[] = [],
): Generator<ValueAt> {
  if (Array.isArray(value)) {
    // The array itself is the value at the end of the path.
    if (path.length === 0) yield { keys, value }
    else for (const [i, element] of value.entries()) yield* valuesAt(element, path, [...keys, i])
    return
  }
  if (path.length === 0) {
    yield { keys, value: value as Json }
    return
  }
  const [name, ...rest] = path as [string, ...string[]]
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, name))
    yield* valuesAt((value as Record<string, unknown>)[name], rest, [...keys, name])
}
