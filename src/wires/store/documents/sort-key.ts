import type { Json } from './query/filter.ts'

// MongoDB's order of types. https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
const NULL = 0x10
const NUMBER = 0x20
const TEXT = 0x30
const OBJECT = 0x40
const ARRAY = 0x50
const BOOLEAN = 0x60

/** Ends a text, an object and an array: below every type, and below every byte of an escaped text. */
const END = 0x00

/** What a document sorts by where an array at the end of the path is empty: below null. */
export const EMPTY_ARRAY_KEY: Buffer = Buffer.of(0x08)

/** What a document sorts by where a field is missing. */
export const NULL_KEY: Buffer = Buffer.of(NULL)

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
  const pieces: Buffer[] = [Buffer.of(typeOf(value))]
  addContent(value, pieces)
  return Buffer.concat(pieces)
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

function typeOf(value: Json): number {
  if (value === null) return NULL
  if (typeof value === 'number') return NUMBER
  if (typeof value === 'string') return TEXT
  if (typeof value === 'boolean') return BOOLEAN
  return Array.isArray(value) ? ARRAY : OBJECT
}

const ended = Buffer.of(END)

function addContent(value: Json, pieces: Buffer[]): void {
  if (value === null) return
  if (typeof value === 'number') pieces.push(doubleBytes(value))
  else if (typeof value === 'string') pieces.push(textBytes(value))
  else if (typeof value === 'boolean') pieces.push(Buffer.of(Number(value)))
  else {
    if (Array.isArray(value)) {
      for (const element of value as readonly Json[]) {
        pieces.push(Buffer.of(typeOf(element)))
        addContent(element, pieces)
      }
    } else {
      for (const [name, inner] of Object.entries(value)) {
        pieces.push(Buffer.of(typeOf(inner)), textBytes(name))
        addContent(inner, pieces)
      }
    }
    pieces.push(ended)
  }
}

function doubleBytes(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleBE(value + 0) // -0 + 0 is 0
  const inverted = bytes[0]! & 0x80
  bytes[0]! ^= 0x80
  if (inverted) for (let i = 0; i < 8; i++) bytes[i]! ^= i === 0 ? 0x7f : 0xff
  return bytes
}

const ESCAPED = /[\0\x01]/g

const textBytes = (text: string): Buffer =>
  Buffer.from(`${text.replace(ESCAPED, (one) => (one === '\0' ? '\x01\x01' : '\x01\x02'))}\0`)
