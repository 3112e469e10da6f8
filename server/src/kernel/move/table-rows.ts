import { hash } from 'node:crypto'

import { identifier, type ColumnKind } from '../../db/catalogue.ts'
import { sql, type Dialect, type Sql } from '../../db/sql.ts'
import type { LoadedRow } from '../../db/table-loader.ts'
import type { CopiedTable } from './copied-tables.ts'

const LINE_BREAK = 0x0a

/** A column as JSON has it: integers as text, because JSON's numbers end at 2^53, and bytes as hexadecimal text. */
const TEXT: Record<Dialect, Record<ColumnKind, (column: string) => string>> = {
  sqlite: {
    // What functions of JSON have made would be put in as JSON. Bytes are no text: a list is refused when it is read.
    text: (column) => `iif(typeof(${column}) = 'blob', json_array(hex(${column})), '' || ${column})`,
    any: (column) => `
      case typeof(${column}) when 'blob' then json_array(hex(${column}))
      when 'integer' then iif(abs(${column}) > 9007199254740991, cast(${column} as text), ${column}) else ${column} end`,
    // SQLite keeps what it is given.
    integer: (column) => `iif(typeof(${column}) = 'real', ${column}, cast(${column} as text))`,
    boolean: (column) => `cast(${column} as text)`,
    real: (column) => column,
    bytes: (column) =>
      `iif(typeof(${column}) in ('blob', 'null'), iif(${column} is null, null, lower(hex(${column}))), json_array(0))`,
  },
  postgres: {
    text: (column) => `${column}::text`,
    any: (column) => `${column}::text`,
    integer: (column) => `${column}::text`,
    boolean: (column) => `${column}::int::text`,
    real: (column) => column,
    bytes: (column) => `encode(${column}, 'hex')`,
  },
}

const sourceOf = ({ name, copy }: CopiedTable, dialect: Dialect): string =>
  copy.rows ? `(${copy.rows[dialect]}) as rows` : identifier(name)

/** The rows of a table as lines of JSON, an array each. */
export function selectLinesSql(table: CopiedTable, dialect: Dialect): Sql<{ line: string }> {
  const values = table.columns.map(({ name, kind }) => TEXT[dialect][kind](identifier(name))).join(', ')
  const line = dialect === 'sqlite' ? `json_array(${values})` : `json_build_array(${values})::text`
  return sql.literal(`select ${line} as line from ${sourceOf(table, dialect)}`) as Sql<{ line: string }>
}

export const countRowsSql = (table: CopiedTable, dialect: Dialect): Sql<{ count: number }> =>
  sql.literal(`select count(*) as count from ${sourceOf(table, dialect)}`) as Sql<{ count: number }>

/** SQLite keeps bytes in a column of text, and text in one of bytes, which no other engine could take. */
export class ForeignValueError extends Error {}

/** What is in a table, in whatever order: how many rows, and a sum of their hashes. */
export type TableSum = { readonly rows: number; readonly sum: string }

/** Adds up rows. */
export class RowSums {
  #rows = 0
  readonly #words = new Uint32Array(4)

  get total(): TableSum {
    return { rows: this.#rows, sum: Buffer.from(this.#words.buffer).toString('hex') }
  }

  /** @param line a row as text of JSON */
  add(line: string): void {
    const digest = hash('sha256', line, 'buffer')
    this.#rows++
    for (let at = 0; at < 4; at++) this.#words[at]! += digest.readUInt32LE(at * 4)
  }
}

/**
 * Reads lines of JSON as rows, those of a piece at a time.
 *
 * @param report called with how many rows and bytes each piece had
 */
export async function* readRows(
  lines: AsyncIterable<Buffer>,
  report: (read: { rows: number; bytes: number }) => void = () => undefined,
): AsyncGenerator<LoadedRow[]> {
  let begun: Buffer[] = []
  for await (const piece of lines) {
    const end = piece.lastIndexOf(LINE_BREAK)
    if (end === -1) {
      begun.push(piece)
      continue
    }
    const whole = piece.subarray(0, end)
    const text = (begun.length > 0 ? Buffer.concat([...begun, whole]) : whole).toString()
    begun = end + 1 < piece.length ? [piece.subarray(end + 1)] : []
    // JSON has no line break within a row.
    const rows = text.split('\n').map((line) => JSON.parse(line) as LoadedRow)
    for (const row of rows)
      if (row.some((value) => typeof value === 'object' && value !== null)) throw new ForeignValueError()
    report({ rows: rows.length, bytes: piece.length })
    yield rows
  }
}
