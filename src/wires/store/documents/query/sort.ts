import { invalid, type ApiError } from '../../../../base/errors.ts'
import { parseStrictJson } from '../../../../base/json.ts'
import type { NoKeyError } from '../document-keys.ts'
import { parsePath, quote, type Path } from './path.ts'

export type SortKey = { readonly path: Path; readonly descending: boolean }

/** The order of a list: by each key, and at last by `_id`, so that no two documents share a place. */
export type Sort = { readonly keys: readonly SortKey[]; readonly idDescending: boolean }

// What an expression binds grows with the square of it, and no statement takes more than 32,767 values.
const PARTS_MAX = 32

/** Whether the paths together are so long that an engine asks a function for all of a key. */
export const isLong = ({ keys }: Sort): boolean =>
  keys.reduce((sum, { path }) => sum + path.length, 0) > PARTS_MAX

const AT = '/query/sort'
const MAX_LENGTH = 2048
const MAX_KEYS = 8

const refused = (message: string): ApiError => invalid({ path: AT, message })

/**
 * Reads a sort: dotted paths joined by commas, each with a minus before it where it descends, or MongoDB's form, an object
 * of paths with 1 or -1. Documents that are equal in all of it follow their `_id`, in the direction of the first key.
 *
 * @param text for example `-createdAt,name` or `{"createdAt":-1,"name":1}`
 * @throws VALIDATION_ERROR at `/query/sort`
 */
export function parseSort(text: string): Sort {
  if (text.length > MAX_LENGTH) throw refused(`A sort has at most ${MAX_LENGTH} characters.`)
  const keys = /^\s*[{[]/.test(text) ? keysOfObject(text) : text.split(',').map(parseField)
  if (keys.length > MAX_KEYS) throw refused(`A sort has at most ${MAX_KEYS} fields.`)
  const names = new Set<string>()
  for (const { path } of keys) {
    const name = path.join('.')
    if (names.has(name)) throw refused(`The field ${quote(name)} is there more than once.`)
    names.add(name)
  }
  return endingWithId(keys)
}

const DIRECTIONS = new Map<unknown, boolean>([
  [1, false],
  [-1, true],
])

/** @see https://www.mongodb.com/docs/manual/reference/method/cursor.sort/ */
function keysOfObject(text: string): SortKey[] {
  const value = parseStrictJson(text, { at: AT, takesAnyKey: true })
  if (Array.isArray(value) || Object.keys(value as object).length === 0)
    throw refused('Give an object with at least one field, like {"year":-1,"title":1}, or -year,title.')
  for (const [name, direction] of Object.entries(value as object))
    if (!DIRECTIONS.has(direction))
      throw refused(`The direction of ${quote(name)} must be 1 (ascending) or -1 (descending).`)
  // JavaScript puts names that are numbers first. No value is a text, so the texts are the names in their order.
  const names = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([name]) => JSON.parse(name) as string)
  return names.map((name) => keyOf(name, DIRECTIONS.get((value as Record<string, unknown>)[name])!))
}

function parseField(field: string): SortKey {
  const descending = field.startsWith('-')
  const name = descending ? field.slice(1) : field
  if (name === '' || name.startsWith('-'))
    throw refused(
      'Give field names joined by commas, each with at most one minus before it: -createdAt,name.',
    )
  return keyOf(name, descending)
}

function keyOf(name: string, descending: boolean): SortKey {
  const path = parsePath(name, AT)
  if (path.includes('')) throw refused(`A part of ${quote(name)} is empty: a sort needs the name of a field.`)
  return { path, descending }
}

/** `_id` ends the sort wherever it stands. Ids sort by time of making, so `createdAt` at the end is `_id` too. */
function endingWithId(keys: readonly SortKey[]): Sort {
  let end = keys.findIndex(({ path }) => path.length === 1 && path[0] === '_id')
  if (end === -1 && keys.at(-1)!.path.join('.') === 'createdAt') end = keys.length - 1
  const last = keys[end] ?? keys[0]!
  return { keys: end === -1 ? keys : keys.slice(0, end), idDescending: last.descending }
}

const NO_KEY = /^no key: (\S+)((?: \d+)+)$/

/**
 * What to throw if the query of a list failed: a refusal of the sort if a document of the list has no key, which a function
 * of the engine says by the message of a NoKeyError.
 */
export function listFault(error: unknown, { keys }: Sort): unknown {
  const [, reason, fields] = NO_KEY.exec((error as Error).message) ?? []
  if (reason === undefined) return error
  const names = fields!
    .trim()
    .split(' ')
    .map((i) => quote(keys[Number(i)]!.path.join('.')))
  return refused(REFUSALS[reason as NoKeyError['reason']](names.join(' and ')))
}

const REFUSALS: Readonly<Record<NoKeyError['reason'], (names: string) => string>> = {
  parallel: (names) =>
    `A document of the list cannot be sorted: ${names} are two arrays side by side in it. Sort by one of them.`,
  ambiguous: (names) =>
    `A document of the list cannot be sorted: in ${names} a number is the index of an array and the name of a field in it.`,
  'too-many': (names) =>
    `A document of the list cannot be sorted: too many pairs of elements are found by ${names}. Sort by one of them.`,
}
