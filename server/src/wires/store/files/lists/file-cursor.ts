import { sha256 } from '../../../../base/crypto.ts'
import { invalid, type ApiError } from '../../../../base/errors.ts'
import { idPattern } from '../../../../base/ids.ts'

/** A place in a list of files: that of one file, by the value of its sort field and its id. */
export type FilePosition = {
  value: string | number
  id: string
  /** How many files the whole list has, if that had to be counted. */
  total: number | undefined
}

const MAX_LENGTH = 2_048
const isId = new RegExp(idPattern)

/** @param list what tells the list from others: its sort and filters */
export const encodeFileCursor = ({ value, id, total }: FilePosition, list: string): string =>
  Buffer.from(JSON.stringify([markOf(list), value, id, total ?? null])).toString('base64url')

/**
 * Reads a cursor of the same list. It is not signed: a forged one only selects a place in a list that the caller may read.
 *
 * @param isNumber whether the list is sorted by a number
 * @throws VALIDATION_ERROR at `/query/cursor`
 */
export function decodeFileCursor(text: string, list: string, isNumber: boolean): FilePosition {
  const [mark, value, id, total] = decode(text)
  if (typeof mark === 'string' && mark !== markOf(list))
    throw refused('This cursor is of another list: keep its filters and sort while you follow cursors.')
  if (!isValue(value, isNumber) || typeof id !== 'string' || !isId.test(id) || !isTotal(total))
    throw garbled()
  return { value, id, total: total ?? undefined }
}

function decode(text: string): unknown[] {
  if (text.length > MAX_LENGTH) throw garbled()
  try {
    const content: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (Array.isArray(content) && content.length === 4 && typeof content[0] === 'string') return content
  } catch {
    // Not JSON.
  }
  throw garbled()
}

const markOf = (list: string): string => sha256(list).slice(0, 12)

const isValue = (value: unknown, isNumber: boolean): value is string | number =>
  isNumber
    ? Number.isSafeInteger(value)
    : typeof value === 'string' && value.isWellFormed() && !value.includes('\0')

const isTotal = (value: unknown): value is number | null =>
  value === null || (Number.isSafeInteger(value) && (value as number) >= 0)

const refused = (message: string): ApiError => invalid({ path: '/query/cursor', message })
const garbled = (): ApiError => refused('This is not a cursor: send the nextCursor of the previous page.')
