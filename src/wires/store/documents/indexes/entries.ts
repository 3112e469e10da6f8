import { createHash } from 'node:crypto'

import type { Json } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import { EMPTY_ARRAY_KEY, NULL_KEY, sortKeyOf } from '../sort-key.ts'

/** The number of this form of keys: with another one, indexes are built again at the start. */
export const KEY_FORMAT = 1

/** A key of so many bytes is cut: its beginning, and a hash of all of it. A PostgreSQL index takes no more than 2,704. */
export const CUT_KEY_BYTES = 1024
const HASH_BYTES = 32

// All keys of a document in one index. A document is at most 1 MiB, but each element of an array has the other fields' bytes too.
const DOCUMENT_KEYS_BYTES = 4_194_304

/** A field of an index. Its path has no numeric parts. */
export type IndexField = { readonly path: Path; readonly descending: boolean }

/** An entry of a document. `ends`: 1 for its first, 2 for its last, 3 for its only one, 0 for those between. */
export type Entry = { readonly key: Buffer; readonly ends: number }

export type Entries = {
  /** In the order of their keys; at least one, no key twice. */
  readonly entries: readonly Entry[]
  /** Whether a field runs through an array. */
  readonly hasArrays: boolean
  readonly hasCutKeys: boolean
}

/** A document that an index cannot hold. The message names the fields, not the document. */
export class UnindexableError extends Error {
  override name = 'UnindexableError'
}

/** A field on its way to its value: the value so far and how many parts of the path are behind it, or its key. */
type Walk = { readonly value: Json | undefined; readonly at: number } | { readonly key: Buffer }

/**
 * The entries of a document, as MongoDB makes them: a field that is missing is null, an array yields its elements, an empty one a
 * key of its own below null. Fields that run through the same array take the same element of it.
 * https://www.mongodb.com/docs/manual/core/indexes/index-types/index-multikey/
 *
 * The keys of the fields are joined; those of a descending field with all bits inverted.
 *
 * @throws UnindexableError if two fields run through different arrays, or if the keys would be too large
 */
export function entriesOf(document: Json, fields: readonly IndexField[]): Entries {
  const keys = new Map<string, Buffer>()
  let bytes = 0
  let hasCutKeys = false

  function add(walks: readonly Walk[]): void {
    const whole = Buffer.concat(
      walks.map((walk, i) => {
        const key = 'key' in walk ? walk.key : keyOf(walk.value)
        return fields[i]!.descending ? inverted(key) : key
      }),
    )
    const isLong = whole.length >= CUT_KEY_BYTES
    const key = isLong ? cut(whole) : whole
    hasCutKeys ||= isLong
    const known = keys.size
    keys.set(key.toString('latin1'), key)
    if (keys.size > known) bytes += key.length
    if (bytes > DOCUMENT_KEYS_BYTES)
      throw new UnindexableError(
        `the array at ${namesOf(fields)} has more values than an index can hold for one document`,
      )
  }

  let hasArrays = false

  function expand(walks: readonly Walk[]): void {
    const here = walks.map((walk, i) => walkThroughObjects(walk, fields[i]!.path))
    const arrays = here.flatMap((walk, i) => (isAtArray(walk) ? [{ array: walk.value, field: i }] : []))
    const [first] = arrays
    if (!first) return add(here)
    hasArrays = true
    const other = arrays.find(({ array }) => array !== first.array)
    if (other)
      throw new UnindexableError(
        `${namesOf([fields[first.field]!])} and ${namesOf([fields[other.field]!])} are two arrays, which one index cannot hold`,
      )
    const into = (element: Json | undefined) =>
      here.map((walk, i): Walk => {
        if (!isAtArray(walk)) return walk
        const isEnd = walk.at === fields[i]!.path.length
        if (element === undefined) return { key: isEnd ? EMPTY_ARRAY_KEY : NULL_KEY }
        if (isEnd) return { key: sortKeyOf(element) }
        return isObject(element) ? { value: element, at: walk.at } : { key: NULL_KEY }
      })
    if (first.array.length === 0) expand(into(undefined))
    else for (const element of first.array) expand(into(element))
  }

  expand(fields.map(() => ({ value: document, at: 0 })))
  const sorted = keys.size === 1 ? [...keys.values()] : [...keys.values()].toSorted((a, b) => a.compare(b))
  const entries = sorted.map((key, i) => ({
    key,
    ends: (i === 0 ? 1 : 0) + (i === sorted.length - 1 ? 2 : 0),
  }))
  return { entries, hasArrays, hasCutKeys }
}

/** Fields as they are declared: `year,-title`. */
export const namesOf = (fields: readonly IndexField[]): string =>
  fields.map(({ path, descending }) => `${descending ? '-' : ''}${path.join('.')}`).join(',')

type JsonObject = { readonly [name: string]: Json }

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isAtArray = (walk: Walk): walk is { value: readonly Json[]; at: number } =>
  'value' in walk && Array.isArray(walk.value)

function walkThroughObjects(walk: Walk, path: Path): Walk {
  if ('key' in walk) return walk
  let { value, at } = walk
  while (at < path.length && !Array.isArray(value)) {
    const part = path[at]!
    if (!isObject(value) || !Object.hasOwn(value, part)) return { value: undefined, at: path.length }
    value = value[part]
    at++
  }
  return { value, at }
}

const keyOf = (value: Json | undefined): Buffer => (value === undefined ? NULL_KEY : sortKeyOf(value))

function inverted(key: Buffer): Buffer {
  const bytes = Buffer.from(key)
  for (let i = 0; i < bytes.length; i++) bytes[i]! ^= 0xff
  return bytes
}

/** Equal if and only if the keys are; in order as far as their beginnings differ. */
const cut = (key: Buffer): Buffer =>
  Buffer.concat([key.subarray(0, CUT_KEY_BYTES - HASH_BYTES), createHash('sha256').update(key).digest()])
