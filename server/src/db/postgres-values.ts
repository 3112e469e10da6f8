import pg from 'pg'

import type { Row, SqlScalar } from './sql.ts'

const { BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, OID, TEXT, VARCHAR, JSON, JSONB } = pg.types.builtins

/** As `node:sqlite` does it: a number that is not the one in the table is never answered. */
function number(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(text))
    throw new RangeError(`Value is too large to be represented as a JavaScript number: ${text}`)
  return value
}

// Columns come back as on SQLite: numbers, true and false as 1 and 0, and everything else as the text that it is.
const PARSERS: Record<number, (text: string) => SqlScalar> = {
  [BOOL]: (text) => (text === 't' ? 1 : 0),
  [INT2]: Number,
  [INT4]: Number,
  [OID]: Number,
  [INT8]: number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  [NUMERIC]: number,
}
const asText = (text: string): string => text

/** For a client of `pg`, so that its own queries answer the same values. */
export const types = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText }

/** A column of an answer. */
export type Column = { readonly name: string; readonly parse: ((text: string) => SqlScalar) | undefined }

export const columnOf = (name: string, oid: number): Column => ({ name, parse: PARSERS[oid] })

/** A row as the server sends it. */
export type RawRow = readonly (string | null)[]

/**
 * @param from the first column that belongs to the row
 * @throws RangeError for an integer beyond 2^53
 */
export function rowOf(columns: readonly Column[], raw: RawRow, from = 0): Row {
  const row: Row = {}
  for (let at = from; at < columns.length; at++) {
    const { name, parse } = columns[at]!
    const value = raw[at]!
    row[name] = value === null || parse === undefined ? value : parse(value)
  }
  return row
}

/** A parameter as the server takes it. */
export const textOf = (value: SqlScalar): string | null =>
  value === null || typeof value === 'string' ? value : String(value)

/** Values of one parameter in the server's text form of an array. */
export function arrayOf(values: readonly SqlScalar[]): string {
  let text = '{'
  for (const value of values) {
    if (text.length > 1) text += ','
    if (value === null) text += 'NULL'
    else if (typeof value === 'string') text += `"${value.replace(/["\\]/g, '\\$&')}"`
    else text += String(value)
  }
  return `${text}}`
}

// Types whose values have the same text form alone and in an array.
const NAMES: Record<number, string> = {
  [BOOL]: 'bool',
  [INT2]: 'int2',
  [INT4]: 'int4',
  [INT8]: 'int8',
  [FLOAT4]: 'float4',
  [FLOAT8]: 'float8',
  [NUMERIC]: 'numeric',
  [TEXT]: 'text',
  [VARCHAR]: 'varchar',
  [JSON]: 'json',
  [JSONB]: 'jsonb',
}

/** The names of parameters' types; undefined if one of them is not known. */
export function typeNames(oids: readonly number[]): string[] | undefined {
  const names = oids.map((oid) => NAMES[oid])
  return names.every((name) => name !== undefined) ? names : undefined
}
