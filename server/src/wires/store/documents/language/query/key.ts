import { eachKey } from './document-keys.ts'
import { keyMaker, sortKeyOf } from './sort-key.ts'
import type { Json, Scalar } from './filter.ts'
import type { Path } from './path.ts'
import type { SortKey } from './sort.ts'

/**
 * What a document sorts by: the bytes of each field of the sort. Of the keys that it has where fields run through an array,
 * the one that sorts first.
 *
 * @throws NoKeyError
 */
export function keyOf(document: Json, keys: readonly SortKey[]): readonly Buffer[] {
  const key: Buffer[] = []
  for (const { path } of keys) {
    const value = scalarAt(document, path)
    if (value === undefined) return firstKeyOf(document, keys)
    key.push(sortKeyOf(value))
  }
  return key
}

function firstKeyOf(document: Json, keys: readonly SortKey[]): readonly Buffer[] {
  let first: Buffer[] | undefined
  const makers = keys.map(() => keyMaker())
  eachKey(
    document,
    keys.map(({ path }) => path),
    (parts) => {
      const key = parts.map((part, i) => makers[i]!(part))
      if (first === undefined || compare(key, first, keys) < 0) first = key
    },
  )
  return first!
}

/** The value at a path, if it is one and no array is on the way. */
function scalarAt(document: Json, path: Path): Scalar | undefined {
  let value: Json | undefined = document
  for (const part of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part))
      return undefined
    value = (value as Readonly<Record<string, Json>>)[part]
  }
  return typeof value === 'object' && value !== null ? undefined : value
}

function compare(key: readonly Buffer[], other: readonly Buffer[], keys: readonly SortKey[]): number {
  for (const [i, { descending }] of keys.entries()) {
    const order = key[i] === other[i] ? 0 : Buffer.compare(key[i]!, other[i]!)
    if (order !== 0) return descending ? -order : order
  }
  return 0
}
