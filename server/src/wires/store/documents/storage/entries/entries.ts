import { createHash } from 'node:crypto'

import { eachKey, NoKeyError } from '../../language/query/document-keys.ts'
import type { Json } from '../../language/query/filter.ts'
import type { Path } from '../../language/query/path.ts'
import { keyMaker } from '../../language/query/sort-key.ts'
import { foldCase } from '../../language/search/fold-case.ts'

/** The number of this form of keys: with another one, indexes are built again at the start. */
export const KEY_FORMAT = 1

/** A key of so many bytes is cut: its beginning, and a hash of all of it. A PostgreSQL index takes no more than 2,704. */
export const CUT_KEY_BYTES = 1024
const HASH_BYTES = 32
/** Keys of which these first bytes are the same may be cut: what is beyond them cannot be compared. */
export const COMPARABLE_BYTES = CUT_KEY_BYTES - HASH_BYTES

// What a document may cost in one index. It is at most 1 MiB, but each element of an array has the other fields' bytes too,
// and they are joined in the event loop.
const DOCUMENT_ENTRIES_MAX = 5_000
const DOCUMENT_KEYS_MAX = 100_000
const DOCUMENT_KEYS_BYTES = 16_777_216

/** A field of an index. Its path has no numeric parts. */
export type IndexField = { readonly path: Path; readonly descending: boolean }

/** What an index has entries of. */
export type EntryRules = {
  readonly fields: readonly IndexField[]
  /** Whether there is no entry where one of the fields is missing, null or an empty array. */
  readonly isSparse: boolean
  /** Whether texts that differ in case only have the same key; those inside of objects and nested arrays do not. */
  readonly ignoreCase: boolean
}

/** The `ends` of an entry that is not one of its document any more, in an index that is built. */
export const DEAD = -1

/** An entry of a document. `ends`: 1 for its first, 2 for its last, 3 for its only one, 0 for those between; or `DEAD`. */
export type Entry = { readonly key: Buffer; readonly ends: number }

export type Entries = {
  /** In the order of their keys; no key twice, and at least one unless the index is sparse. */
  readonly entries: readonly Entry[]
  /** Whether a field runs through an array with several elements. */
  readonly hasArrays: boolean
  readonly hasCutKeys: boolean
}

/** A document that an index cannot hold. The message names the fields, not the document. */
export class UnindexableError extends Error {
  override name = 'UnindexableError'
}

/**
 * The entries of a document: a key for each of the keys that it sorts by (see document-keys.ts), the bytes of all fields joined,
 * those of a descending field with all bits inverted. A field that is missing is null, which a sparse index has no entry of.
 *
 * @throws UnindexableError if two fields run through different arrays, or if the keys would be too large
 */
export function entriesOf(document: Json, { fields, isSparse, ignoreCase }: EntryRules): Entries {
  const keys = new Map<string, Buffer>()
  const makers = fields.map(({ descending }) => keyMaker(descending ? inverted : undefined))
  const tooMany = () => new NoKeyError('too-many', [...fields.keys()])
  let [visits, bytes, hasCutKeys] = [0, 0, false]
  try {
    eachKey(
      document,
      fields.map(({ path }) => path),
      (parts) => {
        if (++visits > DOCUMENT_KEYS_MAX) throw tooMany()
        if (isSparse && parts.some((part) => part === null || part === undefined)) return
        const pieces = parts.map((part, i) =>
          makers[i]!(ignoreCase && typeof part === 'string' ? foldCase(part) : part),
        )
        for (const { length } of pieces) bytes += length
        if (bytes > DOCUMENT_KEYS_BYTES) throw tooMany()
        const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
        const isLong = whole.length >= CUT_KEY_BYTES
        const key = isLong ? cutKey(whole) : whole
        const text = key.toString('latin1')
        if (keys.has(text)) return
        if (keys.size === DOCUMENT_ENTRIES_MAX) throw tooMany()
        keys.set(text, key)
        hasCutKeys ||= isLong
      },
    )
  } catch (error) {
    if (error instanceof NoKeyError) throw new UnindexableError(reasonOf(error, fields))
    throw error
  }
  const sorted = [...keys.values()]
  if (sorted.length > 1) sorted.sort((one, other) => one.compare(other))
  const entries = sorted.map((key, i) => ({
    key,
    ends: (i === 0 ? 1 : 0) + (i === sorted.length - 1 ? 2 : 0),
  }))
  return { entries, hasArrays: visits > 1, hasCutKeys }
}

function reasonOf({ reason, fields: at }: NoKeyError, fields: readonly IndexField[]): string {
  const names = at.map((i) => fields[i]!.path.join('.'))
  if (reason === 'too-many') return `the array at ${names.join(' or ')} has too many values`
  return reason === 'parallel'
    ? `${names.join(' and ')} are in two arrays`
    : `${names.join(' and ')} can be read in two ways`
}

/** Fields as they are declared: `year,-title`. */
export const namesOf = (fields: readonly IndexField[]): string =>
  fields.map(({ path, descending }) => `${descending ? '-' : ''}${path.join('.')}`).join(',')

/** The bytes of a descending field. */
export function inverted(key: Buffer): Buffer {
  const bytes = Buffer.from(key)
  for (let i = 0; i < bytes.length; i++) bytes[i]! ^= 0xff
  return bytes
}

/** Equal if and only if the keys are; in order as far as their beginnings differ. */
export const cutKey = (key: Buffer): Buffer =>
  Buffer.concat([key.subarray(0, COMPARABLE_BYTES), createHash('sha256').update(key).digest()])
