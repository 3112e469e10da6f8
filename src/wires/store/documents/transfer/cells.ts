import { parseJson, parseStrictJson } from '../../../../base/json.ts'
import type { Fields } from '../document-json.ts'
import { isObject } from '../query/filter.ts'

/** An apostrophe that keeps a spreadsheet from running a cell: see `csvLine`. */
const GUARDED = /^'[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** How JSON other than a number begins. */
const JSON_BEGINS = /^(?:["[{]|true$|false$|null$)/

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
  text !== '' && !GUARDED.test(text) && !JSON_BEGINS.test(text) && !isNumber(text)

const isNumber = (text: string): boolean => NUMBER.test(text) && Math.abs(Number(text)) <= Number.MAX_VALUE

/**
 * The value of a cell; undefined for an empty one.
 *
 * @throws VALIDATION_ERROR for JSON that is refused
 */
export function valueOf(cell: string, at: string): unknown {
  if (cell === '') return undefined
  const text = GUARDED.test(cell) ? cell.slice(1) : cell
  if (text !== cell) return text
  if (isNumber(text) || JSON_BEGINS.test(text)) {
    // What is no JSON is text that begins like it, such as "[draft".
    if (isJson(text)) return parseStrictJson(text, { at, takesRounded: true })
  }
  return text
}

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

/** The fields of a record. */
export function fieldsOf(columns: readonly CsvColumn[], cells: readonly string[]): Fields {
  const fields: Fields = {}
  for (const [i, column] of columns.entries()) {
    const value = valueOf(cells[i] ?? '', `/${column.join('/')}`)
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
