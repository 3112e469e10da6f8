import type { CsvRecord } from '../../../../../base/csv-records.ts'
import { parseJson, parseStrictJson } from '../../../../../base/json.ts'
import type { Fields } from '../../language/document-json.ts'
import { isObject } from '../../language/query/filter.ts'
import { jsonTypeOf } from '../../language/schema/schema-types.ts'

/** An apostrophe that keeps a spreadsheet from running a cell: see `csvLine`. */
const GUARDED = /^'[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const LITERAL = /^(?:true|false|null)$/
/** How other JSON begins. */
const JSON_BEGINS = /^["[{]/

/**
 * The cell of a value, for `csvLine`: text as it is, unless it would be read as something else; JSON for what is no text. Nothing
 * for a field that is not there.
 */
export function cellOf(value: unknown): string | { decimal: string } | null {
  if (value === undefined) return null
  if (typeof value === 'number') return { decimal: JSON.stringify(value) }
  if (typeof value !== 'string') return JSON.stringify(value)
  return isPlain(value) ? value : JSON.stringify(value)
}

/** Whether a text is read from its cell as the same text. */
const isPlain = (text: string): boolean =>
  text !== '' && !GUARDED.test(text) && !JSON_BEGINS.test(text) && !isLiteral(text)

/** A number that is not written as it would be again is a code, such as 1E5, 1.10, 01067, or 20 digits. */
const isLiteral = (text: string): boolean =>
  LITERAL.test(text) || (Number.isFinite(Number(text)) && String(Number(text)) === text)

/**
 * The value of a cell; undefined for an empty one.
 *
 * @param isQuoted then it is no number, nor true, false or null
 * @param types those that the schema allows decide
 * @throws VALIDATION_ERROR for JSON that is refused
 */
export function valueOf(
  cell: string,
  at: string,
  isQuoted: boolean,
  types: ReadonlySet<string> | undefined,
): unknown {
  if (cell === '') return undefined
  if (GUARDED.test(cell)) return cell.slice(1)
  // What is no JSON is text that begins like it, such as "[draft".
  const isValue = (!isQuoted && isLiteral(cell)) || (JSON_BEGINS.test(cell) && isJson(cell))
  const value = isValue ? parseStrictJson(cell, { at, takesRounded: true }) : cell
  return !types || allows(types, value) ? value : valueOfType(cell, types, value)
}

function valueOfType(cell: string, types: ReadonlySet<string>, value: unknown): unknown {
  if (types.has('string')) return cell
  if (allows(types, 0) && NUMBER.test(cell) && Number.isFinite(Number(cell))) return Number(cell)
  if (types.has('boolean') && /^(?:true|false)$/i.test(cell)) return cell.toLowerCase() === 'true'
  if (types.has('null') && cell === 'null') return null
  return value
}

const allows = (types: ReadonlySet<string>, value: unknown): boolean =>
  types.has(jsonTypeOf(value)) || (typeof value === 'number' && types.has('integer'))

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A column: a field by its dotted path. */
export type CsvColumn = readonly string[]

/** The heading of a column; a name with a dot in it is written as JSON. */
export const headingOf = (column: CsvColumn): string =>
  column.length === 1 && (column[0]!.includes('.') || column[0]!.startsWith('"') || !column[0]!)
    ? JSON.stringify(column[0])
    : column.join('.')

/** The column of a heading. */
export function columnOf(heading: string): CsvColumn {
  const text = GUARDED.test(heading) ? heading.slice(1) : heading
  if (text.startsWith('"') && isJson(text)) return [String(parseJson(text))]
  return text.split('.')
}

/** The value of a column in a document; undefined if it is not there. */
export function valueAt(document: unknown, column: CsvColumn): unknown {
  let value = document
  for (const [i, name] of column.entries()) {
    if (Array.isArray(value)) return value.flatMap((one) => valueAt(one, column.slice(i)) ?? [])
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** A column of a file, and the types that the schema allows in it. */
export type TypedColumn = { readonly column: CsvColumn; readonly types: ReadonlySet<string> | undefined }

/** The fields of a record. */
export function fieldsOf(columns: readonly TypedColumn[], { cells, isQuoted }: CsvRecord): Fields {
  const fields: Fields = {}
  for (const [i, { column, types }] of columns.entries()) {
    const value = valueOf(cells[i] ?? '', `/${column.join('/')}`, isQuoted[i] ?? false, types)
    if (value === undefined) continue
    let inside = fields
    for (const name of column.slice(0, -1)) {
      if (!Object.hasOwn(inside, name)) define(inside, name, {})
      inside = inside[name] as Fields
    }
    define(inside, column.at(-1)!, value)
  }
  return { ...fields }
}

/** Not by assignment: a heading such as `a.__proto__.b` would write into the prototype of all objects. */
const define = (fields: Fields, name: string, value: unknown): void =>
  void Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
