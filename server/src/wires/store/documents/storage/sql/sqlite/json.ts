import type { Path } from '../../../language/query/path.ts'

/** A path as SQLite takes it: each part quoted as JSON quotes it, which addresses every key, whatever characters it holds. */
export function jsonPath(path: Path): string {
  let text = '$'
  for (const part of path) text += `.${JSON.stringify(part)}`
  return text
}

/** What SQLite's `json_type` answers. */
export type JsonType = 'null' | 'true' | 'false' | 'integer' | 'real' | 'text' | 'object' | 'array'

/**
 * Text, or a number as SQLite reads it from JSON: integers of up to 64 bits in full,
 * of which JavaScript writes only as many digits as tell it from its neighbours.
 */
export function bind(value: string | number): string | number | bigint {
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value as number) >= 2 ** 63)
    return value
  return BigInt(String(value))
}
