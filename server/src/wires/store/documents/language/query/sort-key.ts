import type { Json } from './filter.ts'

// MongoDB's order of types. https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
const NULL = '\x10'
const NUMBER = '\x20'
const TEXT = '\x30'
const OBJECT = '\x40'
const ARRAY = '\x50'
const BOOLEAN = '\x60'

/** Ends a text, an object and an array: below every type, and below every byte of an escaped text. */
const END = '\0'

/** What a document sorts by where an array at the end of the path is empty: below null. */
export const EMPTY_ARRAY_KEY: Buffer = Buffer.of(0x08)

/** What a document sorts by where a field is missing. */
export const NULL_KEY: Buffer = Buffer.from(NULL)

/**
 * Bytes that compare (memcmp) as MongoDB compares values of all types; equal bytes are equal values.
 * No key is the beginning of another one, so keys joined to one also compare field by field.
 *
 * - number: the bits of the double, the sign bit inverted, of a negative one all bits; -0 is 0
 * - text: UTF-8, U+0000 as 01 01 and U+0001 as 01 02, then 00
 * - object: of each field its type, name and value without its type, then 00
 * - array: its elements, then 00
 * - boolean: 00 or 01
 *
 * `store_sort_key` on PostgreSQL answers the same bytes, and as bytes of index entries they are stored: they never change.
 *
 * @param value without lone surrogates, as every document is
 */
export function sortKeyOf(value: Json): Buffer {
  if (value === null) return NULL_KEY
  if (typeof value === 'number') return numberKey(value)
  // Types and ends are characters of ASCII, so that all of it is UTF-8.
  if (typeof value === 'string') return Buffer.from(`${TEXT}${ended(value)}`)
  return Buffer.from(sortTextOf(value), 'latin1')
}

/**
 * Makes the keys of a field of one document; undefined stands for an empty array at the end of the path. A value that comes
 * several times in a row, such as a long text beside each element of an array, is read once.
 *
 * @param form how a key is stored, if not as it is
 */
export function keyMaker(form = (key: Buffer): Buffer => key): (value: Json | undefined) => Buffer {
  let last: Json | undefined
  let key = form(EMPTY_ARRAY_KEY)
  return (value) => {
    if (value !== last) [last, key] = [value, form(value === undefined ? EMPTY_ARRAY_KEY : sortKeyOf(value))]
    return key
  }
}

/**
 * The same bytes as characters, which compare likewise. To join them is quicker than to join buffers.
 *
 * @param most how many are needed, if the rest of a large value decides nothing: beside a key of this length
 */
export function sortTextOf(value: Json, most = Infinity): string {
  if (value === null) return NULL
  if (typeof value === 'number') return numberKey(value).toString('latin1')
  if (typeof value === 'string') return TEXT + textBytes(value.length > most ? value.slice(0, most) : value)
  if (typeof value === 'boolean') return BOOLEAN + (value ? '\x01' : '\0')
  let bytes = ''
  if (Array.isArray(value)) {
    for (const element of value as readonly Json[]) {
      if (bytes.length >= most) break
      bytes += sortTextOf(element, most)
    }
    return ARRAY + bytes + END
  }
  for (const [name, inner] of Object.entries(value)) {
    if (bytes.length >= most) break
    const own = sortTextOf(inner, most)
    bytes += own[0]! + textBytes(name) + own.slice(1)
  }
  return OBJECT + bytes + END
}

function numberKey(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(9)
  bytes.write(NUMBER)
  bytes.writeDoubleBE(value + 0, 1) // -0 + 0 is 0
  const isNegative = bytes[1]! & 0x80
  bytes[1]! ^= 0x80
  if (isNegative) for (let i = 1; i < 9; i++) bytes[i]! ^= i === 1 ? 0x7f : 0xff
  return bytes
}

const ESCAPED = /[\0\x01]/g

const ended = (text: string): string =>
  text.replace(ESCAPED, (one) => (one === '\0' ? '\x01\x01' : '\x01\x02')) + END

const textBytes = (text: string): string =>
  /[^\x02-\x7f]/.test(text) ? Buffer.from(ended(text)).toString('latin1') : text + END
