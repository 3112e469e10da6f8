import { invalid, type ApiError } from '../../../../../base/errors.ts'
import { parseStrictJson } from '../../../../../base/json.ts'
import type { NoKeyError } from './document-keys.ts'
import { parsePath, quote, type Path } from './path.ts'

export type SortKey = { readonly path: Path; readonly descending: boolean }

/** The order of a list: by each key, and at last by `_id`, so that no two documents share a place. */
export type Sort = {
  readonly keys: readonly SortKey[]
  readonly idDescending: boolean
  /** Before the others, the best hits of a search first. */
  readonly byScore?: true
}

/** The sort by which a search is sorted: the best hits first, and the newest of those that are as good. */
export const SCORE = '$score'
export const scoreOrder: Sort = { keys: [], idDescending: true, byScore: true }

// What an expression binds grows with the square of it, and no statement takes more than 32,767 values.
const PARTS_MAX = 32

/** Whether the paths together are so long that an engine asks a function for all of a key. */
export const isLong = ({ keys }: Sort): boolean => keys.flatMap(({ path }) => path).length > PARTS_MAX

const AT = '/query/sort'
const MAX_LENGTH = 2048
const MAX_KEYS = 8

const refused = (message: string): ApiError => invalid({ path: AT, message })

/**
 * Reads a sort: dotted paths joined by commas, each with a minus before it where it descends, or MongoDB's form, an object
 * of paths with 1 or -1. Documents that are equal in all of it follow their `_id`, in the direction of the last key if that is
 * `createdAt`, else of the first.
 *
 * @param text for example `-createdAt,name` or `{"createdAt":-1,"name":1}`
 * @throws VALIDATION_ERROR at `/query/sort`
 */
export function parseSort(text: string): Sort {
  if (/(?:^|[,"-])\$score(?:$|[,"])/.test(text))
    throw refused('$score orders the results of a search: use sort=$score alone, together with search.')
  if (text.length > MAX_LENGTH) throw refused(`A sort has at most ${MAX_LENGTH} characters.`)
  const fields = /^\s*[{[]/.test(text) ? fieldsOfObject(text) : text.split(',').map(parseField)
  if (fields.length > MAX_KEYS) throw refused(`A sort has at most ${MAX_KEYS} fields.`)
  const names: string[] = []
  const keys: SortKey[] = []
  for (const [name, descending] of fields) {
    const path = parsePath(name, AT)
    if (path.includes(''))
      throw refused(`A part of ${quote(name)} is empty: a sort needs the name of a field.`)
    if (names.includes(name)) throw refused(`The field ${quote(name)} is there more than once.`)
    names.push(name)
    keys.push({ path, descending })
  }
  // `_id` ends the sort wherever it stands.
  const end = names.indexOf('_id')
  const last = keys.at(-1)!
  if (end === -1) return { keys, idDescending: (isCreatedAt(last) ? last : keys[0]!).descending }
  return { keys: keys.slice(0, end), idDescending: keys[end]!.descending }
}

/** A sort where ids are in the order of `createdAt`: at its end that is `_id` too. */
export function inIdOrder(sort: Sort): Sort {
  const last = sort.keys.at(-1)
  return last && isCreatedAt(last) && last.descending === sort.idDescending
    ? { ...sort, keys: sort.keys.slice(0, -1) }
    : sort
}

/** Whether a field is `createdAt`. */
export const isCreatedAt = ({ path }: Pick<SortKey, 'path'>): boolean =>
  path.length === 1 && path[0] === 'createdAt'

const DIRECTIONS = new Map<unknown, boolean>([
  [1, false],
  [-1, true],
])

type FieldOfSort = readonly [name: string, descending: boolean]

/** @see https://www.mongodb.com/docs/manual/reference/method/cursor.sort/ */
function fieldsOfObject(text: string): FieldOfSort[] {
  const value = parseStrictJson(text, { at: AT, takesAnyKey: true }) as Record<string, unknown>
  if (Array.isArray(value) || Object.keys(value).length === 0)
    throw refused('Give an object with at least one field, like {"year":-1,"title":1}, or -year,title.')
  // JavaScript puts names that are numbers first. The texts are the names in their order, as long as no value is a text.
  const names = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([name]) => JSON.parse(name) as string)
  return names.map((name) => {
    const descending = DIRECTIONS.get(value[name])
    if (descending === undefined)
      throw refused(`The direction of ${quote(name)} must be 1 (ascending) or -1 (descending).`)
    return [name, descending]
  })
}

function parseField(field: string): FieldOfSort {
  const descending = field.startsWith('-')
  const name = descending ? field.slice(1) : field
  if (name === '' || name.startsWith('-'))
    throw refused(
      'Give field names joined by commas, each with at most one minus before it: -createdAt,name.',
    )
  if (name.includes(':'))
    throw refused(
      `${quote(name)} has a colon: give field names, each with a minus before it to descend: -createdAt,name.`,
    )
  return [name, descending]
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
