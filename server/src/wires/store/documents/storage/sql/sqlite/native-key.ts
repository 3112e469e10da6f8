import { bind } from './json.ts'

/** A value that SQLite compares in the same order as the bytes of keys: empty array, null, numbers, text, all others. */
export type NativeKey = null | number | bigint | string | Uint8Array

const NULL = 0x10
const NUMBER = 0x20
const TEXT = 0x30

/** A key's bytes as SQLite compares them; of a cut text its beginning. */
export function nativeOf(key: Buffer): NativeKey {
  const type = key[0]!
  if (type < NULL) return null
  if (type === NULL) return -Infinity // no number in JSON; SQLite's own null is left for the empty array
  if (type === NUMBER) return bind(readDouble(key))
  if (type === TEXT) return readText(key)
  return key
}

function readDouble(key: Buffer): number {
  const bytes = Buffer.from(key.subarray(1))
  const isPositive = (bytes[0]! & 0x80) !== 0
  if (isPositive) bytes[0]! ^= 0x80
  else for (const [i, byte] of bytes.entries()) bytes[i] = byte ^ 0xff
  return bytes.readDoubleBE()
}

function readText(key: Buffer): string {
  const text = key.toString('utf8', 1, key.at(-1) === 0 ? key.length - 1 : key.length)
  return text.replace(/\x01([\x01\x02])/g, (_, code: string) => (code === '\x01' ? '\0' : '\x01'))
}
