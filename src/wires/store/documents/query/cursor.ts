import { createHash } from 'node:crypto'

import { invalid, type ApiError } from '../../../../base/errors.ts'
import { keyOf, rankOf, type KeyValue } from './key.ts'
import type { Sort } from './sort.ts'

/** A place in a list, just behind one document: what that one sorts by. */
export type Position = { readonly values: readonly KeyValue[]; readonly id: string }

/** What a cursor carries: the place, and the number of documents in the whole list where it is known. */
export type Cursor = { readonly position: Position; readonly total: number | undefined }

const MAX_LENGTH = 16_384

/**
 * The place behind `document`, which is served with its `_id`.
 */
export function positionOf(document: Readonly<Record<string, unknown>>, sort: Sort): Position {
  return { values: sort.keys.map(({ path }) => keyOf(document, path)), id: String(document._id) }
}

/** What a cursor bears of the list that it is good for: a few characters made of anything that tells it from others. */
export const markOf = (list: string): string =>
  createHash('sha256').update(list).digest('base64url').slice(0, 12)

/**
 * Writes a cursor: opaque base64url text.
 *
 * @param mark the list's
 */
export function encodeCursor({ position, total }: Cursor, mark: string): string {
  const content = JSON.stringify([mark, total ?? null, position.id, ...position.values])
  return Buffer.from(content).toString('base64url')
}

/**
 * Reads a cursor that `encodeCursor` wrote for the same list.
 * It is not signed: a forged cursor only selects a position in a list that the caller may read anyway.
 *
 * @throws VALIDATION_ERROR at `/query/cursor`
 */
export function decodeCursor(text: string, mark: string, sort: Sort): Cursor {
  const content = decode(text)
  if (!Array.isArray(content)) throw garbled()
  const [given, total, id, ...values] = content as unknown[]
  if (typeof given === 'string' && given !== mark) {
    throw refused(
      'This cursor is of another list: keep collection, filter and sort while you follow cursors.',
    )
  }
  if (typeof given !== 'string' || typeof id !== 'string' || !isText(id) || !isTotal(total)) throw garbled()
  if (values.length !== sort.keys.length || !values.every(isKeyValue)) throw garbled()
  return { position: { values, id }, total: total ?? undefined }
}

const refused = (message: string): ApiError => invalid({ path: '/query/cursor', message })
const garbled = (): ApiError => refused('This is not a cursor: send the nextCursor of the previous page.')

function decode(text: string): unknown {
  if (text.length > MAX_LENGTH) throw garbled()
  const bytes = Buffer.from(text, 'base64url')
  // Buffer skips over what is not base64url.
  if (bytes.toString('base64url') !== text) throw garbled()
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw garbled()
  }
}

const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

const isTotal = (value: unknown): value is number | null =>
  value === null || (Number.isSafeInteger(value) && (value as number) >= 0)

function isKeyValue(value: unknown): value is KeyValue {
  if (typeof value === 'string') return isText(value)
  if (typeof value === 'number') return Number.isFinite(value)
  return [0, 5, 6].includes(rankOf(value)) || Object.keys(value as object).length === 0
}
