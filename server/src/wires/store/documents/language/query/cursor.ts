import { isoTime } from '../../../../../base/clock.ts'
import { isSameSecret, sha256, type Key } from '../../../../../base/crypto.ts'
import { invalid } from '../../../../../base/errors.ts'
import { timeOfId } from '../../../../../base/ids.ts'
import { sortKeyOf } from './sort-key.ts'
import type { Bound, Position } from './bound.ts'
import type { Json } from './filter.ts'
import { keyOf } from './key.ts'
import type { Sort } from './sort.ts'

/** What a cursor carries. */
export type Cursor = {
  readonly position: Position
  /** Tells the whole key of the position's document if a bound of it is cut. */
  readonly print: string | undefined
  /** The number of documents in the whole list, if it is known. */
  readonly total: number | undefined
}

// A URL takes it, also behind proxies that take a header line of 4 KB.
const MAX_LENGTH = 4096
const KEY_BYTES = 1536

/**
 * The cursor behind `document`, which is served with its `_id`. A key that is too long for a URL is cut, in equal parts.
 *
 * @param score of the hit, where a search is sorted by it
 */
export function cursorBehind(
  document: Readonly<Record<string, unknown>>,
  sort: Sort,
  total?: number,
  score?: number,
): Cursor {
  const id = String(document['_id'])
  if (sort.keys.length === 0) return { position: { bounds: [], id, score }, print: undefined, total }
  const key = keyOf(document as Json, sort.keys)
  let length = 0
  for (const bytes of key) length += bytes.length
  const isShort = length <= KEY_BYTES
  const bounds = key.map((bytes): Bound => {
    const most = isShort ? Infinity : Math.floor(KEY_BYTES / key.length)
    return bytes.length <= most ? { bytes, isCut: false } : { bytes: cut(bytes, most), isCut: true }
  })
  const print = isShort ? undefined : printOf(key)
  return { position: { bounds, id }, print, total }
}

/**
 * The position of a cursor, exact if the document that it is behind still has the same key. If not, it is in front of all
 * documents whose keys begin alike: some may come twice, none is left out.
 *
 * @param document the one with the position's id, if it is there
 */
export function exactPosition({ position, print }: Cursor, sort: Sort, document: Json | undefined): Position {
  if (print === undefined || document === undefined) return position
  const key = keyOf(document, sort.keys)
  if (printOf(key) !== print) return position
  return { ...position, bounds: key.map((bytes) => ({ bytes, isCut: false })) }
}

const printOf = (key: readonly Buffer[]): string => sha256(Buffer.concat(key))

const TEXT = sortKeyOf('')[0]

/** The beginning of a key; of a text whole characters, of which `sortKeyOf` escapes one by 0x01. */
function cut(bytes: Buffer, most: number): Buffer {
  let end = most
  if (bytes[0] === TEXT) while ((bytes[end]! & 0xc0) === 0x80 || bytes[end - 1] === 0x01) end--
  return bytes.subarray(0, end)
}

/**
 * Writes a cursor: opaque base64url text, authenticated because its total is answered.
 *
 * @param list tells the list that it is of from others: its collection, for whom, its filter and sort
 */
export function encodeCursor({ position, print, total }: Cursor, list: string, key: Key): string {
  const bounds = position.bounds.map(({ bytes, isCut }) => [bytes.toString('base64url'), Number(isCut)])
  const content: Content = [position.id, total ?? null, print ?? null, bounds as [string, 0 | 1][]]
  if (position.score !== undefined) content.push(position.score)
  const text = Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${key.mac(`${list}\n${text}`)}${text}`
}

type Content = [
  id: string,
  total: number | null,
  print: string | null,
  bounds: [string, 0 | 1][],
  score?: number,
]

const MAC_LENGTH = 43

/** Whether `encodeCursor` wrote a cursor for a list. */
export const isCursorOf = (cursor: string, list: string, key: Key): boolean =>
  cursor.length <= MAX_LENGTH &&
  isSameSecret(cursor.slice(0, MAC_LENGTH), key.mac(`${list}\n${cursor.slice(MAC_LENGTH)}`))

/** The key of the time of an id, as `createdAt` has it. @param id one of `newId` */
export const timeKeyOf = (id: string): Buffer => sortKeyOf(isoTime(timeOfId(id)))

/** A cursor of a list in the order of ids, in the same list in the order of `createdAt`, whose last key that is. */
export const inTimeOrder = ({ position, ...others }: Cursor): Cursor => ({
  ...others,
  position: {
    ...position,
    bounds: [...position.bounds, { bytes: timeKeyOf(position.id), isCut: false }],
  },
})

/**
 * Reads a cursor that `encodeCursor` wrote for the same list.
 *
 * @throws VALIDATION_ERROR at `/query/cursor` for a forged one, one of another list, and one from before the secret changed
 */
export function decodeCursor(cursor: string, list: string, key: Key): Cursor {
  if (!isCursorOf(cursor, list, key))
    throw invalid({
      path: '/query/cursor',
      message:
        'This is not a cursor of this list: send the nextCursor of the previous page, with the same collection, filter and sort.',
    })
  const [id, total, print, bounds, score] = JSON.parse(
    Buffer.from(cursor.slice(MAC_LENGTH), 'base64url').toString(),
  ) as Content
  return {
    position: {
      id,
      bounds: bounds.map(([bytes, isCut]) => ({
        bytes: Buffer.from(bytes, 'base64url'),
        isCut: isCut === 1,
      })),
      score,
    },
    print: print ?? undefined,
    total: total ?? undefined,
  }
}
