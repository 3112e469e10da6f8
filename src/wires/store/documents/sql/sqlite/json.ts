import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Path } from '../../query/path.ts'

/** A path as SQLite takes it: each part quoted as JSON quotes it, which addresses every key, whatever characters it holds. */
export const jsonPath = (path: Path): string => `$${path.map((part) => `.${JSON.stringify(part)}`).join('')}`

/** What SQLite's `json_type` answers. */
export type JsonType = 'null' | 'true' | 'false' | 'integer' | 'real' | 'text' | 'object' | 'array'

export const typeName = (type: JsonType): Sql => sql.literal(`'${type}'`)

export const bool = (value: boolean): Sql => sql.literal(String(value))

/** Text, or a number as SQLite reads it from JSON: see `boundNumber`. */
export const bind = (value: string | number): string | number | bigint =>
  typeof value === 'number' ? boundNumber(value) : value

/**
 * A number as SQLite reads it from JSON: integers of up to 64 bits in full,
 * of which JavaScript writes only as many digits as tell it from its neighbours.
 */
export function boundNumber(value: number): number | bigint {
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 2 ** 63) return value
  return BigInt(String(value))
}
