// The order of lists, as docs/queries.md tells it: MongoDB's order of types, texts by their bytes in UTF-8.
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
/** An empty array at the end of a path is undefined: it is below null. */
type Value = Json | undefined
type Document = { readonly _id: string }

/** A sort, as a list takes it. */
export type ListSort = string | readonly string[] | Readonly<Record<string, 1 | -1 | undefined>> | undefined

type SortKey = { path: string; sign: number }

/**
 * The fields of a sort, of which the last is `_id`. Without a sort the newest comes first. Ids may be in another order than
 * `createdAt`.
 */
export function sortKeys(sort: ListSort): SortKey[] {
  const fields = typeof sort === 'string' ? sort.split(',') : isArray(sort) ? sort : []
  const keys: SortKey[] = isObject(sort)
    ? Object.entries(sort).map(([path, sign]) => ({ path, sign: sign! }))
    : fields.map((field) =>
        field.startsWith('-') ? { path: field.slice(1), sign: -1 } : { path: field, sign: 1 },
      )
  if (keys.length === 0) keys.push({ path: 'createdAt', sign: -1 })
  const end = keys.findIndex(({ path }) => path === '_id')
  if (end >= 0) return keys.slice(0, end + 1)
  const last = keys.at(-1)!
  const { sign } = last.path === 'createdAt' ? last : keys[0]!
  return [...keys, { path: '_id', sign }]
}

/**
 * Compares documents as the server sorts a list. Of fields that run through one array each is compared by itself, and a
 * number in a path is only the name of a field.
 */
export const orderOf =
  (keys: readonly SortKey[]) =>
  (a: Document, b: Document): number => {
    for (const { path, sign } of keys) {
      const parts = path.split('.')
      const [one, other] = [a, b].map((document) =>
        valuesAt(document as unknown as Json, parts).reduce((first, value) =>
          sign * compare(value, first) < 0 ? value : first,
        ),
      )
      const result = compare(one, other)
      if (result) return sign * result
    }
    return 0
  }

const isArray = (value: unknown): value is readonly Json[] => Array.isArray(value)

const isObject = (value: ListSort): value is Readonly<Record<string, 1 | -1 | undefined>> =>
  typeof value === 'object' && !isArray(value)

/** The values that a document sorts by: several if the path leads through an array. */
function valuesAt(value: Value, parts: readonly string[]): readonly Value[] {
  const [name, ...rest] = parts
  if (isArray(value)) {
    if (value.length === 0) return [name === undefined ? undefined : null]
    return name === undefined
      ? value
      : value.flatMap((element) => (isArray(element) ? [null] : valuesAt(element, parts)))
  }
  if (name === undefined) return [value]
  const isField = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return isField ? valuesAt(value[name], rest) : [null]
}

const TYPES = ['undefined', 'null', 'number', 'string', 'object', 'array', 'boolean']

const typeOf = (value: Value): number =>
  TYPES.indexOf(value === null ? 'null' : isArray(value) ? 'array' : typeof value)

function compare(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  const byType = typeOf(a) - typeOf(b)
  if (byType || typeof a !== 'object' || a === null) return byType || Number(a ?? 0) - Number(b ?? 0)
  const [parts, others] = [partsOf(a), partsOf(b as object)]
  for (const [i, part] of parts.entries()) {
    const result = i < others.length ? compare(part, others[i]) : 1
    if (result) return result
  }
  return parts.length - others.length
}

/** What is compared of an array or an object: of each field its type, its name and its value. */
const partsOf = (value: object): readonly Json[] =>
  isArray(value)
    ? value
    : Object.entries(value as Record<string, Json>).flatMap(([name, inner]) => [typeOf(inner), name, inner])

function compareTexts(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const result = rankOf(a.charCodeAt(i)) - rankOf(b.charCodeAt(i))
    if (result) return result
  }
  return a.length - b.length
}

/** The place of a unit of UTF-16 in the order of UTF-8, in which surrogates are the last. */
const rankOf = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
